//! Runs with thousands of records, which are resumed from a snapshot.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::state::Sum;
use graphweft::store::{
    Append, Appended, BoxFuture, Created, Durability, NewRun, RunKey, SqliteStore, Store, StoreError, Stored,
};
use graphweft::{ChildError, EngineBuilder, Json, Workflow, json};
use graphweft_tests::{Death, Journal, life};
use rusqlite::Connection;
use tempfile::TempDir;

const TOTAL: StateKey<u64, Sum> = StateKey::new("total");
const KEPT: StateKey<Vec<u64>> = StateKey::new("kept");
const PAID: Signal<u64> = Signal::new("paid");

#[value]
#[derive(Route)]
enum Round {
    Again(u64),
    Done(u64),
}

#[node]
async fn count(n: u64, #[writes(TOTAL)] total: StateWriter<u64, Sum>, #[resource] end: &End) -> Round {
    total.merge(n);
    if n < end.0 { Round::Again(n + 1) } else { Round::Done(n) }
}

/// In which turn a count ends.
#[derive(Clone, Copy)]
struct End(u64);

#[node]
async fn counted(n: u64, #[resource] death: &Death) -> u64 {
    death.come("counted").await;
    n
}

mod counting {
    use super::*;

    #[node]
    pub(super) async fn sum(n: u64, ctx: &Context) -> Result<String, Fault> {
        Ok(format!("{n} turns, {} in all", ctx.state().get(TOTAL)?.unwrap_or_default()))
    }

    workflow! { pub(super) counts(u64) -> String { START => count => <again: count, done: counted> => sum; } }
}
use counting::counts;

/// Another version of the same workflow.
mod changed {
    use super::*;

    #[node]
    pub(super) async fn checked(n: u64) -> u64 {
        n
    }

    workflow! {
        pub(super) counts(u64) -> String { START => count => <again: count, done: counted> => checked => counting::sum; }
    }
}

/// What is asked of a store, and what was read of it.
#[derive(Clone)]
struct Counting {
    inner: SqliteStore,
    records: Arc<AtomicUsize>,
}

impl Store for Counting {
    graphweft_tests::forward_store! {
        join leave header list count overview open_questions delete reserve_task claim start_over is_alive is_served is_shared
        is_volatile feed feed_end graph logs keeps_snapshots put_snapshot snapshot
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        self.inner.create(run)
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        self.inner.append(batch)
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        let (read, records) = (self.inner.read(run, from, limit), Arc::clone(&self.records));
        Box::pin(async move {
            let read = read.await?;
            records.fetch_add(read.len(), Ordering::SeqCst);
            Ok(read)
        })
    }
}

struct Place {
    directory: TempDir,
    journal: Journal,
}

