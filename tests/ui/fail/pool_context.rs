//! A node of a pool may run elsewhere: it has a context without requests.
#![allow(unused)]

use graphweft::prelude::*;

#[node(pool = "gpu")]
async fn embed(text: String, ctx: &Context) -> usize {
    text.len()
}

#[node]
async fn count(text: String, ctx: &PoolContext) -> usize {
    text.len()
}

#[node(pool = "gpu")]
async fn sound(text: String, ctx: &PoolContext) -> usize {
    text.len()
}

fn main() {}
