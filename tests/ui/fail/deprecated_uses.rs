//! What is deprecated is reported where it is used, and not where it is.
#![allow(unused)]
#![deny(deprecated)]

use graphweft::prelude::*;

#[deprecated(note = "call `pack`")]
#[node]
async fn wrap(order: u32) -> u32 {
    order
}

#[node(timeout = "3s")]
#[deprecated]
async fn weigh(order: u32, #[resource] scale: &String) -> Result<u32, std::io::Error> {
    Ok(order)
}

#[node]
async fn pack(order: u32) -> u32 {
    order
}

workflow! {
    #[deprecated(note = "run `mall`")]
    shop(u32) -> u32 { START => wrap => weigh => pack; }
}

workflow! {
    mall(u32) -> u32 {
        let second = wrap(timeout = "1s");
        START => shop => second => weigh;
    }
}

workflow! {
    #[allow(deprecated)]
    old(u32) -> u32 { START => wrap => shop; }
}

async fn run() {
    shop(1).await;
}

fn main() {}
