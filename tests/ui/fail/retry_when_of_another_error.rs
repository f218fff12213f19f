//! `when` takes the node's error.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Problem;

#[value]
struct Other;

fn is_transient(_: &Problem) -> bool {
    true
}

#[node(retry(max_attempts = 3, when = is_transient))]
async fn sound() -> Result<u8, Problem> {
    Ok(1)
}

#[node(retry(max_attempts = 3, when = is_transient))]
async fn wrong() -> Result<u8, Other> {
    Ok(1)
}

fn main() {}
