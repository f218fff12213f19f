//! Branches that share a place of a join give one type.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
struct Picture;

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
async fn draw(draft: Draft) -> Picture {
    unreachable!()
}

#[node]
async fn scan(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind(picture: Picture, proof: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => (size => <big: draw, small: scan>, proof) => bind; }
}

fn main() {}
