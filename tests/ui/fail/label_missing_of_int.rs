//! Every number is routed.
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
    shop(String) -> String { START => count => <0..=9: few, 10..=99: many>; }
}

workflow! {
    sound(String) -> String { START => count => <0..=9: few, 10..: many>; }
}

fn main() {}
