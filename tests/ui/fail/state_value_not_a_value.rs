//! The state is recorded, and so is each value of it.
#![allow(unused)]

use graphweft::prelude::*;

struct Ledger;

#[value]
struct Page;

const LEDGER: StateKey<Ledger> = StateKey::new("ledger");

#[node]
async fn read(number: u32, #[state(LEDGER)] ledger: Option<Ledger>) -> u32 {
    number
}

#[node]
async fn read_by_name(number: u32, #[state] ledger: Ledger) -> u32 {
    number
}

#[node]
async fn sound(number: u32, #[state] page: Option<Page>) -> u32 {
    number
}

fn main() {}
