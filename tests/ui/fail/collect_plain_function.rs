//! The target of `a | b` is a collecting node, not one that runs once.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn left(n: u32) -> u32 {
    n
}

#[node]
async fn right(n: u32) -> u32 {
    n
}

#[node]
async fn plain(n: u32) -> u32 {
    n
}

#[node(collect)]
async fn first(n: u32) -> Option<u32> {
    Some(n)
}

workflow! {
    shop(u32) -> u32 { START => (left, right); left | right => plain; }
}

workflow! {
    sound(u32) -> u32 { START => (left, right); left | right => first; }
}

fn main() {
    let flow = workflow! { START => (left, right); left | right => plain };
}
