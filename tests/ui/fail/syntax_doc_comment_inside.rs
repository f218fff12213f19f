//! A doc comment documents the workflow, not a statement.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        START => price;
        /// Off it goes.
        price => ship;
    }
}

workflow! {
    /// Off it goes.
    sound(Order) -> Order {
        START => price;
        // Off it goes.
        price => ship;
    }
}

fn main() {}
