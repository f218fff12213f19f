//! A node is safe to run.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async unsafe fn ship(order: String) -> String {
    order
}

fn main() {}
