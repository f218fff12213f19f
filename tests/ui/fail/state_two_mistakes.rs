//! Two mistakes with two keys are both named.
#![allow(unused)]

use graphweft::prelude::*;

const OWNER: StateKey<String> = StateKey::new("owner");
const COLOR: StateKey<u32> = StateKey::new("color");
const TITLE: StateKey<u32> = StateKey::new("title");

#[node]
async fn left(n: u32, #[writes(COLOR)] color: StateWriter<u32>) -> u32 {
    color.set(n);
    n
}

#[node]
async fn right(n: u32, #[writes(COLOR)] color: StateWriter<u32>) -> u32 {
    color.set(n);
    n
}

#[node]
async fn both(left: u32, right: u32, #[state(OWNER)] owner: String) -> u32 {
    left
}

#[node]
async fn print(n: u32, #[state(TITLE)] title: u32, #[state(OWNER)] owner: String) -> u32 {
    n
}

workflow! { wrong(u32) -> u32 { START => (left, right) => both => print; } }

fn main() {}
