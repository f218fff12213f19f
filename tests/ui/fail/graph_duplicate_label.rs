//! A label is routed once.
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
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn file(draft: Draft) {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => review => <redo: review, good: publish, Good: publish>; }
}

workflow! {
    sound(Draft) -> Draft {
        START => review => <redo: review, good: (publish, file)>;
        publish => END;
    }
}

fn main() {}
