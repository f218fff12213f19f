//! A node in `[..]` does not overwrite a key: its items run at the same time.
#![allow(unused)]

use graphweft::prelude::*;
use graphweft::state::Append;

const LAST: StateKey<u32> = StateKey::new("last");
const SEEN: StateKey<Vec<u32>, Append> = StateKey::new("seen");

#[node]
async fn set_last(n: u32, #[writes(LAST)] last: StateWriter<u32>) -> u32 {
    last.set(n);
    n
}

#[node]
async fn note(n: u32, #[writes(SEEN)] seen: StateWriter<Vec<u32>, Append>) -> u32 {
    seen.push(n);
    n
}

workflow! { wrong(Vec<u32>) -> Vec<u32> { START => [set_last]; } }

workflow! { sound(Vec<u32>) -> Vec<u32> { START => [note]; } }

fn main() {}
