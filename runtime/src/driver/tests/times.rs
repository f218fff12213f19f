use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::seconds_since;
use crate::context::Context;
use crate::fault::Fault;
use crate::json_graphs::{Made, Step, made};
use crate::options::{NodeOptions, RetryPolicy};
use crate::table::ScopeKind;

fn retry(max_attempts: u32, jitter: f64) -> impl Fn(&mut NodeOptions) {
    move |of| of.retry = RetryPolicy { max_attempts, jitter, ..RetryPolicy::default() }
}

fn failing() -> Made {
    made("START>a; a>END").node("a", |_, _| async { Step::Fail("boom") })
}

#[tokio::test(start_paused = true)]
async fn delays_double_up_to_the_longest() {
    let begun = Instant::now();
    let flow = failing().options("a", retry(9, 0.0));
    assert_eq!(flow.run(json!(1)).await.unwrap_err().attempts, 9);
    // 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60
    assert_eq!(seconds_since(begun), 183);
}

#[tokio::test(start_paused = true)]
async fn jitter_makes_a_delay_up_to_twice_as_long() {
    let begun = Instant::now();
    failing().options("a", retry(2, 1.0)).run(json!(1)).await.unwrap_err();
    let delay = begun.elapsed();
    assert!(seconds_since(begun) >= 1 && delay <= Duration::from_millis(2001), "{delay:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_too_long_has_timed_out() {
    let limit = Duration::from_secs(10);
    let flow = made("START>a; a>END").node("a", |_, _| std::future::pending());
    let failure = flow.options("a", |of| of.timeout = Some(limit)).run(json!(1)).await.unwrap_err();
    assert_eq!(failure.cause.fault, Some(Fault::Timeout { after: limit }));
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_is_that_of_one_attempt() {
    let slow_at_first = |input, context: Context| async move {
        if context.attempt() < 3 {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(Duration::from_secs(9)).await;
        Step::Give(input)
    };
    let flow = made("START>a; a>END").node("a", slow_at_first).options("a", |of| {
        of.timeout = Some(Duration::from_secs(10));
        retry(3, 0.0)(of);
    });
    let begun = Instant::now();
    assert_eq!(flow.run(json!(1)).await, Ok(json!(1)));
    assert_eq!(seconds_since(begun), 10 + 1 + 10 + 2 + 9);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_holds_for_a_node_with_a_task_of_its_own() {
    let flow = made("START>a; START>b; (a,b)>END").node("a", |_, _| std::future::pending());
    let failure = flow.options("a", |of| of.timeout = Some(Duration::from_secs(1))).run(json!(1)).await.unwrap_err();
    assert_eq!(failure.path, "w/a");
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_a_nested_workflow_stops_what_is_inside() {
    let inside = made("START>x; x>END").node("x", |_, _| std::future::pending());
    let flow = made("START>n; n>END").inside("n", ScopeKind::Nested, inside);
    let failure = flow.options("n", |of| of.timeout = Some(Duration::from_secs(7))).run(json!(1)).await.unwrap_err();
    assert_eq!(
        (failure.path.as_str(), failure.cause.fault),
        ("w/n", Some(Fault::Timeout { after: Duration::from_secs(7) }))
    );
}

#[tokio::test(start_paused = true)]
async fn branches_go_on_while_one_waits_for_its_next_attempt() {
    let begun = Instant::now();
    let slow = |input, _| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Step::Give(input)
    };
    let once = |input, context: Context| async move {
        if context.attempt() == 1 { Step::Fail("boom") } else { Step::Give(input) }
    };
    let flow = made("START>a; START>b; b>c; (a,c)>END").node("a", once).node("b", slow).node("c", slow);
    flow.options("a", retry(2, 0.0)).run(json!(1)).await.unwrap();
    assert_eq!(seconds_since(begun), 2);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_waits_alone_gets_company_without_starting_again() {
    let starts = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&starts);
    let slow = move |input, _| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Step::Give(input)
        }
    };
    let once = |input, context: Context| async move {
        if context.attempt() == 1 { Step::Fail("boom") } else { Step::Give(input) }
    };
    // `c` is alone while `a` waits for its second attempt, and then has company.
    let flow = made("START>a; START>b; b>c; (a,c)>END").node("a", once).node("c", slow).options("a", retry(2, 0.0));
    flow.run(json!(1)).await.unwrap();
    assert_eq!(starts.load(std::sync::atomic::Ordering::SeqCst), 1);
}
