//! Attributes of a node's parameters stay, and patterns are patterns.

use graphweft::prelude::*;

#[value]
struct Pair {
    one: u8,
    other: u8,
}

#[node]
async fn add(Pair { one, other }: Pair, #[allow(unused)] more: u8, mut sum: u8, _: u8) -> u8 {
    sum += one + other;
    sum
}

#[node]
async fn pair(n: u8) -> Pair {
    Pair { one: n, other: n }
}

#[node]
async fn keep(n: u8) -> u8 {
    n
}

workflow! {
    shop(u8) -> u8 {
        let second = keep();
        let third = keep();
        START => (pair, keep, second, third) => add;
    }
}
