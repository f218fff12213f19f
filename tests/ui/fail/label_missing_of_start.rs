//! Where START is routed, every label of the input is.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Request {
    Buy(u64),
    Return(String),
}

#[node]
async fn buy(price: u64) -> String {
    unreachable!()
}

#[node]
async fn take_back(why: String) -> String {
    unreachable!()
}

workflow! {
    shop(Request) -> String { START => <buy: buy>; }
}

fn main() {}
