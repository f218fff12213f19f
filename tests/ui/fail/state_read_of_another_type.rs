//! A parameter that reads a key has the type of the key.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn who(#[state(OWNER)] owner: u32) -> u32 {
    owner
}

#[node]
async fn sound(#[state(OWNER)] owner: String, #[state(OWNER)] if_any: Option<String>) -> String {
    owner
}

fn main() {}
