//! A `let` is led to.
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
        START => proof => publish;
    }
}

workflow! {
    sound(Draft) -> Draft {
        let again = proof();
        START => proof => again => publish;
    }
}

fn main() {}