impl Place {
    fn new() -> Place {
        Place { directory: TempDir::new().unwrap(), journal: Journal::default() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("runs.db")
    }

    /// A copy of the file, with the snapshots in it changed by this statement.
    fn with(&self, statement: &str) -> Place {
        let copy = Place::new();
        // Through SQLite, which reads the log beside the file as well.
        behind_the_back(&self.path()).execute("VACUUM INTO ?1", [copy.path().to_str().unwrap()]).unwrap();
        for line in self.journal.lines() {
            copy.journal.note(line);
        }
        if !statement.is_empty() {
            assert_eq!(behind_the_back(&copy.path()).execute(statement, []).unwrap(), 1, "{statement}");
        }
        copy
    }

    async fn store(&self) -> Counting {
        let inner = SqliteStore::builder().durability(Durability::Relaxed).open(self.path()).await.unwrap();
        Counting { inner, records: Arc::default() }
    }

    fn engine(&self, store: Counting, death: &Death, end: u64) -> EngineBuilder {
        Engine::builder().store(store).resource(self.journal.clone()).resource(death.clone()).resource(End(end))
    }

    /// A process that dies when a count has come to its end, and a snapshot of so many records or more is there.
    fn dies_when_counted<W: Workflow<Input = u64>>(&self, end: u64, snapshot: u64) {
        life(async {
            let death = Death::at("counted");
            let engine = self.engine(self.store().await, &death, end).register::<W>().build().unwrap();
            let _run = engine.start::<W>(1).id("run").await.unwrap();
            death.came().await;
            let is_there = async {
                while self.snapshot().is_none_or(|records| records < snapshot) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(300), is_there).await.expect("a snapshot is made");
        });
    }

    /// How many records the snapshot in the file covers.
    fn snapshot(&self) -> Option<u64> {
        let connection = behind_the_back(&self.path());
        connection
            .query_row("SELECT records FROM snapshots", [], |row| row.get::<_, i64>(0))
            .ok()
            .map(i64::cast_unsigned)
    }

    /// The next process resumes the run to its end. Returns the output, and how many records were read.
    fn resumes<W: Workflow>(&self, end: u64) -> (Json, usize) {
        life(async {
            let store = self.store().await;
            let engine = self.engine(store.clone(), &Death::default(), end).register::<W>().build().unwrap();
            let recovery = engine.recover().await.unwrap();
            assert!(recovery.failed.is_empty(), "{:?}", recovery.failed);
            let run = engine.get_run("run").await.unwrap().unwrap();
            let output = tokio::time::timeout(Duration::from_secs(300), run.result()).await.expect("the run ends");
            (output.unwrap(), store.records.load(Ordering::SeqCst))
        })
    }
}

fn behind_the_back(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    connection
}

fn sum_to(turns: u64) -> Json {
    json!(format!("{turns} turns, {} in all", turns * (turns + 1) / 2))
}

/// How many records may be behind a snapshot: it is made while the run continues.
const FEW: usize = 12_000;

#[test]
fn a_loop_of_very_many_turns_is_resumed_without_reading_them() {
    let turns = 30_000;
    let place = Place::new();
    place.dies_when_counted::<counts>(turns, 2 * turns - 6_000);
    let (output, read) = place.resumes::<counts>(turns);
    assert_eq!(output, sum_to(turns));
    assert!(read < FEW, "{read} records were read");
}

#[test]
fn a_snapshot_that_is_damaged_or_gone_or_of_another_kind_is_not_needed() {
    let turns = 3_000;
    let place = Place::new();
    place.dies_when_counted::<counts>(turns, 4_096);
    let all = 2 * turns as usize;
    for (statement, reads_all) in [
        ("", false),
        ("DELETE FROM snapshots", true),
        ("UPDATE snapshots SET state = CAST(substr(state, 2) AS BLOB)", true),
        // It reads as before, but for its checksum.
        ("UPDATE snapshots SET state = CAST(state || ' ' AS BLOB)", true),
        ("UPDATE snapshots SET checksum = checksum + 1", true),
        ("UPDATE snapshots SET records = records - 1", true),
    ] {
        let (output, read) = place.with(statement).resumes::<counts>(turns);
        assert_eq!(output, sum_to(turns), "{statement}");
        assert_eq!(read >= all, reads_all, "{statement}: {read} of {all}");
    }
}

#[test]
fn a_snapshot_of_another_version_of_the_workflow_is_ignored() {
    let turns = 3_000;
    let place = Place::new();
    place.dies_when_counted::<counts>(turns, 4_096);
    let (output, read) = place.resumes::<changed::counts>(turns);
    assert_eq!(output, sum_to(turns));
    assert!(read >= 2 * turns as usize, "{read} records were read");
}

#[test]
fn a_run_without_many_records_has_no_snapshot() {
    let place = Place::new();
    let output = life(async {
        let engine = place.engine(place.store().await, &Death::default(), 1_000).register::<counts>().build().unwrap();
        engine.start::<counts>(1).id("run").await.unwrap().result().await.unwrap()
    });
    assert_eq!(output, sum_to(1_000).as_str().unwrap());
    assert_eq!(place.snapshot(), None);
}

/// A run with everything open for as long as it counts.
mod much {
    use super::*;

    #[node]
    pub(super) async fn asks(n: u64, ctx: &Context) -> u64 {
        n + ctx.ask::<u64>("amount", "How much?").payload(json!({ "n": n })).await
    }

