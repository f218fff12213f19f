//! Limits of a run, above its workflow: `#[timeout = ".."]` and `#[max_parallel = ..]`.

use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{EngineBuilder, Event, EventKind, Failure, Fault, Payload, Run};
use graphweft_tests::{Gauge, failure, paths, records, seconds_since};
use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(3600);

#[node]
async fn rests(ctx: &Context) -> u32 {
    ctx.sleep(3 * HOUR).await;
    1
}

#[node]
async fn asks(ctx: &Context) -> u32 {
    ctx.ask::<u32>("how many", "How many?").await
}

#[node]
async fn never(_begin: ()) -> u32 {
    std::future::pending().await
}

workflow! {
    /// Too long for its limit.
    #[timeout = "2h"]
    late(()) -> u32 { START => rests; }
}

workflow! {
    #[timeout = "4h"]
    in_time(()) -> u32 { START => rests; }
}

workflow! {
    #[timeout = "2h"]
    asking(()) -> u32 { START => asks; }
}

/// An engine whose clock shows tokio's paused time.
fn engine(begun: Instant) -> EngineBuilder {
    let now = move || SystemTime::UNIX_EPOCH + 1000 * HOUR + begun.elapsed();
    Engine::builder().clock(now).register::<late>().register::<asking>()
}

fn is_timeout(failure: &Failure, path: &str, after: Duration) -> bool {
    failure.path == path && failure.cause.fault == Some(Fault::Timeout { after })
}

