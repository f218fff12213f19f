//! A parameter reads one key or writes one.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(#[state(OWNER)] #[writes(OWNER)] owner: StateWriter<String>) {
    owner.set("Ada".to_owned());
}

#[node]
async fn sound(#[state(OWNER)] before: String, #[writes(OWNER)] owner: StateWriter<String>) {
    owner.set(before.to_uppercase());
}

fn main() {}
