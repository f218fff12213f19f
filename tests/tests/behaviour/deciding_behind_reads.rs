//! Decisions of nodes between a request whose result is read from the store and another one, which are the same after a
//! restart, however long the store takes to read.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use graphweft::prelude::*;
use graphweft::scope::{USER, User};
use graphweft::state::Sum;
use graphweft::store::{LogEntry, LogStore, MemoryStore, RunHeader, Store, StoreError};
use graphweft_tests::{Journal, life};

const HITS: StateKey<u32, Sum, User> = StateKey::new("hits");

#[node]
async fn double(n: u32) -> u32 {
    2 * n
}

#[node]
async fn slow(n: u32) -> u32 {
    tokio::time::sleep(Duration::from_millis(20)).await;
    n
}

workflow! { doubled(u32) -> u32 { START => double; } }

async fn scope(ctx: &Context) -> &'static str {
    ctx.scope(User).await.expect("there is a user");
    "scope"
}

async fn start(ctx: &Context) -> &'static str {
    ctx.start::<doubled>(1).await.expect("it is registered");
    "start"
}

async fn timer(ctx: &Context) -> &'static str {
    ctx.sleep(Duration::from_millis(20)).await;
    "timer"
}

#[node]
async fn selects(by: String, ctx: &Context, #[resource] journal: &Journal) -> String {
    let first = tokio::select! {
        first = async { if by == "scope" { scope(ctx).await } else { start(ctx).await } } => first,
        timer = timer(ctx) => timer,
    };
    journal.note(first);
    ctx.ask::<bool>("go", "?").await;
    first.to_owned()
}

#[node]
async fn orders(by: String, ctx: &Context, #[resource] journal: &Journal) -> String {
    let all: FuturesUnordered<BoxFuture<'_, &'static str>> = FuturesUnordered::new();
    all.push(if by == "scope" { scope(ctx).boxed() } else { start(ctx).boxed() });
    all.push(ctx.call::<slow>(1).map(|_| "child").boxed());
    let order = all.collect::<Vec<_>>().await.join(" ");
    journal.note(&order);
    ctx.ask::<bool>("go", "?").await;
    order
}

/// Drops the request while its result is read from the store, and waits for others.
#[node]
async fn gives_up(by: String, ctx: &Context, #[resource] journal: &Journal) -> String {
    let read = tokio::time::timeout(Duration::from_millis(15), async {
        if by == "scope" { scope(ctx).await } else { start(ctx).await }
    });
    let first = read.await.unwrap_or("late");
    journal.note(first);
    ctx.call::<slow>(1).await.expect("it cannot fail");
    ctx.ask::<bool>("go", "?").await;
    first.to_owned()
}

workflow! { #[given(USER)] selecting(String) -> String { START => selects; } }
workflow! { #[given(USER)] ordering(String) -> String { START => orders; } }
workflow! { #[given(USER)] giving_up(String) -> String { START => gives_up; } }

/// Takes longer to read logs and headers than all that the nodes wait for.
#[derive(Clone)]
struct Slow {
    inner: MemoryStore,
    takes: Duration,
}

impl Store for Slow {
    graphweft_tests::forward_store! {
        join leave create append start_over read list count overview open_questions delete reserve_task claim is_alive is_served
        is_shared is_volatile feed feed_end graph keeps_snapshots put_snapshot snapshot
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        let (header, takes) = (self.inner.header(id), self.takes);
        async move {
            tokio::time::sleep(takes).await;
            header.await
        }
        .boxed()
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        Some(Arc::new(SlowLogs { inner: self.inner.logs().expect("it has logs"), takes: self.takes }))
    }
}

struct SlowLogs {
    inner: Arc<dyn LogStore>,
    takes: Duration,
}

impl LogStore for SlowLogs {
    graphweft_tests::forward_logs! { append list trim delete }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        let (read, takes) = (self.inner.read(log, after, until), self.takes);
        async move {
            tokio::time::sleep(takes).await;
            read.await
        }
        .boxed()
    }
}

/// What the node has noted in a first process, whose store is quick, and then in one whose store is slow; and the output.
fn over_a_restart<W>(by: &str) -> (Vec<String>, String)
where
    W: graphweft::Workflow<Input = String, Output = String>,
{
    let (store, journal) = (MemoryStore::new(), Journal::default());
    let engine = |store: Slow| {
        let builder = Engine::builder().register::<W>().register::<doubled>().resource(journal.clone());
        builder.store(store).build().unwrap()
    };
    life(async {
        let first = engine(Slow { inner: store.clone(), takes: Duration::ZERO });
        first.scope(User, "ada").await.unwrap().update().merge(HITS, 1).await.unwrap();
        let run = first.start::<W>(by.to_owned()).id("run").state(USER, "ada".into()).await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    });
    let output = life(async {
        let second = engine(Slow { inner: store.clone(), takes: Duration::from_millis(60) });
        second.recover().await.unwrap();
        second.answer("run", "go", true).await.unwrap();
        let run = second.get_run_of::<W>("run").await.unwrap().unwrap();
        tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("it ends").unwrap()
    });
    (journal.lines(), output)
}

#[test]
fn a_select_takes_the_branch_again_whose_result_is_read_from_the_store() {
    for by in ["scope", "start"] {
        assert_eq!(over_a_restart::<selecting>(by), (vec![by.to_owned(); 2], by.to_owned()));
    }
}

#[test]
fn results_come_in_their_order_again_though_the_first_is_read_from_the_store() {
    for by in ["scope", "start"] {
        let order = format!("{by} child");
        assert_eq!(over_a_restart::<ordering>(by), (vec![order.clone(); 2], order));
    }
}

/// What it does then is its own decision, by a clock that is not recorded.
#[test]
fn a_node_that_does_not_wait_for_such_a_read_gets_what_comes_next() {
    for by in ["scope", "start"] {
        assert_eq!(over_a_restart::<giving_up>(by).1, "late");
    }
}
