//! A label of an enum is one of its variants.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Redo(Draft),
    Good(Draft),
    Drop,
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
async fn forget() -> String {
    unreachable!()
}

workflow! {
    blog(Draft) -> String { START => review => <redo: review, goood: publish, drop: forget>; }
}

workflow! {
    sound(Draft) -> String { START => review => <redo: review, Good: publish, drop: forget>; }
}

fn main() {}
