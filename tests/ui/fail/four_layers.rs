//! One mistake of each layer, all told in one compile: syntax, graph, name, type.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[value]
struct Receipt;

#[node]
async fn charge(order: Order) -> Receipt {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

#[node]
async fn thank(receipt: Receipt) -> String {
    unreachable!()
}

#[node]
async fn file(receipt: Receipt) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String {
        START => charge => ship => END;
        charge => thnak;
        charge -> file;
        refund => restock;
    }
}
#[node]
async fn restock() -> String {
    unreachable!()
}

#[node]
async fn refund() -> String {
    unreachable!()
}

fn main() {}
