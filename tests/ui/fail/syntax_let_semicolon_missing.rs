//! A `let` ends with `;`.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn fetch(n: u32) -> u32 {
    n
}

#[node]
async fn publish(n: u32) -> u32 {
    n
}

workflow! {
    named(u32) -> u32 { let again = fetch(timeout = "5s") START => fetch => again; }
}

workflow! {
    sound(u32) -> u32 { let again = fetch(timeout = "5s"); START => fetch => again; }
}

fn main() {}
