//! Other libraries at the same work, each in the way that its own documentation shows.
//!
//! Takes its turns from the program that measures: `list WORK` on a line gives the names of those that do it, `run WORK NAME
//! TIMES` the nanoseconds that it took. WORK is `chain`, `fan-out`, `rounds`, `durable-full` or `durable-normal`; the first
//! argument is a directory for files.
//!
//! What is made for each run anew, because a graph serves only once, is made before the clock starts: only running counts.

#[cfg(feature = "adk-graph")]
mod adk_graph;
#[cfg(feature = "async_dag")]
mod async_dag;
#[cfg(feature = "dagrs")]
mod dagrs;
#[cfg(feature = "dagx")]
mod dagx;
#[cfg(feature = "durare")]
mod durare;
#[cfg(feature = "duroxide")]
mod duroxide;
#[cfg(feature = "floxide")]
mod floxide;
#[cfg(feature = "graph-flow")]
mod graph_flow;
#[cfg(feature = "sayiir")]
mod sayiir;
#[cfg(any(feature = "adk-graph", feature = "durare"))]
mod sqlite;
#[cfg(feature = "takeln")]
mod takeln;

use std::future::Future;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

/// How many nodes a chain and a fan-out have.
const NODES: u64 = 100;

/// How many turns a loop takes.
const TURNS: u64 = 10_000;

/// So many runs of a hundred steps make a write-ahead log as long as it gets. While it grows, every sync has to record its new
/// length as well.
const WARM_UP: u64 = 10;

/// A library at one work: does it so many times, and says how long that took.
type Work = Box<dyn FnMut(&Runtime, u64) -> Duration>;

/// What every node does.
fn add_one(n: u64) -> u64 {
    black_box(n) + 1
}

/// For graphs that serve many runs.
fn again<F: Future>(mut run: impl FnMut() -> F + 'static) -> Work {
    Box::new(move |runtime, times| {
        runtime.block_on(async {
            let begun = Instant::now();
            for _ in 0..times {
                black_box(run().await);
            }
            begun.elapsed()
        })
    })
}

/// For graphs that serve one run.
fn each_made<G, F: Future>(make: impl Fn() -> G + 'static, run: impl Fn(G) -> F + 'static) -> Work {
    Box::new(move |runtime, times| {
        runtime.block_on(async {
            let mut took = Duration::ZERO;
            for _ in 0..times {
                let graph = make();
                let begun = Instant::now();
                black_box(run(graph).await);
                took += begun.elapsed();
            }
            took
        })
    })
}

fn works(work: &str, runtime: &Runtime, directory: &Path) -> Vec<(&'static str, Work)> {
    #[cfg(any(feature = "adk-graph", feature = "durare"))]
    use sqlx::sqlite::SqliteSynchronous::{Full, Normal};

    match work {
        "chain" => vec![
            #[cfg(feature = "async_dag")]
            ("async_dag", async_dag::chain()),
            #[cfg(feature = "sayiir")]
            ("sayiir", sayiir::chain()),
            #[cfg(feature = "graph-flow")]
            ("graph-flow", graph_flow::chain()),
            #[cfg(feature = "dagx")]
            ("dagx", dagx::chain()),
            #[cfg(feature = "dagrs")]
            ("dagrs", dagrs::chain()),
            #[cfg(feature = "floxide")]
            ("floxide", floxide::chain()),
            #[cfg(feature = "adk-graph")]
            ("adk-graph", adk_graph::chain()),
        ],
        "fan-out" => vec![
            #[cfg(feature = "async_dag")]
            ("async_dag", async_dag::fan_out()),
            #[cfg(feature = "sayiir")]
            ("sayiir", sayiir::fan_out()),
            #[cfg(feature = "graph-flow")]
            ("graph-flow", graph_flow::fan_out()),
            #[cfg(feature = "dagx")]
            ("dagx", dagx::fan_out()),
            #[cfg(feature = "dagrs")]
            ("dagrs", dagrs::fan_out()),
            #[cfg(feature = "floxide")]
            ("floxide", floxide::fan_out()),
            #[cfg(feature = "adk-graph")]
            ("adk-graph", adk_graph::fan_out()),
        ],
        "rounds" => vec![
            #[cfg(feature = "sayiir")]
            ("sayiir", sayiir::rounds()),
            #[cfg(feature = "graph-flow")]
            ("graph-flow", graph_flow::rounds()),
            #[cfg(feature = "dagrs")]
            ("dagrs", dagrs::rounds()),
            #[cfg(feature = "floxide")]
            ("floxide", floxide::rounds()),
            #[cfg(feature = "adk-graph")]
            ("adk-graph", adk_graph::rounds()),
        ],
        "durable-full" => vec![
            #[cfg(feature = "takeln")]
            ("takeln", takeln::durable(directory)),
            #[cfg(feature = "adk-graph")]
            ("adk-graph", adk_graph::durable(runtime, directory, Full)),
            #[cfg(feature = "durare")]
            ("durare", durare::durable(runtime, directory, Full)),
        ],
        "durable-normal" => vec![
            #[cfg(feature = "adk-graph")]
            ("adk-graph", adk_graph::durable(runtime, directory, Normal)),
            #[cfg(feature = "durare")]
            ("durare", durare::durable(runtime, directory, Normal)),
            #[cfg(feature = "duroxide")]
            ("duroxide", duroxide::durable(runtime, directory)),
        ],
        _ => Vec::new(),
    }
}

fn main() {
    let directory = std::env::args().nth(1).expect("a directory for files");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut at_hand: (String, Vec<(&str, Work)>) = Default::default();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let words: Vec<&str> = line.split_whitespace().collect();
        let [command, work, ..] = words[..] else { continue };
        if at_hand.0 != work {
            at_hand = (work.to_owned(), works(work, &runtime, Path::new(&directory)));
            if work == "durable-full" {
                for (_, run) in &mut at_hand.1 {
                    run(&runtime, WARM_UP);
                }
            }
        }
        let answer = match (command, &words[2..]) {
            ("run", [name, times]) => {
                let (_, run) = at_hand.1.iter_mut().find(|at_hand| at_hand.0 == *name).expect("it was listed");
                run(&runtime, times.parse().expect("a number")).as_nanos().to_string()
            }
            _ => at_hand.1.iter().map(|at_hand| at_hand.0).collect::<Vec<_>>().join(" "),
        };
        println!("{answer}");
        std::io::stdout().flush().expect("somebody listens");
    }
}
