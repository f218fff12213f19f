//! A place of a group holds one value.
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
async fn print(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn page(text: Draft, picture: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind(page: Draft, cover: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => ((proof, draw), print) => bind; }
}

workflow! {
    sound(Draft) -> Draft { START => ((proof, draw) => page, print) => bind; }
}

fn main() {}
