//! What a variant holds may be the enum itself, also as `Self`, and a type that is called like one of ours.

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Tree {
    Leaf(u8),
    Branch(Box<Self>, Vec<Self>),
}

#[value]
#[derive(Route)]
enum List<T> {
    Empty,
    Rest(T, Option<Box<Self>>),
}

#[value]
#[derive(Route)]
enum Verdict {
    Good(VerdictLabel),
    Bad,
}

#[value]
struct VerdictLabel {
    text: String,
}

#[node]
async fn tree(n: u8) -> Tree {
    unreachable!()
}

#[node]
async fn leaf(n: u8) -> u8 {
    n
}

#[node]
async fn branch(first: Box<Tree>, others: Vec<Tree>) -> u8 {
    unreachable!()
}

#[node]
async fn list(n: u8) -> List<u8> {
    unreachable!()
}

#[node]
async fn empty() -> u8 {
    unreachable!()
}

#[node]
async fn rest(n: u8, others: Option<Box<List<u8>>>) -> u8 {
    unreachable!()
}

#[node]
async fn judge(n: u8) -> Verdict {
    unreachable!()
}

#[node]
async fn good(label: VerdictLabel) -> u8 {
    unreachable!()
}

#[node]
async fn bad() -> u8 {
    unreachable!()
}

workflow! {
    grow(u8) -> u8 { START => tree => <leaf: leaf, branch: branch>; }
}

workflow! {
    walk(u8) -> u8 { START => list => <empty: empty, rest: rest>; }
}

workflow! {
    decide(u8) -> u8 { START => judge => <good: good, bad: bad>; }
}
