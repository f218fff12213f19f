//! Steps inside of steps, and the idempotency key of a step.

use std::time::Duration;

use graphweft::StepContext;
use graphweft::prelude::*;
use graphweft_tests::{Death, Journal, OnDisk, paths};

fn plain(n: u32, journal: &Journal, line: &'static str) -> Result<u32, String> {
    journal.note(line);
    Ok(n)
}

#[node]
async fn builds(
    n: u32,
    ctx: &Context,
    #[resource] journal: &Journal,
    #[resource] death: &Death,
) -> Result<u32, ChildError<String>> {
    ctx.step_with("outer", |outer| async move {
        journal.note("outer");
        let first = outer.step("inner", || async { plain(n, journal, "inner a") }).key("a").await;
        let deeper = outer.step_with("deep", |deep| async move {
            let inner = deep.step("inner", || async { plain(n * 10, journal, "deepest") }).await;
            death.come("in the deep").await;
            inner.map_err(|error| error.to_string())
        });
        let deeper = deeper.await;
        death.come("in the outer").await;
        let sum = first.and_then(|first| deeper.map(|deeper| first + deeper));
        sum.map_err(|error| error.to_string())
    })
    .await
}

workflow! { pub building(u32) -> u32 { START => builds; } }

fn completed(events: &[graphweft::Event]) -> Vec<String> {
    paths(events, |kind| matches!(kind, EventKind::NodeCompleted { .. }))
}

#[test]
fn an_inner_step_is_recorded_below_the_outer_one() {
    let (result, events) = OnDisk::default().runs::<building>(1);
    assert_eq!(result.unwrap(), 11);
    assert_eq!(
        completed(&events),
        [
            "building/builds/outer/inner:a",
            "building/builds/outer/deep/inner",
            "building/builds/outer/deep",
            "building/builds/outer",
            "building/builds"
        ]
    );
}

#[test]
fn an_outer_step_that_starts_again_gets_what_its_inner_steps_have_recorded() {
    for place in ["in the deep", "in the outer"] {
        let disk = OnDisk::default();
        disk.dies_at::<building>(1, place);
        let (result, _) = disk.resumes::<building>();
        assert_eq!(result.unwrap(), 11, "{place}");
        let counts = ["outer", "inner a", "deepest"].map(|line| disk.journal.count(line));
        assert_eq!(counts, [2, 1, 1], "{place}");
    }
}

#[test]
fn the_next_attempt_of_an_outer_step_gets_them_too_and_repeats_those_that_failed() {
    #[node]
    async fn tries(ctx: &Context, #[resource] journal: &Journal) -> Result<u32, ChildError<String>> {
        ctx.step_with("outer", |outer| async move {
            let sound = outer.step("sound", || async { plain(1, journal, "sound") }).await;
            let flaky = outer.step("flaky", || async {
                journal.note("flaky");
                if journal.count("flaky") < 3 { Err("flaky".to_owned()) } else { Ok(journal.count("flaky") as u32) }
            });
            let flaky = flaky.await;
            let attempt = outer.attempt();
            Ok(sound.map_err(|error| error.to_string())? + flaky.map_err(|error| error.to_string())? + attempt)
        })
        .retry(RetryPolicy::with_max_attempts(5).initial_delay(Duration::ZERO))
        .await
    }
    workflow! { trying(()) -> u32 { START => tries; } }
    let disk = OnDisk::default();
    assert_eq!(disk.runs::<trying>(()).0.unwrap(), 1 + 3 + 3);
    assert_eq!((disk.journal.count("sound"), disk.journal.count("flaky")), (1, 3));
}

#[test]
fn an_outer_step_that_takes_too_long_leaves_its_inner_steps_to_the_next_attempt() {
    #[node]
    async fn tries(ctx: &Context, #[resource] journal: &Journal) -> Result<u32, ChildError<String>> {
        ctx.step_with("outer", |outer: StepContext<'_>| async move {
            let done = outer.step("done", || async { plain(1, journal, "done") }).await;
            let slow = outer.step("slow", || async {
                journal.note("slow");
                if journal.count("slow") == 1 {
                    std::future::pending::<()>().await;
                }
                Ok::<u32, String>(2)
            });
            let slow = slow.await;
            Ok(done.map_err(|error| error.to_string())? + slow.map_err(|error| error.to_string())?)
        })
        .timeout(Duration::from_millis(200))
        .retry(RetryPolicy::with_max_attempts(3).initial_delay(Duration::ZERO))
        .await
    }
    workflow! { trying(()) -> u32 { START => tries; } }
    let disk = OnDisk::default();
    assert_eq!(disk.runs::<trying>(()).0.unwrap(), 3);
    assert_eq!((disk.journal.count("done"), disk.journal.count("slow")), (1, 2));
}

