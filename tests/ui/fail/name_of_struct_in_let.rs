//! A value in a `let` is a node.
#![allow(unused)]

use graphweft::prelude::*;

struct Coupon {
    percent: u8,
}

#[node]
async fn charge(price: u64) -> u64 {
    unreachable!()
}

workflow! {
    shop(u64) -> u64 {
        let coupon = Coupon { percent: 10 };
        START => charge => coupon;
    }
}

fn main() {}
