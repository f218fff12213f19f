//! A struct in an expression is a node if it implements `Node`, as in an item.
#![allow(unused)]

use graphweft::prelude::*;

struct Coupon {
    percent: u8,
}

struct Half;

impl Node for Half {
    type Input = u64;
    type Output = u64;
    type Error = Never;

    async fn run(&self, price: u64, _: &Context) -> Result<u64, Never> {
        Ok(price / 2)
    }
}

#[node]
async fn charge(price: u64) -> u64 {
    price
}

fn main() {
    let last = workflow! { START => charge => Coupon };
    let first = workflow! { START => Coupon => charge };
    let named = workflow! { let coupon = Coupon { percent: 10 }; START => charge => coupon };
    let sound = workflow! { START => charge => Half };
}
