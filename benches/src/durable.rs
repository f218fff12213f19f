//! Steps that are recorded in a file, against the commits of SQLite that they cannot do without.

use std::path::Path;
use std::time::{Duration, Instant};

use futures::future::join_all;
use graphweft::Engine;
use graphweft::store::{Durability, SqliteStore};
use tokio::runtime::Runtime;

use crate::by_hand::NODES;
use crate::flows::{GATE, gated_rounds};
use crate::measure::{Contender, Effort, Role, paired};
use crate::peers::Peers;
use crate::raw::{Raw, Synchronous, Tuning, WARM_UP, bodies};
use crate::report::{Row, Target};

/// How many runs there are at once.
const AT_ONCE: u64 = 64;

/// An engine on a file.
pub fn engine(runtime: &Runtime, path: &Path, durability: Durability) -> Engine {
    runtime.block_on(async {
        let store = SqliteStore::builder().durability(durability).open(path).await.expect("a new file");
        Engine::builder().store(store).register::<gated_rounds>().build().expect("an engine")
    })
}

/// An engine on a file whose log is as long as it gets.
fn warm_engine(runtime: &Runtime, path: &Path, durability: Durability) -> Engine {
    // Of two that have the file open, so that the log stays when one of them has done its part without waiting.
    let warm = engine(runtime, path, durability);
    steps(runtime, &engine(runtime, path, Durability::Relaxed), 1, WARM_UP);
    warm
}

/// So many runs at once of so many nodes each, from when all of them stand at the gate.
pub fn steps(runtime: &Runtime, engine: &Engine, runs: u64, nodes: u64) -> Duration {
    runtime.block_on(async {
        // One node is the gate, and one is the last turn.
        let begun = join_all((0..runs).map(|_| engine.start::<gated_rounds>(nodes - 2).into_future())).await;
        let clock = Instant::now();
        GATE.add_permits(runs as usize);
        join_all(begun.iter().map(|run| run.as_ref().expect("a store that works").result())).await;
        clock.elapsed()
    })
}

/// A contender that does so many steps in each of some runs.
fn contender<'a>(name: &str, role: Role, runtime: &'a Runtime, engine: &'a Engine, runs: u64) -> Contender<'a> {
    Contender::new(name, role, runs, move |times| {
        // With fewer, how runs begin and end would be measured: their headers are written then, and the last of many runs
        // have the disk for themselves.
        let nodes = times.max(1000);
        steps(runtime, engine, runs, nodes).mul_f64(times as f64 / nodes as f64)
    })
}

/// A contender that writes by hand, in a task of the same runtime: how long a sync takes depends on the core that waits
/// for it, since the disk wakes one of them sooner than the others.
fn by_hand<'a>(
    name: &str,
    role: Role,
    runtime: &'a Runtime,
    raw: Raw,
    units: u64,
    write: fn(&mut Raw, u64) -> Duration,
) -> Contender<'a> {
    let mut raw = Some(raw);
    Contender::new(name, role, units, move |times| {
        let mut writer = raw.take().expect("it is given back");
        let writing = runtime.spawn(async move {
            let took = write(&mut writer, times);
            (writer, took)
        });
        let (writer, took) = runtime.block_on(writing).expect("it does not panic");
        raw = Some(writer);
        took
    })
}

/// The lines of the table. The files are made in `directory`.
pub fn rows(runtime: &Runtime, peers: &Peers, directory: &Path, effort: Effort) -> Vec<Row> {
    let written = what_a_step_writes(runtime, directory);
    vec![
        step(runtime, peers, directory, effort, Synchronous::Full, &written).at_most_times_the_limit(1.1),
        step(runtime, peers, directory, effort, Synchronous::Normal, &written).at_most_times_the_limit(1.5),
        many_runs(runtime, directory, effort, &written),
    ]
}

fn what_a_step_writes(runtime: &Runtime, directory: &Path) -> Vec<String> {
    let path = directory.join("written.db");
    steps(runtime, &engine(runtime, &path, Durability::Relaxed), 1, 500);
    let mut bodies = bodies(&path);
    assert!(bodies.len() >= 500, "each step is a commit of its own");
    // The first is the start of the run, the last its end.
    bodies.pop();
    bodies.split_off(1)
}

fn step(
    runtime: &Runtime,
    peers: &Peers,
    directory: &Path,
    effort: Effort,
    synchronous: Synchronous,
    written: &[String],
) -> Row {
    let (durability, name, theirs) = match synchronous {
        Synchronous::Full => (Durability::Full, "full", "durable-full"),
        Synchronous::Normal => (Durability::Relaxed, "normal", "durable-normal"),
    };
    let file = |of: &str| directory.join(format!("step-{name}-{of}.db"));
    let ours = warm_engine(runtime, &file("ours"), durability);
    let raw = Raw::new(&file("raw"), synchronous, Tuning::AsOurs, written.to_vec());
    let defaults = Raw::new(&file("defaults"), synchronous, Tuning::Defaults, written.to_vec());
    let mut contenders = vec![
        contender("graphweft", Role::Ours, runtime, &ours, 1),
        by_hand("a raw commit", Role::Limit, runtime, raw, 1, |raw, times| raw.commits(times)),
        by_hand("a raw commit with SQLite's defaults", Role::Also, runtime, defaults, 1, |raw, times| {
            raw.commits(times)
        }),
    ];
    contenders.extend(peers.at(theirs, NODES));
    let measured = paired(contenders, effort);
    Row::of(format!("durable step, WAL, synchronous={}", name.to_uppercase()), &measured)
}

/// Many runs share the wait for the disk.
fn many_runs(runtime: &Runtime, directory: &Path, effort: Effort, written: &[String]) -> Row {
    let ours = warm_engine(runtime, &directory.join("many-ours.db"), Durability::Full);
    let raw = Raw::new(&directory.join("many-raw.db"), Synchronous::Full, Tuning::AsOurs, written.to_vec());
    let measured = paired(
        vec![
            contender("graphweft, 64 runs", Role::Ours, runtime, &ours, AT_ONCE),
            by_hand("raw commits of 64 rows", Role::Limit, runtime, raw, AT_ONCE, |raw, times| {
                raw.group_commits(times, AT_ONCE as i64)
            }),
            contender("graphweft, one run", Role::Also, runtime, &ours, 1),
        ],
        effort,
    );
    let rate = measured[2].over(&measured[0]);
    let possible = measured[2].over(&measured[1]);
    Row::of(
        format!("64 durable runs at once, FULL, a step ({rate:.1} × the rate of one run; raw {possible:.1} ×)"),
        &measured,
    )
    .with_target(Target::new("≥ 20 × the rate of one run", rate >= 20.0))
}
