//! A route map stands behind a node.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => publish; <ok: publish, err: refuse>; }
}

fn main() {}
