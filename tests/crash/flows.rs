//! The workflows whose processes are killed.
//!
//! A scenario is a workflow, registered in [`engine`] and listed in [`SCENARIOS`]; whatever its nodes do, they do within
//! [`Ledger::during`], and nothing else is needed for it to be killed and judged.

use graphweft::prelude::*;
use graphweft::state::{Append, StateKey, Sum};
use graphweft::store::SqliteStore;
use graphweft::{Engine, Event, EventKind, json};
use serde_json::Value as Json;

use crate::ledger::Ledger;
use crate::linked;
use crate::pieces;

/// A workflow to kill.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) input: u64,
    pub(crate) output: Gives,
    /// How long a node may dawdle, twice, in milliseconds.
    pub(crate) pause: u64,
}

/// What the output of a run has to be.
pub(crate) enum Gives {
    Always(fn() -> Json),
    /// By what has happened.
    Following(fn(&[Event]) -> Json),
    /// Nothing, since it was cancelled.
    Nothing,
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario { name: "chain_of_60", input: 1, output: Gives::Always(|| json!(61)), pause: 3 },
    Scenario { name: "fan_out_of_20", input: 3, output: Gives::Always(|| json!(80)), pause: 60 },
    Scenario { name: "loop_of_30", input: 0, output: Gives::Always(|| json!(30)), pause: 3 },
    Scenario { name: "nested", input: 1, output: Gives::Always(|| json!(15)), pause: 6 },
    Scenario { name: "each_of_20", input: 20, output: Gives::Always(|| json!(230)), pause: 12 },
    Scenario { name: "retried", input: 1, output: Gives::Always(|| json!(112)), pause: 6 },
    Scenario { name: "stateful", input: 1, output: Gives::Always(|| json!([1, 2, 3, 4, 5, 6])), pause: 12 },
    Scenario { name: "careful", input: 1, output: Gives::Following(careful_gives), pause: 12 },
    Scenario { name: "gathered", input: 1, output: Gives::Always(|| json!(12)), pause: 30 },
    Scenario { name: "questions", input: 1, output: Gives::Always(questions_give), pause: 10 },
    Scenario { name: "steps", input: 1, output: Gives::Following(pieces::steps_give), pause: 6 },
    Scenario { name: "children", input: 1, output: Gives::Following(pieces::children_give), pause: 6 },
    Scenario {
        name: "questions_of_children",
        input: 1,
        output: Gives::Always(pieces::questions_of_children_give),
        pause: 6,
    },
    Scenario { name: "cancelled", input: 1, output: Gives::Nothing, pause: 6 },
    Scenario { name: "starts_others", input: 1, output: Gives::Always(|| json!(4)), pause: 6 },
    Scenario { name: "given_another_chance", input: 1, output: Gives::Always(|| json!(18)), pause: 6 },
];

/// What somebody does with a run from without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meddling {
    Answers,
    Cancels,
    /// Whoever executes it, whenever it has failed.
    Retries,
}

pub(crate) fn meddling(workflow: &str) -> Option<Meddling> {
    match workflow {
        "questions" | "questions_of_children" => Some(Meddling::Answers),
        "cancelled" => Some(Meddling::Cancels),
        "given_another_chance" => Some(Meddling::Retries),
        _ => None,
    }
}

/// An engine that knows them all.
pub(crate) fn engine(store: SqliteStore, ledger: Ledger) -> Engine {
    Engine::builder()
        .store(store)
        .resource(ledger)
        .register::<chain_of_60>()
        .register::<fan_out_of_20>()
        .register::<loop_of_30>()
        .register::<nested>()
        .register::<each_of_20>()
        .register::<retried>()
        .register::<stateful>()
        .register::<careful>()
        .register::<gathered>()
        .register::<questions>()
        .register::<chain_of_20>()
        .register::<pieces::steps>()
        .register::<pieces::children>()
        .register::<pieces::questions_of_children>()
        .register::<pieces::cancelled>()
        .register::<pieces::given_another_chance>()
        .register::<linked::starts_others>()
        .build()
        .expect("the engine is sound")
}

