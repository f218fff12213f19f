//! A node that does not exist, with the name that was meant.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => chrage => ship; }
}

workflow! {
    sound(Order) -> String { START => charge => ship; }
}

fn main() {}