    #[node]
    pub(super) async fn waits(_n: u64, ctx: &Context) -> u64 {
        ctx.wait(PAID).await + ctx.wait(PAID).await
    }

    #[node]
    pub(super) async fn naps(n: u64, ctx: &Context) -> u64 {
        ctx.sleep(Duration::from_secs(4)).await;
        n
    }

    #[node]
    pub(super) async fn steps(n: u64, ctx: &Context, #[resource] journal: &Journal) -> Result<u64, ChildError<String>> {
        let step = ctx.step("charge", || async {
            journal.note("charge");
            Ok::<_, String>(Some(f64::from(u32::MAX) + 0.1))
        });
        let charged = step.await?;
        ctx.note("charged", charged);
        let sure: Option<bool> = ctx.ask("sure", "Sure?").await;
        Ok(n + u64::from(sure.is_none()) + u64::from(charged == Some(4_294_967_295.1)))
    }

    #[node]
    async fn asked_inside(n: u64, ctx: &Context) -> u64 {
        n + ctx.ask::<u64>("inside", "How much inside?").await
    }

    workflow! { pub(super) inner(u64) -> u64 { START => asked_inside; } }
    workflow! { pub(super) nested(u64) -> u64 { START => asked_inside; } }

    #[node]
    pub(super) async fn calls(n: u64, ctx: &Context) -> Result<u64, ChildError<Failure>> {
        ctx.call::<inner>(n).await
    }

    #[node]
    pub(super) async fn parts(_n: u64) -> Vec<Option<u64>> {
        vec![Some(1), None, Some(3)]
    }

    #[node(max_parallel = 2)]
    pub(super) async fn part(n: Option<u64>, ctx: &Context) -> u64 {
        n.unwrap_or(100) + ctx.ask::<u64>("part", "How much of it?").await
    }

    #[node]
    pub(super) async fn of_parts(parts: Vec<u64>) -> Vec<u64> {
        parts
    }

    #[node(retry(max_attempts = 2, initial_delay = "4s"))]
    pub(super) async fn fails_once(n: u64, #[resource] journal: &Journal) -> Result<u64, String> {
        if journal.count("failed") > 0 {
            return Ok(n);
        }
        journal.note("failed");
        Err("for now".to_owned())
    }

    #[node]
    pub(super) async fn at_once(n: u64) -> u64 {
        n + 7
    }

    #[node]
    pub(super) async fn later(n: u64, ctx: &Context) -> u64 {
        n + ctx.ask::<u64>("later", "And later?").await
    }

    #[node(collect)]
    pub(super) async fn both(n: u64, ctx: &Context) -> Result<Option<Vec<u64>>, Fault> {
        let mut kept = ctx.collector_state().get(KEPT)?.unwrap_or_default();
        kept.push(n);
        let is_all = kept.len() == 2;
        ctx.collector_state().set(KEPT, kept.clone());
        Ok(is_all.then_some(kept))
    }

    #[node]
    #[allow(clippy::too_many_arguments, reason = "one for each branch")]
    pub(super) async fn all(
        counted: u64,
        asked: u64,
        paid: u64,
        slept: u64,
        charged: u64,
        called: u64,
        inside: u64,
        parts: Vec<u64>,
        tried: u64,
        collected: Vec<u64>,
        ctx: &Context,
    ) -> Result<String, Fault> {
        let total = ctx.state().get(TOTAL)?;
        Ok(format!(
            "{counted} {asked} {paid} {slept} {charged} {called} {inside} {parts:?} {tried} {collected:?} {total:?}"
        ))
    }

