//! A writer has the reducer of its key.
#![allow(unused)]

use graphweft::prelude::*;
use graphweft::state::Sum;

const COST: StateKey<f64, Sum> = StateKey::new("cost");

#[node]
async fn pay(#[writes(COST)] cost: StateWriter<f64>) {
    cost.set(0.5);
}

#[node]
async fn sound(#[writes(COST)] cost: StateWriter<f64, Sum>) {
    cost.merge(0.5);
}

fn main() {}