/// How a run fails that waits for an answer until then.
async fn failure_of<T: Payload + std::fmt::Debug>(run: &Run<T>) -> Failure {
    loop {
        match run.outcome().await.unwrap() {
            Outcome::Waiting(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            Outcome::Failed(failure) => return failure,
            other => panic!("the run did not fail: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_fails_and_says_so() {
    let begun = Instant::now();
    let failure = failure(late(()).await);
    assert!(is_timeout(&failure, "late", 2 * HOUR), "{failure:?}");
    assert_eq!(failure.to_string(), "workflow `late` failed: timed out after 7200s");
    assert_eq!(seconds_since(begun), 7200);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_done_in_time_completes() {
    assert_eq!(in_time(()).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_recorded_with_the_start_and_its_end_before_the_nodes_are_cancelled() {
    let engine = engine(Instant::now()).build().unwrap();
    let run = engine.start::<late>(()).await.unwrap();
    failure(run.result().await);
    let events: Vec<Event> = records(&run).await;
    let EventKind::RunStarted { limit: Some(limit), .. } = &events[0].kind else { panic!("{:?}", events[0]) };
    assert_eq!(limit.until, events[0].time + 2 * HOUR);
    let ends = |kind: &EventKind| {
        matches!(kind, EventKind::RunTimedOut | EventKind::NodeCancelled | EventKind::RunFailed { .. })
    };
    assert_eq!(paths(&events, ends), ["late", "late/rests", "late"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_with_a_limit_waits_for_answers_as_others_do() {
    let engine = engine(Instant::now()).build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(questions) if questions.len() == 1));
    run.answer("how many", 7).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_that_waits_outside_of_the_memory_is_up_in_time() {
    let begun = Instant::now();
    let engine = engine(begun).max_resident_waiting(0).build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    let failure = failure_of(&run).await;
    assert!(is_timeout(&failure, "asking", 2 * HOUR), "{failure:?}");
    assert!((7199..7210).contains(&seconds_since(begun)), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_counts_while_no_process_has_it() {
    let begun = Instant::now();
    let store = MemoryStore::new();
    let first = engine(begun).store(store.clone()).build().unwrap();
    let run = first.start::<asking>(()).id("r").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    first.shutdown().await;
    tokio::time::sleep(3 * HOUR).await;
    let second = engine(begun).store(store).build().unwrap();
    second.recover().await.unwrap();
    let failure = failure_of(&second.get_run("r").await.unwrap().unwrap()).await;
    assert!(is_timeout(&failure, "asking", 2 * HOUR), "{failure:?}");
    second.shutdown().await;
}

/// It is taken up for the answer, and its time is up.
#[tokio::test(start_paused = true)]
async fn an_answer_after_the_time_of_a_run_does_not_complete_it() {
    let (store, begun) = (MemoryStore::new(), Instant::now());
    let first = engine(begun).store(store.clone()).build().unwrap();
    let run = first.start::<asking>(()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    first.shutdown().await;
    tokio::time::sleep(3 * HOUR).await;

    let second = engine(begun).store(store).build().unwrap();
    // Its node is stopped before it reads the answer, or after it was recorded: either is a right reply to the caller.
    drop(second.answer("run", "how many", 3).await);

    let failure = failure_of(&second.get_run_of::<asking>("run").await.unwrap().unwrap()).await;
    assert!(is_timeout(&failure, "asking", 2 * HOUR), "{failure:?}");
}

/// The same by a clock that runs: tokio's has a resolution of a millisecond.
#[tokio::test]
async fn an_answer_after_the_time_of_a_run_comes_behind_it_within_a_millisecond_too() {
    for _ in 0..10 {
        let store = MemoryStore::new();
        let first = Engine::builder().store(store.clone()).register::<asking>().build().unwrap();
        let run = first.start::<asking>(()).id("run").await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
        first.shutdown().await;

        let later = || SystemTime::now() + 3 * HOUR;
        let second = Engine::builder().store(store).clock(later).register::<asking>().build().unwrap();
        drop(second.answer("run", "how many", 3).await);

        let failure = failure_of(&second.get_run_of::<asking>("run").await.unwrap().unwrap()).await;
        assert!(is_timeout(&failure, "asking", 2 * HOUR), "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retried_run_has_all_of_its_time_again() {
    let engine = engine(Instant::now()).build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    failure_of(&run).await;
    engine.retry(run.id()).await.unwrap();
    tokio::time::sleep(HOUR).await;
    run.answer("how many", 7).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_cancelled_in_time_is_cancelled() {
    let engine = engine(Instant::now()).build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    tokio::time::sleep(HOUR).await;
    run.cancel().await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
}

mod in_another {
    //! A workflow with limits as a node of another, and as a child.

    use super::*;

    #[node]
    async fn calls(ctx: &Context) -> String {
        match ctx.call::<late>(()).await {
            Ok(done) => done.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[node]
    async fn explains(failure: Failure) -> String {
        failure.to_string()
    }

    #[node]
    async fn done(number: u32) -> String {
        number.to_string()
    }

    workflow! { nesting(()) -> String { START => late => <ok: done, err: explains>; } }
    workflow! { longer(()) -> String { let late = late(timeout = "4h"); START => late => <ok: done, err: explains>; } }
    workflow! { calling(()) -> String { START => calls; } }

    #[tokio::test(start_paused = true)]
    async fn a_nested_workflow_that_takes_too_long_takes_the_arm_err() {
        assert_eq!(nesting(()).await.unwrap(), "node `nesting/late` failed after 1 attempt: timed out after 7200s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_let_gives_a_nested_workflow_another_limit() {
        assert_eq!(longer(()).await.unwrap(), "1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_child_that_takes_too_long_fails() {
        let said = calling(()).await.unwrap();
        assert!(said.contains("timed out after 7200s"), "{said}");
    }
}

#[node]
async fn wide(#[resource] gauge: &Gauge) -> u32 {
    gauge.stay_inside().await;
    1
}

#[node]
async fn sum(a: u32, b: u32, c: u32, d: u32) -> u32 {
    a + b + c + d
}

workflow! {
    #[max_parallel = 2]
    narrow(()) -> u32 {
        let a = wide();
        let b = wide();
        let c = wide();
        let d = wide();
        START => (a, b, c, d) => sum;
    }
}

workflow! { outer(()) -> u32 { START => narrow; } }
workflow! { narrower(()) -> u32 { let narrow = narrow(max_parallel = 1); START => narrow; } }

async fn highest<W: graphweft::Workflow<Input = (), Output = u32>>(expected: usize) -> usize {
    let gauge = Gauge::expecting(expected);
    let engine = Engine::builder().store(MemoryStore::new()).resource(gauge.clone()).build().unwrap();
    let run = engine.start::<W>(()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 4);
    gauge.highest()
}

#[tokio::test(start_paused = true)]
async fn no_more_nodes_than_max_parallel_are_under_way() {
    assert_eq!(highest::<narrow>(2).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_nested_workflow_keeps_to_its_limit() {
    assert_eq!(highest::<outer>(2).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_let_gives_a_nested_workflow_another_number_of_nodes() {
    assert_eq!(highest::<narrower>(1).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_workflow_in_expression_position_has_limits_too() {
    let flow = workflow! {
        #[timeout = "1h"]
        START => never
    };
    let failure = failure(flow.run(()).await);
    assert!(is_timeout(&failure, "flow", HOUR), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn limits_stand_before_the_signature_of_an_unnamed_workflow() {
    let flow = workflow! {
        #[timeout = "1h"]
        #[max_parallel = 1]
        (()) -> u32 { START => never; }
    };
    assert!(is_timeout(&failure(flow.run(()).await), "flow", HOUR));
}
