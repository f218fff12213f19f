//! Workflows with everything that a view shows.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{FirstN, Signal};

#[node]
pub(crate) async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
pub(crate) async fn add_one(n: u32) -> u32 {
    n + 1
}

#[node]
pub(crate) async fn numbers(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
pub(crate) async fn sum(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}

#[node]
pub(crate) async fn small(n: u32) -> Result<u32, String> {
    if n < 10 { Ok(n) } else { Err(format!("{n} is too big")) }
}

#[node]
pub(crate) async fn explain(why: String) -> u32 {
    u32::try_from(why.len()).unwrap_or_default()
}

workflow! {
    pub(crate) routed(u32) -> u32 { START => small => <ok: double, err: explain>; (double, explain) => add_one; }
}

#[value]
#[derive(Route)]
pub(crate) enum Review {
    Redo(u32),
    Good(u32),
}

#[node]
async fn draft(n: u32) -> u32 {
    n + 1
}

#[node]
async fn review(n: u32) -> Review {
    if n < 3 { Review::Redo(n) } else { Review::Good(n) }
}

workflow! {
    pub(crate) looped(u32) -> u32 { START => draft => review => <redo: draft, good: double>; }
}

workflow! {
    pub(crate) items(u32) -> u32 { START => numbers => [double] => sum; }
}

workflow! {
    pub(crate) long_items(u32) -> u32 { START => numbers => [small => <ok: double, err: explain>] => sum; }
}

workflow! {
    pub(crate) inner(u32) -> u32 { START => double => add_one; }
}

workflow! {
    pub(crate) outer(u32) -> u32 { START => inner => numbers => [inner_of_each] => sum; let inner_of_each = inner(); }
}

workflow! {
    pub(crate) items_of_items(u32) -> u32 { START => numbers => [more => [double] => sum] => total; let more = numbers(); let total = sum(); }
}

#[node(retry(max_attempts = 3, initial_delay = "5ms"))]
async fn flaky(n: u32, ctx: &Context) -> Result<u32, std::io::Error> {
    if ctx.attempt() < 3 { Err(std::io::Error::other("not yet")) } else { Ok(n) }
}

workflow! {
    pub(crate) retrying(u32) -> u32 { START => flaky => double; }
}

#[node(retry(max_attempts = 2, initial_delay = "5ms"))]
async fn broken(_n: u32) -> Result<u32, std::io::Error> {
    Err(std::io::Error::other("never"))
}

workflow! {
    pub(crate) breaks_inside(u32) -> u32 { START => numbers => [broken] => sum; }
}

workflow! {
    pub(crate) fails(u32) -> u32 { START => add_one => breaks_inside => double; }
}

#[node]
async fn ask(n: u32, ctx: &Context) -> u32 {
    ctx.message("somebody has to look at this");
    if ctx.ask::<bool>("approve", "Pay this back?").payload(n).await { n } else { 0 }
}

workflow! {
    pub(crate) asking(u32) -> u32 { START => ask => double; }
}

workflow! {
    pub(crate) asks_between(u32) -> u32 {
        START => small => <ok: ask, err: explain>;
        ask => small_again => <ok: double, err: explain_again>;
        let small_again = small();
        let explain_again = explain();
    }
}

#[node]
async fn call_asks(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<asks_between>(n).await.map_err(|error| error.to_string())
}

workflow! {
    pub(crate) asking_inside(u32) -> u32 { START => call_asks => double; }
}

pub(crate) const PAID: Signal<u32> = Signal::new("paid");

#[node]
async fn collect(due: u32, ctx: &Context) -> u32 {
    match ctx.wait(PAID).within(Duration::from_secs(60)).await {
        Ok(paid) => paid,
        Err(_) => due,
    }
}

workflow! {
    pub(crate) signalled(u32) -> u32 { START => collect => double; }
}

#[node]
async fn plan(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.note("plan", n);
    let prepared = ctx.step("prepare", || async move { Ok::<u32, String>(n + 1) }).await.map_err(|e| e.to_string())?;
    ctx.sleep(Duration::from_millis(5)).await;
    ctx.call::<inner>(prepared).await.map_err(|error| error.to_string())
}

// Its START has arms.
workflow! {
    pub(crate) judged(Review) -> u32 { START => <redo: draft, good: double>; }
}

#[node]
async fn judge(n: u32, ctx: &Context) -> Result<u32, String> {
    let nested = ctx.call::<outer>(n).await.map_err(|error| error.to_string())?;
    ctx.call::<judged>(Review::Good(nested)).await.map_err(|error| error.to_string())
}

workflow! {
    pub(crate) judging(u32) -> u32 { START => judge; }
}

workflow! {
    pub(crate) children(u32) -> u32 { START => plan => double; }
}

// Its graph is known to the nodes that call it, and has arms, also in a nested workflow.
workflow! {
    pub(crate) routed_inside(u32) -> u32 { START => routed => small => <ok: double, err: explain>; }
}

#[node]
async fn call_routed(n: u32, ctx: &Context) -> Result<u32, String> {
    let routed = ctx.call::<routed_inside>(n).await.map_err(|error| error.to_string())?;
    ctx.call::<judged>(Review::Good(routed)).await.map_err(|error| error.to_string())
}

workflow! {
    pub(crate) calling(u32) -> u32 { START => call_routed => double; }
}

#[node]
async fn call_calling(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<calling>(n).await.map_err(|error| error.to_string())
}

// Children of children.
workflow! {
    pub(crate) deep(u32) -> u32 { START => call_calling => double; }
}

workflow! {
    pub(crate) breaks_behind(u32) -> u32 {
        START => small => <ok: double, err: explain>;
        (double, explain) => broken;
    }
}

#[node(retry(max_attempts = 2, initial_delay = "5ms"))]
async fn call_broken(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<breaks_behind>(n).await.map_err(|error| error.to_string())
}

workflow! {
    pub(crate) calls_broken(u32) -> u32 { START => call_broken => double; }
}

#[node]
async fn slow(n: u32, ctx: &Context) -> u32 {
    ctx.cancelled().await;
    n
}

/// Behind `double` in any case.
#[node]
async fn later(n: u32) -> u32 {
    tokio::time::sleep(Duration::from_millis(50)).await;
    n + 1
}

workflow! {
    pub(crate) raced(u32) -> u32 {
        let first: FirstN<u32> = FirstN::new(2);
        START => (double, later, slow);
        double | later | slow => first => sum;
    }
}
