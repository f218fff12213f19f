//! The arm of a spent bound is called `spent`, and belongs to a bound.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Verdict {
    Redo(u32),
    Good(u32),
}

#[node]
async fn draft(n: u32) -> u32 {
    n
}

#[node]
async fn review(n: u32) -> Verdict {
    Verdict::Good(n)
}

workflow! {
    misspelled(u32) -> u32 { START => draft => review => <redo (at most 5): draft, good: END, spend: END>; }
}

workflow! {
    unbounded(u32) -> u32 { START => draft => review => <redo: draft, good: END, spent: END>; }
}

workflow! {
    sound(u32) -> u32 { START => draft => review => <redo (at most 5): draft, good: END, spent: END>; }
}

fn main() {}