/// What most nodes do.
#[node]
pub(crate) async fn work(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { n + 1 }).await
}

macro_rules! chain {
    ($name:ident: $($at:ident)*) => {
        workflow! {
            pub(crate) $name(u64) -> u64 {
                $(let $at = work();)*
                START $(=> $at)*;
            }
        }
    };
}

chain! { chain_of_60:
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9
    d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9
}

chain! { chain_of_20: a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 }

const TOTAL: StateKey<u64, Sum> = StateKey::new("total");

#[node]
async fn branch(n: u64, ctx: &Context, #[resource] ledger: &Ledger, #[writes(TOTAL)] total: StateWriter<u64, Sum>) {
    ledger.during(ctx, async { total.merge(n + 1) }).await;
}

/// A join of more branches than a tuple can hold takes none of their values.
#[node]
async fn total(#[state] total: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { total }).await
}

macro_rules! fan_out {
    ($name:ident: $first:ident $($at:ident)*) => {
        workflow! {
            pub(crate) $name(u64) -> u64 {
                let $first = branch();
                $(let $at = branch();)*
                START => ($first, $($at),*) => total;
            }
        }
    };
}

fan_out! { fan_out_of_20: a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 }

#[value]
#[derive(Route)]
enum Turn {
    Again(u64),
    Done(u64),
}

#[node]
async fn turn(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Turn {
    ledger.during(ctx, async { if n < 30 { Turn::Again(n) } else { Turn::Done(n) } }).await
}

workflow! {
    pub(crate) loop_of_30(u64) -> u64 { START => work => turn => <again: work, done: END>; }
}

chain! { innermost: one two three }

workflow! {
    pub(crate) inner(u64) -> u64 {
        let before = work();
        let after = work();
        START => before => innermost => after;
    }
}

#[node]
async fn add(a: u64, b: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { a + b }).await
}

workflow! {
    pub(crate) nested(u64) -> u64 {
        let again = inner();
        let last = work();
        START => work => (inner, again) => add => last;
    }
}

#[node]
async fn items(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Vec<u64> {
    ledger.during(ctx, async { (0..n).collect() }).await
}

#[node]
async fn sum(all: Vec<u64>, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { all.into_iter().sum() }).await
}

workflow! {
    pub(crate) each_of_20(u64) -> u64 {
        let first = work(max_parallel = 4);
        let second = work();
        START => items => [first => second] => sum;
    }
}

#[value]
#[derive(Debug, thiserror::Error)]
#[error("attempt {0} has failed")]
struct NotYet(u32);

