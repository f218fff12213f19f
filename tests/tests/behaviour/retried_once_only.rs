//! Nodes that may run at most once, in runs that are retried after they were stopped in the middle.

use std::future::pending;
use std::sync::Arc;

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, SqliteStore, Store};
use graphweft::{Fault, RunError, RunStatus, Workflow};
use graphweft_tests::Journal;
use tokio::sync::Notify;

#[node(at_most_once)]
async fn pay(n: u32, #[resource] journal: &Journal, #[resource] begun: &Arc<Notify>) -> u32 {
    journal.note("pays");
    begun.notify_one();
    if journal.count("pays") == 1 {
        pending::<()>().await;
    }
    n
}

#[node]
async fn mail(n: u32, #[resource] journal: &Journal, #[resource] begun: &Arc<Notify>) -> Result<u32, String> {
    if journal.count("fails") > 0 {
        return Ok(n);
    }
    begun.notified().await;
    journal.note("fails");
    Err("no mail".to_owned())
}

#[node]
async fn both(a: u32, b: u32) -> u32 {
    a + b
}

workflow! { order(u32) -> u32 { START => (pay, mail) => both; } }
workflow! { paid(u32) -> u32 { START => pay; } }

fn engine(store: impl Store, journal: &Journal) -> Engine {
    let begun = Arc::new(Notify::new());
    let builder = Engine::builder().register::<order>().register::<paid>().store(store);
    builder.resource(journal.clone()).resource(begun).build().unwrap()
}

async fn is_reported_and_paid_again_on_demand(store: impl Store + Clone) {
    let journal = Journal::default();
    let first = engine(store.clone(), &journal);
    let failed = first.start::<order>(1).id("run").await.unwrap().result().await;
    assert!(matches!(&failed, Err(RunError::Failed(failure)) if failure.path == "order/mail"), "{failed:?}");

    for _ in 0..2 {
        let again = first.retry("run").await.unwrap().result().await;
        let Err(RunError::Failed(failure)) = &again else { panic!("{again:?}") };
        assert_eq!((&*failure.path, &failure.cause.fault), ("order/pay", &Some(Fault::Interrupted)));
        assert_eq!(journal.count("pays"), 1);
    }
    first.shutdown().await;

    let second = engine(store, &journal);
    let run = second.retry("run").from_node("order/pay").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 2);
    assert_eq!(journal.count("pays"), 2);
}

#[tokio::test]
async fn what_was_cut_off_since_another_node_failed_is_not_done_again_by_a_retry() {
    is_reported_and_paid_again_on_demand(MemoryStore::new()).await;
    let directory = tempfile::tempdir().unwrap();
    is_reported_and_paid_again_on_demand(SqliteStore::open(directory.path().join("runs.db")).await.unwrap()).await;
}

#[tokio::test]
async fn what_was_cancelled_in_the_middle_is_not_done_again_by_a_retry() {
    let journal = Journal::default();
    let engine = engine(MemoryStore::new(), &journal);
    let run = engine.start::<paid>(1).id("run").await.unwrap();
    while journal.count("pays") == 0 {
        tokio::task::yield_now().await;
    }
    run.cancel().await.unwrap();
    assert!(matches!(run.result().await, Err(RunError::Cancelled)));

    let again = engine.retry("run").await.unwrap().result().await;

    let Err(RunError::Failed(failure)) = &again else { panic!("{again:?}") };
    assert_eq!(failure.cause.fault, Some(Fault::Interrupted));
    assert_eq!(journal.count("pays"), 1);
}

/// Interrupted at its first attempt.
#[node(at_most_once)]
async fn transfer(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("transfers");
    if journal.count("transfers") == 1 {
        pending::<()>().await;
    }
    n
}

workflow! { transferred(u32) -> u32 { START => transfer; } }

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn by_step(n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
    let step = ctx.step("transfer", async || {
        journal.note("transfers");
        if journal.count("transfers") == 1 {
            pending::<()>().await;
        }
        Ok::<_, String>(n)
    });
    step.at_most_once().await.map_err(|error| error.to_string())
}

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn by_child(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<transfer>(n).await.map_err(|error| error.to_string())
}

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn by_child_workflow(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<transferred>(n).await.map_err(|error| error.to_string())
}

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn by_text(n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
    let Err(error) = ctx.call::<transferred>(n).error_as_text().await else { return Ok(n) };
    journal.note(format!("{error:?}"));
    Err("not transferred".to_owned())
}

