//! A node takes what the variant holds.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Redo { draft: Draft, why: String },
    Good(Draft),
}

#[node]
async fn review(draft: Draft) -> Review {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> String {
    unreachable!()
}

#[node]
async fn redo(draft: Draft, why: String) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> String { START => review => <redo: publish, good: publish>; }
}

workflow! {
    sound(Draft) -> String {
        START => review => <redo: redo, good: publish>;
        redo => review;
    }
}

fn main() {}
