//! The pool is that of a node wherever it is used.
#![allow(unused)]

use graphweft::prelude::*;

#[node(pool = "gpu")]
async fn embed(text: String) -> usize {
    text.len()
}

workflow! {
    index(String) -> usize {
        let embedding = embed(pool = "cpu");
        START => embedding;
    }
}

fn main() {}
