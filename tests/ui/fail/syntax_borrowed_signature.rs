//! A workflow owns what it takes and gives.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn ship(order: String) -> String {
    unreachable!()
}

workflow! {
    shop(&str) -> String { START => ship; }
}

workflow! {
    sound(String) -> String { START => ship; }
}

fn main() {}
