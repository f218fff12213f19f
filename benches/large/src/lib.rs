//! A graph of a thousand nodes. A package of its own, so that the others are compiled without it, and without debug
//! information: a thousand `let`s are a thousand scopes in one another, which LLVM describes by recursion, and its stack
//! does not hold that many.

use graphweft::prelude::*;

#[node]
async fn add_one(n: u64) -> u64 {
    std::hint::black_box(n) + 1
}

include!(concat!(env!("OUT_DIR"), "/chain_of_1000.rs"));
