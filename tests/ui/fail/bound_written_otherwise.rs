//! How often an arm is taken is written in one way.
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
    bare(u32) -> u32 { START => draft => review => <redo at most 5: draft, good: END, spent: END>; }
}

workflow! {
    other_words(u32) -> u32 { START => draft => review => <redo (max 5): draft, good: END, spent: END>; }
}

workflow! {
    behind(u32) -> u32 { START => draft => review => <redo: draft (at most 5), good: END, spent: END>; }
}

workflow! {
    sound(u32) -> u32 { START => draft => review => <redo (at most 5): draft, good: END, spent: END>; }
}

fn main() {}
