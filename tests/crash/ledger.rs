//! What nodes have done, in a file outside of the database: each line is one `write`, so that it is there whole the moment
//! it was written, whatever then becomes of the process.

use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use graphweft::Context;

use crate::chance::Chance;

/// Given to nodes as a resource.
pub(crate) struct Ledger {
    file: File,
    /// The number of the process, from 1, in the order in which they were started.
    process: u64,
    seed: u64,
    /// How long a node may dawdle.
    pause: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) run: String,
    pub(crate) path: String,
    pub(crate) attempt: u32,
    pub(crate) process: u64,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A node has begun.
    Begin,
    /// It is about to return.
    End,
    /// A process is about to be killed.
    Kill,
}

impl Ledger {
    pub(crate) fn open(directory: &Path, process: u64, seed: u64, pause: Duration) -> Ledger {
        let file = OpenOptions::new().append(true).create(true).open(path(directory)).expect("the ledger opens");
        Ledger { file, process, seed, pause }
    }

    /// What a node does, with a line before it and one behind it, and moments to die in.
    pub(crate) async fn during<T>(&self, ctx: &Context, work: impl Future<Output = T>) -> T {
        let (path, attempt) = (ctx.path(), ctx.attempt());
        let mut chance = Chance::of(self.seed, (&path, attempt, self.process));
        self.write(ctx.run_id(), &path, attempt, "begin");
        tokio::time::sleep(chance.up_to(self.pause)).await;
        let result = work.await;
        tokio::time::sleep(chance.up_to(self.pause)).await;
        self.write(ctx.run_id(), &path, attempt, "end");
        result
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
        "kill" => What::Kill,
        _ => return None,
    };
    Some(Line { run, path, attempt, process, what })
}

fn path(directory: &Path) -> PathBuf {
    directory.join("ledger")
}
