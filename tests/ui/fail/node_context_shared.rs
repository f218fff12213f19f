//! The context is borrowed, and not shared.
#![allow(unused)]

use graphweft::prelude::*;

use std::sync::Arc;

#[node]
async fn charge(n: u32, ctx: Arc<Context>) -> u32 {
    n
}

#[node]
async fn sound(n: u32, ctx: &Context) -> u32 {
    n
}

fn main() {}
