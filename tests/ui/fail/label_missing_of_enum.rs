//! Every variant of an enum is routed.
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
    TooLong { draft: Draft, words: u32 },
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
    blog(Draft) -> String { START => review => <redo: review, good: publish>; }
}

workflow! {
    sound(Draft) -> String { START => review => <redo: review, good: publish, _: forget>; }
}

fn main() {}
