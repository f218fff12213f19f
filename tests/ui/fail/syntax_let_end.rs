//! START and END have a meaning already.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn fetch(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        let END = fetch();
        START => fetch => END;
    }
}

fn main() {}
