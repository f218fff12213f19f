//! What agents cost, counted and not timed: commits of a turn, lines of a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use graphweft::json;
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, BoxFuture, Created, LogStore, NewRun, StartedOver, Store, StoreError};
use graphweft_agents::{Agent, Message, Models, Scripted, Tool};

use crate::scene::call;

/// Looks up a number.
#[node]
async fn look_up(number: u32) -> String {
    // A tool that waits for the world, which none of the figures may hide.
    tokio::task::yield_now().await;
    number.to_string().repeat(100)
}

fn reader() -> Agent<u32, String> {
    Agent::new("You read.").tool(Tool::of::<look_up>()).max_turns(100)
}

workflow! {
    read(u32) -> String {
        let reader: Agent<u32, String> = reader();
        START => reader;
    }
}

/// Counts its commits: each waits for the disk.
struct Counting {
    inner: SqliteStore,
    commits: Arc<AtomicUsize>,
}

impl Counting {
    fn count<T>(&self, commit: T) -> T {
        self.commits.fetch_add(1, Ordering::SeqCst);
        commit
    }
}

impl Store for Counting {
    graphweft_tests::forward_store! {
        leave join read header list count overview open_questions delete reserve_task claim is_alive is_served feed feed_end graph
        keeps_snapshots put_snapshot snapshot
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        self.count(self.inner.create(run))
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        self.count(self.inner.append(batch))
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        self.count(self.inner.start_over(end, next))
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        self.inner.logs()
    }
}

/// The commits of a run with so many turns that call a tool, and one that answers.
async fn commits(turns: u32) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let inner = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let commits = Arc::new(AtomicUsize::new(0));
    let store = Counting { inner, commits: Arc::clone(&commits) };
    let model = Scripted::new(move |request| {
        let turn = u32::try_from(request.messages.len()).unwrap() / 2;
        Ok(if turn < turns { call("look_up", json!({ "number": turn })) } else { Message::assistant("Read.") })
    });
    let engine = Engine::builder().store(store).resource(Models::new(model)).register::<read>().build().unwrap();
    assert_eq!(engine.start::<read>(0).await.unwrap().result().await.unwrap(), "Read.");
    engine.shutdown().await;
    commits.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_turn_takes_at_most_two_commits() {
    let (none, ten, forty) = (commits(0).await, commits(10).await, commits(40).await);
    assert!(ten - none <= 2 * 10, "0 turns take {none} commits, 10 take {ten}");
    assert!(forty - none <= 2 * 40, "0 turns take {none} commits, 40 take {forty}");
}

/// The lines of code of a program, without comments, and without what a lint of this workspace has it say.
fn lines_of_code(program: &str) -> usize {
    program
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with("#!["))
        .count()
}

/// Triage, and research with two tools: the programs that were written with other frameworks too. That they run is a
/// test of each.
#[test]
fn the_programs_of_the_comparison_are_as_short_as_they_were() {
    let (triage, research) = (include_str!("../ui/pass/triage.rs"), include_str!("../ui/pass/research.rs"));
    assert!(lines_of_code(triage) <= 76, "triage has {} lines", lines_of_code(triage));
    assert!(lines_of_code(research) <= 43, "research has {} lines", lines_of_code(research));
}
