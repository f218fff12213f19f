//! On every route END is reached.
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
async fn review(draft: Draft) -> Review {
    unreachable!()
}

#[node]
async fn log(draft: Draft) {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => review => <redo: log, good: publish => END>; }
}

workflow! {
    sound(Draft) -> Draft { START => review => <redo: publish, good: publish => END>; }
}

fn main() {}
