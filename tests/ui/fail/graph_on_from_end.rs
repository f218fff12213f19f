//! Nothing leads on from END.
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

workflow! {
    book(Draft) -> Draft { START => proof => END => draw; }
}

fn main() {}
