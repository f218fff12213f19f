//! `max_parallel` limits items, and nodes of a nested workflow: a node outside of `[..]` has neither.

use graphweft::prelude::*;

#[node]
async fn numbers(n: u32) -> Vec<u32> {
    vec![n; 3]
}

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn total(numbers: Vec<u32>) -> u32 {
    numbers.iter().sum()
}

workflow! {
    totals(u32) -> u32 {
        let double = double(max_parallel = 2);
        let total = total(timeout = "1s", max_parallel = 2);
        START => numbers => [double] => total;
    }
}

fn main() {}
