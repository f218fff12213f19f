//! A key with a reducer is merged, and one without is set.

use graphweft::prelude::*;
use graphweft::state::{Append, Sum};

const TOTAL: StateKey<u32, Sum> = StateKey::new("total");
const SEEN: StateKey<Vec<u32>, Append> = StateKey::new("seen");
const LAST: StateKey<u32> = StateKey::new("last");

#[node]
async fn add(
    cents: u32,
    #[writes(TOTAL)] total: StateWriter<u32, Sum>,
    #[writes(SEEN)] seen: StateWriter<Vec<u32>, Append>,
    #[writes(LAST)] last: StateWriter<u32>,
) -> u32 {
    total.set(cents);
    seen.set(vec![cents]);
    last.merge(cents);
    cents
}

workflow! {
    pub bill(u32) -> u32 { START => add; }
}

fn main() {}
