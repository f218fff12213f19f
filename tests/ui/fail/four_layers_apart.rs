//! One mistake of each layer, each in a workflow of its own, all told in one compile.
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
async fn check(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn pack(order: Order) -> Order {
    unreachable!()
}

workflow! {
    syntax(Order) -> String { START => charge => => thank; }
}

workflow! {
    graph(Order) -> Order { START => check => pack => check; }
}

workflow! {
    name(Order) -> String { START => charge => thnak; }
}

workflow! {
    types(Order) -> String { START => charge => ship; }
}

workflow! {
    sound(Order) -> String { START => charge => thank; }
}

fn main() {}
