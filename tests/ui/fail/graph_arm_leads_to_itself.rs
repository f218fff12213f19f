//! An arm does not lead on to its own target.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Draft;

#[value]
#[derive(Route)]
enum Review {
    Long(Draft),
    Good(Draft),
}

#[node]
async fn review(draft: Draft) -> Review {
    unreachable!()
}

#[node]
async fn shorten(draft: Draft) -> Draft {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> Draft {
    unreachable!()
}

workflow! {
    blog(Draft) -> Draft { START => review => <long: shorten, good: publish> => publish; }
}

workflow! {
    sound(Draft) -> Draft { START => review => <long: shorten => publish, good: publish>; }
}

fn main() {}
