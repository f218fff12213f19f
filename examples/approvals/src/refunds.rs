//! The workflow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graphweft::Signal;
use graphweft::prelude::*;

/// What is paid back.
#[value]
pub struct Refund {
    /// Who sells.
    pub tenant: String,
    /// What was bought.
    pub order: String,
    /// How much is paid back.
    pub cents: u32,
}

/// Why nothing is paid back.
#[value]
#[derive(Debug)]
pub enum Refusal {
    /// It has no amount.
    Nothing,
    /// By a person.
    Declined,
    /// The bank takes no orders now. It does so later.
    BankIsBusy,
}

/// What the bank sends when the money has arrived.
#[value]
pub struct Settled {
    /// The bank's name for the transfer.
    pub reference: String,
}

/// The bank calls back with it.
pub const SETTLED: Signal<Settled> = Signal::new("settled");

/// How long a bank may take to call back.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What a person has to approve.
const LARGE: u32 = 10_000;

/// What a person says.
#[value]
#[derive(Route)]
pub enum Decision {
    /// Pay.
    Approved(Refund),
    /// Do not.
    Declined(Refusal),
}

/// Stands in for a bank and its client: it pays once for each key.
#[derive(Clone, Debug, Default)]
pub struct Bank {
    /// How long a transfer takes.
    pub takes: Duration,
    paid: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Bank {
    /// One that takes this long.
    pub fn new(takes: Duration) -> Self {
        Bank { takes, ..Bank::default() }
    }

    /// What it has paid, by the keys.
    pub fn paid(&self) -> BTreeMap<String, u32> {
        self.paid.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Errors
    /// If it is busy.
    async fn transfer(&self, key: &str, cents: u32) -> Result<(), Refusal> {
        tokio::time::sleep(self.takes).await;
        self.paid.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), cents);
        Ok(())
    }
}

/// Looks at a refund before a person does.
#[node]
pub async fn check(refund: Refund) -> Result<Refund, Refusal> {
    if refund.cents > 0 { Ok(refund) } else { Err(Refusal::Nothing) }
}

/// Asks a person about a large one. It waits for as long as they take, so it has no time limit.
#[node]
pub async fn decide(refund: Refund, ctx: &Context) -> Decision {
    let is_approved = refund.cents < LARGE || ctx.ask::<bool>("approve", "Pay this back?").payload(&refund).await;
    if is_approved { Decision::Approved(refund) } else { Decision::Declined(Refusal::Declined) }
}

fn may_pass(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::BankIsBusy)
}

/// If the process is stopped meanwhile, or the bank takes too long, the bank is called again. The key is the same then, so it pays
/// once. A bank that takes too long each time fails the run: `approvals-admin retry` continues it when the bank is well.
#[node(retry(max_attempts = 5, when = may_pass), timeout = "30s")]
pub async fn pay(refund: Refund, ctx: &Context, #[resource] bank: &Bank) -> Result<String, Refusal> {
    let key = ctx.idempotency_key();
    bank.transfer(&key, refund.cents).await?;
    Ok(format!("paid back {} cents for {}, as {key}", refund.cents, refund.order))
}

/// Waits until the bank calls back. It may do so before this node has started, and more than once.
#[node]
pub async fn settle(paid: String, ctx: &Context) -> String {
    match ctx.wait(SETTLED).within(PATIENCE).await {
        Ok(settled) => format!("{paid}, settled as {}", settled.reference),
        Err(elapsed) => format!("{paid}, and {elapsed}"),
    }
}

/// Says why not.
#[node]
pub async fn refuse(refusal: Refusal) -> String {
    let why = match refusal {
        Refusal::Nothing => "it has no amount",
        Refusal::Declined => "it was declined",
        Refusal::BankIsBusy => "the bank is busy",
    };
    format!("nothing is paid back: {why}")
}

workflow! {
    /// Small refunds are paid at once, large ones when a person has approved them.
    pub refund(Refund) -> String {
        START => check => <ok: decide, err: refuse>;
        decide => <approved: pay, declined: refuse>;
        pay => <ok: settle, err: refuse>;
    }
}