    workflow! {
        pub(super) much(u64) -> String {
            START => (count, asks, waits, naps, steps, calls, nested, parts, fails_once, at_once, later);
            count => <again (at most 5000): count, done: counted, spent: counted>;
            parts => [part] => of_parts;
            at_once | later => both;
            (counted, asks, waits, naps, steps, calls, nested, of_parts, fails_once, both) => all => END;
        }
    }
}
use much::much as with_much;

impl Place {
    /// The next process: answers all that is asked, and returns the output and the records behind those that were there.
    fn answers_all(&self, turns: u64) -> (Json, Vec<(String, String)>, usize) {
        life(async {
            let store = self.store().await;
            let before = store.header("run").await.unwrap().unwrap().records;
            let engine = self.engine(store.clone(), &Death::default(), turns).register::<with_much>().build().unwrap();
            let other = self.engine(self.store().await, &Death::default(), turns).build().unwrap();
            engine.recover().await.unwrap();
            let run = engine.get_run("run").await.unwrap().unwrap();
            // Half of it comes from another engine, which does not know the workflow.
            for (at, paid) in [1_000, 2_000].into_iter().enumerate() {
                let from = if at == 0 { &engine } else { &other };
                from.signal("run", PAID, paid).id(format!("evt_{paid}")).await.unwrap();
            }
            let answers = async {
                let mut at = 0;
                loop {
                    match run.outcome().await.unwrap() {
                        Outcome::Completed(output) => return output,
                        Outcome::Waiting(questions) => {
                            for question in questions {
                                at += 1;
                                let answer =
                                    if question.name == "sure" { json!(null) } else { json!(10 + question.id.len()) };
                                let by = if at % 2 == 0 { &engine } else { &other };
                                by.answer("run", &question.id, answer).await.unwrap();
                            }
                        }
                        Outcome::AwaitingSignals(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                        other => panic!("{other:?}"),
                    }
                }
            };
            let output = tokio::time::timeout(Duration::from_secs(300), answers).await.expect("the run ends");
            let read = store.records.load(Ordering::SeqCst);
            let key = store.header("run").await.unwrap().unwrap().key;
            let records = store.inner.read(key, before, usize::MAX).await.unwrap();
            let mut records: Vec<(String, String)> = (records.into_iter())
                .map(|stored| (stored.record.path, stored.record.kind.name().to_owned()))
                .collect();
            // The branches are independent of each other.
            records.sort();
            (output, records, read)
        })
    }
}

#[test]
fn what_is_open_at_a_snapshot_continues_as_it_does_without_one() {
    let turns = 3_000;
    let place = Place::new();
    place.dies_when_counted::<with_much>(turns, 4_096);
    let without = place.with("DELETE FROM snapshots");

    let (output, records, read) = place.answers_all(turns);
    let (expected, expected_records, read_without) = without.answers_all(turns);

    assert!(read < 2 * turns as usize && read_without > 2 * turns as usize, "{read} and {read_without}");
    assert_eq!(output, expected);
    assert_eq!(records, expected_records);
    assert_eq!(place.journal.count("charge"), 1);
    let text = output.as_str().unwrap().to_owned();
    assert!(text.starts_with("3000 ") && text.ends_with(" Some(4501500)"), "{text}");
    assert!(text.contains(" 3000 1 3 "), "both signals, the sleep, and the step that was not made again: {text}");
    drop(fs::read(place.path()).unwrap());
}

#[test]
fn another_engine_takes_the_run_over_from_its_snapshot() {
    let turns = 3_000;
    let place = Place::new();
    place.dies_when_counted::<counts>(turns, 4_096);
    // Two engines of one program: whichever comes first has the run, and both know its end.
    life(async {
        let (one, two) = (place.store().await, place.store().await);
        let engines = [&one, &two]
            .map(|store| place.engine(store.clone(), &Death::default(), turns).register::<counts>().build().unwrap());
        let [first, second] = &engines;
        let (first, second) = tokio::join!(first.recover(), second.recover());
        assert_eq!(first.unwrap().resumed.len() + second.unwrap().resumed.len(), 1);
        for engine in &engines {
            let run = engine.get_run("run").await.unwrap().unwrap();
            assert_eq!(run.result().await.unwrap(), sum_to(turns));
        }
        let read = one.records.load(Ordering::SeqCst) + two.records.load(Ordering::SeqCst);
        assert!(read < 2 * turns as usize, "{read} records were read");
    });
}
