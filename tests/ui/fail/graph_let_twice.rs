//! Names are unique in a workflow.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[node]
async fn proof(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft {
        let again = proof();
        let again = proof(timeout = "5s");
        START => proof => again => publish;
    }
}

fn main() {}
