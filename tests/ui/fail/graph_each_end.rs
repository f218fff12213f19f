//! END stands outside `[..]`.
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
    book(Draft) -> Vec<Draft> { START => chapters => [proof => END]; }
}

workflow! {
    sound(Draft) -> Vec<Draft> { START => chapters => [proof] => END; }
}

fn main() {}
