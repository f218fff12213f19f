//! The error of a child is recorded as a payload, or as text.

use std::fmt;

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
async fn read(cents: u64) -> Result<u64, fmt::Error> {
    if cents > 0 { Ok(cents) } else { Err(fmt::Error) }
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
async fn tell(cents: u64, ctx: &Context) -> u64 {
    ctx.call::<charge>(cents).key("as text").error_as_text().await.unwrap_or_default()
}

#[node]
async fn sound(cents: u64, ctx: &Context) -> u64 {
    let first = ctx.call::<refund>(cents).await.unwrap_or_default();
    first + ctx.call::<read>(cents).error_as_text().await.unwrap_or_default()
}

workflow! {
    shop(u64) -> u64 { START => pay => tell => sound; }
}

fn main() {}
