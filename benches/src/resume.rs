//! Going on with a run that has ten thousand steps behind it, or a hundred thousand.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphweft::prelude::*;
use graphweft::store::{Durability, SqliteStore};
use graphweft::{Engine, Workflow};
use rusqlite::Connection;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::flows::turn;
use crate::measure::{Contender, Effort, Role, paired};
use crate::raw::{appends_of, rows as rows_of_records, settle};
use crate::report::Row;

/// How many steps there are.
pub const STEPS: u64 = 10_000;

/// How many steps a long run has: two records each.
pub const MANY_STEPS: u64 = 100_000;

/// Whether a run has snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// As by default.
    Made,
    /// All of its records are read to go on.
    NotMade,
}

/// Whether runs come to an end: in the life that goes on.
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// When what is not on record began.
static BEGUN: Mutex<Option<Instant>> = Mutex::new(None);
static HAS_BEGUN: Notify = Notify::const_new();

/// What is not on record: in the first life it does not end.
async fn the_rest() {
    *BEGUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    if !GOES_ON.load(Ordering::Acquire) {
        HAS_BEGUN.notify_one();
        std::future::pending::<()>().await;
    }
}

#[node]
async fn last(n: u64) -> u64 {
    the_rest().await;
    n
}

workflow! {
    /// As many nodes as it is told, and one that does not end before it is told so.
    pub rounds_and_last(u64) -> u64 { START => turn => <again: turn, done: last>; }
}

#[node]
async fn many_steps(steps: u64, ctx: &Context) -> Result<u64, graphweft::ChildError<Never>> {
    let mut sum = 0;
    for step in 0..steps {
        sum += ctx.step("one", || async move { Ok::<_, Never>(step) }).key(step).await?;
    }
    the_rest().await;
    Ok(sum)
}

workflow! {
    /// As many steps of one node as it is told, and no end before it is told so.
    pub one_node_of_steps(u64) -> u64 { START => many_steps; }
}

/// The lines of the table. The files are made in `directory`.
pub fn rows(runtime: &Runtime, directory: &Path, effort: Effort) -> Vec<Row> {
    let nodes = |name, steps, snapshot| row::<rounds_and_last>(runtime, directory, effort, name, (steps, snapshot));
    let steps = |name, snapshot| row::<one_node_of_steps>(runtime, directory, effort, name, (STEPS, snapshot));
    vec![
        nodes("resume after 10,000 recorded nodes, without a snapshot", STEPS - 1, Snapshots::NotMade).at_most(30e6),
        nodes("resume after 100,000 recorded nodes, from a snapshot", MANY_STEPS - 1, Snapshots::Made).at_most(30e6),
        nodes("resume after 100,000 recorded nodes, without a snapshot", MANY_STEPS - 1, Snapshots::NotMade),
        steps("resume of a node after 10,000 `ctx.step`s, without a snapshot", Snapshots::NotMade).at_most(30e6),
    ]
}

fn row<W: Workflow<Input = u64>>(
    runtime: &Runtime,
    directory: &Path,
    effort: Effort,
    name: &str,
    (steps, snapshots): (u64, Snapshots),
) -> Row {
    let file = directory.join(format!("{}-{steps}-{snapshots:?}.db", W::NAME));
    cut_short::<W>(&file, steps, snapshots);
    // A new name for each copy: the one before is closed some moments after its last use.
    let mut copies = (0..).map(|n| directory.join(format!("{}-{steps}-{snapshots:?}-{n}.db", W::NAME)));
    let mut goes_on =
        || goes_on::<W>(runtime, &file, &copies.next().expect("there is always another number"), snapshots);
    let measured = paired(
        vec![
            Contender::new("graphweft", Role::Ours, 1, |times| (0..times).map(|_| goes_on()).sum()),
            Contender::new("reading the rows", Role::Limit, 1, |times| (0..times).map(|_| read_once(&file)).sum()),
            Contender::new("reading and parsing the rows", Role::Also, 1, |times| {
                (0..times).map(|_| read_and_parse(&file)).sum()
            }),
        ],
        effort,
    );
    Row::of(name, &measured)
}

/// A process that dies when all steps are done.
pub fn cut_short<W: Workflow<Input = u64>>(file: &Path, steps: u64, snapshots: Snapshots) {
    GOES_ON.store(false, Ordering::Release);
    let life = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    life.block_on(async {
        let engine = engine::<W>(file, snapshots).await;
        let _run = engine.start::<W>(steps).id("run").await.expect("a store that works");
        HAS_BEGUN.notified().await;
        if snapshots == Snapshots::Made {
            // The last one may be under way.
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    life.shutdown_timeout(Duration::from_secs(10));
    settle(file);
}

async fn engine<W: Workflow>(file: &Path, snapshots: Snapshots) -> Engine {
    let store = SqliteStore::builder().durability(Durability::Relaxed).open(file).await.expect("a file of runs");
    let builder = Engine::builder().store(store).register::<W>();
    let builder = if snapshots == Snapshots::NotMade { builder.snapshot_every(0) } else { builder };
    builder.build().expect("an engine")
}

/// The life after that, on a copy: from `recover` to the first node that was not done.
pub fn goes_on<W: Workflow>(runtime: &Runtime, file: &Path, copy: &Path, snapshots: Snapshots) -> Duration {
    fs::copy(file, copy).expect("room for a copy");
    GOES_ON.store(true, Ordering::Release);
    runtime.block_on(async {
        let engine = engine::<W>(copy, snapshots).await;
        *BEGUN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let begun = Instant::now();
        let recovery = engine.recover().await.expect("a file of runs");
        assert_eq!(recovery.resumed.len(), 1, "one run was cut short");
        recovery.resumed[0].result().await.expect("it ends now");
        let went_on = BEGUN.lock().unwrap_or_else(PoisonError::into_inner).expect("the last node has run");
        went_on - begun
    })
}

fn read_once(file: &Path) -> Duration {
    let connection = Connection::open(file).expect("a file of runs");
    let begun = Instant::now();
    let mut rows = connection
        .prepare(
            "SELECT body FROM (SELECT id, body FROM journal UNION ALL SELECT id, body FROM commit_log) ORDER BY id",
        )
        .expect("a file of runs");
    let bytes = rows.query_map([], |row| Ok(row.get_ref(0)?.as_str()?.len())).expect("a file of runs");
    std::hint::black_box(bytes.map(|bytes| bytes.expect("a body")).sum::<usize>());
    begun.elapsed()
}

fn read_and_parse(file: &Path) -> Duration {
    let begun = Instant::now();
    for row in rows_of_records(file) {
        appends_of(&row).for_each(|append| drop(std::hint::black_box(append)));
    }
    begun.elapsed()
}
