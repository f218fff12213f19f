//! Statements are separated by `;`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn pack(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        START => price => pack
        pack => ship;
    }
}

workflow! {
    sound(Order) -> Order {
        START => price => pack;
        pack => ship;
    }
}

fn main() {}
