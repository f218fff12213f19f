//! An enum has labels where it derives `Route`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
enum Review {
    Redo,
    Good,
}

#[node]
async fn review(draft: String) -> Review {
    unreachable!()
}

#[node]
async fn publish() -> String {
    unreachable!()
}

#[node]
async fn redo() -> String {
    unreachable!()
}

workflow! {
    blog(String) -> String { START => review => <redo: redo, good: publish>; }
}

fn main() {}
