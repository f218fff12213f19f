//! A value is read back from its record, and borrows nothing.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order {
    name: &'static str,
}

#[value]
#[derive(Debug)]
enum Part<'a> {
    Whole(&'a str),
}

#[value]
struct Sound {
    name: String,
    #[serde(skip)]
    kind: &'static str,
}

#[node]
async fn charge(order: Order) -> Part<'static> {
    unreachable!()
}

fn main() {}
