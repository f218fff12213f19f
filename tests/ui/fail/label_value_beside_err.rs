//! Beside `err` stand the labels of the value, all of them.
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
async fn review(draft: Draft) -> Result<Review, String> {
    unreachable!()
}

#[node]
async fn publish(draft: Draft) -> String {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> String {
    unreachable!()
}

workflow! {
    blog(Draft) -> String { START => review => <good: publish, err: refuse>; }
}

workflow! {
    sound(Draft) -> String { START => review => <good: publish, redo: review, err: refuse>; }
}

fn main() {}
