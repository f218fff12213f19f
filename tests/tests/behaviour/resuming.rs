//! Runs that are cut short by the death of their process, and go on in another.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, RunStatus, SqliteStore, Store};
use graphweft::{Engine, EngineBuilder, Fault, RunFilter, Workflow, state::Append};
use tokio::sync::mpsc;

/// What nodes have done, outside of every store.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<BTreeMap<String, u32>>>);

impl Ledger {
    fn note(&self, what: impl Into<String>) -> u32 {
        let mut done = self.0.lock().unwrap();
        let count = done.entry(what.into()).or_default();
        *count += 1;
        *count
    }

    fn of(&self, what: &str) -> u32 {
        self.0.lock().unwrap().get(what).copied().unwrap_or_default()
    }
}

/// Where the first process is to die.
#[derive(Clone)]
struct Dies {
    at: &'static str,
    tell: mpsc::UnboundedSender<()>,
}

impl Dies {
    async fn here(&self, at: &str) {
        if self.at == at {
            self.tell.send(()).unwrap();
            pending::<()>().await;
        }
    }
}

#[node]
async fn first(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] dies: &Dies) -> u32 {
    ledger.note(ctx.path());
    dies.here(&ctx.path()).await;
    n + 1
}

#[node]
async fn second(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] dies: &Dies) -> u32 {
    ledger.note(ctx.path());
    dies.here(&ctx.path()).await;
    n * 10
}

#[node]
async fn third(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] dies: &Dies) -> u32 {
    ledger.note(ctx.path());
    dies.here(&ctx.path()).await;
    n + 5
}

workflow! {
    chain(u32) -> u32 { START => first => second => third; }
}

#[node]
async fn both(left: u32, right: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] dies: &Dies) -> u32 {
    ledger.note(ctx.path());
    dies.here(&ctx.path()).await;
    left + right
}

workflow! {
    split(u32) -> u32 { START => first => (second, third) => both; }
}

#[value]
#[derive(Route)]
enum Verdict {
    Again(u32),
    Good(u32),
}

#[node]
async fn judge(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] dies: &Dies) -> Verdict {
    ledger.note(ctx.path());
    dies.here(&ctx.path()).await;
    if n < 4 { Verdict::Again(n) } else { Verdict::Good(n) }
}

workflow! {
    rounds(u32) -> u32 { START => first => judge => <again: first, good: END>; }
}

workflow! {
    outer(u32) -> u32 { START => first => chain => both_of; }
}

#[node]
async fn both_of(n: u32) -> u32 {
    n + 100
}

#[node]
async fn items(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn sum(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}

workflow! {
    each(u32) -> u32 { START => items => [first => second] => sum; }
}

const SEEN: StateKey<Vec<u32>, Append> = StateKey::new("seen");

#[node]
async fn writes(n: u32, #[writes(SEEN)] seen: StateWriter<Vec<u32>, Append>) -> u32 {
    seen.push(n);
    n + 1
}

#[node]
async fn reads(n: u32, ctx: &Context, #[resource] dies: &Dies) -> Vec<u32> {
    dies.here(&ctx.path()).await;
    let mut seen = ctx.state().get(SEEN).unwrap().unwrap_or_default();
    seen.push(n);
    seen
}

workflow! {
    stateful(u32) -> Vec<u32> {
        let again = writes();
        START => writes => again => reads;
    }
}

/// Runs in a process of its own until it dies at a path, and then in another to its end.
fn killed_at<W: Workflow>(
    store: impl Store + Clone,
    ledger: &Ledger,
    at: &'static str,
    input: W::Input,
) -> Result<W::Output, graphweft::RunError>
where
    W::Output: serde::de::DeserializeOwned,
{
    let engine = |at: &'static str, tell: &mpsc::UnboundedSender<()>| {
        Engine::builder()
            .store(store.clone())
            .resource(ledger.clone())
            .resource(Dies { at, tell: tell.clone() })
            .register::<W>()
            .build()
            .unwrap()
    };
    let (tell, mut told) = mpsc::unbounded_channel();
    let process = runtime();
    process.block_on(async {
        engine(at, &tell).start::<W>(input).id("x").await.unwrap();
        told.recv().await.unwrap();
    });
    drop(process);
    runtime().block_on(async {
        let engine = engine("nowhere", &tell);
        let recovered = engine.recover().await.unwrap();
        assert!(recovered.failed.is_empty(), "{:?}", recovered.failed);
        assert_eq!(recovered.resumed.len(), 1, "{recovered:?}");
        let run = engine.get_run("x").await.unwrap().unwrap();
        let output = run.result().await?;
        Ok(serde_json::from_value(output).unwrap())
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

fn check<W: Workflow>(input: W::Input, output: W::Output, at: &'static str, counts: &[(&str, u32)])
where
    W::Input: Clone,
    W::Output: serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let ledger = Ledger::default();
    let got = killed_at::<W>(MemoryStore::new(), &ledger, at, input.clone());
    assert_eq!(got.as_ref().ok(), Some(&output), "in memory: {got:?}");
    for (path, count) in counts {
        assert_eq!(ledger.of(path), *count, "{path} in memory");
    }
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::default();
    let store = runtime().block_on(SqliteStore::open(directory.path().join("runs.db"))).unwrap();
    let got = killed_at::<W>(store, &ledger, at, input);
    assert_eq!(got.as_ref().ok(), Some(&output), "in a file: {got:?}");
    for (path, count) in counts {
        assert_eq!(ledger.of(path), *count, "{path} in a file");
    }
}

#[test]
fn a_chain_goes_on_at_the_node_that_was_under_way() {
    check::<chain>(1, 25, "chain/second", &[("chain/first", 1), ("chain/second", 2), ("chain/third", 1)]);
}

#[test]
fn a_branch_that_was_done_is_not_run_again() {
    check::<split>(
        1,
        27,
        "split/both",
        &[("split/first", 1), ("split/second", 1), ("split/third", 1), ("split/both", 2)],
    );
}

#[test]
fn a_loop_goes_on_in_the_turn_that_was_under_way() {
    let counts =
        [("rounds/first", 1), ("rounds/judge", 1), ("rounds/first#2", 1), ("rounds/judge#2", 2), ("rounds/judge#3", 1)];
    check::<rounds>(1, 4, "rounds/judge#2", &counts);
}

#[test]
fn a_nested_workflow_goes_on_inside() {
    let counts = [("outer/first", 1), ("outer/chain/first", 1), ("outer/chain/second", 2), ("outer/chain/third", 1)];
    check::<outer>(1, 135, "outer/chain/second", &counts);
}

#[test]
fn items_that_were_done_are_not_run_again() {
    let counts = [("each/first[2]", 1), ("each/second[2]", 2)];
    check::<each>(4, 100, "each/second[2]", &counts);
}

#[test]
fn state_is_what_had_been_written() {
    check::<stateful>(1, vec![1, 2, 3], "stateful/reads", &[]);
}

fn builder(store: &MemoryStore) -> EngineBuilder {
    let (tell, _) = mpsc::unbounded_channel();
    Engine::builder().store(store.clone()).resource(Ledger::default()).resource(Dies { at: "nowhere", tell })
}

#[tokio::test]
async fn the_same_id_in_another_process_is_the_same_run() {
    let store = MemoryStore::new();
    let one = builder(&store).build().unwrap().start::<chain>(1).id("x").await.unwrap();
    assert_eq!(one.result().await.unwrap(), 25);
    let other = builder(&store).build().unwrap().start::<chain>(1).id("x").await.unwrap();
    assert_eq!(other.result().await.unwrap(), 25);
    let events = other.events();
    let kinds: Vec<_> = futures::StreamExt::collect::<Vec<_>>(events).await;
    assert_eq!(kinds.len(), 8);
}

#[node(at_most_once)]
async fn once(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] dies: &Dies) -> Result<u32, Broken> {
    ledger.note(ctx.path());
    dies.here(&ctx.path()).await;
    Ok(n)
}

#[value]
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(String);

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Broken(fault.to_string())
    }
}

