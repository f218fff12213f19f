//! A literal label is of the type that the node gives.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn count(text: String) -> u8 {
    unreachable!()
}

#[node]
async fn few() -> String {
    unreachable!()
}

#[node]
async fn many() -> String {
    unreachable!()
}

workflow! {
    shop(String) -> String { START => count => <"few": few, _: many>; }
}

fn main() {}
