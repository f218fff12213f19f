//! A node that does not exist in its module.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

mod billing {
    use super::*;
    #[node]
    pub(super) async fn charge(order: Order) -> Order {
        order
    }
}

workflow! {
    shop(Order) -> Order { START => billing::chrage; }
}

workflow! {
    sound(Order) -> Order { START => billing::charge; }
}

fn main() {}
