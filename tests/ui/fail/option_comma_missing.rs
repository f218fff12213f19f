//! Options are separated by `,`.
#![allow(unused)]

use graphweft::prelude::*;

#[node(at_most_once timeout = "3s")]
async fn ship(order: String) -> String {
    order
}

fn main() {}
