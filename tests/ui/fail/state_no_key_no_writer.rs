//! A key is a `StateKey`, and written by a `StateWriter`.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");
const LIMIT: u32 = 9;

#[node]
async fn read(number: u32, #[state(LIMIT)] limit: u32) -> u32 {
    number
}

#[node]
async fn write(number: u32, #[writes(LIMIT)] limit: StateWriter<u32>) -> u32 {
    number
}

#[node]
async fn write_value(number: u32, #[writes(OWNER)] owner: String) -> u32 {
    number
}

#[node]
async fn sound(number: u32, #[may_write(OWNER)] owner: StateWriter<String>) -> u32 {
    number
}

workflow! {
    #[given(LIMIT)]
    shop(u32) -> u32 { START => sound; }
}

fn main() {}
