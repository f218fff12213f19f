//! A place of a join is given something.
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
async fn bind(page: Draft, cover: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => (proof => END, draw) => bind; }
}

fn main() {}
