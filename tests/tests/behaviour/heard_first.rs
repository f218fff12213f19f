//! A record is in the store a moment before the engine that appended it has its reply. Who reads it there, in the feed, in
//! the inbox or in the history, can act on it at once.

use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, MemoryStore, Store, StoreError};
use graphweft::{Engine, EventKind, QuestionFilter, RunStatus, Signal, SignalError, StartError};

/// Replies to an append some time after it is done.
#[derive(Clone)]
struct Late {
    inner: MemoryStore,
    is_shared: bool,
}

impl Store for Late {
    graphweft_tests::forward_store! {
        join leave create read header list count overview open_questions delete reserve_task claim start_over is_alive is_served
        feed feed_end graph logs keeps_snapshots put_snapshot snapshot
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let done = self.inner.append(batch);
        async move {
            let appended = done.await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            appended
        }
        .boxed()
    }
}

#[node]
async fn ask(n: u32, ctx: &Context) -> u32 {
    ctx.ask::<u32>("more", "How many more?").await + n
}

#[node]
async fn ask_twice(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("first", "first").await + ctx.ask::<u32>("second", "second").await
}

const PAID: Signal<u32> = Signal::new("paid");

#[node]
async fn wait(n: u32, ctx: &Context) -> u32 {
    ctx.wait(PAID).await + n
}

#[node]
async fn fail(
    n: u32,
    #[resource] fails: &std::sync::Arc<std::sync::atomic::AtomicBool>,
) -> Result<u32, std::io::Error> {
    if fails.swap(false, std::sync::atomic::Ordering::SeqCst) { Err(std::io::Error::other("not yet")) } else { Ok(n) }
}

workflow! { asking(u32) -> u32 { START => ask; } }
workflow! { asking_twice(u32) -> u32 { START => ask_twice; } }
#[node]
async fn double(n: u32) -> u32 {
    2 * n
}

workflow! { doubling(u32) -> u32 { START => double; } }
workflow! { waiting(u32) -> u32 { START => wait; } }
workflow! { failing(u32) -> u32 { START => fail; } }

fn engines() -> [Engine; 2] {
    [false, true].map(|is_shared| {
        let fails = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let store = Late { inner: MemoryStore::new(), is_shared };
        let engine = Engine::builder().store(store).resource(fails);
        engine
            .register::<asking>()
            .register::<asking_twice>()
            .register::<failing>()
            .register::<waiting>()
            .register::<doubling>()
            .build()
            .unwrap()
    })
}

/// Until the history has such an event.
async fn until(engine: &Engine, run: &str, is_it: impl Fn(&EventKind) -> bool) {
    loop {
        let events = engine.history(run).await.unwrap().unwrap();
        if events.iter().any(|event| is_it(&event.kind)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_in_the_inbox_can_be_answered() {
    for engine in engines() {
        let run = engine.start::<asking>(1).id("run").await.unwrap();
        let question = loop {
            match engine.questions(QuestionFilter::default()).await.unwrap().pop() {
                Some(open) => break open.question,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        };
        assert_eq!(run.questions().await.unwrap(), std::slice::from_ref(&question));
        engine.answer("run", &question.id, 2).await.unwrap();
        assert_eq!(run.result().await, Ok(3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_in_the_history_can_be_answered() {
    for engine in engines() {
        let run = engine.start::<asking_twice>(1).id("run").await.unwrap();
        for (name, answer) in [("first", 2), ("second", 3)] {
            until(&engine, "run", |kind| matches!(kind, EventKind::QuestionAsked { prompt, .. } if prompt == name))
                .await;
            run.answer(name, answer).await.unwrap();
        }
        assert_eq!(run.result().await, Ok(6));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_failed_can_be_retried_and_deleted() {
    for engine in engines() {
        engine.start::<failing>(1).id("run").await.unwrap();
        until(&engine, "run", |kind| matches!(kind, EventKind::RunFailed { .. })).await;
        let retried = engine.retry("run").await.unwrap();
        until(&engine, "run", |kind| matches!(kind, EventKind::RunCompleted { .. })).await;
        assert_eq!(retried.status().await.unwrap(), RunStatus::Completed);
        engine.delete_run("run").await.unwrap();
        let again = engine.start::<failing>(2).id("run").await;
        assert!(matches!(again, Err(StartError::Deleted { .. })), "{again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_failed_can_be_forked() {
    for engine in engines() {
        engine.start::<failing>(1).id("run").await.unwrap();
        until(&engine, "run", |kind| matches!(kind, EventKind::RunFailed { .. })).await;
        let fork = engine.fork("run").id("fork").await.unwrap();
        until(&engine, "fork", |kind| matches!(kind, EventKind::RunCompleted { .. })).await;
        assert_eq!(fork.result().await.unwrap(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_for_which_a_run_waits_has_its_type() {
    for engine in engines() {
        let run = engine.start::<waiting>(1).id("run").await.unwrap();
        until(&engine, "run", |kind| matches!(kind, EventKind::SignalAwaited { .. })).await;
        let sent = engine.signal_json("run", "paid", "a lot".into()).await;
        assert!(matches!(sent, Err(SignalError::Invalid { .. })), "{sent:?}");
        engine.signal_json("run", "paid", 2.into()).await.unwrap();
        assert_eq!(run.result().await, Ok(3));
    }
}

/// The run is driven by a future that is not polled meanwhile.
#[tokio::test(start_paused = true)]
async fn what_waits_for_the_end_of_a_run_does_not_keep_it_from_ending() {
    for engine in engines() {
        let mut ended = pin!(engine.start::<doubling>(1).id("run").run_to_end());
        let outcome = loop {
            tokio::select! {
                outcome = &mut ended => break outcome,
                () = tokio::time::sleep(Duration::from_millis(10)) => {}
            }
            let started = tokio::time::timeout(Duration::from_secs(60), engine.start::<doubling>(1).id("run"));
            started.await.expect("it does not wait for the future beside it").unwrap();
        };
        assert_eq!(outcome, Ok(2));
    }
}
