//! A node of another module is visible.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

mod billing {
    use super::*;
    #[node]
    async fn charge(order: Order) -> Order {
        order
    }
    #[node]
    pub async fn pay(order: Order) -> Order {
        order
    }
}

workflow! {
    shop(Order) -> Order { START => billing::charge; }
}

workflow! {
    sound(Order) -> Order { START => billing::pay; }
}

fn main() {}
