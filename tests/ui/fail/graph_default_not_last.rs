//! The default is last.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn length(draft: Draft) -> u32 {
    unreachable!()
}

#[node]
async fn shorten(words: u32) -> Draft {
    unreachable!()
}

#[node]
async fn publish(words: u32) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => length => <_: shorten, 0..=99: publish>; }
}

fn main() {}
