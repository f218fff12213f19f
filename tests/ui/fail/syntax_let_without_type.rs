//! A node by value is a struct literal or has its type written.
#![allow(unused)]

use graphweft::prelude::*;

struct Discount { percent: u8 }

impl Discount {
    fn of(percent: u8) -> Self {
        Discount { percent }
    }

    fn halved(self) -> Discount {
        Discount { percent: self.percent / 2 }
    }
}

impl Node for Discount {
    type Input = u64;
    type Output = u64;
    type Error = Never;

    async fn run(&self, price: u64, _: &Context) -> Result<u64, Never> {
        Ok(price - price * u64::from(self.percent) / 100)
    }
}

workflow! {
    shop(u64) -> u64 {
        let discount = Discount::of(10).halved();
        START => discount;
    }
}

workflow! {
    sound(u64) -> u64 {
        let discount: Discount = Discount::of(10).halved();
        let again = Discount::of(10);
        let rest = Discount { percent: 5 };
        START => discount => again => rest;
    }
}

fn main() {}
