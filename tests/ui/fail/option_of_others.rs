//! What other libraries call an option, and what is no option but a parameter.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retries = 3)]
async fn fetch(n: u32) -> u32 {
    n
}

#[node(resource = Pool)]
async fn store(n: u32) -> u32 {
    n
}

#[node(writes(OWNER))]
async fn own(n: u32) -> u32 {
    n
}

#[node(retry(max_attempts = 3))]
async fn sound(n: u32) -> u32 {
    n
}

fn main() {}
