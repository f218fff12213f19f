//! A type without `#[value]` is one error at the node that takes it, and none in the workflows that use the node.
#![allow(unused)]

use graphweft::prelude::*;

struct Order;

#[value]
struct Receipt;

#[node]
async fn charge(order: Order) -> Receipt {
    unreachable!()
}

#[node]
async fn thank(receipt: Receipt) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => charge => thank; }
}

workflow! {
    sound(Receipt) -> String { START => thank; }
}

fn main() {
    let flow = workflow! { START => charge => thank };
    let result = graphweft::block_on(shop(Order));
}
