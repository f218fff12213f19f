//! Chains, fan-outs and loops without a store.

use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::Engine;
use tokio::runtime::Runtime;

use crate::by_hand::{self, NODES};
use crate::flows::{self, THOUSANDS};
use crate::measure::{Contender, Effort, Measured, Role, median, paired};
use crate::peers::Peers;
use crate::report::{Figure, Row, Target};

/// How many turns a loop takes.
pub const TURNS: u64 = 10_000;

/// Where the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In `Runtime::block_on`, on the thread that calls it. Nothing else runs there.
    Main,
    /// In a spawned task, as in a server: what yields goes through the queue of a worker.
    Spawned,
}

/// Runs something so many times in one task, and says how long that took.
pub fn timed<F>(runtime: &Runtime, place: Place, times: u64, one: impl Fn() -> F + Send + 'static) -> Duration
where
    F: Future<Output: Send> + Send,
{
    let all = async move {
        let begun = Instant::now();
        for _ in 0..times {
            std::hint::black_box(one().await);
        }
        begun.elapsed()
    };
    match place {
        Place::Main => runtime.block_on(all),
        Place::Spawned => runtime.block_on(async { tokio::spawn(all).await.expect("nothing panics") }),
    }
}

/// A contender that only has to be called. `$call` is awaited.
macro_rules! contender {
    ($runtime:expr, $place:expr, $name:expr, $role:ident, $units:expr, $call:expr) => {
        Contender::new($name, Role::$role, $units, move |times| {
            timed($runtime, $place, times, || async { $call.await })
        })
    };
}

/// A chain of a hundred nodes.
pub fn chain<'a>(runtime: &'a Runtime, place: Place, peers: &Peers) -> Vec<Contender<'a>> {
    let mut contenders = vec![
        contender!(runtime, place, "graphweft", Ours, NODES, flows::chain(1)),
        contender!(runtime, place, "graphweft, nodes with an `.await`", Also, NODES, flows::chain_with_awaits(1)),
        contender!(runtime, place, "boxed futures", Limit, NODES, by_hand::chain_of_boxes(1)),
        contender!(runtime, place, "plain await", Also, NODES, by_hand::chain(1)),
    ];
    contenders.extend(peers.at("chain", NODES));
    contenders
}

/// The same chain as a run of an engine with the default store, which keeps all of its records.
pub fn chain_in_engine(runtime: &Runtime, place: Place) -> Vec<Contender<'_>> {
    let engine = Engine::builder().build().expect("an engine");
    let in_engine = Contender::new("graphweft, `start` and `result`", Role::Ours, NODES, move |times| {
        let engine = engine.clone();
        timed(runtime, place, times, move || {
            let engine = engine.clone();
            async move {
                let run = engine.start::<flows::chain>(1).await.expect("it needs nothing");
                run.result().await.expect("it cannot fail")
            }
        })
    });
    vec![in_engine, contender!(runtime, place, "boxed futures", Limit, NODES, by_hand::chain_of_boxes(1))]
}

/// A hundred nodes at once, and a join.
pub fn fan_out<'a>(runtime: &'a Runtime, place: Place, peers: &Peers) -> Vec<Contender<'a>> {
    let mut contenders = vec![
        contender!(runtime, place, "graphweft, `[..]` over 100 items", Ours, NODES, flows::each(1)),
        contender!(runtime, place, "`join_all` in one task", Limit, NODES, by_hand::fan_out(1)),
        contender!(runtime, place, "graphweft, a group of 100", Also, NODES, flows::fan_out(1)),
        contender!(runtime, place, "spawned tasks", Also, NODES, by_hand::fan_out_to_tasks(1)),
    ];
    contenders.extend(peers.at("fan-out", NODES));
    contenders
}

/// A loop of ten thousand turns.
pub fn rounds<'a>(runtime: &'a Runtime, place: Place, peers: &Peers) -> Vec<Contender<'a>> {
    let mut contenders = vec![
        contender!(runtime, place, "graphweft", Ours, TURNS, flows::rounds(TURNS)),
        contender!(runtime, place, "boxed futures", Limit, TURNS, by_hand::rounds_of_boxes(TURNS)),
        contender!(runtime, place, "`loop` and `match`", Also, TURNS, by_hand::rounds(TURNS)),
    ];
    contenders.extend(peers.at("rounds", TURNS));
    contenders
}

