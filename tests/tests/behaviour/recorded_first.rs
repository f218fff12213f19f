//! A node begins when what led to it is recorded, also where nodes follow one another in place.

use std::sync::Arc;

use futures::future::BoxFuture;
use graphweft::Workflow;
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, MemoryStore, Store, StoreError};
use graphweft_tests::Journal;
use tokio::sync::Semaphore;

/// Appends only what it may.
struct Withholding {
    inner: MemoryStore,
    may_append: Arc<Semaphore>,
}

impl Store for Withholding {
    graphweft_tests::forward_store! {
        join leave create read header list count overview open_questions delete reserve_task claim start_over is_alive is_served
        feed feed_end graph logs keeps_snapshots put_snapshot snapshot
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let (appended, may_append) = (self.inner.append(batch), Arc::clone(&self.may_append));
        Box::pin(async move {
            may_append.acquire().await.expect("it is open").forget();
            appended.await
        })
    }
}

#[derive(Route)]
#[value]
enum Turn {
    Again(u32),
    Done(u32),
}

#[node]
async fn turn(left: u32, #[resource] journal: &Journal) -> Turn {
    journal.note(format!("{left}"));
    match left {
        0 => Turn::Done(0),
        left => Turn::Again(left - 1),
    }
}

#[node]
async fn turn_that_waits(left: u32, #[resource] journal: &Journal) -> Turn {
    tokio::task::yield_now().await;
    journal.note(format!("{left}"));
    match left {
        0 => Turn::Done(0),
        left => Turn::Again(left - 1),
    }
}

workflow! { turns(u32) -> u32 { START => turn => <again: turn, done: END>; } }
workflow! { turns_that_wait(u32) -> u32 { START => turn_that_waits => <again: turn_that_waits, done: END>; } }

async fn is_polled_behind_its_record<W: Workflow<Input = u32, Output = u32>>() {
    let (journal, may_append) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let store = Withholding { inner: MemoryStore::new(), may_append: Arc::clone(&may_append) };
    let engine = Engine::builder().store(store).resource(journal.clone()).register::<W>().build().unwrap();
    let run = engine.start::<W>(6).await.unwrap();
    for turn in 0..=6 {
        // What may happen without another append, has happened.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert_eq!(journal.lines().len(), turn);
        may_append.add_permits(1);
        while journal.lines().len() == turn {
            tokio::task::yield_now().await;
        }
    }
    may_append.add_permits(2);
    assert_eq!(run.result().await.unwrap(), 0);
    assert_eq!(journal.lines(), ["6", "5", "4", "3", "2", "1", "0"]);
}

#[tokio::test]
async fn a_node_is_polled_when_the_step_to_it_is_recorded() {
    is_polled_behind_its_record::<turns>().await;
    is_polled_behind_its_record::<turns_that_wait>().await;
}
