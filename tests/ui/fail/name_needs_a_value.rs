//! A node with fields is given by a `let`.
#![allow(unused)]

use graphweft::prelude::*;

struct Discount {
    percent: u8,
}

impl Node for Discount {
    type Input = u64;
    type Output = u64;
    type Error = Never;

    async fn run(&self, price: u64, _: &Context) -> Result<u64, Never> {
        Ok(price)
    }
}

workflow! {
    shop(u64) -> u64 { START => Discount; }
}

workflow! {
    sound(u64) -> u64 {
        let discount = Discount { percent: 5 };
        START => discount;
    }
}

fn main() {}
