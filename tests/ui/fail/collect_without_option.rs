//! A collecting node returns an `Option`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node(collect)]
async fn first(draft: Draft) -> Draft {
    unreachable!()
}

#[node(collect)]
async fn any(draft: Draft) -> Option<Draft> {
    unreachable!()
}

fn main() {}
