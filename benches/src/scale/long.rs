//! Processes that go on for long, loops that do, and a graph that is large.

use std::path::Path;
use std::time::Instant;

use graphweft::prelude::*;
use graphweft_benches_large::chain_of_1000;
use serde_json::{Value, json};

use super::{Scale, grouped, measure, resident, runtime};
use crate::flows::{THOUSANDS, short, timed_rounds};
use crate::measure::{Role, median};
use crate::report::{Figure, Row, Target, Unit};

/// So many runs of three nodes, through an engine, one after the other.
pub(super) fn short_runs(count: u64) -> Value {
    runtime().block_on(async {
        let engine = Engine::builder().register::<short>().build().expect("an engine");
        let some = async |count: u64| {
            for n in 0..count {
                let run = engine.start::<short>(n).await.expect("it needs nothing");
                assert_eq!(run.result().await.expect("it cannot fail"), n + 3);
            }
        };
        // The last thousand runs are kept: that much is no growth.
        some(count / 10).await;
        let before = resident();
        let begun = Instant::now();
        some(count - count / 10).await;
        let took = begun.elapsed().as_nanos() as f64 / (count - count / 10) as f64;
        json!({ "bytes": resident() - before, "ns": took })
    })
}

/// A loop of so many turns.
pub(super) fn turns(count: u64) -> Value {
    let runtime = runtime();
    let thousands = |count| {
        runtime.block_on(timed_rounds(count)).expect("a loop that ends");
        std::mem::take(&mut *THOUSANDS.lock().expect("nobody panics with it"))
    };
    // What is laid out with the first run, and room for the times, is no growth.
    let room = thousands(count / 10);
    drop(room);
    let before = resident();
    let times = thousands(count);
    let bytes = resident() - before - (times.capacity() * size_of::<Instant>()) as f64;
    let tenth = times.len() / 10;
    let turn = |from: usize| {
        let thousands = times[from..from + tenth].windows(2).map(|ends| (ends[1] - ends[0]).as_nanos() as f64 / 1000.0);
        median(&thousands.collect::<Vec<_>>())
    };
    json!({ "first": turn(0), "last": turn(times.len() - tenth), "bytes": bytes })
}

/// A graph of a thousand nodes: the first run, which lays it out, and the following.
pub(super) fn large_graph() -> Value {
    runtime().block_on(async {
        let begun = Instant::now();
        chain_of_1000(0).await.expect("it cannot fail");
        let first = begun.elapsed().as_nanos() as f64;
        let begun = Instant::now();
        for n in 0..100 {
            chain_of_1000(n).await.expect("it cannot fail");
        }
        json!({ "first": first, "then": begun.elapsed().as_nanos() as f64 / 100_000.0 })
    })
}

pub(super) fn rows(directory: &Path, scale: Scale) -> Vec<Row> {
    let short = measure("short", scale.short, directory);
    let turns = measure("turns", scale.turns, directory);
    let large = measure("large", 0, directory);
    let figure =
        |name: &str, role, of: &Value, what: &str| Figure::single(name, role, of[what].as_f64().unwrap_or(f64::NAN));
    let runs = format!("{} short runs", grouped(scale.short));
    let rounds = format!("loop of {} turns", grouped(scale.turns));
    let grown = |row: Row| {
        let bytes = row.ours().median;
        row.with_target(Target::new("no growth (≤ 1 MB)", bytes <= 1e6))
    };
    let ours = |of: &Value, what| vec![figure("graphweft", Role::Ours, of, what)];
    let as_fast = Row::single(
        format!("{rounds}, the last tenth against the first, a turn"),
        Unit::Time,
        vec![
            figure("the last tenth", Role::Ours, &turns, "last"),
            figure("the first tenth", Role::Limit, &turns, "first"),
        ],
    );
    let is_as_fast = as_fast.ratio.is_some_and(|ratio| ratio <= 1.1);
    vec![
        Row::single(format!("{runs} of 3 nodes through an engine, a run"), Unit::Time, ours(&short, "ns")),
        grown(Row::single(format!("{runs}, growth over the last nine tenths"), Unit::Bytes, ours(&short, "bytes"))),
        as_fast.with_target(Target::new("as fast (≤ 1.1)", is_as_fast)),
        grown(Row::single(format!("{rounds}, growth"), Unit::Bytes, ours(&turns, "bytes"))),
        Row::single("graph of 1,000 nodes, the first run", Unit::Time, ours(&large, "first")),
        Row::single("graph of 1,000 nodes, a node of the following runs", Unit::Time, ours(&large, "then")),
    ]
}