#[test]
fn a_second_use_of_an_identity_within_a_step_is_an_error_and_the_same_name_elsewhere_is_none() {
    #[node]
    async fn repeats(ctx: &Context, #[resource] journal: &Journal) -> Result<String, ChildError<String>> {
        let beside = ctx.step("inner", || async { plain(1, journal, "beside") }).await?;
        ctx.step_with("outer", |outer| async move {
            let inner = || outer.step("inner", || async { plain(1, journal, "inner") });
            let first = inner().await.map_err(|error| error.to_string())?;
            let second = inner().await.unwrap_err();
            Ok(format!("{beside} {first} {second}"))
        })
        .await
    }
    workflow! { repeating(()) -> String { START => repeats; } }
    let said = OnDisk::default().runs::<repeating>(()).0.unwrap();
    assert!(said.starts_with("1 1 duplicate request `repeating/repeats/outer/inner` in one node"), "{said}");
}

#[test]
fn the_key_of_a_step_is_the_same_in_each_attempt_and_after_a_restart_and_another_for_each_step() {
    #[node]
    async fn posts(
        ctx: &Context,
        #[resource] journal: &Journal,
        #[resource] death: &Death,
    ) -> Result<u32, ChildError<String>> {
        let mut sent = 0;
        for at in 0..2_u32 {
            sent += ctx
                .step_with("post", |step| async move {
                    journal.note(step.idempotency_key());
                    death.come(if at == 1 { "second" } else { "" }).await;
                    if step.attempt() == 1 { Err("again".to_owned()) } else { Ok(1) }
                })
                .key(at)
                .retry(RetryPolicy::with_max_attempts(2).initial_delay(Duration::ZERO))
                .await?;
        }
        Ok(sent)
    }
    workflow! { posting(()) -> u32 { START => posts; } }
    let disk = OnDisk::default();
    disk.dies_at::<posting>((), "second");
    assert_eq!(disk.resumes::<posting>().0.unwrap(), 2);
    let (first, second) = ("run:posting/posts/post:0", "run:posting/posts/post:1");
    assert_eq!(disk.journal.lines(), [first, first, second, second, second]);
}

#[test]
fn inner_steps_run_at_once() {
    #[node]
    async fn joins(ctx: &Context, #[resource] journal: &Journal) -> Result<u32, ChildError<String>> {
        ctx.step_with("outer", |outer| async move {
            let one = |n: u32| outer.step("one", move || async move { plain(n, journal, "one") }).key(n);
            let (a, b, c) = futures::join!(one(1), one(2), one(3));
            [a, b, c].into_iter().sum::<Result<u32, _>>().map_err(|error| error.to_string())
        })
        .await
    }
    workflow! { joining(()) -> u32 { START => joins; } }
    assert_eq!(OnDisk::default().runs::<joining>(()).0.unwrap(), 6);
}

#[test]
fn a_retried_run_reuses_the_inner_steps_of_a_step_that_had_failed() {
    #[node]
    async fn builds(ctx: &Context, #[resource] journal: &Journal) -> Result<u32, ChildError<String>> {
        ctx.step_with("outer", |outer| async move {
            let inner = outer.step("inner", || async { plain(1, journal, "inner") }).await;
            journal.note("outer");
            if journal.count("outer") == 1 { Err("no".to_owned()) } else { inner.map_err(|error| error.to_string()) }
        })
        .await
    }
    workflow! { retrying(()) -> u32 { START => builds; } }
    let disk = OnDisk::default();
    assert!(disk.runs::<retrying>(()).0.is_err());
    let again = disk
        .process::<retrying, _, _>(|engine| async move { engine.retry("run").await.unwrap().result().await.unwrap() });
    assert_eq!(again, 1);
    assert_eq!(disk.journal.count("outer"), 2);
}

#[test]
fn a_retried_run_reuses_the_steps_of_a_child_that_had_failed() {
    #[node]
    async fn child(_n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        let inner = ctx.step("inner", || async { plain(1, journal, "inner") }).await;
        journal.note("child");
        if journal.count("child") == 1 { Err("no".to_owned()) } else { Ok(inner?) }
    }
    #[node]
    async fn calls(ctx: &Context) -> Result<u32, ChildError<String>> {
        ctx.call::<child>(1).await
    }
    workflow! { retrying(()) -> u32 { START => calls; } }
    let disk = OnDisk::default();
    assert!(disk.runs::<retrying>(()).0.is_err());
    let again = disk
        .process::<retrying, _, _>(|engine| async move { engine.retry("run").await.unwrap().result().await.unwrap() });
    assert_eq!(again, 1);
    assert_eq!((disk.journal.count("child"), disk.journal.count("inner")), (2, 1));
}
