//! A writer has the type of its key.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(#[writes(OWNER)] owner: StateWriter<u32>) {
    owner.set(7);
}

#[node]
async fn sound(#[writes(OWNER)] owner: StateWriter<String>) {
    owner.set("Ada".to_owned());
}

fn main() {}
