//! A node of a pool asks, calls and waits for nothing: its run is elsewhere.
#![allow(unused)]

use std::time::Duration;

use graphweft::Signal;
use graphweft::prelude::*;
use graphweft::scope::User;

const PAID: Signal<u64> = Signal::new("paid");

#[node]
async fn load(text: String) -> usize {
    text.len()
}

workflow! { loading(String) -> usize { START => load; } }

#[node(pool = "gpu")]
async fn embed(text: String, ctx: &PoolContext) -> usize {
    let meant: bool = ctx.ask("meant", "Is this text meant?").await;
    let key = ctx.step("key", || async { Ok::<u32, String>(7) }).await;
    let capture = ctx.step_with("capture", |step| async move { Ok::<u32, String>(step.attempt()) }).await;
    let cents = ctx.wait(PAID).within(Duration::from_secs(1)).await;
    let loaded = ctx.call::<load>(text).await;
    let begun = ctx.start::<loading>("a".to_owned()).await;
    let user = ctx.scope(User).await;
    ctx.sleep(Duration::from_secs(1)).await;
    ctx.start_over::<loading>("a".to_owned()).await
}

#[node(pool = "gpu")]
async fn sound(text: String, ctx: &PoolContext) -> usize {
    ctx.progress(ctx.attempt());
    ctx.message(ctx.idempotency_key());
    text.len()
}

fn main() {}
