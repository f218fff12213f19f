//! Two nodes that may run at the same time do not overwrite one key.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn left(n: u32, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
    owner.set("left".to_owned());
    n
}

#[node]
async fn right(n: u32, #[may_write(OWNER)] owner: StateWriter<String>) -> u32 {
    n
}

#[node]
async fn both(a: u32, b: u32) -> u32 {
    a + b
}

workflow! { wrong(u32) -> u32 { START => (left, right) => both; } }

workflow! { sound(u32) -> u32 { START => left => right; } }

fn main() {}
