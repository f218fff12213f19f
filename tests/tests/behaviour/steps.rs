//! Steps of a node, `ctx.step(..)`: recorded pieces with retries and limits of their own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::state::Sum;
use graphweft::{AfterFailure, ChildError, EventKind, RetryPolicy};
use graphweft_tests::{Death, Journal, Remains, failure, life, paths, records_of, seconds_since, started};
use tokio::time::Instant;

type StepError = ChildError<String>;

#[node]
async fn add_up(numbers: Vec<u32>, ctx: &Context) -> Result<u32, StepError> {
    let mut sum = 0;
    for (at, number) in numbers.iter().enumerate() {
        sum += ctx.step("add", || async move { Ok::<u32, String>(*number) }).key(at).await?;
    }
    Ok(sum)
}

workflow! { adding(Vec<u32>) -> u32 { START => add_up; } }

#[tokio::test]
async fn a_step_gives_what_its_closure_gives() {
    assert_eq!(adding(vec![1, 2, 3]).await.unwrap(), 6);
}

#[tokio::test]
async fn a_step_is_on_record_below_its_node_and_done_before_it() {
    let events = records_of::<adding>(vec![1, 2]).await;
    let done = paths(&events, |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    assert_eq!(started(&events), ["adding/add_up", "adding/add_up/add:0", "adding/add_up/add:1"]);
    assert_eq!(done, ["adding/add_up/add:0", "adding/add_up/add:1", "adding/add_up"]);
}

#[tokio::test]
async fn the_error_of_a_step_is_a_value_and_on_record() {
    #[node]
    async fn fails(ctx: &Context) -> String {
        let given = ctx.step("fail", || async { Err::<u32, String>("no".to_owned()) }).await;
        given.unwrap_err().to_string()
    }
    workflow! { failing(()) -> String { START => fails; } }
    let events = records_of::<failing>(()).await;
    let failed = events.iter().find_map(|event| match &event.kind {
        EventKind::NodeFailed { cause, then: AfterFailure::Fails, error, .. } => {
            Some((cause.to_string(), error.clone()))
        }
        _ => None,
    });
    assert_eq!(failed, Some(("no".to_owned(), Some("no".into()))));
    assert!(
        matches!(events.last().map(|last| &last.kind), Some(EventKind::RunCompleted { output, .. }) if *output == "no")
    );
}

#[tokio::test]
async fn a_second_use_of_an_identity_is_an_error_that_names_the_path() {
    #[node]
    async fn twice(ctx: &Context) -> Result<String, StepError> {
        let again = || ctx.step("once", || async { Ok::<u32, String>(1) }).key("k");
        again().await?;
        Ok(again().await.unwrap_err().to_string())
    }
    workflow! { repeating(()) -> String { START => twice; } }
    let message = repeating(()).await.unwrap();
    assert!(message.starts_with("duplicate request `repeating/twice/once:k`"), "{message}");
}

#[tokio::test]
async fn a_step_and_a_child_of_one_name_are_one_identity() {
    #[node]
    async fn look() -> u32 {
        1
    }
    #[node]
    async fn both(ctx: &Context) -> Result<bool, ChildError<Never>> {
        ctx.call::<look>(()).await?;
        Ok(ctx.step("look", || async { Ok::<u32, String>(1) }).await.is_err())
    }
    let flow = workflow! { START => both };
    assert!(flow.run(()).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_step_is_tried_as_often_as_the_call_says() {
    #[node]
    async fn tries(ctx: &Context) -> Result<u32, StepError> {
        let attempts = AtomicU32::new(0);
        let body = || async {
            let attempt = attempts.fetch_add(1, Ordering::SeqCst) + 1;
            if attempt < 3 { Err(format!("attempt {attempt}")) } else { Ok(attempt) }
        };
        let policy = RetryPolicy::with_max_attempts(3).initial_delay(Duration::from_secs(2)).jitter(0.0);
        ctx.step("try", body).retry(policy).await
    }
    let flow = workflow! { START => tries };
    let start = Instant::now();
    assert_eq!((flow.run(()).await.unwrap(), seconds_since(start)), (3, 2 + 4));
}

#[tokio::test]
async fn a_step_without_retry_is_tried_once() {
    #[node]
    async fn tries(ctx: &Context) -> Result<u32, StepError> {
        let mut attempts = 0;
        ctx.step("try", || {
            attempts += 1;
            std::future::ready(Err(format!("attempt {attempts}")))
        })
        .await
    }
    let flow = workflow! { START => tries };
    assert_eq!(failure(flow.run(()).await).cause.to_string(), "attempt 1");
}

#[tokio::test(start_paused = true)]
async fn each_attempt_of_a_step_has_its_time() {
    #[node]
    async fn hurries(ctx: &Context) -> String {
        let policy = RetryPolicy::with_max_attempts(2).initial_delay(Duration::ZERO);
        let slow = ctx.step("slow", std::future::pending::<Result<u32, String>>);
        slow.retry(policy).timeout(Duration::from_secs(5)).await.unwrap_err().to_string()
    }
    let flow = workflow! { START => hurries };
    let start = Instant::now();
    assert_eq!(flow.run(()).await.unwrap(), "timed out after 5s");
    assert_eq!(seconds_since(start), 10);
}

#[tokio::test]
async fn a_step_that_panics_is_a_fault() {
    #[node]
    async fn survives(ctx: &Context) -> String {
        let body = || async { if ctx.attempt() == 1 { panic!("no way") } else { Ok::<u32, String>(1) } };
        ctx.step("panic", body).await.unwrap_err().to_string()
    }
    let flow = workflow! { START => survives };
    assert_eq!(flow.run(()).await.unwrap(), "panicked: no way");
}

#[tokio::test]
async fn steps_of_a_join_run_at_once() {
    #[node]
    async fn meets(ctx: &Context) -> Result<u32, StepError> {
        let barrier = tokio::sync::Barrier::new(3);
        let meet = |n: u32| {
            let barrier = &barrier;
            ctx.step("meet", move || async move {
                barrier.wait().await;
                Ok::<u32, String>(n)
            })
            .key(n)
        };
        let (a, b, c) = tokio::join!(meet(1), meet(2), meet(3));
        Ok(a? + b? + c?)
    }
    let flow = workflow! { START => meets };
    assert_eq!(flow.run(()).await.unwrap(), 6);
}

#[tokio::test]
async fn a_run_whose_step_is_at_work_does_not_wait_for_a_question() {
    #[node]
    async fn asks(ctx: &Context) -> bool {
        ctx.ask::<bool>("fine", "fine?").await
    }
    #[node]
    async fn works(ctx: &Context, #[resource] death: &Death) -> Result<bool, StepError> {
        ctx.step("work", || async {
            death.come("work").await;
            Ok::<bool, String>(true)
        })
        .await
    }
    #[node]
    async fn both(a: bool, b: bool) -> bool {
        a && b
    }
    workflow! { working(()) -> bool { START => (asks, works) => both; } }
    let death = Death::at("work");
    let engine = Engine::builder().resource(death.clone()).build().unwrap();
    let run = engine.start::<working>(()).await.unwrap();
    death.came().await;
    let outcome = tokio::time::timeout(Duration::from_millis(50), run.outcome()).await;
    assert!(outcome.is_err(), "{outcome:?}");
}

const HOUR: Duration = Duration::from_secs(3600);
const CALLS: StateKey<u32, Sum> = StateKey::new("calls");

#[node]
async fn three_steps(
    ctx: &Context,
    #[resource] journal: &Journal,
    #[resource] death: &Death,
    #[writes(CALLS)] calls: StateWriter<u32, Sum>,
) -> Result<String, StepError> {
    let mut all = String::new();
    for name in ["a", "b", "c"] {
        let work = || async {
            journal.note(name);
            death.come(name).await;
            Ok::<String, String>(name.to_uppercase())
        };
        all += &ctx.step("work", work).key(name).await?;
        calls.merge(1);
    }
    Ok(all)
}

#[node]
async fn with_calls(all: String, #[state] calls: u32) -> String {
    format!("{all} in {calls}")
}

workflow! { stepping(()) -> String { START => three_steps => with_calls; } }

#[test]
fn a_step_that_is_done_is_not_done_again_after_a_crash() {
    let remains = Remains::default();
    remains.dies_at::<stepping>((), "c");
    assert_eq!(remains.goes_on::<stepping>().0.unwrap(), "ABC in 3");
    assert_eq!(remains.journal.lines(), ["a", "b", "c", "c"]);
}

#[test]
fn a_step_that_has_failed_for_good_gives_the_same_error_after_a_crash() {
    #[node]
    async fn fails(ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> String {
        let body = || async {
            journal.note("failed");
            Err::<u32, (u32, String)>((404, "gone".to_owned()))
        };
        let error = ctx.step("fail", body).await.unwrap_err();
        death.come("after").await;
        format!("{error:?}")
    }
    workflow! { failing(()) -> String { START => fails; } }
    let remains = Remains::default();
    remains.dies_at::<failing>((), "after");
    assert_eq!(remains.goes_on::<failing>().0.unwrap(), r#"Error((404, "gone"))"#);
    assert_eq!(remains.journal.lines(), ["failed"]);
}

#[node]
async fn pays(ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> String {
    let body = || async {
        journal.note("pay");
        death.come("pay").await;
        Err::<u32, String>("declined".to_owned())
    };
    let policy = RetryPolicy::with_max_attempts(2).initial_delay(Duration::ZERO);
    let given = ctx.step("pay", body).at_most_once().retry(policy).await;
    death.come("after").await;
    format!("{given:?}")
}

workflow! { paying(()) -> String { START => pays; } }

#[test]
fn a_step_that_may_run_at_most_once_and_was_cut_short_is_interrupted() {
    let remains = Remains::default();
    remains.dies_at::<paying>((), "pay");
    assert_eq!(remains.goes_on::<paying>().0.unwrap(), "Err(Fault(Interrupted))");
    assert_eq!(remains.journal.lines(), ["pay"]);
}

#[test]
fn the_attempt_of_a_step_that_may_run_at_most_once_is_on_record_before_it_begins() {
    let remains = Remains::default();
    let begun = life(async {
        let death = Death::at("pay");
        let engine = remains.engine(&death).build().unwrap();
        engine.start::<paying>(()).id("run").await.unwrap();
        death.came().await;
        started(&engine.history("run").await.unwrap().unwrap())
    });
    assert_eq!(begun, ["paying/pays", "paying/pays/pay"]);
}

#[test]
fn an_attempt_that_ended_with_an_error_was_not_cut_short() {
    let remains = Remains::default();
    remains.dies_at::<paying>((), "after");
    assert_eq!(remains.goes_on::<paying>().0.unwrap(), r#"Err(Error("declined"))"#);
    assert_eq!(remains.journal.lines(), ["pay", "pay"]);
}

#[test]
fn a_delay_before_another_attempt_goes_on_after_a_crash_where_it_was() {
    #[node]
    async fn tries(ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> Result<u32, StepError> {
        let body = || async {
            journal.note("try");
            if journal.lines().len() < 2 { Err("not yet".to_owned()) } else { Ok(2) }
        };
        let policy = RetryPolicy::with_max_attempts(2).initial_delay(HOUR).max_delay(HOUR).jitter(0.0);
        let watches = async {
            ctx.sleep(Duration::from_millis(100)).await;
            death.come("delay").await;
        };
        futures::join!(ctx.step("try", body).retry(policy), watches).0
    }
    workflow! { delayed(()) -> u32 { START => tries; } }
    let remains = Remains::default();
    remains.dies_at::<delayed>((), "delay");
    assert_eq!(remains.journal.lines(), ["try"]);
    let (result, _) = remains.goes_on_after::<delayed>(HOUR);
    assert_eq!(result.unwrap(), 2);
    assert_eq!(remains.journal.lines(), ["try", "try"]);
}

#[node]
async fn gate(n: u32, #[resource] journal: &Journal, #[resource] death: &Death) -> u32 {
    journal.note("gate");
    if journal.count("gate") == 2 {
        death.come("gate").await;
    }
    n
}

/// Gives how often it has reserved, and takes it for a failure where that was once.
#[node]
async fn reserve(_: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<usize, String> {
    let body = || async {
        journal.note("reserve");
        Ok::<usize, String>(journal.count("reserve"))
    };
    match ctx.step("reserve", body).await {
        Ok(1) => Err("taken".to_owned()),
        given => given.map_err(|error| error.to_string()),
    }
}

#[node]
async fn both(n: u32) -> Vec<u32> {
    vec![n, n]
}

workflow! { booking(u32) -> usize { START => gate => reserve; } }
workflow! { bookings(u32) -> Vec<usize> { START => gate => both => [reserve]; } }
workflow! { trip(u32) -> usize {
    let again = booking(retry(max_attempts = 2, initial_delay = "1ms"));
    START => again;
} }
workflow! { trips(u32) -> Vec<usize> {
    let again = bookings(retry(max_attempts = 2, initial_delay = "1ms"));
    START => again;
} }

/// What is around a node begins anew with its next attempt, on inputs that may be others.
#[tokio::test]
async fn a_step_is_not_given_back_where_the_workflow_around_its_node_is_tried_again() {
    let engine = || Remains::default().engine(&Death::default()).build().unwrap();
    assert_eq!(engine().start::<trip>(1).await.unwrap().result().await.unwrap(), 2);
    let both = engine().start::<trips>(1).await.unwrap().result().await.unwrap();
    assert!(both.iter().all(|given| *given > 1), "{both:?}");
}

#[test]
fn a_step_is_not_given_back_either_after_a_crash_in_the_next_attempt_around_it() {
    let remains = Remains::default();
    remains.dies_at::<trip>(1, "gate");
    assert_eq!(remains.goes_on::<trip>().0.unwrap(), 2);
    assert_eq!(remains.journal.lines(), ["gate", "reserve", "gate", "gate", "reserve"]);
}

/// Fails once, when the other has what it holds on record.
#[node]
async fn fails_once(n: usize, #[resource] journal: &Journal) -> Result<usize, String> {
    while journal.count("held") == 0 {
        tokio::task::yield_now().await;
    }
    if journal.count("failed") > 0 {
        return Ok(n);
    }
    journal.note("failed");
    Err("once".to_owned())
}

/// Gives how often it has held something, and does not end when that is once.
#[node]
async fn holds(_: usize, ctx: &Context, #[resource] journal: &Journal) -> Result<usize, StepError> {
    let body = || async {
        journal.note("hold");
        Ok::<usize, String>(journal.count("hold"))
    };
    let held = ctx.step("hold", body).await?;
    journal.note("held");
    if journal.count("failed") == 0 {
        std::future::pending::<()>().await;
    }
    Ok(held)
}

#[node]
async fn once_more(n: u32, #[resource] journal: &Journal, #[resource] death: &Death) -> usize {
    journal.note("again");
    if journal.count("again") == 2 {
        death.come("again").await;
    }
    n as usize
}

#[node]
async fn second(_: usize, held: usize) -> usize {
    held
}

workflow! { holding(u32) -> usize { START => once_more => (fails_once, holds) => second; } }
workflow! { holding_again(u32) -> usize {
    let again = holding(retry(max_attempts = 2, initial_delay = "1ms"));
    START => again;
} }

#[test]
fn a_step_of_a_node_that_was_cancelled_is_not_given_back_after_a_crash() {
    let remains = Remains::default();
    remains.dies_at::<holding_again>(1, "again");
    assert_eq!(remains.goes_on::<holding_again>().0.unwrap(), 2);
}

workflow! { later_trip(u32) -> usize {
    let again = booking(retry(max_attempts = 2, initial_delay = "300ms", jitter = 0.0));
    START => again;
} }

#[node]
async fn travels(n: u32, ctx: &Context) -> Result<usize, String> {
    ctx.call::<later_trip>(n).await.map_err(|error| error.to_string())
}

workflow! { travelling(u32) -> usize { START => travels; } }

#[test]
fn a_step_in_a_child_workflow_is_not_given_back_after_a_crash_between_two_attempts_around_it() {
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        let run = engine.start::<travelling>(1).id("run").await.unwrap();
        let is_to_be_tried_again =
            |kind: &EventKind| matches!(kind, EventKind::NodeFailed { then: AfterFailure::RetryAt { .. }, .. });
        let mut events = run.events();
        while !is_to_be_tried_again(&events.next().await.expect("it fails once").kind) {}
    });
    assert_eq!(remains.journal.lines(), ["gate", "reserve"]);
    assert_eq!(remains.goes_on::<travelling>().0.unwrap(), 2);
}

#[tokio::test]
async fn a_run_without_an_engine_keeps_what_is_done_for_the_next_attempt() {
    #[node]
    async fn doubled(n: u32) -> u32 {
        n * 2
    }
    static DONE: AtomicU32 = AtomicU32::new(0);
    #[node(retry(max_attempts = 3, initial_delay = "1ms"))]
    async fn flaky(ctx: &Context) -> Result<u32, String> {
        let count = || async { Ok::<u32, Never>(DONE.fetch_add(1, Ordering::SeqCst)) };
        let first = ctx.step("once", count).await.map_err(|error| error.to_string())?;
        let doubled = ctx.call::<doubled>(4).await.map_err(|error| error.to_string())?;
        if ctx.attempt() < 3 { Err("again".to_owned()) } else { Ok(first + doubled) }
    }
    let flow = workflow! { START => flaky };
    assert_eq!(flow.run(()).await.unwrap(), 8);
    assert_eq!(DONE.load(Ordering::SeqCst), 1);
}
