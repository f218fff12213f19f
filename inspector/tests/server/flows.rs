//! Workflows that a server inspects.

use graphweft::prelude::*;
use graphweft::{EngineBuilder, Signal, StateKey};

#[value]
pub(crate) struct Refund {
    pub(crate) order: String,
    pub(crate) cents: u32,
}

pub(crate) const NOTE: StateKey<String> = StateKey::new("note");
pub(crate) const PAID: Signal<u32> = Signal::new("paid");
pub(crate) const ADDRESS: Signal<Address> = Signal::new("address");

#[value]
pub(crate) struct Address {
    pub(crate) street: String,
    pub(crate) number: u32,
}

/// Decides whether it is paid back.
#[node]
async fn decide(refund: Refund, ctx: &Context, #[writes(NOTE)] note: StateWriter<String>) -> Result<u32, String> {
    ctx.message(format!("order {}", refund.order));
    ctx.note("refund", &refund);
    note.set(refund.order.clone());
    if refund.cents < 1000 || ctx.ask::<Decision>("approve", "Pay this back?").payload(&refund).await.fine {
        Ok(refund.cents)
    } else {
        Err("declined".to_owned())
    }
}

#[value]
pub(crate) struct Decision {
    pub(crate) fine: bool,
    pub(crate) reason: String,
}

#[node]
async fn pay(cents: u32) -> Result<String, std::io::Error> {
    if cents == 13 { Err(std::io::Error::other("the bank does not like 13")) } else { Ok(format!("paid {cents}")) }
}

#[node]
async fn decline(why: String) -> String {
    why
}

workflow! {
    /// Pays back.
    pub(crate) refund(Refund) -> String { START => decide => <ok: pay, err: decline>; }
}

#[node]
async fn wait_for_it(due: u32, ctx: &Context) -> u32 {
    ctx.wait(PAID).await + due
}

workflow! {
    pub(crate) invoice(u32) -> u32 { START => wait_for_it; }
}

#[node]
async fn send_to(parcel: String, ctx: &Context) -> String {
    let Address { street, number } = ctx.wait(ADDRESS).await;
    let number = ctx.call::<doubled>(number).await.unwrap_or_default();
    format!("{parcel} to {street} {number}")
}

#[node]
async fn double(n: u32) -> u32 {
    2 * n
}

workflow! {
    pub(crate) doubled(u32) -> u32 { START => double; }
}

workflow! {
    pub(crate) parcel(String) -> String { START => send_to; }
}

#[node]
async fn many(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn one(n: u32) -> u32 {
    n + 1
}

#[node]
async fn count(all: Vec<u32>) -> usize {
    all.len()
}

workflow! {
    pub(crate) wide(u32) -> usize { START => many => [one] => count; }
}

/// Repeats a text in everything that a user writes.
#[node]
async fn echo(text: String, ctx: &Context) -> Result<String, std::io::Error> {
    ctx.message(text.clone());
    ctx.note(text.clone(), &text);
    let stepped = ctx.step(text.clone(), || async { Ok::<u32, String>(1) }).key(text.clone()).await;
    stepped.map_err(|error| std::io::Error::other(error.to_string()))?;
    let said = ctx.ask::<String>(text.clone(), text.clone()).await;
    if said == "fail" { Err(std::io::Error::other(text)) } else { Ok(said) }
}

workflow! {
    pub(crate) echoes(String) -> String { START => echo; }
}

/// Says much.
#[node]
async fn talk(messages: u32, ctx: &Context) -> u32 {
    for at in 0..messages {
        ctx.message(format!("{at} {}", "x".repeat(100_000)));
    }
    messages
}

workflow! {
    pub(crate) talks(u32) -> u32 { START => talk; }
}

/// Fails with an error of so many characters.
#[node]
async fn fail(characters: usize) -> Result<usize, std::io::Error> {
    Err(std::io::Error::other(format!("it is long: {}", "x".repeat(characters))))
}

workflow! {
    pub(crate) fails(usize) -> usize { START => fail; }
}

pub(crate) fn register(builder: EngineBuilder) -> Engine {
    let builder = builder.register::<refund>().register::<invoice>().register::<wide>().register::<echoes>();
    let builder = builder.register::<talks>().register::<parcel>().register::<fails>();
    builder.build().unwrap()
}

pub(crate) fn engine() -> Engine {
    register(Engine::builder())
}
