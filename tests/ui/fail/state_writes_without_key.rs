//! What is written is a key.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(#[writes] owner: StateWriter<String>) {
    owner.set("Ada".to_owned());
}

#[node]
async fn sound(#[writes(OWNER)] owner: StateWriter<String>) {
    owner.set("Ada".to_owned());
}

fn main() {}
