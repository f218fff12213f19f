//! A type is a node where it implements `Node`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order {}

struct Discount {}

impl Node for Discount {
    type Input = Order;
    type Output = Order;
    type Error = Never;

    async fn run(&self, order: Order, _: &Context) -> Result<Order, Never> {
        Ok(order)
    }
}

struct Coupon {}

workflow! {
    shop(Order) -> Order { START => Coupon; }
}

workflow! {
    sound(Order) -> Order { START => Discount; }
}

fn main() {}
