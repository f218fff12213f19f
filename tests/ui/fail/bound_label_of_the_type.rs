//! `spent` beside a bounded arm is no label of the type: one that the type has needs an arm of its own.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Review {
    Redo(u32),
    Good(u32),
    Spent(u32),
}

#[node]
async fn review(n: u32) -> Review {
    Review::Good(n)
}

#[node]
async fn publish(n: u32) -> u32 {
    n
}

workflow! {
    blog(u32) -> u32 { START => review => <redo (at most 3): review, good: publish, spent: publish>; }
}

workflow! {
    sound(u32) -> u32 { START => review => <redo: review, good: publish, spent: publish>; }
}

fn main() {}
