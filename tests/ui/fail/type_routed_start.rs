//! Where START is routed, its labels are those of the input.
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
    shop(Request) -> String { START => <buy: buy, return: buy>; }
}

workflow! {
    sound(Request) -> String { START => <buy: buy, return: take_back>; }
}

fn main() {}
