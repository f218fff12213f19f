//! Time limits: per attempt, with retries, around nested workflows.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft_tests::{Journal, failure, seconds_since};
use tokio::time::{Instant, sleep};

#[value]
#[derive(Debug)]
enum Trouble {
    Broken(String),
    Stopped(Fault),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Trouble {}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Trouble::Stopped(fault)
    }
}

#[node(timeout = "10s")]
async fn slow(seconds: u64) -> u64 {
    sleep(Duration::from_secs(seconds)).await;
    seconds
}

#[node(timeout = "10s")]
async fn slow_or_broken(seconds: u64) -> Result<u64, Trouble> {
    sleep(Duration::from_secs(seconds)).await;
    if seconds == 0 { Err(Trouble::Broken("nothing to do".to_owned())) } else { Ok(seconds) }
}

#[node]
async fn text(n: u64) -> String {
    n.to_string()
}

#[node]
async fn handle(trouble: Trouble) -> String {
    trouble.to_string()
}

#[node(timeout = "10s", retry(max_attempts = 3, initial_delay = "5s", backoff_factor = 1.0, jitter = 0.0))]
async fn quick_at_last(_n: u64, ctx: &Context) -> u32 {
    if ctx.attempt() < 3 {
        sleep(Duration::from_secs(3600)).await;
    }
    ctx.attempt()
}

