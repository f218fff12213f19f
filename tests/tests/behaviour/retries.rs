//! A failed attempt is followed by another: how many, after what delay, for which errors.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::state::{StateKey, Sum};
use graphweft::{EventKind, RetryPolicy};
use graphweft_tests::{Journal, failure, records, records_of, retried_after};
use tokio::time::Instant;

#[derive(Debug, thiserror::Error)]
#[error("attempt {0} failed")]
struct Failed(u32);

fn fails_before(attempt: u32, ctx: &Context) -> Result<u32, Failed> {
    if ctx.attempt() < attempt { Err(Failed(ctx.attempt())) } else { Ok(ctx.attempt()) }
}

#[node(retry(max_attempts = 3, initial_delay = "0s"))]
async fn third_time(_n: u32, ctx: &Context) -> Result<u32, Failed> {
    fails_before(3, ctx)
}

#[node(retry(max_attempts = 3, initial_delay = "0s"))]
async fn hopeless(_n: u32, ctx: &Context) -> Result<u32, Failed> {
    fails_before(u32::MAX, ctx)
}

#[node]
async fn once(_n: u32, ctx: &Context) -> Result<u32, Failed> {
    fails_before(u32::MAX, ctx)
}

#[node(retry(max_attempts = 4, initial_delay = "2s", backoff_factor = 3.0, jitter = 0.0))]
async fn backing_off(_n: u32, ctx: &Context) -> Result<u32, Failed> {
    fails_before(4, ctx)
}

#[node(retry(max_attempts = 5, initial_delay = "10s", max_delay = "15s", jitter = 0.0))]
async fn capped(_n: u32, ctx: &Context) -> Result<u32, Failed> {
    fails_before(4, ctx)
}

#[node(retry(max_attempts = 2, initial_delay = "10s", jitter = 0.5))]
async fn jittery(_n: u32, ctx: &Context) -> Result<u32, Failed> {
    fails_before(2, ctx)
}

#[node(retry())]
async fn by_default(_n: u32, ctx: &Context) -> Result<u32, Failed> {
    fails_before(5, ctx)
}

#[tokio::test]
async fn a_node_is_tried_until_it_succeeds() {
    let flow = workflow! { START => third_time };
    assert_eq!(flow.run(0).await.unwrap(), 3);
}

#[tokio::test]
async fn a_node_without_retry_is_tried_once() {
    let flow = workflow! { START => once };
    assert_eq!(failure(flow.run(0).await).attempts, 1);
}

#[tokio::test]
async fn no_more_attempts_are_made_than_allowed() {
    let flow = workflow! { START => hopeless };
    assert_eq!(failure(flow.run(0).await).attempts, 3);
}

#[tokio::test]
async fn the_failure_holds_the_last_error() {
    let flow = workflow! { START => hopeless };
    assert_eq!(failure(flow.run(0).await).cause.to_string(), "attempt 3 failed");
}

#[tokio::test]
async fn a_routed_error_is_that_of_the_last_attempt() {
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn refuses(_n: u32, ctx: &Context) -> Result<u32, String> {
        Err(format!("attempt {}", ctx.attempt()))
    }
    #[node]
    async fn handle(error: String) -> String {
        error
    }
    #[node]
    async fn text(n: u32) -> String {
        n.to_string()
    }
    let flow = workflow! { START => refuses => <ok: text, err: handle> };
    assert_eq!(flow.run(0).await.unwrap(), "attempt 2");
}

/// Delays are recorded by the clock of the machine, which goes on while that of the test stands still.
fn seconds(since: Instant) -> u64 {
    (since.elapsed() + Duration::from_millis(500)).as_secs()
}

#[tokio::test(start_paused = true)]
async fn delays_grow_by_the_backoff_factor() {
    let flow = workflow! { START => backing_off };
    let start = Instant::now();
    flow.run(0).await.unwrap();
    assert_eq!(seconds(start), 2 + 6 + 18);
}

#[tokio::test(start_paused = true)]
async fn delays_grow_no_further_than_max_delay() {
    let flow = workflow! { START => capped };
    let start = Instant::now();
    flow.run(0).await.unwrap();
    assert_eq!(seconds(start), 10 + 15 + 15);
}

