//! An engine starts workflows.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => charge; }
}

async fn sound(engine: &Engine, order: Order) {
    let _ = engine.start::<shop>(order).await;
}

async fn wrong(engine: &Engine, order: Order) {
    let _ = engine.start::<charge>(order).await;
}

fn main() {}
