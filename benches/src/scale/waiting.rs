//! Runs that wait for an answer: they cost nothing but room on the disk.

use std::path::Path;
use std::time::Instant;

use futures::StreamExt;
use graphweft::prelude::*;
use graphweft::store::{Durability, SqliteStore};
use serde_json::{Value, json};

use super::{at_most, grouped, measure, resident, runtime};
use crate::measure::{Role, median};
use crate::raw::settle;
use crate::report::{Figure, Row, Target, Unit};

const FILE: &str = "waiting.db";

/// How often the file is opened.
const ROUNDS: usize = 7;

#[node]
async fn asks(n: u64, ctx: &Context) -> u64 {
    n + ctx.ask::<u64>("more", "How much more?").await
}

workflow! { waits(u64) -> u64 { START => asks; } }

async fn engine(file: &Path, max_resident_waiting: Option<usize>) -> Engine {
    let store = SqliteStore::builder().durability(Durability::Relaxed).open(file).await.expect("a file of runs");
    let builder = Engine::builder().store(store).register::<waits>();
    let builder = max_resident_waiting.into_iter().fold(builder, |builder, runs| builder.max_resident_waiting(runs));
    builder.build().expect("an engine")
}

async fn begin(engine: &Engine, count: u64) {
    let waiting = futures::stream::iter(0..count).map(|n| async move {
        let run = engine.start::<waits>(n).await.expect("a store that works");
        assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))), "it waits");
    });
    waiting.buffer_unordered(256).collect::<()>().await;
}

/// Begins so many runs that wait.
pub(super) fn wait(count: u64, directory: &Path) -> Value {
    let file = directory.join(FILE);
    let (bytes, time) = runtime().block_on(async {
        let engine = engine(&file, None).await;
        begin(&engine, 2_000).await;
        let before = resident();
        let begun = Instant::now();
        begin(&engine, count - 2_000).await;
        let per_run = (count - 2_000) as f64;
        ((resident() - before) / per_run, begun.elapsed().as_nanos() as f64 / per_run)
    });
    settle(&file);
    let on_disk = std::fs::metadata(&file).expect("a file of runs").len();
    json!({ "bytes": bytes, "ns": time, "on_disk": on_disk as f64 / count as f64 })
}

/// Opens a file and does what a process does when it starts.
pub(super) fn open(directory: &Path) -> Value {
    let before = resident();
    runtime().block_on(async {
        let begun = Instant::now();
        let engine = engine(&directory.join(FILE), None).await;
        let recovery = engine.recover().await.expect("a file of runs");
        let took = begun.elapsed().as_nanos() as f64;
        assert!(recovery.resumed.is_empty(), "all of them wait");
        json!({ "ns": took, "bytes": resident() - before })
    })
}

/// So many runs that wait and are kept in memory, where an answer finds them at once.
pub(super) fn parked_in_memory(count: u64, directory: &Path) -> Value {
    runtime().block_on(async {
        let engine = engine(&directory.join("parked.db"), Some(usize::MAX)).await;
        let before = resident();
        begin(&engine, count).await;
        json!({ "bytes": (resident() - before) / count as f64 })
    })
}

pub(super) fn rows(directory: &Path, count: u64) -> Vec<Row> {
    let (empty, full) = (directory.join("none"), directory.join("many"));
    for directory in [&empty, &full] {
        std::fs::create_dir_all(directory).expect("room for files");
    }
    let waiting = measure("wait", count, &full);
    let of = |what: &str| waiting[what].as_f64().unwrap_or(f64::NAN);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(measure("open", 0, &empty));
        with.push(measure("open", 0, &full));
    }
    let figure = |name: &str, role, rounds: &[Value], what: &str| {
        let values: Vec<f64> = rounds.iter().filter_map(|round| round[what].as_f64()).collect();
        let (least, most) = values.iter().fold((f64::MAX, 0.0_f64), |(a, b), value| (a.min(*value), b.max(*value)));
        Figure { name: name.to_owned(), role, median: median(&values), least, most }
    };
    let both = |what| {
        vec![
            figure("graphweft, with them", Role::Ours, &with, what),
            figure("graphweft, without any", Role::Limit, &without, what),
        ]
    };
    let runs = format!("{} waiting runs", grouped(count));
    let opening = Row::single(format!("{runs}: opening the file and `recover`"), Unit::Time, both("ns"));
    let unaffected = opening.ratio.is_some_and(|ratio| ratio <= 1.25);
    let single = |what, unit, value| {
        Row::single(format!("{runs}: {what}"), unit, vec![Figure::single("graphweft", Role::Ours, value)])
    };
    vec![
        opening.with_target(Target::new("unaffected (≤ 1.25)", unaffected)),
        Row::single(format!("{runs}: memory after that"), Unit::Bytes, both("bytes")),
        single("on disk, a run", Unit::Bytes, of("on_disk")).with_target(at_most(Unit::Bytes, of("on_disk"), 1024.0)),
        single("memory that a run leaves behind when it has begun to wait", Unit::Bytes, of("bytes")),
        single("beginning one", Unit::Time, of("ns")),
    ]
}
