//! One node gives one label.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn proof(draft: Draft) -> Result<Draft, String> {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => proof => <ok: <ok: publish, err: refuse>, err: refuse>; }
}

fn main() {}
