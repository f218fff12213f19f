//! A module that does not exist.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

workflow! {
    shop(Order) -> Order { START => biling::charge; }
}

mod billing {
    use super::*;
    #[node]
    pub(super) async fn charge(order: Order) -> Order {
        order
    }
}

fn main() {}