workflow! {
    limited(u64) -> u64 { START => slow; }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_quick_enough_is_not_disturbed() {
    assert_eq!(limited(9).await.unwrap(), 9);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_too_long_fails_the_run() {
    assert_eq!(failure(limited(11).await).path, "limited/slow");
}

#[tokio::test(start_paused = true)]
async fn the_cause_is_a_timeout_with_the_limit() {
    let limit = Duration::from_secs(10);
    assert_eq!(failure(limited(11).await).cause.fault, Some(Fault::Timeout { after: limit }));
}

#[tokio::test(start_paused = true)]
async fn the_attempt_ends_when_its_time_is_up() {
    let start = Instant::now();
    limited(3600).await.unwrap_err();
    assert_eq!(seconds_since(start), 10);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_the_whole_time() {
    let flow = workflow! { START => quick_at_last };
    assert_eq!(flow.run(0).await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn delays_do_not_count_against_the_limit() {
    let flow = workflow! { START => quick_at_last };
    let start = Instant::now();
    flow.run(0).await.unwrap();
    assert_eq!(seconds_since(start), 10 + 5 + 10 + 5);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_flows_to_err_where_the_error_is_made_from_faults() {
    let flow = workflow! { START => slow_or_broken => <ok: text, err: handle> };
    assert_eq!(flow.run(60).await.unwrap(), "Stopped(Timeout { after: 10s })");
}

#[tokio::test(start_paused = true)]
async fn a_nodes_own_error_takes_the_same_arm() {
    let flow = workflow! { START => slow_or_broken => <ok: text, err: handle> };
    assert_eq!(flow.run(0).await.unwrap(), r#"Broken("nothing to do")"#);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_fails_the_run_where_the_error_is_not_made_from_faults() {
    #[node(timeout = "1s")]
    async fn stuck(_n: u64) -> Result<u64, String> {
        std::future::pending().await
    }
    #[node]
    async fn answer(error: String) -> String {
        error
    }
    workflow! { unroutable(u64) -> String { START => stuck => <ok: text, err: answer>; } }
    assert_eq!(failure(unroutable(0).await).path, "unroutable/stuck");
}

#[tokio::test(start_paused = true)]
async fn a_let_may_set_another_limit() {
    let flow = workflow! { let slow = slow(timeout = "1m30s"); START => slow };
    assert_eq!(flow.run(80).await.unwrap(), 80);
}

#[tokio::test(start_paused = true)]
async fn a_limit_in_milliseconds_is_one() {
    let flow = workflow! { let slow = slow(timeout = "200ms"); START => slow };
    let start = Instant::now();
    flow.run(80).await.unwrap_err();
    assert_eq!(start.elapsed().as_millis(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_nested_workflow_may_have_a_limit() {
    workflow! { unlimited(u64) -> u64 { let slow = slow(timeout = "1h"); START => slow; } }
    workflow! { outer(u64) -> u64 { let inner = unlimited(timeout = "20s"); START => inner; } }
    assert_eq!(failure(outer(30).await).path, "outer/inner");
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_nested_workflow_stops_what_is_inside() {
    #[node]
    async fn parked(_n: u64, #[resource] journal: &Journal) -> u64 {
        let _told = journal.when_dropped("stopped");
        std::future::pending().await
    }
    workflow! { inside(u64) -> u64 { START => parked; } }
    workflow! { outer(u64) -> u64 { let inside = inside(timeout = "20s"); START => inside; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<outer>(0).await.unwrap().result().await.unwrap_err();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_one_branch_cancels_the_others() {
    #[node]
    async fn parked(_n: u64, #[resource] journal: &Journal) -> u64 {
        let _told = journal.when_dropped("stopped");
        std::future::pending().await
    }
    #[node]
    async fn sum(a: u64, b: u64) -> u64 {
        a + b
    }
    workflow! { both(u64) -> u64 { START => (slow, parked) => sum; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<both>(60).await.unwrap().result().await.unwrap_err();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_in_each_of_names_the_item() {
    #[node]
    async fn waits() -> Vec<u64> {
        vec![1, 2, 60]
    }
    workflow! { several(u64) -> Vec<u64> { START => waits => [slow]; } }
    assert_eq!(failure(several(0).await).path, "several/slow[2]");
}

#[value]
#[derive(Route)]
enum Round {
    Again(u64),
    Done(u64),
}

#[node]
async fn turn(n: u64) -> Round {
    if n == u64::MAX { Round::Done(n) } else { Round::Again(n + 1) }
}

workflow! {
    /// A loop in which some node is always ready.
    restless(u64) -> u64 { START => turn => <again: turn, done: END>; }
}

#[tokio::test]
async fn a_time_limit_reaches_a_workflow_that_never_pauses() {
    let flow = workflow! {
        let brief = restless(timeout = "20ms");
        START => brief
    };
    let error = flow.run(0).await.unwrap_err();
    assert!(error.to_string().contains("timed out after 20ms"), "{error}");
}

#[node]
async fn apology(failure: Failure) -> u64 {
    u64::from(failure.cause.fault.is_some())
}

#[tokio::test]
async fn the_timeout_of_a_nested_workflow_takes_its_arm_err() {
    let flow = workflow! {
        (u64) -> u64 {
            let brief = restless(timeout = "20ms");
            START => brief => <ok: END, err: apology>;
            apology => END;
        }
    };
    assert_eq!(flow.run(0).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_an_attempt_at_a_nested_workflow_does_not_cut_the_delay_before_the_next_one_short() {
    #[node]
    async fn fails_once(ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        journal.note("attempt");
        if journal.count("attempt") == 1 { Err(format!("not yet, {}", ctx.path())) } else { Ok(1) }
    }
    workflow! { unready(()) -> u32 { START => fails_once; } }
    workflow! {
        patient(()) -> u32 {
            let unready = unready(
                timeout = "10s",
                retry(max_attempts = 2, initial_delay = "1h", max_delay = "1h", jitter = 0.0),
            );
            START => unready;
        }
    }
    let begun = Instant::now();
    let engine = Engine::builder().resource(Journal::default()).build().unwrap();
    assert_eq!(engine.start::<patient>(()).await.unwrap().result().await.unwrap(), 1);
    assert_eq!(seconds_since(begun), 3600);
}

/// The graph inside stops slowly, so that the run fails between the time limit and what follows from it.
#[tokio::test(start_paused = true)]
async fn a_retry_forgets_a_time_limit_that_the_end_of_the_run_has_overtaken() {
    #[node]
    async fn slow_at_first(n: u64, ctx: &Context, #[resource] journal: &Journal) -> u64 {
        journal.note("slow");
        if journal.count("slow") == 1 {
            ctx.cancelled().await;
            sleep(Duration::from_millis(600)).await;
        }
        n
    }
    workflow! { limited(u64) -> u64 { START => slow_at_first; } }
    #[node]
    async fn fails_at_first(n: u64, #[resource] journal: &Journal) -> Result<u64, String> {
        journal.note("beside");
        if journal.count("beside") == 1 {
            sleep(Duration::from_millis(1200)).await;
            return Err("not yet".to_owned());
        }
        Ok(n)
    }
    #[node]
    async fn add(a: u64, b: u64) -> u64 {
        a + b
    }
    workflow! {
        overtaken(u64) -> u64 {
            let limited = limited(timeout = "1s");
            START => (limited, fails_at_first) => add;
        }
    }
    let engine = Engine::builder().resource(Journal::default()).register::<overtaken>().build().unwrap();
    let run = engine.start::<overtaken>(2).await.unwrap();
    assert_eq!(failure(run.result().await).path, "overtaken/fails_at_first");
    assert_eq!(engine.retry(run.id()).await.unwrap().result().await.unwrap(), 4);
}