#[tokio::test(start_paused = true)]
async fn jitter_lengthens_a_delay_by_at_most_its_factor() {
    let flow = workflow! { START => jittery };
    for _ in 0..50 {
        let start = Instant::now();
        flow.run(0).await.unwrap();
        let waited = start.elapsed();
        assert!((Duration::from_secs(10)..=Duration::from_millis(15_001)).contains(&waited), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_differs_from_run_to_run() {
    let flow = workflow! { START => jittery };
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let start = Instant::now();
        flow.run(0).await.unwrap();
        waits.insert(start.elapsed());
    }
    assert!(waits.len() > 1, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn retry_without_options_makes_five_attempts() {
    let flow = workflow! { START => by_default };
    assert_eq!(flow.run(0).await.unwrap(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_delays_of_retry_without_options_are_at_least_those_of_adk() {
    let flow = workflow! { START => by_default };
    let start = Instant::now();
    flow.run(0).await.unwrap();
    assert!((15..=30).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[test]
fn the_formula_is_that_of_adk() {
    let policy = RetryPolicy::default();
    let delays: Vec<u64> = (1..=8).map(|attempt| policy.delay_after(attempt, 0.0).as_secs()).collect();
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
}

#[test]
fn delays_do_not_shrink_whatever_the_factor() {
    let policy = RetryPolicy::default().jitter(f64::NAN);
    for factor in [0.5, 0.0, -2.0, f64::NAN, f64::INFINITY] {
        let policy = policy.clone().backoff_factor(factor).initial_delay(Duration::from_secs(3));
        assert_eq!(
            [1, 2, u32::MAX].map(|attempt| policy.delay_after(attempt, 1.0)),
            [Duration::from_secs(3); 3],
            "{factor}"
        );
    }
    assert_eq!(policy.delay_after(u32::MAX, 1.0), Duration::from_secs(60));
}

#[test]
fn the_first_delay_is_not_cut_by_a_longest_delay_that_nobody_wrote() {
    let hour = Duration::from_secs(3600);
    assert_eq!(RetryPolicy::default().initial_delay(hour).delay_after(1, 0.0), hour);
    assert_eq!(RetryPolicy::default().initial_delay(hour).max_delay(hour / 2).delay_after(1, 0.0), hour / 2);
}

#[tokio::test]
async fn when_is_not_asked_about_faults() {
    #[node(retry(max_attempts = 3, initial_delay = "0s", when = |_| false))]
    async fn panics(_n: u32) -> Result<u32, Failed> {
        panic!("now")
    }
    let flow = workflow! { START => panics };
    let Err(graphweft::RunError::Failed(failure)) = flow.run(1).await else { panic!("it fails") };
    assert_eq!(failure.attempts, 3);
}

#[test]
fn jitter_comes_after_the_cap() {
    assert_eq!(RetryPolicy::default().delay_after(10, 0.5), Duration::from_secs(90));
}

#[tokio::test]
async fn when_says_which_errors_are_tried_again() {
    fn is_first(error: &Failed) -> bool {
        error.0 == 1
    }
    #[node(retry(max_attempts = 5, initial_delay = "0s", when = is_first))]
    async fn picky(_n: u32, ctx: &Context) -> Result<u32, Failed> {
        fails_before(u32::MAX, ctx)
    }
    let flow = workflow! { START => picky };
    assert_eq!(failure(flow.run(0).await).attempts, 2);
}

#[tokio::test]
async fn when_may_be_a_closure() {
    #[node(retry(max_attempts = 5, initial_delay = "0s", when = |error: &Failed| error.0 < 3))]
    async fn picky(_n: u32, ctx: &Context) -> Result<u32, Failed> {
        fails_before(u32::MAX, ctx)
    }
    let flow = workflow! { START => picky };
    assert_eq!(failure(flow.run(0).await).attempts, 3);
}

#[tokio::test]
async fn an_error_that_is_not_tried_again_may_still_be_routed() {
    #[node(retry(max_attempts = 5, initial_delay = "0s", when = |error: &String| error != "final"))]
    async fn refuses(_n: u32) -> Result<u32, String> {
        Err("final".to_owned())
    }
    #[node]
    async fn handle(error: String) -> u32 {
        error.len() as u32
    }
    let flow = workflow! { START => refuses => <ok: END, err: handle>; handle => END; };
    assert_eq!(flow.run(0).await.unwrap(), 5);
}

#[tokio::test]
async fn every_attempt_is_given_the_same_input() {
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn consumes(mut items: Vec<u32>, ctx: &Context) -> Result<Vec<u32>, Failed> {
        items.push(9);
        fails_before(3, ctx).map(|_| items)
    }
    let flow = workflow! { START => consumes };
    assert_eq!(flow.run(vec![1]).await.unwrap(), [1, 9]);
}

#[tokio::test]
async fn an_input_that_is_not_clone_is_given_to_every_attempt_too() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    struct Ticket {
        id: u32,
    }
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn redeem(ticket: Ticket, ctx: &Context) -> Result<u32, Failed> {
        fails_before(2, ctx).map(|_| ticket.id)
    }
    let flow = workflow! { START => redeem };
    assert_eq!(flow.run(Ticket { id: 7 }).await.unwrap(), 7);
}

#[tokio::test]
async fn the_state_writes_of_a_failed_attempt_are_lost() {
    const TRIES: StateKey<u32, Sum> = StateKey::new("tries");
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn writes(_n: u32, ctx: &Context, #[writes(TRIES)] tries: StateWriter<u32, Sum>) -> Result<u32, Failed> {
        tries.merge(1);
        fails_before(3, ctx)
    }
    #[node]
    async fn tries(#[state] tries: u32) -> u32 {
        tries
    }
    let flow = workflow! { START => writes => tries };
    assert_eq!(flow.run(0).await.unwrap(), 1);
}

#[tokio::test]
async fn only_the_node_that_failed_is_tried_again() {
    #[node]
    async fn before(n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note("before");
        n
    }
    workflow! { chain(u32) -> u32 { START => before => third_time; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<chain>(0).await.unwrap().result().await.unwrap();
    assert_eq!(journal.count("before"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_waits_for_its_next_attempt_holds_nobody_up() {
    #[node]
    async fn quick(_n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note("quick");
        1
    }
    #[node]
    async fn noted(n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note("backed off");
        n
    }
    #[node]
    async fn sum(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! { both(u32) -> u32 { START => (backing_off => noted, quick) => sum; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<both>(0).await.unwrap().result().await.unwrap();
    assert_eq!(journal.lines(), ["quick", "backed off"]);
}

#[tokio::test(start_paused = true)]
async fn each_failed_attempt_is_recorded_with_the_delay_before_the_next() {
    workflow! { backing(u32) -> u32 { START => backing_off; } }
    let delays: Vec<Option<Duration>> = records_of::<backing>(0)
        .await
        .into_iter()
        .filter(|event| matches!(event.kind, EventKind::NodeFailed { .. }))
        .map(|event| retried_after(&event))
        .collect();
    assert_eq!(delays, [2, 6, 18].map(|seconds| Some(Duration::from_secs(seconds))));
}

#[tokio::test]
async fn attempts_are_numbered_from_one() {
    workflow! { thirds(u32) -> u32 { START => third_time; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<thirds>(0).await.unwrap();
    let numbers: Vec<u32> = records(&run)
        .await
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::NodeStarted { attempt, .. } => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[tokio::test]
async fn attempts_begin_anew_in_each_turn_of_a_loop() {
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn second_time(n: u32, ctx: &Context) -> Result<u32, Failed> {
        fails_before(2, ctx).map(|attempt| n + attempt)
    }
    #[node]
    async fn enough(n: u32) -> Result<u32, u32> {
        if n < 6 { Err(n) } else { Ok(n) }
    }
    let flow = workflow! { START => second_time => enough => <err: second_time, ok: END> };
    assert_eq!(flow.run(0).await.unwrap(), 6);
}

#[tokio::test]
async fn the_idempotency_key_is_the_same_for_every_attempt() {
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn pays(_n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, Failed> {
        journal.note(ctx.idempotency_key());
        fails_before(3, ctx)
    }
    workflow! { paying(u32) -> u32 { START => pays; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<paying>(0).await.unwrap().result().await.unwrap();
    assert_eq!(journal.count(&journal.lines()[0]), 3);
}

#[node]
async fn refuses(_n: u32) -> Result<u32, String> {
    Err("no".to_owned())
}

workflow! {
    refusing(u32) -> u32 { START => refuses; }
}

workflow! {
    refusing_twice(u32) -> u32 {
        let inside = refusing(retry(max_attempts = 2, initial_delay = "10s", jitter = 1.0));
        START => inside;
    }
}

#[tokio::test(start_paused = true)]
async fn the_delay_before_another_attempt_at_a_nested_workflow_has_jitter() {
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let start = tokio::time::Instant::now();
        refusing_twice(0).await.unwrap_err();
        waits.insert(start.elapsed());
    }
    assert!(waits.len() > 1, "{waits:?}");
}