workflow! { of_step(u32) -> u32 { START => by_step; } }
workflow! { of_child(u32) -> u32 { START => by_child; } }
workflow! { of_child_workflow(u32) -> u32 { START => by_child_workflow; } }
workflow! { of_text(u32) -> u32 { START => by_text; } }

async fn is_interrupted_for_good<W: Workflow<Input = u32, Output = u32>>() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::default();
    let open = async || {
        let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
        Engine::builder().register::<W>().store(store).resource(journal.clone()).build().unwrap()
    };
    let first = open().await;
    first.start::<W>(1).id("run").await.unwrap();
    while journal.count("transfers") == 0 {
        tokio::task::yield_now().await;
    }
    first.shutdown().await;

    let mut texts = Vec::new();
    for _ in 0..3 {
        let engine = open().await;
        engine.recover().await.unwrap();
        let run = match engine.get_run("run").await.unwrap().unwrap() {
            run if run.status().await.unwrap() == RunStatus::Failed => engine.retry("run").await.unwrap(),
            run => run,
        };
        let Err(RunError::Failed(failure)) = run.result().await else { panic!("it was interrupted") };
        texts.push(failure.to_string());
        assert_eq!(engine.check().await.unwrap().refused, []);
        engine.shutdown().await;
    }
    assert_eq!(texts, [texts[0].as_str(); 3], "it fails for the same reason each time");
    assert!(texts[0].contains("after 3 attempts"), "{texts:?}");
    assert_eq!(journal.count("transfers"), 1);
    let kinds: std::collections::BTreeSet<_> = journal.lines().into_iter().filter(|note| note != "transfers").collect();
    assert!(kinds.len() <= 1, "the error is the same one each time: {kinds:?}");
}

#[tokio::test]
async fn what_was_interrupted_below_a_node_is_repeated_by_no_retry() {
    is_interrupted_for_good::<of_step>().await;
    is_interrupted_for_good::<of_child>().await;
    is_interrupted_for_good::<of_child_workflow>().await;
    is_interrupted_for_good::<of_text>().await;
}

// `pay` is under way when `mail` fails, or when the time is up: another attempt would pay again.

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn orders(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<order>(n).await.map_err(|error| error.to_string())
}

#[node]
async fn orders_once(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<order>(n).await.map_err(|error| error.to_string())
}

#[node]
async fn or_else(failure: graphweft::Failure) -> u32 {
    failure.attempts
}

workflow! { nested(u32) -> u32 { let order = order(retry(max_attempts = 3, initial_delay = "1ms")); START => order; } }
workflow! { twice_nested(u32) -> u32 { let nested = nested(retry(max_attempts = 3, initial_delay = "1ms")); START => nested; } }
workflow! { called(u32) -> u32 { START => orders; } }
workflow! { called_once(u32) -> u32 { START => orders_once; } }
workflow! {
    limited(u32) -> u32 {
        let paid = paid(timeout = "20ms", retry(max_attempts = 3, initial_delay = "1ms"));
        START => paid => <ok: END, err: or_else>;
        or_else => END;
    }
}

async fn pays_once<W: Workflow<Input = u32, Output = u32>>() -> (Result<u32, RunError>, Result<u32, RunError>) {
    let journal = Journal::default();
    let builder = Engine::builder().register::<W>().resource(journal.clone()).resource(Arc::new(Notify::new()));
    let engine = builder.build().unwrap();
    let run = engine.start::<W>(1).id("run").await.unwrap();
    let first = run.result().await;
    let again = match &first {
        Ok(output) => Ok(*output),
        Err(_) => {
            engine.retry("run").await.unwrap();
            run.result().await
        }
    };
    assert_eq!(journal.count("pays"), 1, "{first:?}, and after a retry {again:?}");
    (first, again)
}

#[tokio::test]
async fn what_was_cut_off_in_a_workflow_is_not_done_again_with_it() {
    for (first, again) in [pays_once::<nested>().await, pays_once::<twice_nested>().await] {
        assert!(first.unwrap_err().to_string().contains("no mail"));
        assert!(again.unwrap_err().to_string().contains("interrupted"));
    }
    for (first, again) in [pays_once::<called>().await, pays_once::<called_once>().await] {
        let (first, again) = (first.unwrap_err().to_string(), again.unwrap_err().to_string());
        assert!(first.contains("no mail") && first == again, "{first}, and after a retry {again}");
    }
    assert_eq!(pays_once::<limited>().await.0, Ok(1));
}
