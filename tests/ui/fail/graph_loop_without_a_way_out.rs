//! A loop has a routed way out.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Redo(Draft),
    Good(Draft),
}

#[node]
async fn write(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn review(draft: Draft) -> Review {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => write => review => <redo: write, good: review>; }
}

workflow! {
    sound(Draft) -> Draft { START => write => review => <redo: write, good: END>; }
}

fn main() {}
