//! A name alone is neither a head nor a statement.
#![allow(unused)]

use graphweft::prelude::*;

workflow! { checkout }

async fn run() {
    let receipt: u32 = checkout(1).await.unwrap();
}

fn main() {}
