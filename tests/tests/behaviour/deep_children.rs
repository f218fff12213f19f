//! Children within children, so deep that the lower ones need another stack than the upper ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{ChildError, RunError};
use graphweft_tests::{failure, life};
use tokio::time::timeout;

use super::cannot_continue::soon;

/// In a build without optimisation a level takes some 10 KiB of the stack, and a thread has 2 MiB.
const LEVELS: u32 = 400;

/// How many bodies there are.
#[derive(Clone, Default)]
struct Bodies(Arc<AtomicU32>);

impl Bodies {
    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    fn enter(&self) -> Body {
        self.0.fetch_add(1, Ordering::SeqCst);
        Body(self.clone())
    }
}

struct Body(Bodies);

impl Drop for Body {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What is at the bottom.
#[value]
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bottom {
    Question,
    Panic,
    /// Pending for ever.
    Rock,
}

#[node]
async fn descends(to: (u32, Bottom), ctx: &Context, #[resource] bodies: &Bodies) -> Result<u32, String> {
    let _body = bodies.enter();
    let (left, bottom) = to;
    let Some(left) = left.checked_sub(1) else {
        return match bottom {
            Bottom::Question => Ok(ctx.ask("bottom", "How deep is it?").await),
            Bottom::Panic => panic!("it is dark"),
            Bottom::Rock => std::future::pending().await,
        };
    };
    match ctx.call::<descends>((left, bottom)).await {
        Ok(depth) => Ok(depth + 1),
        Err(ChildError::Error(error)) => Err(error),
        Err(fault) => Err(fault.to_string()),
    }
}

/// Two at once, of which one is dropped when the other has ended.
#[node]
async fn races(_: (), ctx: &Context) -> String {
    let rock = ctx.call::<descends>((LEVELS, Bottom::Rock)).key("rock");
    let question = ctx.call::<descends>((LEVELS, Bottom::Question)).key("question");
    tokio::select! {
        rock = rock => format!("{rock:?}"),
        question = question => format!("{question:?}"),
    }
}

#[node]
async fn waits_a_moment(_: (), ctx: &Context) -> String {
    let child = ctx.call::<descends>((LEVELS, Bottom::Rock)).timeout(Duration::from_millis(300));
    child.await.unwrap_err().to_string()
}

#[node]
async fn same(n: u32) -> u32 {
    n
}

workflow! { descent((u32, Bottom)) -> u32 { START => descends; } }
workflow! { race(()) -> String { START => races; } }
workflow! { moment(()) -> String { START => waits_a_moment; } }
workflow! { quick(u32) -> u32 { START => same; } }

fn builder(bodies: &Bodies) -> graphweft::EngineBuilder {
    let builder = Engine::builder().resource(bodies.clone()).max_nesting(1000);
    builder.register::<descent>().register::<race>().register::<moment>()
}

/// In a thread with as much stack as those of tokio.
fn in_a_thread(test: impl Future<Output = ()> + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(move || life(test)).unwrap().join().unwrap();
}

async fn none_left(bodies: &Bodies) {
    let gone = async {
        while bodies.count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), gone).await.expect("a body that is never dropped");
}

#[test]
fn a_question_at_the_bottom_is_answered_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    in_a_thread(async move {
        let bodies = Bodies::default();
        let first = builder(&bodies).store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
        let run = first.start::<descent>((LEVELS, Bottom::Question)).id("deep").await.unwrap();
        let Outcome::Waiting(questions) = soon(run.outcome()).await.unwrap() else { panic!("it has no answer") };
        assert_eq!(questions.len(), 1);
        first.shutdown().await;
        assert_eq!(bodies.count(), 0);
        drop((run, first));

        let second = builder(&bodies).store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
        second.recover().await.unwrap();
        let run = second.get_run_of::<descent>("deep").await.unwrap().unwrap();
        run.answer("bottom", 7).await.unwrap();
        assert_eq!(soon(run.result()).await, Ok(LEVELS + 7));
        none_left(&bodies).await;
    });
}

#[test]
fn a_run_that_waits_at_the_bottom_keeps_no_other_out() {
    in_a_thread(async {
        let bodies = Bodies::default();
        let engine = builder(&bodies).max_concurrency(1).build().unwrap();
        let run = engine.start::<descent>((LEVELS, Bottom::Question)).await.unwrap();
        assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Waiting(_))));
        let other = engine.start::<quick>(3).await.unwrap();
        assert_eq!(soon(other.result()).await, Ok(3));
        run.answer("bottom", 0).await.unwrap();
        assert_eq!(soon(run.result()).await, Ok(LEVELS));
    });
}

#[test]
fn a_panic_at_the_bottom_is_an_error_at_the_top() {
    in_a_thread(async {
        let bodies = Bodies::default();
        let engine = builder(&bodies).build().unwrap();
        let run = engine.start::<descent>((LEVELS, Bottom::Panic)).await.unwrap();
        let failed = failure(soon(run.result()).await);
        assert!(failed.to_string().contains("it is dark"), "{failed}");
        none_left(&bodies).await;
    });
}

#[test]
fn what_is_cancelled_or_dropped_leaves_no_body() {
    in_a_thread(async {
        let bodies = Bodies::default();
        let engine = builder(&bodies).build().unwrap();
        let run = engine.start::<descent>((LEVELS, Bottom::Rock)).await.unwrap();
        while bodies.count() <= LEVELS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        run.cancel().await.unwrap();
        assert_eq!(soon(run.result()).await, Err(RunError::Cancelled));
        none_left(&bodies).await;

        let raced = engine.start::<race>(()).await.unwrap();
        while bodies.count() <= 2 * LEVELS + 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        raced.answer("bottom", 1).await.unwrap();
        assert_eq!(soon(raced.result()).await.unwrap(), format!("Ok({})", LEVELS + 1));
        none_left(&bodies).await;

        let timed = engine.start::<moment>(()).await.unwrap();
        let text = soon(timed.result()).await.unwrap();
        assert!(text.contains("300ms"), "{text}");
        none_left(&bodies).await;
    });
}
