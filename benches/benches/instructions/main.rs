//! How many instructions the hot paths take: the same on a busy machine as on an idle one, and so what a change is held
//! against. `cargo bench --profile instructions --no-default-features --bench instructions` fails where one of the [`limits`] is crossed.
#![allow(missing_docs, reason = "the macros make public items without any")]

mod limits;

use std::time::Duration;

use graphweft::store::Durability;
use graphweft::{Engine, RunError, Workflow};
use graphweft_benches::resume::{self, STEPS, Snapshots, one_node_of_steps, rounds_and_last};
use graphweft_benches::{durable, flows};
use gungraun::prelude::*;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// One thread: what is counted is what the thread of a benchmark does, and it does not depend on who comes first.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Everything is done before: what is laid out with the first run, and learnt about nodes in the first dozens, is not
/// counted.
fn warm<F: Future<Output = Result<u64, RunError>>>(work: fn(u64) -> F, input: u64) -> (Runtime, u64) {
    let runtime = runtime();
    for _ in 0..100 {
        runtime.block_on(work(input)).expect("it cannot fail");
    }
    (runtime, input)
}

/// The runtime is given back, so that its end is not counted.
fn again<F: Future<Output = Result<u64, RunError>>>((runtime, input): (Runtime, u64), work: fn(u64) -> F) -> Runtime {
    runtime.block_on(work(input)).expect("it cannot fail");
    runtime
}

#[library_benchmark(config = limits::at_most(limits::CHAIN))]
#[bench::of_100(warm(flows::chain, 1))]
fn chain(warm: (Runtime, u64)) -> Runtime {
    again(warm, flows::chain)
}

#[library_benchmark(config = limits::at_most(limits::EACH))]
#[bench::of_100(warm(flows::each, 1))]
fn each(warm: (Runtime, u64)) -> Runtime {
    again(warm, flows::each)
}

#[library_benchmark(config = limits::at_most(limits::FAN_OUT))]
#[bench::of_100(warm(flows::fan_out, 1))]
fn fan_out(warm: (Runtime, u64)) -> Runtime {
    again(warm, flows::fan_out)
}

#[library_benchmark(config = limits::at_most(limits::ROUNDS))]
#[bench::of_1000(warm(flows::rounds, 1000))]
fn rounds(warm: (Runtime, u64)) -> Runtime {
    again(warm, flows::rounds)
}

fn warm_engine() -> (Runtime, Engine) {
    let engine = Engine::builder().register::<flows::chain>().build().expect("an engine");
    in_engine_once((runtime(), engine))
}

fn in_engine_once((runtime, engine): (Runtime, Engine)) -> (Runtime, Engine) {
    runtime.block_on(async {
        let run = engine.start::<flows::chain>(1).await.expect("it needs nothing");
        run.result().await.expect("it cannot fail");
    });
    (runtime, engine)
}

#[library_benchmark(config = limits::at_most(limits::IN_ENGINE))]
#[bench::of_100(warm_engine())]
fn in_engine(warm: (Runtime, Engine)) -> (Runtime, Engine) {
    in_engine_once(warm)
}

fn warm_short() -> (Runtime, Engine) {
    let warm = (runtime(), Engine::builder().register::<flows::short>().build().expect("an engine"));
    (0..100).fold(warm, |warm, _| to_end_once(warm))
}

fn to_end_once((runtime, engine): (Runtime, Engine)) -> (Runtime, Engine) {
    runtime.block_on(engine.run_to_end::<flows::short>(1)).expect("it cannot fail");
    (runtime, engine)
}

#[library_benchmark(config = limits::at_most(limits::TO_END))]
#[bench::of_3(warm_short())]
fn run_to_end(warm: (Runtime, Engine)) -> (Runtime, Engine) {
    to_end_once(warm)
}

fn durable_engine() -> (TempDir, Runtime, Engine) {
    let (directory, runtime) = (tempfile::tempdir().expect("a directory"), runtime());
    // Where nobody waits for the disk, the task that records does the writing itself.
    let engine = durable::engine(&runtime, &directory.path().join("runs.db"), Durability::Relaxed);
    durable::steps(&runtime, &engine, 1, 10);
    (directory, runtime, engine)
}

#[library_benchmark(config = limits::at_most(limits::DURABLE))]
#[bench::of_1000(durable_engine())]
fn durable_steps((directory, runtime, engine): (TempDir, Runtime, Engine)) -> (TempDir, Runtime, Engine, Duration) {
    let took = durable::steps(&runtime, &engine, 1, 1000);
    (directory, runtime, engine, took)
}

fn cut_short<W: Workflow<Input = u64>>(steps: u64) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("runs.db");
    // With snapshots, how many records are behind the last one depends on the scheduler.
    resume::cut_short::<W>(&file, steps, Snapshots::NotMade);
    directory
}

fn goes_on<W: Workflow<Input = u64>>(directory: TempDir) -> (TempDir, Duration) {
    let (file, copy) = (directory.path().join("runs.db"), directory.path().join("copy.db"));
    let took = resume::goes_on::<W>(&runtime(), &file, &copy, Snapshots::NotMade);
    (directory, took)
}

#[library_benchmark(config = limits::at_most_within("*sqlite::records::Journal*chunk*", limits::READ))]
#[bench::of_10000(cut_short::<rounds_and_last>(STEPS - 1))]
fn read(directory: TempDir) -> (TempDir, Duration) {
    goes_on::<rounds_and_last>(directory)
}

#[library_benchmark(config = limits::at_most_within("*sqlite::records::decode_all*", limits::DECODE))]
#[bench::of_10000(cut_short::<rounds_and_last>(STEPS - 1))]
fn decode(directory: TempDir) -> (TempDir, Duration) {
    goes_on::<rounds_and_last>(directory)
}

#[library_benchmark(config = limits::at_most(limits::REPLAY))]
#[bench::of_10000(cut_short::<rounds_and_last>(STEPS - 1))]
fn replay(directory: TempDir) -> (TempDir, Duration) {
    goes_on::<rounds_and_last>(directory)
}

#[library_benchmark(config = limits::at_most(limits::STEPS_GIVEN_BACK))]
#[bench::of_10000(cut_short::<one_node_of_steps>(STEPS))]
fn steps_given_back(directory: TempDir) -> (TempDir, Duration) {
    goes_on::<one_node_of_steps>(directory)
}

library_benchmark_group!(name = in_memory, benchmarks = [chain, each, fan_out, rounds, in_engine, run_to_end]);
library_benchmark_group!(name = recorded, benchmarks = [durable_steps, read, decode, replay, steps_given_back]);
main!(library_benchmark_groups = [in_memory, recorded]);
