//! A join sees the value itself of a branch that always runs.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn draw(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind(proof: Draft, picture: Option<Draft>) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => (proof, draw) => bind; }
}

fn main() {}
