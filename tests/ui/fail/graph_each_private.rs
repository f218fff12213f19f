//! What stands inside `[..]` is private.
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

#[node]
async fn bind(chapters: Vec<Draft>) -> Draft {
    unreachable!()
}

workflow! {
    book(Draft) -> Draft { START => proof => chapters => [proof] => bind; }
}

workflow! {
    sound(Draft) -> Draft {
        let proof_chapter = proof();
        START => proof => chapters => [proof_chapter] => bind;
    }
}

fn main() {}
