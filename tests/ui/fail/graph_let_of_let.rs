//! A `let` names a node, not another `let`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        let again = proof();
        let thrice = again();
        START => proof => again => thrice;
    }
}

fn main() {}
