//! What nodes, steps and children have done, in a file outside of the database: each line is one `write`, so that it is there whole the moment
//! it was written, whatever then becomes of the process.

use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use graphweft::Context;
use serde::Serialize;

use crate::chance::Chance;

/// Given to nodes as a resource.
pub(crate) struct Ledger {
    file: File,
    /// The number of the process, from 1, in the order in which they were started.
    process: u64,
    seed: u64,
    /// How long a node may dawdle.
    pause: Duration,
    /// How often anything was left to luck.
    rolls: AtomicU64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) run: String,
    pub(crate) path: String,
    /// 0 for a step, which is not told.
    pub(crate) attempt: u32,
    pub(crate) process: u64,
    pub(crate) what: What,
    /// As JSON, of a [`What::Given`].
    pub(crate) value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A node has begun.
    Begin,
    /// It is about to return.
    End,
    /// What a step or a child has given has reached its parent.
    Given,
    /// A process is about to be killed.
    Kill,
    /// A process has answered the question with this path, and knows that the answer is recorded.
    Answered,
    /// A process has cancelled the run, and knows that this is recorded.
    Cancelled,
}

impl Ledger {
    pub(crate) fn open(directory: &Path, process: u64, seed: u64, pause: Duration) -> Ledger {
        let file = OpenOptions::new().append(true).create(true).open(path(directory)).expect("the ledger opens");
        Ledger { file, process, seed, pause, rolls: AtomicU64::new(0) }
    }

    pub(crate) fn process(&self) -> u64 {
        self.process
    }

    /// Not the same the next time.
    pub(crate) fn luck(&self, ctx: &Context) -> Chance {
        let roll = self.rolls.fetch_add(1, Ordering::Relaxed);
        Chance::of(self.seed, (ctx.path(), self.process, roll))
    }

    /// What a node does, with a line before it and one behind it, and moments to die in.
    pub(crate) async fn during<T>(&self, ctx: &Context, work: impl Future<Output = T>) -> T {
        self.doing(ctx, &ctx.path(), ctx.attempt(), work).await
    }

    /// What a step of a node does. Its identity is its name and its key, `add:3`.
    pub(crate) async fn during_step<T>(&self, ctx: &Context, identity: &str, work: impl Future<Output = T>) -> T {
        self.doing(ctx, &below(ctx, identity), 0, work).await
    }

    async fn doing<T>(&self, ctx: &Context, path: &str, attempt: u32, work: impl Future<Output = T>) -> T {
        let mut chance = Chance::of(self.seed, (path, attempt, self.process));
        self.write(ctx.run_id(), path, attempt, "begin");
        tokio::time::sleep(chance.up_to(self.pause)).await;
        let result = work.await;
        tokio::time::sleep(chance.up_to(self.pause)).await;
        self.write(ctx.run_id(), path, attempt, "end");
        result
    }

    /// Says that a node has what a step or a child of it gives, and what that is; none for an error.
    pub(crate) fn given<T: Serialize>(&self, ctx: &Context, identity: &str, value: Option<&T>) {
        let value = serde_json::to_string(&value).expect("it can be written");
        self.write(ctx.run_id(), &below(ctx, identity), 0, &format!("given {value}"));
    }

    pub(crate) fn note_answer(&self, run: &str, question: &str) {
        self.write(run, question, 0, "answered");
    }

    pub(crate) fn note_cancel(&self, run: &str) {
        self.write(run, "-", 0, "cancelled");
    }

    fn write(&self, run: &str, path: &str, attempt: u32, what: &str) {
        let line = format!("{run} {path} {attempt} {} {what}\n", self.process);
        (&self.file).write_all(line.as_bytes()).expect("the ledger can be written");
    }
}

/// Says that a process is about to be killed: what it was at may begin elsewhere from here on.
pub(crate) fn note_kill(directory: &Path, process: u64) {
    Ledger::open(directory, process, 0, Duration::ZERO).write("-", "-", 0, "kill");
}

/// Every line so far.
pub(crate) fn read(directory: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path(directory)).unwrap_or_default();
    text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("the ledger has the line {line:?}"))).collect()
}

fn parse(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    let (run, path) = (next()?.to_owned(), next()?.to_owned());
    let (attempt, process) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let what = match next()? {
        "begin" => What::Begin,
        "end" => What::End,
        "given" => What::Given,
        "kill" => What::Kill,
        "answered" => What::Answered,
        "cancelled" => What::Cancelled,
        _ => return None,
    };
    let value = next().map(str::to_owned);
    Some(Line { run, path, attempt, process, what, value })
}

fn below(ctx: &Context, identity: &str) -> String {
    format!("{}/{identity}", ctx.path())
}

fn path(directory: &Path) -> PathBuf {
    directory.join("ledger")
}
