//! The labels of a node are of one type.
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
    shop(String) -> String { START => count => <0..=9: few, "many": many, _: many>; }
}

fn main() {}
