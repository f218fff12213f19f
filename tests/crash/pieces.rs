//! Workflows whose nodes do their work in recorded pieces: steps, children, timers and questions.

use std::fmt::Display;
use std::time::Duration;

use futures::join;
use graphweft::prelude::*;
use graphweft::{Event, EventKind, RetryPolicy, json};
use serde_json::Value as Json;

use crate::flows::{answer, chain_of_20, inner, work};
use crate::ledger::Ledger;

/// What a piece of work gives, and the process that did it: given back to another one, it still says that.
#[value]
struct Piece {
    n: u64,
    process: u64,
}

impl Ledger {
    fn piece(&self, n: u64) -> Piece {
        Piece { n, process: self.process() }
    }

    /// Notes what a step or a child gave.
    fn noted<T: serde::Serialize, E: Display>(
        &self,
        ctx: &Context,
        identity: &str,
        given: Result<T, E>,
    ) -> Result<T, String> {
        self.given(ctx, identity, given.as_ref().ok());
        given.map_err(|error| error.to_string())
    }
}

/// A step that gives its key.
async fn step(ctx: &Context, ledger: &Ledger, key: u64) -> Result<u64, String> {
    let identity = format!("add:{key}");
    let body = || async { Ok::<_, String>(ledger.during_step(ctx, &identity, async { ledger.piece(key) }).await) };
    let given = ctx.step("add", body).key(key).await;
    Ok(ledger.noted(ctx, &identity, given)?.n)
}

/// What something that may not be repeated is worth, where it was not cut short.
const ONCE: u64 = 1000;

/// A step that may not be repeated.
async fn step_once(ctx: &Context, ledger: &Ledger, key: u64) -> u64 {
    let identity = format!("once_only:{key}");
    let body = || async { Ok::<_, String>(ledger.during_step(ctx, &identity, async { ledger.piece(ONCE) }).await) };
    let given = ctx.step("once_only", body).key(key).at_most_once().await;
    ledger.noted(ctx, &identity, given).map_or(0, |piece| piece.n)
}

/// A step that fails twice in each process.
async fn step_that_fails(ctx: &Context, ledger: &Ledger) -> Result<u64, String> {
    let mut tries = 0;
    let body = || {
        tries += 1;
        let is_time = tries > 2;
        let body = async move { if is_time { Ok(ledger.piece(7)) } else { Err("not yet".to_owned()) } };
        ledger.during_step(ctx, "third_time", body)
    };
    let policy =
        RetryPolicy::with_max_attempts(1000).initial_delay(Duration::from_millis(2)).backoff_factor(1.0).jitter(0.0);
    let given = ctx.step("third_time", body).retry(policy).await;
    Ok(ledger.noted(ctx, "third_time", given)?.n)
}

#[node]
async fn in_steps(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let work = async {
        let mut sum = n;
        for key in 0..4 {
            sum += step(ctx, ledger, key).await?;
            sum += step_once(ctx, ledger, key).await;
        }
        ctx.sleep(Duration::from_millis(15)).key("between").await;
        let at_once = join!(
            step(ctx, ledger, 4),
            step(ctx, ledger, 5),
            step_that_fails(ctx, ledger),
            step_once(ctx, ledger, 4),
            ctx.sleep(Duration::from_millis(20)).key("beside"),
        );
        Ok(sum + at_once.0? + at_once.1? + at_once.2? + at_once.3)
    };
    ledger.during(ctx, work).await
}

workflow! {
    pub(crate) steps(u64) -> u64 {
        let again = in_steps();
        let beside = in_steps();
        START => in_steps => (again, beside) => sum_of_two;
    }
}

/// What one node of `steps` adds to its input, without what may be cut short.
const IN_STEPS: u64 = (1 + 2 + 3) + 4 + 5 + 7;

pub(crate) fn steps_give(history: &[Event]) -> Json {
    let once = |node: &str| ONCE * done(history, &format!("steps/{node}/once_only:"));
    let first = 1 + IN_STEPS + once("in_steps");
    json!(2 * (first + IN_STEPS) + once("again") + once("beside"))
}

/// How many paths that begin so are completed.
fn done(history: &[Event], begins: &str) -> u64 {
    let is_done = |event: &&Event| event.path.contains(begins) && matches!(event.kind, EventKind::NodeCompleted { .. });
    history.iter().filter(is_done).count() as u64
}

