//! A literal label carries the whole value.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn length(text: String) -> u32 {
    unreachable!()
}

#[node]
async fn short(words: u32) -> String {
    unreachable!()
}

#[node]
async fn long(text: String) -> String {
    unreachable!()
}

workflow! {
    blog(String) -> String { START => length => <0..=99: short, _: long>; }
}

fn main() {}
