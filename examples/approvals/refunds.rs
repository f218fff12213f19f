//! The workflow.

use std::time::Duration;

use graphweft::Signal;
use graphweft::prelude::*;

#[value]
pub(crate) struct Refund {
    pub(crate) tenant: String,
    pub(crate) order: String,
    pub(crate) cents: u32,
}

/// What the bank tells when the money has arrived.
#[value]
pub(crate) struct Settled {
    pub(crate) reference: String,
}

/// The bank calls back with it.
pub(crate) const SETTLED: Signal<Settled> = Signal::new("settled");

/// How long a bank may take to call back.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[value]
#[derive(Route)]
enum Decision {
    Approved(Refund),
    Declined(Refund),
}

/// What a person has to approve.
const LARGE: u32 = 10_000;

#[node]
async fn decide(refund: Refund, ctx: &Context) -> Decision {
    let is_approved = refund.cents < LARGE || ctx.ask::<bool>("approve", "Pay this back?").payload(&refund).await;
    if is_approved { Decision::Approved(refund) } else { Decision::Declined(refund) }
}

/// Stands in for the client of a bank.
pub(crate) struct Bank {
    pub(crate) takes: Duration,
}

impl Bank {
    async fn transfer(&self, key: &str, refund: &Refund) -> String {
        tokio::time::sleep(self.takes).await;
        format!("paid back {} cents for {}, as {key}", refund.cents, refund.order)
    }
}

/// If the process is stopped meanwhile, the next one calls the bank again. The key is the same then, so a bank that
/// deduplicates by it pays once.
#[node]
async fn pay(refund: Refund, ctx: &Context, #[resource] bank: &Bank) -> String {
    bank.transfer(&ctx.idempotency_key(), &refund).await
}

/// Waits until the bank calls back. It may do so before this node has started, and more than once.
#[node]
async fn settle(paid: String, ctx: &Context) -> String {
    match ctx.wait(SETTLED).within(PATIENCE).await {
        Ok(settled) => format!("{paid}, settled as {}", settled.reference),
        Err(elapsed) => format!("{paid}, and {elapsed}"),
    }
}

#[node]
async fn decline(refund: Refund) -> String {
    format!("nothing is paid back for {}", refund.order)
}

workflow! {
    /// Small refunds are paid at once, large ones when a person has approved them.
    pub(crate) refund(Refund) -> String {
        START => decide => <approved: pay, declined: decline>;
        pay => settle;
    }
}
