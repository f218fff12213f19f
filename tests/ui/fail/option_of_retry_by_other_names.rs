//! Options of a retry as other libraries call them.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(attempts = 3, delay = "1s"))]
async fn charge(cents: u32) -> u32 {
    cents
}

fn main() {}
