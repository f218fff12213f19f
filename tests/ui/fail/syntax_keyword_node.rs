//! A keyword is no node.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn r#match(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => price => match; }
}

workflow! {
    sound(Order) -> Order { START => price => r#match; }
}

fn main() {}
