//! The target of `a | b` is a collecting node.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn draw(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn first(draft: Draft) -> Option<Draft> {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft {
        START => (proof, draw);
        proof | draw => first;
    }
}

fn main() {}