#[node]
async fn makes_good(broken: Broken) -> u32 {
    u32::try_from(broken.0.len()).unwrap()
}

workflow! {
    careful(u32) -> u32 { START => once => <ok: END, err: makes_good>; makes_good => END; }
}

workflow! {
    careless(u32) -> u32 { START => once; }
}

#[test]
fn what_may_run_once_is_reported_and_not_repeated() {
    let length = u32::try_from(Fault::Interrupted.to_string().len()).unwrap();
    check::<careful>(1, length, "careful/once", &[("careful/once", 1)]);
}

#[test]
fn what_may_run_once_fails_the_run_where_nothing_routes_that() {
    let ledger = Ledger::default();
    let error = killed_at::<careless>(MemoryStore::new(), &ledger, "careless/once", 1).unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert_eq!(ledger.of("careless/once"), 1);
}

#[tokio::test]
async fn a_run_of_a_workflow_that_is_not_registered_is_left_alone_and_named() {
    let store = MemoryStore::new();
    let (tell, mut told) = mpsc::unbounded_channel();
    let engine = Engine::builder()
        .store(store.clone())
        .resource(Ledger::default())
        .resource(Dies { at: "chain/first", tell })
        .build()
        .unwrap();
    engine.start::<chain>(1).id("x").await.unwrap();
    told.recv().await.unwrap();
    let other = builder(&store).register::<split>().build().unwrap();
    let recovered = other.recover().await.unwrap();
    assert_eq!(recovered.unregistered, [("x".to_owned(), "chain".to_owned())]);
    let running = other.list_runs(RunFilter::default().status(RunStatus::Running)).await.unwrap();
    assert_eq!(running.len(), 1);
}

#[test]
fn the_end_of_the_tokio_runtime_is_not_the_end_of_a_run() {
    // Which of its tasks a runtime stops first is a matter of chance.
    for _ in 0..50 {
        let output = killed_at::<each>(MemoryStore::new(), &Ledger::default(), "each/second[2]", 4);
        assert_eq!(output.ok(), Some(100));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_go_on_here_is_tried_once_and_not_again_and_again() {
    let store = MemoryStore::new();
    let (left, (tell, mut told)) = (store.clone(), mpsc::unbounded_channel());
    let first_process = std::thread::spawn(move || {
        runtime().block_on(async {
            let dies = Dies { at: "chain/first", tell };
            let engine = Engine::builder().store(left).resource(Ledger::default()).resource(dies).build().unwrap();
            engine.start::<chain>(1).id("x").await.unwrap();
            told.recv().await.unwrap();
        });
    });
    first_process.join().unwrap();
    let engine = Engine::builder().store(store).register::<chain>().build().unwrap();
    let recovered = engine.recover().await.unwrap();
    assert_eq!(recovered.failed.len(), 1, "it lacks what the nodes need");
    let before = engine.history("x").await.unwrap().unwrap().len();
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!(engine.history("x").await.unwrap().unwrap().len(), before);
    assert_eq!(engine.recover().await.unwrap().failed.len(), 1, "and again when it is told to");
}
