//! Errors that say when to try again, and attempts that say that no other may follow.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{ErrorText, Event};
use graphweft_tests::{Death, Journal, OnDisk, Remains, failure, life, paths, retried_after, seconds_since};
use tokio::time::Instant;

#[value]
#[derive(Debug, Clone, PartialEq)]
enum ApiError {
    Busy { seconds: Option<u64> },
    Refused,
}

impl ApiError {
    fn is_transient(&self) -> bool {
        matches!(self, ApiError::Busy { .. })
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            ApiError::Busy { seconds } => seconds.map(Duration::from_secs),
            ApiError::Refused => Some(Duration::from_secs(1)),
        }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ApiError {}

fn delays(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(retried_after).map(|delay| delay.as_secs()).collect()
}

fn busy(seconds: impl Into<Option<u64>>) -> ApiError {
    ApiError::Busy { seconds: seconds.into() }
}

#[node(retry(max_attempts = 4, initial_delay = "1s", jitter = 0, max_delay = "5s", when = ApiError::is_transient, after = ApiError::retry_after))]
async fn asks(_n: u32, ctx: &Context) -> Result<u32, ApiError> {
    match ctx.attempt() {
        1 => Err(busy(90)),
        2 => Err(busy(None)),
        3 => Err(busy(0)),
        attempt => Ok(attempt),
    }
}

workflow! { asking(u32) -> u32 { START => asks; } }

#[tokio::test(start_paused = true)]
async fn the_next_attempt_of_a_node_begins_when_the_error_says() {
    let engine = Engine::builder().build().unwrap();
    let begun = Instant::now();
    let run = engine.start::<asking>(1).id("run").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 4);
    assert_eq!(delays(&engine.history("run").await.unwrap().unwrap()), [90, 2, 0]);
    assert_eq!(seconds_since(begun), 92);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_may_not_be_retried_is_not_asked_for_its_delay() {
    #[node(retry(max_attempts = 4, when = ApiError::is_transient, after = |_| panic!("asked")))]
    async fn refuses() -> Result<u32, ApiError> {
        Err(ApiError::Refused)
    }
    let flow = workflow! { START => refuses };
    assert_eq!(failure(flow.run(()).await).attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn retry_in_a_let_replaces_the_function_of_the_node_as_well() {
    workflow! {
        replaced(u32) -> u32 {
            let asks = asks(retry(max_attempts = 4, initial_delay = "1s", jitter = 0));
            START => asks;
        }
    }
    workflow! {
        other(u32) -> u32 {
            let asks = asks(retry(max_attempts = 4, after = |error: &ApiError| error.retry_after().map(|it| it * 2)));
            START => asks;
        }
    }
    let engine = Engine::builder().build().unwrap();
    let _ended = engine.start::<replaced>(1).id("replaced").await.unwrap().result().await.unwrap();
    let _ended = engine.start::<other>(1).id("other").await.unwrap().result().await.unwrap();
    assert_eq!(delays(&engine.history("replaced").await.unwrap().unwrap()), [1, 2, 4]);
    let other = delays(&engine.history("other").await.unwrap().unwrap());
    assert_eq!((other[0], other[2]), (180, 0));
}

#[test]
fn the_delay_is_recorded_and_survives_a_restart() {
    #[node(retry(max_attempts = 2, initial_delay = "0s", after = ApiError::retry_after))]
    async fn waits(_n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, ApiError> {
        journal.note("waits");
        if ctx.attempt() == 1 { Err(busy(2)) } else { Ok(1) }
    }
    #[node]
    async fn beside(n: u32, #[resource] death: &Death) -> u32 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        death.come("beside").await;
        n
    }
    #[node]
    async fn joins(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! {
        waiting(u32) -> u32 {
            START => waits;
            START => beside;
            (waits, beside) => joins;
        }
    }
    let disk = OnDisk::default();
    let begun = std::time::Instant::now();
    disk.dies_at::<waiting>(1, "beside");
    let (result, events) = disk.resumes::<waiting>();
    assert_eq!((result.unwrap(), disk.journal.count("waits")), (2.into(), 2));
    assert_eq!(delays(&events), [2]);
    assert!(begun.elapsed() >= Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn children_and_steps_take_the_functions_of_their_call() {
    #[node]
    async fn calls(ctx: &Context) -> Result<u32, ChildError<ApiError>> {
        let policy = || RetryPolicy::with_max_attempts(3).initial_delay(Duration::from_secs(1)).jitter(0.0);
        let of_node = ctx.call::<asks>(1).key("node").await?;
        let of_call = ctx.call::<asks>(1).key("call").retry_after(|_| Some(Duration::from_secs(7))).await?;
        let refused = ctx.call::<asks>(1).key("when").retry_when(|error| *error != busy(None)).await.is_err();
        let mut attempts = 0;
        let step = || {
            attempts += 1;
            std::future::ready(if attempts < 3 { Err(busy(20 + attempts)) } else { Ok(attempts as u32) })
        };
        let step = ctx.step("step", step).retry(policy()).retry_after(ApiError::retry_after).await?;
        let stopped = ctx.step("stopped", || async { Err::<u32, _>(ApiError::Refused) });
        let stopped = stopped.retry(policy()).retry_when(ApiError::is_transient).await.is_err();
        let as_text = || async { Err::<u32, _>(busy(30)) };
        let as_text = ctx.step("text", as_text).retry(policy()).retry_after(ApiError::retry_after).error_as_text();
        let as_text: Result<u32, ChildError<ErrorText>> = as_text.await;
        Ok(of_node + of_call + step + u32::from(refused) + u32::from(stopped) + u32::from(as_text.is_err()))
    }
    workflow! { calling(()) -> u32 { START => calls; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<calling>(()).id("run").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 4 + 4 + 3 + 3);
    let events = engine.history("run").await.unwrap().unwrap();
    assert_eq!(delays(&events), [90, 2, 0, 7, 7, 7, 90, 21, 22, 30, 30]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_says_so_is_the_last_whatever_its_end() {
    #[node(retry(max_attempts = 5))]
    async fn fails(how: String, ctx: &Context) -> Result<u32, String> {
        if ctx.attempt() == 2 {
            ctx.no_retry();
            assert!(how != "panics", "no way");
            if how == "takes too long" {
                std::future::pending::<()>().await;
            }
            if how == "succeeds" {
                return Ok(1);
            }
        }
        Err(how)
    }
    workflow! {
        failing(String) -> u32 {
            let fails = fails(timeout = "5s");
            START => fails;
        }
    }
    for how in ["panics", "takes too long", "returns an error"] {
        assert_eq!(failure(failing(how.to_owned()).await).attempts, 2, "{how}");
        let engine = Engine::builder().build().unwrap();
        let run = engine.start::<failing>(how.to_owned()).await.unwrap();
        assert_eq!(failure(run.result().await).attempts, 2, "{how}, recorded");
    }
    assert_eq!(failing("succeeds".to_owned()).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_at_a_child_or_a_step_can_be_the_last() {
    #[node(retry(max_attempts = 5))]
    async fn fails(_n: u32, ctx: &Context) -> Result<u32, String> {
        if ctx.attempt() == 2 {
            ctx.no_retry();
        }
        Err(format!("attempt {}", ctx.attempt()))
    }
    #[node]
    async fn calls(ctx: &Context) -> Vec<String> {
        let child = ctx.call::<fails>(1).await.unwrap_err();
        let step = |step: graphweft::StepContext<'_>| {
            if step.attempt() == 3 {
                step.no_retry();
            }
            std::future::ready(Err::<u32, _>(format!("attempt {}", step.attempt())))
        };
        let step = ctx.step_with("step", step).retry(RetryPolicy::with_max_attempts(5)).await.unwrap_err();
        vec![child.to_string(), step.to_string()]
    }
    let flow = workflow! { START => calls };
    assert_eq!(flow.run(()).await.unwrap(), ["attempt 2", "attempt 3"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_last_attempt_says_holds_for_that_attempt_only() {
    // A retried run begins with new attempts.
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn fails(_n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        journal.note("fails");
        if journal.count("fails") == 1 {
            ctx.no_retry();
        }
        Err("no".to_owned())
    }
    workflow! { failing(u32) -> u32 { START => fails; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).register::<failing>().build().unwrap();
    let run = engine.start::<failing>(1).id("run").await.unwrap();
    let _failed = failure(run.result().await);
    assert_eq!(journal.count("fails"), 1);
    let _failed = failure(engine.retry("run").await.unwrap().result().await);
    assert_eq!(journal.count("fails"), 4);
    let events = engine.history("run").await.unwrap().unwrap();
    let failed = paths(&events, |kind| matches!(kind, EventKind::NodeFailed { .. }));
    assert_eq!(failed.len(), 4);
}

/// One node of the run is in the middle of its work when the process dies; another one waits since before the first was
/// to be tried again.
#[test]
fn what_waited_before_a_delay_was_over_begins_before_the_next_attempt_after_a_crash_too() {
    #[node(retry(max_attempts = 2, initial_delay = "1ms"))]
    async fn fails_at_first(n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        journal.note(format!("attempt {}", ctx.attempt()));
        if ctx.attempt() == 1 { Err("again".to_owned()) } else { Ok(n) }
    }
    #[node]
    async fn dies(n: u32, #[resource] death: &Death) -> u32 {
        death.come("here").await;
        n
    }
    #[node]
    async fn waits(n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note("waits");
        n
    }
    #[node]
    async fn add(a: u32, b: u32, c: u32) -> u32 {
        a + b + c
    }
    workflow! { one_by_one(u32) -> u32 { START => (fails_at_first, dies, waits) => add; } }
    let remains = Remains::default();
    life(async {
        let death = Death::at("here");
        let engine = remains.engine(&death).max_concurrency(1usize).build().unwrap();
        let run = engine.start::<one_by_one>(1).id("run").await.unwrap();
        death.came().await;
        let mut events = run.events();
        while !matches!(events.next().await.unwrap().kind, EventKind::TimerFired) {}
    });
    let (result, _) = remains.goes_on_with::<one_by_one>(|builder| builder.max_concurrency(1usize));
    assert_eq!(result.unwrap(), 3);
    assert_eq!(remains.journal.lines(), ["attempt 1", "waits", "attempt 2"]);
}
