//! A join takes its branches in order.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
struct Picture;

#[node]
async fn draw(draft: Draft) -> Picture {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind(picture: Picture, proof: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => (proof, draw) => bind; }
}

workflow! {
    sound(Draft) -> Draft { START => (draw, proof) => bind; }
}

fn main() {}
