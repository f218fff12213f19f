//! A route map goes by the label of one node.
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
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn page(text: Draft, picture: Draft) -> Result<Draft, String> {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => (proof, draw) => <ok: publish, err: refuse>; }
}

workflow! {
    sound(Draft) -> Draft { START => (proof, draw) => page => <ok: publish, err: refuse>; }
}

fn main() {}
