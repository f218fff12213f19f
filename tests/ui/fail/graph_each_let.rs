//! A `let` stands outside `[..]`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn chapters(draft: Draft) -> Vec<Draft> {
    unreachable!()
}

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Vec<Draft> { START => chapters => [let again = proof(); again]; }
}

fn main() {}
