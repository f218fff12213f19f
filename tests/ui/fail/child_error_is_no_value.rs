//! An error that a parent gets as a value has to be one.

use graphweft::prelude::*;

#[derive(Debug, Clone, Copy)]
pub struct Declined;

#[value]
#[derive(Debug)]
pub struct Refused;

#[node]
async fn charge(cents: u64) -> Result<u64, Declined> {
    if cents > 0 { Ok(cents) } else { Err(Declined) }
}

#[node]
async fn refund(cents: u64) -> Result<u64, Refused> {
    if cents > 0 { Ok(cents) } else { Err(Refused) }
}

#[node]
async fn pay(cents: u64, ctx: &Context) -> u64 {
    ctx.call::<charge>(cents).await.unwrap_or_default()
}

#[node]
async fn sound(cents: u64, ctx: &Context) -> u64 {
    ctx.call::<refund>(cents).await.unwrap_or_default()
}

workflow! {
    shop(u64) -> u64 { START => pay => sound; }
}

fn main() {}
