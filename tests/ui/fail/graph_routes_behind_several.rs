//! A route map stands behind one node.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Size {
    Big(Draft),
    Small(Draft),
}

#[node]
async fn size(draft: Draft) -> Size {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn read(draft: Draft) -> Draft {
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
    book(Draft) -> Draft { START => size => <big: proof, small: read> => <ok: publish, err: refuse>; }
}

fn main() {}
