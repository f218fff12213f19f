//! A node of a pool asks, calls and waits for nothing: its run is elsewhere.
#![allow(unused)]

use std::time::Duration;

use graphweft::prelude::*;

#[node]
async fn load(text: String) -> usize {
    text.len()
}

#[node(pool = "gpu")]
async fn embed(text: String, ctx: &PoolContext) -> usize {
    let meant: bool = ctx.ask("meant", "Is this text meant?").await;
    let key = ctx.step("key", || async { 7_u32 }).await;
    let loaded = ctx.call::<load>(text).await;
    ctx.sleep(Duration::from_secs(1)).await;
    0
}

#[node(pool = "gpu")]
async fn sound(text: String, ctx: &PoolContext) -> usize {
    ctx.progress(ctx.attempt());
    ctx.message(ctx.idempotency_key());
    text.len()
}

fn main() {}
