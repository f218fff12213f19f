//! Items of `[..]` that only wait, before one that has failed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{ChildError, EventKind, Failure, Outcome};
use graphweft_tests::{failure, paths, records};
use tokio::sync::Notify;

#[node]
async fn count(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn total(items: Vec<u32>) -> u32 {
    items.iter().sum()
}

/// The last of three fails, and the first waits for a person.
#[node]
async fn asks_or_fails(n: u32, ctx: &Context) -> Result<u32, String> {
    match n {
        0 => Ok(ctx.ask::<u32>("many", "how many?").await),
        1 => Ok(n),
        _ => Err(format!("{n} is too many")),
    }
}

workflow! { asking_items(u32) -> u32 { START => count => [asks_or_fails] => total; } }

#[tokio::test]
async fn an_item_that_waits_for_a_person_is_cancelled_when_one_behind_it_has_failed() {
    let engine = Engine::builder().register::<asking_items>().build().unwrap();
    let run = engine.start::<asking_items>(3).await.unwrap();
    assert_eq!(failure(run.result().await).path, "asking_items/asks_or_fails[2]");
    let cancelled = paths(&records(&run).await, |kind| matches!(kind, EventKind::ItemCancelled { .. }));
    assert_eq!(cancelled, ["asking_items/[asks_or_fails]"]);
}

#[tokio::test]
async fn the_question_of_a_cancelled_item_is_open_again_when_the_run_is_retried() {
    #[node]
    async fn asks_or_fails_once(n: u32, ctx: &Context, #[resource] failures: &AtomicU32) -> Result<u32, String> {
        match n {
            0 => Ok(ctx.ask::<u32>("many", "how many?").await),
            _ if failures.fetch_add(1, Ordering::Relaxed) > 0 => Ok(n),
            _ => Err("not yet".to_owned()),
        }
    }
    workflow! { failing_once(u32) -> u32 { START => count => [asks_or_fails_once] => total; } }
    let engine = Engine::builder().resource(AtomicU32::new(0)).register::<failing_once>().build().unwrap();
    let run = engine.start::<failing_once>(2).await.unwrap();
    assert!(failure(run.result().await).path.ends_with("[1]"));
    assert!(run.questions().await.unwrap().is_empty());
    let run = engine.retry(run.id()).await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("it waits") };
    run.answer(&questions[0].id, 5).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 6);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_sleeps_is_cancelled_when_one_behind_it_has_failed() {
    #[node]
    async fn sleeps_or_fails(n: u32, ctx: &Context) -> Result<u32, String> {
        if n == 0 {
            ctx.sleep(Duration::from_secs(3600)).await;
            return Err("too late".to_owned());
        }
        Err(format!("{n} is too many"))
    }
    let began = tokio::time::Instant::now();
    let flow = workflow! { START => count => [sleeps_or_fails] => total };
    assert!(failure(flow.run(2).await).path.ends_with("[1]"));
    assert!(began.elapsed() < Duration::from_secs(3600), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_to_be_tried_again_later_is_cancelled_when_one_behind_it_has_failed() {
    #[node(retry(max_attempts = 2, initial_delay = "1h", max_delay = "1h", when = |error: &String| error == "again"))]
    async fn again_or_never(n: u32) -> Result<u32, String> {
        Err(if n == 0 { "again".to_owned() } else { "never".to_owned() })
    }
    let began = tokio::time::Instant::now();
    let flow = workflow! { START => count => [again_or_never] => total };
    assert!(failure(flow.run(2).await).path.ends_with("[1]"));
    assert!(began.elapsed() < Duration::from_secs(3600), "{:?}", began.elapsed());
}

/// The first goes on until it is told that the last has failed.
#[derive(Default)]
struct Signals {
    has_failed: Notify,
}

#[node]
async fn works_or_fails(n: u32, #[resource] signals: &Signals) -> Result<u32, String> {
    if n == 0 {
        signals.has_failed.notified().await;
        return Err("the first".to_owned());
    }
    signals.has_failed.notify_one();
    Err("the last".to_owned())
}

workflow! { working_items(u32) -> u32 { START => count => [works_or_fails] => total; } }

#[tokio::test]
async fn an_item_that_works_goes_on_and_its_failure_is_the_one_that_is_reported() {
    let engine = Engine::builder().resource(Signals::default()).register::<working_items>().build().unwrap();
    let run = engine.start::<working_items>(2).await.unwrap();
    assert!(failure(run.result().await).path.ends_with("[0]"));
}

#[tokio::test]
async fn an_item_that_works_beside_its_question_goes_on_until_it_only_waits() {
    #[node]
    async fn both_or_fails(n: u32, ctx: &Context, #[resource] signals: &Signals) -> Result<u32, String> {
        if n > 0 {
            signals.has_failed.notify_one();
            return Err("the last".to_owned());
        }
        let work = async {
            signals.has_failed.notified().await;
            tokio::task::yield_now().await;
            ctx.message("worked");
        };
        let (answer, ()) = tokio::join!(ctx.ask::<u32>("many", "how many?"), work);
        Ok(answer)
    }
    workflow! { both_items(u32) -> u32 { START => count => [both_or_fails] => total; } }
    let engine = Engine::builder().resource(Signals::default()).register::<both_items>().build().unwrap();
    let run = engine.start::<both_items>(2).await.unwrap();
    // It is said to wait meanwhile, since a question is open.
    let said = paths(&records(&run).await, |kind| matches!(kind, EventKind::Message { .. }));
    assert_eq!(said, ["both_items/both_or_fails[0]"]);
    assert!(failure(run.result().await).path.ends_with("[1]"));
}

#[node]
async fn asks(_n: u32, ctx: &Context) -> u32 {
    ctx.ask::<u32>("many", "how many?").await
}

workflow! { asks_inside(u32) -> u32 { START => asks; } }

#[node]
async fn asks_below(n: u32, ctx: &Context) -> Result<u32, String> {
    match n {
        0 => ctx.call::<asks>(n).await.map_err(|error| error.to_string()),
        1 => ctx.call::<asks_inside>(n).await.map_err(|error: ChildError<Failure>| error.to_string()),
        _ => Err("the last".to_owned()),
    }
}

workflow! { items_below(u32) -> u32 { START => count => [asks_below] => total; } }

#[tokio::test]
async fn an_item_waits_where_its_child_waits() {
    let engine = Engine::builder().register::<items_below>().build().unwrap();
    let run = engine.start::<items_below>(3).await.unwrap();
    assert!(failure(run.result().await).path.ends_with("[2]"));
}

#[tokio::test]
async fn an_item_goes_on_where_its_child_works() {
    #[node]
    async fn works(_n: u32, #[resource] signals: &Signals) -> Result<u32, String> {
        signals.has_failed.notified().await;
        Err("the child".to_owned())
    }
    #[node]
    async fn calls_or_fails(n: u32, ctx: &Context, #[resource] signals: &Signals) -> Result<u32, String> {
        if n == 0 {
            return ctx.call::<works>(n).await.map_err(|error| error.to_string());
        }
        signals.has_failed.notify_one();
        Err("the last".to_owned())
    }
    workflow! { calling_items(u32) -> u32 { START => count => [calls_or_fails] => total; } }
    let engine = Engine::builder().resource(Signals::default()).register::<calling_items>().build().unwrap();
    let run = engine.start::<calling_items>(2).await.unwrap();
    assert!(failure(run.result().await).path.ends_with("[0]"));
}

workflow! {
    asks_deeper(u32) -> u32 { START => count => [asks_or_fails] => total; }
}

#[tokio::test]
async fn an_item_waits_where_the_graph_in_it_only_waits() {
    #[node]
    async fn three_or_one(n: u32) -> Result<u32, String> {
        if n == 0 { Ok(1) } else { Err("the last".to_owned()) }
    }
    workflow! { deep_items(u32) -> u32 { START => count => [three_or_one => asks_deeper] => total; } }
    let engine = Engine::builder().register::<deep_items>().build().unwrap();
    let run = engine.start::<deep_items>(2).await.unwrap();
    assert!(failure(run.result().await).path.ends_with("[1]"));
}

#[tokio::test(start_paused = true)]
async fn an_item_is_cancelled_too_when_the_rest_of_it_waits_for_the_place_of_a_node_that_waits() {
    #[node]
    async fn may_fail(n: u32, ctx: &Context) -> Result<u32, String> {
        if n == 0 {
            return Ok(n);
        }
        // The other one waits by then.
        ctx.sleep(Duration::from_secs(1)).await;
        Err(format!("{n} is too many"))
    }
    #[node]
    async fn add(a: u32, b: u32) -> u32 {
        a + b
    }
    #[node]
    async fn quick(n: u32) -> u32 {
        n
    }
    workflow! {
        #[max_parallel = 1]
        one_by_one(u32) -> u32 { START => may_fail => (asks, quick) => add; }
    }
    workflow! { one_place_each(u32) -> u32 { START => count => [one_by_one] => total; } }
    let engine = Engine::builder().register::<one_place_each>().build().unwrap();
    let run = engine.start::<one_place_each>(2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(run.status().await.unwrap(), graphweft::RunStatus::Failed);
    assert_eq!(failure(run.result().await).path, "one_place_each/one_by_one[1]/may_fail");
}

/// The place is that of another item, which waits and is cancelled.
#[tokio::test(start_paused = true)]
async fn an_item_that_gets_the_place_of_a_cancelled_one_fails_as_it_would_have() {
    #[node]
    async fn may_fail(n: u32, ctx: &Context) -> Result<u32, String> {
        match n {
            // Behind the one that takes the place.
            0 => ctx.sleep(Duration::from_millis(100)).await,
            1 => {}
            _ => {
                ctx.sleep(Duration::from_secs(1)).await;
                return Err("the last".to_owned());
            }
        }
        Ok(n)
    }
    #[node(max_parallel = 1)]
    async fn one_at_a_time(n: u32, ctx: &Context) -> Result<u32, String> {
        if n == 0 {
            return Err("the first".to_owned());
        }
        Ok(ctx.ask::<u32>("many", "how many?").await)
    }
    workflow! { shared(u32) -> u32 { START => count => [may_fail => one_at_a_time] => total; } }
    let engine = Engine::builder().register::<shared>().build().unwrap();
    let run = engine.start::<shared>(3).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(run.status().await.unwrap(), graphweft::RunStatus::Failed);
    let failed = failure(run.result().await);
    assert!(failed.cause.to_string().contains("the first"), "{failed:?}");
}
