//! What stands behind a route map is led to by one of its arms.
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

workflow! {
    blog(Draft) -> Draft { START => review => <redo: review, good: END> => publish; }
}

workflow! {
    sound(Draft) -> Draft { START => review => <redo: review, good: publish> => END; }
}

fn main() {}
