//! A collecting node takes each arrival.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
struct Picture;

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn draw(draft: Draft) -> Picture {
    unreachable!()
}

#[node(collect)]
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
