//! Workflows that clients call.

use std::sync::Arc;

use graphweft::Signal;
use graphweft::prelude::*;
use tokio::sync::Semaphore;

#[value]
pub(crate) struct Decision {
    pub(crate) fine: bool,
    pub(crate) cents: Option<u32>,
}

/// Asks.
#[node]
async fn decide(order: String, ctx: &Context) -> String {
    let decision = ctx.ask::<Decision>("fine", format!("Order {order}?")).await;
    format!("{order}: {} {:?}", decision.fine, decision.cents)
}

workflow! {
    /// Asks a person.
    pub(crate) decided(String) -> String { START => decide; }
}

/// Continues when it may.
#[node]
async fn hold(#[resource] gate: &Gate) -> u32 {
    gate.0.acquire().await.expect("it is not closed").forget();
    7
}

/// What `held` waits for.
pub(crate) struct Gate(pub(crate) Arc<Semaphore>);

workflow! {
    pub(crate) held() -> u32 { START => hold; }
}

pub(crate) const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn who(#[state(OWNER)] owner: String) -> String {
    owner
}

workflow! {
    #[given(OWNER)]
    pub(crate) owned() -> String { START => who; }
}

pub(crate) const PAID: Signal<u32> = Signal::new("paid");

#[node]
async fn wait_for_it(due: u32, ctx: &Context) -> u32 {
    ctx.wait(PAID).await + due
}

workflow! {
    pub(crate) invoice(u32) -> u32 { START => wait_for_it; }
}

#[node]
async fn sum(numbers: Vec<u32>) -> u32 {
    numbers.into_iter().sum()
}

workflow! {
    /// Has the name of the other tool.
    pub(crate) answer(Vec<u32>) -> u32 { START => sum; }
}

/// An engine, and what lets `held` continue.
pub(crate) fn engine() -> (Engine, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let builder = Engine::builder().resource(Gate(Arc::clone(&gate))).register::<decided>().register::<held>();
    let engine = builder.register::<owned>().register::<invoice>().register::<answer>().build().unwrap();
    (engine, gate)
}
