//! A pool: each attempt at a node is executed by a process of its own, which this program starts. One that dies takes nothing with it: its
//! attempt is retried.
//!
//! The page to it: `docs/guide/deploying.md`.
//!
//! ```sh
//! cargo run --example pools -- 12 91 97
//! ```

use std::pin::Pin;
use std::process::{ExitCode, Stdio};

use graphweft::prelude::*;
use graphweft::{Executor, NodeResult, NodeTask, ProgressSender};
use tokio::process::Command;

type Error = Box<dyn std::error::Error>;

/// What a process may die of. The state of the run, its records and its retries are in another one.
#[node(pool = "processes", retry(max_attempts = 2, initial_delay = "10ms"), timeout = "10s")]
async fn factor(n: u64, ctx: &PoolContext) -> Vec<u64> {
    if n == 91 && ctx.attempt() == 1 {
        eprintln!("the worker of 91 dies");
        std::process::exit(3);
    }
    let (mut left, mut factors) = (n, Vec::new());
    let mut divisor = 2;
    while divisor * divisor <= left {
        if left.is_multiple_of(divisor) {
            factors.push(divisor);
            left /= divisor;
        } else {
            divisor += 1;
        }
    }
    factors.push(left);
    factors
}

#[node]
async fn list(factors: Vec<Vec<u64>>) -> Vec<String> {
    let line = |factors: &Vec<u64>| factors.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    factors.iter().map(|of_one| format!("{} = {}", of_one.iter().product::<u64>(), line(of_one))).collect()
}

workflow! {
    factors(Vec<u64>) -> Vec<String> { START => [factor] => list => END; }
}

/// Starts a worker for each attempt: the task is its argument, and its output the result.
struct Processes;

impl Executor for Processes {
    fn execute(
        &self,
        task: NodeTask,
        _: ProgressSender,
    ) -> Pin<Box<dyn Future<Output = Result<NodeResult, Fault>> + Send>> {
        // An error of the way there and back is a fault of the attempt, which can be retried.
        Box::pin(async move {
            in_process(&task).await.map_err(|message| Fault::Context { message: format!("{}: {message}", task.path) })
        })
    }
}

async fn in_process(task: &NodeTask) -> Result<NodeResult, String> {
    let task = serde_json::to_string(task).map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    // When the run is cancelled, or the attempt is not needed any more, this future is dropped, and the process is killed.
    let worker = Command::new(program).args(["work", &task]).stdout(Stdio::piped()).kill_on_drop(true).spawn();
    let worker = worker.map_err(|error| format!("the worker does not start: {error}"))?;
    let output =
        worker.wait_with_output().await.map_err(|error| format!("what the worker says is not read: {error}"))?;
    if !output.status.success() {
        return Err(format!("the worker has died: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the worker has answered something else: {error}"))
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["work", task] => work(task).await,
        [] => Err("usage: pools NUMBER..".into()),
        numbers => drive(numbers).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The engine of the runs.
async fn drive(numbers: &[&str]) -> Result<(), Error> {
    let numbers = numbers.iter().map(|number| number.parse()).collect::<Result<Vec<u64>, _>>()?;
    let engine = Engine::builder().executor(Processes).build()?;
    for line in engine.start::<factors>(numbers).await?.result().await? {
        println!("{line}");
    }
    Ok(())
}

/// A worker: it has the same nodes, and no runs.
async fn work(task: &str) -> Result<(), Error> {
    let engine = Engine::builder().register::<factors>().build()?;
    let result = engine.execute(serde_json::from_str(task)?).await?;
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
