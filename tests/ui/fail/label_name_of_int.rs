//! A number has no labels with names.
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
    shop(String) -> String { START => count => <few: few, many: many>; }
}

workflow! {
    sound(String) -> String { START => count => <0..=9: few, _: many>; }
}

fn main() {}
