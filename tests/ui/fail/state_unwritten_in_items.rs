//! A node inside `[..]` reads what was written around it, or before it for the same item.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(all: Vec<u32>, #[writes(OWNER)] owner: StateWriter<String>) -> Vec<u32> {
    owner.set("Ada".to_owned());
    all
}

#[node]
async fn check(all: Vec<u32>) -> Result<Vec<u32>, String> {
    Ok(all)
}

#[node]
async fn complain(error: String) -> Vec<u32> {
    Vec::new()
}

#[node]
async fn all(all: Vec<u32>) -> Vec<u32> {
    all
}

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn sign(n: u32, #[state(OWNER)] owner: String) -> String {
    format!("{n} for {owner}")
}

workflow! {
    wrong(Vec<u32>) -> Vec<String> {
        START => check => <ok: assign, err: complain>;
        assign => all;
        complain => all => [double => sign];
    }
}

workflow! {
    sound(Vec<u32>) -> Vec<String> { START => assign => [double => sign]; }
}

fn main() {}
