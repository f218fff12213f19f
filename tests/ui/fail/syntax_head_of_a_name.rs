//! The same of a name alone: whatever it is called with is no mistake.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn pack(order: u32) -> u32 {
    order
}

#[node]
async fn call(order: u32, ctx: &Context) -> u32 {
    ctx.call::<shop>(order).await.unwrap()
}

workflow! {
    pub shop
}

workflow! {
    mall(u32) -> u32 {
        let second = shop(timeout = "1s");
        START => shop => pack => second => call;
    }
}

workflow! {
    malls(Vec<u32>) -> Vec<u32> { START => [shop]; }
}

async fn main_of(engine: Engine) {
    let run = engine.start::<shop>(1).id("first").await.unwrap();
    let packed: u32 = run.result().await.unwrap();
    let packed: u32 = shop(1).await.unwrap();
    let graph = shop::graph();
}

fn main() {}
