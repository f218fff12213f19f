//! What drawn programs are made of, and how they are held against what they have to return.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::testing::Lab;
use graphweft::{RunToEndError, Workflow};
use tokio::runtime::{Builder, Runtime};

/// What a function makes of its inputs: another number for each function and each of them.
pub fn mix(id: u64, inputs: &[Option<u64>]) -> u64 {
    let mut hash = id.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x0123_4567);
    for input in inputs {
        hash = (hash ^ input.map_or(77, |input| input.wrapping_add(1))).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash ^= hash >> 29;
    }
    hash
}

/// One of so many, by a number.
pub fn pick(hash: u64, among: u64) -> u64 {
    (hash >> 33) % among
}

/// A route of two.
#[value]
#[derive(Route)]
pub enum Two {
    /// The first.
    A(u64),
    /// The second.
    B(u64),
}

/// A route of three.
#[value]
#[derive(Route)]
pub enum Three {
    /// The first.
    A(u64),
    /// The second.
    B(u64),
    /// The third.
    C(u64),
}

impl Two {
    /// The one that a number says.
    pub fn of(hash: u64) -> Self {
        if pick(hash, 2) == 0 { Two::A(hash) } else { Two::B(hash) }
    }

    /// The same, or an error.
    ///
    /// # Errors
    /// The number.
    pub fn or_error(hash: u64) -> Result<Self, u64> {
        match pick(hash, 3) {
            0 => Ok(Two::A(hash)),
            1 => Ok(Two::B(hash)),
            _ => Err(hash),
        }
    }
}

impl Three {
    /// The one that a number says.
    pub fn of(hash: u64) -> Self {
        match pick(hash, 3) {
            0 => Three::A(hash),
            1 => Three::B(hash),
            _ => Three::C(hash),
        }
    }
}

impl From<Two> for u64 {
    fn from(route: Two) -> u64 {
        match route {
            Two::A(hash) | Two::B(hash) => hash,
        }
    }
}

impl From<Three> for u64 {
    fn from(route: Three) -> u64 {
        match route {
            Three::A(hash) | Three::B(hash) | Three::C(hash) => hash,
        }
    }
}

/// An input of a program, with how its run has to end and how often each function has to be executed.
pub struct Case {
    /// The input.
    pub input: u64,
    /// The output; none if one of its nodes fails.
    pub output: Option<u64>,
    /// Functions and how often, in the order of the functions.
    pub executed: &'static [(usize, usize)],
}

/// Longer than any run takes, on a machine under load.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a program is run on several threads.
const TIMES: usize = 5;

/// Holds programs against what they have to return.
pub struct Checks {
    one_thread: Runtime,
    threads: Runtime,
    compared: usize,
    different: usize,
}

impl Checks {
    /// Two runtimes, of one thread and of three.
    ///
    /// # Errors
    /// If the system has no threads.
    pub fn new() -> std::io::Result<Self> {
        let one_thread = Builder::new_current_thread().enable_all().build()?;
        let threads = Builder::new_multi_thread().worker_threads(3).enable_all().build()?;
        Ok(Checks { one_thread, threads, compared: 0, different: 0 })
    }

    /// Runs a program with each input: without an engine, in one, to its end in the task of its caller, and, if there
    /// is a lab, with a crash at every commit.
    pub fn program<W, F>(
        &mut self,
        name: &str,
        executed: &[AtomicUsize],
        alone: fn(u64) -> F,
        lab: Option<fn() -> Lab<W>>,
        cases: &[Case],
    ) where
        W: Workflow<Input = u64, Output = u64>,
        F: Future<Output = Result<u64, RunError>>,
    {
        let mut crashes = lab;
        for case in cases {
            for threads in [false, true] {
                let runtime = if threads { &self.threads } else { &self.one_thread };
                let on = if threads { "on three threads" } else { "on one thread" };
                let (mut compared, mut differs) = (0, 0);
                let mut compare = |how: &str, ended: Result<u64, String>| {
                    compared += 1;
                    let counted = counted(executed);
                    let is_expected = match (&ended, case.output) {
                        (Ok(output), Some(expected)) => *output == expected && counted == case.executed,
                        (Err(error), None) => error == FAILS,
                        _ => false,
                    };
                    if !is_expected {
                        let (expected, often) = (case.output, case.executed);
                        println!(
                            "{name}({}), {how}, {on}: {ended:?} with {counted:?} instead of {expected:?} with {often:?}",
                            case.input
                        );
                        differs += 1;
                    }
                };
                counted(executed);
                // Which branches begin together is chance.
                for _ in 0..if threads { TIMES } else { 1 } {
                    let alone = in_time(async { alone(case.input).await.map_err(text) });
                    compare("without an engine", runtime.block_on(alone));
                }
                let engine = || Engine::builder().build().map_err(debug);
                let started =
                    async { engine()?.start::<W>(case.input).await.map_err(debug)?.result().await.map_err(text) };
                compare("in an engine", runtime.block_on(in_time(started)));
                let to_end = async {
                    engine()?.start::<W>(case.input).run_to_end().await.map_err(|error| match error {
                        RunToEndError::Run(error) => text(error),
                        error => debug(error),
                    })
                };
                compare("to its end", runtime.block_on(in_time(to_end)));
                self.compared += compared;
                self.different += differs;
            }
            if case.output.is_some()
                && let Some(lab) = crashes.take()
            {
                // It panics where a run ends in another way, with a text that says in which.
                let crashes = || self.one_thread.block_on(lab().crash_at_every_commit(case.input)).count;
                match catch_unwind(AssertUnwindSafe(crashes)) {
                    Ok(count) => self.compared += count,
                    Err(_) => {
                        println!("{name}({}) differs where it crashes", case.input);
                        self.different += 1;
                    }
                }
            }
        }
    }

    /// Says how many there were; a failure if one was not as it has to be.
    pub fn end(self) -> ExitCode {
        println!("{} runs of drawn programs, of which {} are not as they have to be", self.compared, self.different);
        if self.different == 0 && self.compared > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The error of a node that fails.
pub const FAILS: &str = "it fails";

/// How often each function was executed since the last call.
fn counted(executed: &[AtomicUsize]) -> Vec<(usize, usize)> {
    let counts = executed.iter().map(|count| count.swap(0, Ordering::SeqCst)).enumerate();
    counts.filter(|(_, count)| *count > 0).collect()
}

async fn in_time(run: impl Future<Output = Result<u64, String>>) -> Result<u64, String> {
    tokio::time::timeout(PATIENCE, run).await.unwrap_or_else(|_| Err("it hangs".to_owned()))
}

fn text(error: RunError) -> String {
    match error {
        RunError::Failed(failure) => failure.cause.to_string(),
        error => debug(error),
    }
}

fn debug(error: impl Debug) -> String {
    format!("{error:?}")
}
