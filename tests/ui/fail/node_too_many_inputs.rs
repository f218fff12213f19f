//! The inputs of a node are recorded as a tuple, and serde reads those of up to 16.
#![allow(unused, clippy::too_many_arguments)]

use graphweft::prelude::*;

#[node]
async fn sum(
    a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8, j: u8, k: u8, l: u8, m: u8, n: u8, o: u8, p: u8,
    q: u16,
) -> u8 {
    a
}

fn main() {}
