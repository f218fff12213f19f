//! A keyword of Rust is no name for a node.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn fetch(n: u32) -> u32 {
    n
}

workflow! {
    named(u32) -> u32 { let type = fetch(); START => fetch => type => END; }
}

workflow! {
    sound(u32) -> u32 { let kind = fetch(); START => fetch => kind => END; }
}

fn main() {}
