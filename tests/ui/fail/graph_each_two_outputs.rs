//! `[..]` gives one value for each item.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn chapters(draft: Draft) -> Vec<Draft> {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn draw(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn page(text: Draft, picture: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn open(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Vec<Draft> { START => chapters => [open => (proof, draw)]; }
}

fn main() {}