#[node]
async fn piece(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Piece {
    ledger.during(ctx, async { ledger.piece(n + 1) }).await
}

/// A child of one of the nodes here.
async fn child(ctx: &Context, ledger: &Ledger, key: u64) -> Result<u64, String> {
    let given = ctx.call::<piece>(key).key(key).await;
    Ok(ledger.noted(ctx, &format!("piece:{key}"), given)?.n)
}

async fn child_once(ctx: &Context, ledger: &Ledger, key: u64) -> u64 {
    let given = ctx.call::<once_piece>(key).key(key).await;
    ledger.noted(ctx, &format!("once_piece:{key}"), given).map_or(0, |piece| piece.n)
}

#[node(at_most_once)]
async fn once_piece(_key: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Piece {
    ledger.during(ctx, async { ledger.piece(ONCE) }).await
}

/// At the bottom: three children at once and a step.
#[node]
async fn lowest(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let work = async {
        let at_once = join!(child(ctx, ledger, 1), child(ctx, ledger, 2), child(ctx, ledger, 3));
        let step = step(ctx, ledger, 1).await?;
        Ok(n + at_once.0? + at_once.1? + at_once.2? + step + child_once(ctx, ledger, 1).await)
    };
    ledger.during(ctx, work).await
}

/// In the middle: a loop of such, and a timer.
#[node]
async fn middle(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let work = async {
        let mut sum = n;
        for key in ["x", "y"] {
            let given = ctx.call::<lowest>(sum).key(key).await;
            sum = ledger.noted(ctx, &format!("lowest:{key}"), given)?;
            ctx.sleep(Duration::from_millis(10)).key(key).await;
        }
        Ok(sum)
    };
    ledger.during(ctx, work).await
}

/// On top: everything at once, and a workflow as a child.
#[node]
async fn highest(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let work = async {
        let (left, right, flow, once, ()) = join!(
            ctx.call::<middle>(n).key("left"),
            ctx.call::<middle>(n).key("right"),
            ctx.call::<inner>(n),
            child_once(ctx, ledger, 1),
            ctx.sleep(Duration::from_millis(30)),
        );
        let left = ledger.noted(ctx, "middle:left", left)?;
        let right = ledger.noted(ctx, "middle:right", right)?;
        Ok(left + right + ledger.noted(ctx, "inner", flow)? + once)
    };
    ledger.during(ctx, work).await
}

workflow! {
    pub(crate) children(u64) -> u64 {
        let last = work();
        START => work => highest => last;
    }
}

pub(crate) fn children_give(history: &[Event]) -> Json {
    const LOWEST: u64 = (2 + 3 + 4) + 1;
    let input = 2;
    let middle = input + 2 * LOWEST;
    json!(2 * middle + (input + 5) + 1 + ONCE * done(history, "/once_piece:"))
}

/// Asks between two steps.
#[node]
async fn asker(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let work = async {
        let before = step(ctx, ledger, 1).await?;
        let first = ctx.ask::<u64>("first", "How much?").await;
        let between = step(ctx, ledger, 2).await?;
        let second = ctx.ask::<u64>("second", "And how much more?").payload(first).await;
        Ok(n + before + first + between + second)
    };
    ledger.during(ctx, work).await
}

#[node]
async fn has_asked(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let work = async {
        let ask = |key| ctx.call::<asker>(n).key(key);
        let (left, right, beside, ()) =
            join!(ask("left"), ask("right"), child(ctx, ledger, 3), ctx.sleep(Duration::from_millis(40)));
        let left = ledger.noted(ctx, "asker:left", left)?;
        Ok(left + ledger.noted(ctx, "asker:right", right)? + beside?)
    };
    ledger.during(ctx, work).await
}

workflow! {
    pub(crate) questions_of_children(u64) -> u64 { START => (has_asked, chain_of_20) => sum_of_two; }
}

#[node]
async fn sum_of_two(a: u64, b: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { a + b }).await
}

pub(crate) fn questions_of_children_give() -> Json {
    let asker = |key: &str| {
        let answers =
            ["first", "second"].map(|name| answer(&format!("questions_of_children/has_asked/asker:{key}/{name}")));
        1 + 1 + 2 + answers.iter().sum::<u64>()
    };
    json!(asker("left") + asker("right") + 4 + 21)
}

workflow! {
    // Somebody cancels it.
    pub(crate) cancelled(u64) -> u64 { START => (highest, in_steps, chain_of_20) => sum_of_three; }
}

#[node]
async fn sum_of_three(a: u64, b: u64, c: u64, ctx: &Context, #[resource] ledger: &Ledger) -> u64 {
    ledger.during(ctx, async { a + b + c }).await
}

/// Fails now and then, for good.
#[node]
async fn fickle(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let fails = ledger.luck(ctx).percent(30);
    ledger.during(ctx, async { if fails { Err("not this time".to_owned()) } else { Ok(n + 1) } }).await
}

/// Has done a good deal when it fails.
#[node]
async fn fickle_in_pieces(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let work = async {
        let (one, two) = join!(step(ctx, ledger, 1), child(ctx, ledger, 2));
        ctx.sleep(Duration::from_millis(5)).key("between").await;
        if ledger.luck(ctx).percent(30) {
            return Err("not with this".to_owned());
        }
        let three = child(ctx, ledger, 3).await?;
        if ledger.luck(ctx).percent(30) {
            return Err("not like this".to_owned());
        }
        Ok(n + one? + two? + three)
    };
    ledger.during(ctx, work).await
}

workflow! {
    // Somebody retries it whenever it has failed.
    pub(crate) given_another_chance(u64) -> u64 {
        let early = fickle();
        let late = fickle();
        let beside = work();
        let last = work();
        START => work => (early, fickle_in_pieces, beside => late) => sum_of_three => last;
    }
}
