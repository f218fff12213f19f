//! A routed START needs the type of the input.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn cheap(price: u32) -> String {
    unreachable!()
}

#[node]
async fn dear(price: u32) -> String {
    unreachable!()
}

fn main() {
    let _wrong = workflow! { START => <0..=9: cheap, _: dear> };
    let _sound = workflow! { (u32) -> String { START => <0..=9: cheap, _: dear>; } };
}
