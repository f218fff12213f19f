//! A duration is a number.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(initial_delay = "soon"))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
