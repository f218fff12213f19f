//! A collecting node returns an `Option`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node(wait_for_output)]
async fn first(draft: Draft) -> Draft {
    unreachable!()
}

#[node(wait_for_output)]
async fn any(draft: Draft) -> Option<Draft> {
    unreachable!()
}

fn main() {}
