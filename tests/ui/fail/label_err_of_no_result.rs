//! A node that cannot fail has no label `err`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Redo(Draft),
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
async fn refuse(why: String) -> String {
    unreachable!()
}

workflow! {
    blog(Draft) -> String { START => review => <redo: review, good: publish, err: refuse>; }
}

workflow! {
    sound(Draft) -> String { START => review => <redo: review, good: publish>; }
}

fn main() {}