/// The attempt that it has come to stands in its output.
#[node(retry(max_attempts = 6, initial_delay = "5ms", backoff_factor = 1.0, jitter = 0.0))]
async fn fifth_time(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, NotYet> {
    let attempt = ctx.attempt();
    ledger.during(ctx, async { if attempt < 5 { Err(NotYet(attempt)) } else { Ok(n + u64::from(attempt)) } }).await
}

#[node(retry(max_attempts = 4, initial_delay = "2ms", backoff_factor = 2.0, jitter = 0.0))]
async fn hopeless(_n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, NotYet> {
    ledger.during(ctx, async { Err(NotYet(ctx.attempt())) }).await
}

#[node]
async fn makes_good(last: NotYet, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { 100 + u64::from(last.0) }).await
}

workflow! {
    pub(crate) retried(u64) -> u64 {
        let last = work();
        START => work => (fifth_time, hopeless_part) => add => last;
    }
}

workflow! {
    pub(crate) hopeless_part(u64) -> u64 { START => hopeless => <ok: END, err: makes_good>; makes_good => END; }
}

const SEEN: StateKey<Vec<u64>, Append> = StateKey::new("seen");

#[node]
async fn writes(
    n: u64,
    ctx: &Context,
    #[resource] ledger: &Ledger,
    #[writes(SEEN)] seen: StateWriter<Vec<u64>, Append>,
) -> u64 {
    ledger
        .during(ctx, async {
            seen.push(n);
            n + 1
        })
        .await
}

#[node]
async fn reads(n: u64, #[state] seen: Vec<u64>, ctx: &Context, #[resource] ledger: &Ledger) -> Vec<u64> {
    ledger.during(ctx, async { seen.into_iter().chain([n]).collect() }).await
}

workflow! {
    pub(crate) stateful(u64) -> Vec<u64> {
        let one = writes();
        let two = writes();
        let three = writes();
        let four = writes();
        let five = writes();
        START => one => two => three => four => five => reads;
    }
}

#[value]
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct CutShort(String);

impl From<Fault> for CutShort {
    fn from(fault: Fault) -> Self {
        CutShort(fault.to_string())
    }
}

#[node(at_most_once)]
async fn once(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, CutShort> {
    ledger.during(ctx, async { Ok(n + 1) }).await
}

#[node]
async fn instead(cut_short: CutShort, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    assert_eq!(cut_short.0, Fault::Interrupted.to_string());
    ledger.during(ctx, async { 1000 }).await
}

// Nodes called `once..` are those that may not be repeated.
workflow! {
    pub(crate) careful(u64) -> u64 {
        let once_one = once();
        let once_two = once();
        let once_three = once();
        let once_four = once();
        let one = work();
        let two = work();
        let three = work();
        let four = work();
        let no_one = instead();
        let no_two = instead();
        let no_three = instead();
        let no_four = instead();
        START => once_one => <ok: one, err: no_one> => once_two => <ok: two, err: no_two>
            => once_three => <ok: three, err: no_three> => once_four => <ok: four, err: no_four>;
    }
}

pub(crate) fn careful_gives(history: &[Event]) -> Json {
    let mut n = 1;
    for once in ["once_one", "once_two", "once_three", "once_four"] {
        let went_on = history.iter().find_map(|event| match &event.kind {
            EventKind::NodeCompleted { label: Some(label), .. } if event.path == format!("careful/{once}") => {
                Some(label)
            }
            _ => None,
        });
        n = if went_on.is_some_and(|label| label == "ok") { n + 2 } else { 1000 };
    }
    json!(n)
}

const COUNT: StateKey<u64, Sum> = StateKey::new("count");

/// The sum of five.
#[node(collect)]
async fn gather(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<Option<u64>, Fault> {
    ledger
        .during(ctx, async {
            let local = ctx.collector_state();
            let (count, so_far) = (local.get(COUNT)?.unwrap_or_default(), local.get(TOTAL)?.unwrap_or_default());
            local.merge(COUNT, 1);
            local.merge(TOTAL, n);
            Ok((count + 1 == 5).then_some(so_far + n))
        })
        .await
}

workflow! {
    pub(crate) gathered(u64) -> u64 {
        let one = work();
        let two = work();
        let three = work();
        let four = work();
        let five = work();
        let last = work();
        START => (one, two, three, four, five);
        one | two | three | four | five => gather => last;
        gather => also;
        (last, also) => greater;
    }
}

#[node]
async fn also(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { n + 2 }).await
}

#[node]
async fn greater(a: u64, b: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { a.max(b) }).await
}

#[node]
async fn asks(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger
        .during(ctx, async {
            let first = ctx.ask::<u64>("first", "How much?").await;
            let second = ctx.ask::<u64>("second", "And how much more?").payload(first).await;
            n + first + second
        })
        .await
}

#[node]
async fn all(a: u64, b: u64, c: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { a + b + c }).await
}

workflow! {
    pub(crate) questions(u64) -> u64 {
        let asks_too = asks();
        let last = asks();
        START => (asks, asks_too, chain_of_20) => all => last;
    }
}

/// What is answered to a question.
pub(crate) fn answer(question: &str) -> u64 {
    question.len() as u64
}

pub(crate) fn questions_give() -> Json {
    let of = |node: &str| {
        let both = ["first", "second"].map(|name| answer(&format!("questions/{node}/{name}")));
        both.iter().sum::<u64>()
    };
    json!((1 + of("asks")) + (1 + of("asks_too")) + 21 + of("last"))
}
