//! The workflows whose logs are mutated: one for each thing that a record can tell of. A node writes down that it was
//! executed, and does not mind what it is given.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::state::{Append, Sum};
use graphweft::{EngineBuilder, Json};

use crate::ledger::Ledger;

const CALLS: StateKey<u64, Sum> = StateKey::new("calls");
const SEEN: StateKey<Vec<u64>, Append> = StateKey::new("seen");
const LAST: StateKey<u64> = StateKey::new("last");

/// Names and inputs; those of `falls` and `asks` need somebody who helps them to their end.
pub(crate) const FLOWS: [(&str, u64); 11] = [
    ("chain", 1),
    ("arms", 4),
    ("arms", 50),
    ("turns", 0),
    ("items", 3),
    ("nested", 1),
    ("gathers", 1),
    ("tries", 1),
    ("writes", 2),
    ("asks", 1),
    ("falls", 1),
];

/// An engine that knows them all.
pub(crate) fn engine(ledger: Ledger) -> EngineBuilder {
    Engine::builder()
        .resource(ledger)
        .register::<chain>()
        .register::<arms>()
        .register::<turns>()
        .register::<items>()
        .register::<nested>()
        .register::<gathers>()
        .register::<tries>()
        .register::<writes>()
        .register::<asks>()
        .register::<falls>()
}

/// Their graphs, as JSON.
pub(crate) fn graphs() -> Vec<Json> {
    let graphs = [arms::graph(), turns::graph(), items::graph(), nested::graph(), gathers::graph(), writes::graph()];
    graphs.iter().map(|graph| serde_json::to_value(graph).unwrap_or_default()).collect()
}

#[node]
async fn more(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.node(ctx);
    n.wrapping_add(1)
}

#[node]
async fn sum(a: u64, b: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.node(ctx);
    a.wrapping_add(b)
}

workflow! {
    pub(crate) chain(u64) -> u64 {
        let second = more();
        let third = more();
        START => more => second => third;
    }
}

#[node]
async fn even(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    ledger.node(ctx);
    if n.is_multiple_of(2) { Ok(n) } else { Err(n.to_string()) }
}

#[node]
async fn length(text: String, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.node(ctx);
    text.len() as u64
}

#[node]
async fn with_either(n: u64, small: Option<u64>, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.node(ctx);
    n.wrapping_add(small.unwrap_or(1000))
}

workflow! {
    pub(crate) arms(u64) -> u64 {
        let size = more();
        let small = more();
        let large = more();
        START => (even, size);
        even => <ok: more, err: length> => kept;
        size => <0..=9: small, _: large>;
        let kept = more();
        (kept, small) => with_either => END;
    }
}

#[value]
#[derive(Route)]
enum Verdict {
    Redo(u64),
    Good(u64),
}

#[node]
async fn judge(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Verdict {
    ledger.node(ctx);
    if n < 3 { Verdict::Redo(n) } else { Verdict::Good(n) }
}

workflow! {
    pub(crate) turns(u64) -> u64 {
        let log = more();
        START => more => judge => <redo: (more, log), good: END>;
    }
}

#[node]
async fn count(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Vec<u64> {
    ledger.node(ctx);
    (0..n % 7).collect()
}

#[node]
async fn total(all: Vec<u64>, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.node(ctx);
    all.into_iter().fold(0, u64::wrapping_add)
}

workflow! {
    pub(crate) items(u64) -> u64 {
        let first = more(max_parallel = 2);
        START => count => [first => judge => <redo: more, good: sink>] => total;
        let sink = more();
    }
}

workflow! { pub(crate) nested(u64) -> u64 {
    let again = chain(timeout = "1h", retry(max_attempts = 2));
    START => (chain, again) => sum => more;
} }

#[node(collect)]
async fn both(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<Option<u64>, Fault> {
    ledger.node(ctx);
    let before = ctx.collector_state().get(SEEN)?.unwrap_or_default();
    ctx.collector_state().push(SEEN, n);
    Ok(before.first().map(|first| first.wrapping_add(n)))
}

workflow! {
    pub(crate) gathers(u64) -> u64 {
        let other = more();
        START => (more, other);
        more | other => both => END;
    }
}

#[node(retry(max_attempts = 3, initial_delay = "1s", jitter = 0.0))]
async fn third_time(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    ledger.node(ctx);
    if ctx.attempt() < 3 { Err("not yet".to_owned()) } else { Ok(n) }
}

#[node(at_most_once)]
async fn once(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.node(ctx);
    n
}

#[value]
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Trouble(String);

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Trouble(fault.to_string())
    }
}

#[node(timeout = "2s")]
async fn slow(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, Trouble> {
    ledger.node(ctx);
    tokio::time::sleep(Duration::from_secs(10)).await;
    Ok(n)
}

#[node]
async fn mend(trouble: Trouble, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.node(ctx);
    trouble.0.len() as u64
}

workflow! {
    pub(crate) tries(u64) -> u64 { START => third_time => once => slow => <ok: END, err: mend>; mend => END; }
}

#[node]
async fn note(
    n: u64,
    ctx: &Context,
    #[resource] ledger: &Ledger,
    #[writes(CALLS)] calls: StateWriter<u64, Sum>,
    #[writes(SEEN)] seen: StateWriter<Vec<u64>, Append>,
) -> u64 {
    ledger.node(ctx);
    calls.merge(1);
    seen.push(n);
    n.wrapping_add(1)
}

#[node]
async fn keep(
    n: u64,
    #[state] calls: u64,
    ctx: &Context,
    #[resource] ledger: &Ledger,
    #[writes(LAST)] last: StateWriter<u64>,
) -> u64 {
    ledger.node(ctx);
    last.set(calls);
    n
}

#[node]
async fn read(n: u64, #[state] seen: Vec<u64>, ctx: &Context, #[resource] ledger: &Ledger) -> Vec<u64> {
    ledger.node(ctx);
    seen.into_iter().chain([n]).collect()
}

workflow! {
    pub(crate) writes(u64) -> Vec<u64> {
        let other = note();
        START => (note, other) => sum => keep => read;
    }
}

#[node]
async fn person(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, Trouble> {
    ledger.node(ctx);
    let pay = || async {
        ledger.step(ctx, "pay");
        Ok::<_, Trouble>(n)
    };
    let paid = ctx.step("pay", pay).await.map_err(|error| Trouble(error.to_string()))?;
    let child = ctx.call::<more>(paid).key("k").await.map_err(|error| Trouble(error.to_string()))?;
    let approved = ctx.ask::<bool>("approve", "Ship it?").payload(child).await;
    ctx.sleep(Duration::from_secs(5)).await;
    let inside = ctx.call::<chain>(child).await.map_err(|error| Trouble(error.to_string()))?;
    ctx.message("done");
    Ok(if approved { inside } else { 0 })
}

workflow! { pub(crate) asks(u64) -> u64 {
    let other = more();
    START => (person, other) => sum;
} }

#[node]
async fn fall(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, Trouble> {
    ledger.node(ctx);
    if ledger.fails() { Err(Trouble("fallen".to_owned())) } else { Ok(n) }
}

workflow! { pub(crate) falls_inside(u64) -> u64 { START => more => fall; } }

workflow! { pub(crate) falls(u64) -> u64 {
    let before = more();
    START => before => falls_inside => more;
} }
