//! START is written in capitals.
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
    small(u32) -> u32 { start => fetch => publish; }
}

#[node]
async fn start(n: u32) -> u32 {
    n
}

workflow! {
    sound(u32) -> u32 { START => start => fetch; }
}

fn main() {}
