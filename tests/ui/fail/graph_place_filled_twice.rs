//! A place of a join is filled once.
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
async fn draw(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn print(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn bind(page: Draft, cover: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft {
        START => print;
        (START => size => <big: (proof, draw), small: proof>, print) => bind;
    }
}

fn main() {}
