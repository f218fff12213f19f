//! A join takes all of its branches.
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
async fn print(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind(proof: Draft, picture: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => (proof, draw, print) => bind; }
}

fn main() {}
