//! In expression position names are checked as well.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn ship(order: Order) -> u64 {
    unreachable!()
}

fn main() {
    let _wrong = workflow! { START => shipp };
}
