//! A node owns what it reads from the state, and its writers.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn read(number: u32, #[state(OWNER)] owner: &String) -> u32 {
    number
}

#[node]
async fn read_by_name(number: u32, #[state] owner: &str) -> u32 {
    number
}

#[node]
async fn write(number: u32, #[writes(OWNER)] owner: &mut StateWriter<String>) -> u32 {
    number
}

#[node]
async fn sound(number: u32, #[state(OWNER)] name: Option<String>, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
    number
}

fn main() {}