/// A short run of three nodes through an engine, awaited by its caller: in the caller's task, and in a task of its own.
pub fn awaited(runtime: &Runtime, place: Place) -> Vec<Contender<'_>> {
    let engine = Engine::builder().build().expect("an engine");
    let through = |engine: &Engine, name, role, one: fn(Engine) -> BoxFuture<'static, u64>| {
        let engine = engine.clone();
        Contender::new(name, role, 1, move |times| {
            let engine = engine.clone();
            timed(runtime, place, times, move || one(engine.clone()))
        })
    };
    vec![
        through(&engine, "graphweft, `run_to_end`", Role::Ours, |engine| {
            async move { engine.run_to_end::<flows::short>(1).await.expect("it cannot fail") }.boxed()
        }),
        contender!(runtime, place, "a spawn and a wake", Limit, 1, tokio::spawn(async { std::hint::black_box(1) })),
        through(&engine, "graphweft, `start` and `result`", Role::Also, |engine| {
            let started =
                async move { engine.start::<flows::short>(1).await.expect("it needs nothing").result().await };
            started.map(|output| output.expect("it cannot fail")).boxed()
        }),
    ]
}

/// The same, held against each other.
fn in_its_own_task(awaited: &[Measured], within: &str) -> Row {
    let with_role = |name: &str, role| {
        let measured = awaited.iter().find(|measured| measured.name == name).expect("it was measured");
        Measured { role, ..measured.clone() }
    };
    let spawned = with_role("graphweft, `start` and `result`", Role::Ours);
    let both = [spawned, with_role("graphweft, `run_to_end`", Role::Limit)];
    let row = Row::of(format!("a short run of 3 nodes through an engine, in a task of its own{within}"), &both);
    let is_reached = row.ratio.is_some_and(|ratio| ratio <= 2.0);
    row.with_target(Target::new("≤ 2 × that in the caller's task", is_reached))
}

/// The lines of the table. The other libraries take part on the main thread.
pub fn rows(runtime: &Runtime, peers: &Peers, effort: Effort) -> Vec<Row> {
    let mut rows = rows_in(runtime, Place::Main, peers, effort);
    rows.push(last_thousand(runtime, effort));
    rows.extend(rows_in(runtime, Place::Spawned, &Peers::default(), effort));
    rows
}

fn rows_in(runtime: &Runtime, place: Place, peers: &Peers, effort: Effort) -> Vec<Row> {
    let chain = paired(chain(runtime, place, peers), effort);
    let in_engine = paired(chain_in_engine(runtime, place), effort);
    let fan_out = paired(fan_out(runtime, place, peers), effort);
    let rounds = paired(rounds(runtime, place, peers), effort);
    let awaited = paired(awaited(runtime, place), effort);
    let within = match place {
        Place::Main => "",
        Place::Spawned => ", in a spawned task",
    };
    vec![
        Row::of(format!("chain of 100 nodes, a node{within}"), &chain).at_most_times_the_limit(4.0),
        Row::of(format!("chain of 100 nodes in an engine, a node{within}"), &in_engine).at_most_times_the_limit(25.0),
        Row::of(format!("fan-out to 100 and join, a node{within}"), &fan_out).at_most_times_the_limit(4.0),
        in_tasks(&fan_out, within),
        Row::of(format!("loop of 10,000 turns, a turn{within}"), &rounds).at_most_times_the_limit(5.0),
        Row::of(format!("a short run of 3 nodes through an engine, in the task of its caller{within}"), &awaited)
            .at_most(8000.0),
        in_its_own_task(&awaited, within),
    ]
}

/// The same fan-out, held against a task for each node.
fn in_tasks(fan_out: &[Measured], within: &str) -> Row {
    let with_role = |name: &str, role| {
        let measured = fan_out.iter().find(|measured| measured.name == name).expect("it was measured");
        Measured { role, ..measured.clone() }
    };
    let both = [with_role("graphweft, a group of 100", Role::Ours), with_role("spawned tasks", Role::Limit)];
    let work = format!("fan-out to 100 written out, against a task for each, a node{within}");
    Row::of(work, &both).at_most_times_the_limit(1.0)
}

/// Whether a loop gets slower as it goes on.
fn last_thousand(runtime: &Runtime, effort: Effort) -> Row {
    let mut first = Measured { name: "the first thousand turns".to_owned(), role: Role::Limit, rounds: Vec::new() };
    let mut last = Measured { name: "the last thousand turns".to_owned(), role: Role::Ours, rounds: Vec::new() };
    for _ in 0..effort.rounds * 4 {
        THOUSANDS.lock().expect("nobody panics with it").clear();
        runtime.block_on(flows::timed_rounds(TURNS)).expect("a loop that ends");
        let times = std::mem::take(&mut *THOUSANDS.lock().expect("nobody panics with it"));
        let turn = |from: usize| (times[from + 1] - times[from]).as_nanos() as f64 / 1000.0;
        first.rounds.push(turn(0));
        last.rounds.push(turn(times.len() - 2));
    }
    let ratio = median(&last.rounds) / median(&first.rounds);
    let mut row = Row::of("the last thousand of 10,000 turns against the first, a turn", &[last, first]);
    row.figures.sort_by_key(|figure: &Figure| figure.role != Role::Ours);
    row.with_target(Target::new("as fast (≤ 1.1)", ratio <= 1.1))
}
