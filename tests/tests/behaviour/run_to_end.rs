//! Runs that are driven in the task of their caller.

use std::future::{Future, IntoFuture, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use graphweft::prelude::*;
use graphweft::store::{MemoryStore, RunStatus, SqliteStore};
use graphweft::{Engine, EventKind, RunError, RunFilter, RunToEndError, StartError, json, state::Sum};
use graphweft_tests::{Journal, life};
use tokio::sync::Notify;

#[node]
async fn adds(n: u32) -> u32 {
    n + 1
}

#[node]
async fn doubles(n: u32) -> u32 {
    n * 2
}

#[node]
async fn names_its_task(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note(format!("{:?}", tokio::task::try_id()));
    n
}

#[node]
async fn refuses(_n: u32) -> Result<u32, String> {
    Err("no".to_owned())
}

#[node]
async fn asks(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("amount", "How much?").await
}

#[node]
async fn waits(n: u32, #[resource] journal: &Journal, #[resource] go: &Arc<Notify>) -> u32 {
    let _dropped = journal.when_dropped("waits is dropped");
    journal.note("waits");
    go.notified().await;
    n
}

const TOTAL: StateKey<u32, Sum> = StateKey::new("total");

#[node]
async fn totals(_n: u32, ctx: &Context) -> u32 {
    ctx.state().get(TOTAL).unwrap_or_default().unwrap_or_default()
}

workflow! { short(u32) -> u32 { START => adds => names_its_task => doubles; } }
workflow! { plain(u32) -> u32 { START => adds => doubles; } }
workflow! { failing(u32) -> u32 { START => adds => refuses; } }
workflow! { asking(u32) -> u32 { START => asks; } }
workflow! { waiting(u32) -> u32 { START => adds => waits => doubles; } }
workflow! { total(u32) -> u32 { START => totals; } }

async fn soon<T>(what: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it ends")
}

fn engine() -> (Engine, Journal, Arc<Notify>) {
    let (journal, go) = (Journal::default(), Arc::new(Notify::new()));
    let builder = Engine::builder().resource(journal.clone()).resource(go.clone());
    let builder = builder.register::<asking>().register::<waiting>();
    (builder.build().unwrap(), journal, go)
}

/// Polls a future once.
async fn poll_once<F: Future + Unpin>(future: &mut F) {
    futures::future::poll_fn(|waker| {
        let _not_done = future.poll_unpin(waker);
        std::task::Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn it_returns_the_output_and_the_run_is_listed_and_recorded() {
    let (engine, ..) = engine();
    assert_eq!(soon(engine.run_to_end::<plain>(1)).await, Ok(4));
    let runs = engine.list_runs(RunFilter::default()).await.unwrap();
    let [run] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!((run.workflow.as_str(), run.status), ("plain", RunStatus::Completed));
    let history = engine.history(&run.id).await.unwrap().unwrap();
    assert!(
        matches!(history.last().map(|event| &event.kind), Some(EventKind::RunCompleted { output, .. }) if *output == json!(4))
    );
}

#[tokio::test]
async fn its_nodes_run_in_the_task_of_the_caller() {
    let (engine, journal, _) = engine();
    let task = tokio::spawn(async move {
        assert_eq!(engine.run_to_end::<short>(1).await, Ok(4));
        format!("{:?}", tokio::task::try_id())
    });
    let own = soon(task).await.unwrap();
    assert_eq!(journal.lines(), [own]);
}

#[tokio::test]
async fn an_id_a_state_and_a_file_work_as_with_start() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let engine = Engine::builder().store(store).register::<total>().build().unwrap();
    assert_eq!(soon(engine.start::<total>(1).id("x").state(TOTAL, 7).run_to_end()).await, Ok(7));
    assert_eq!(soon(engine.start::<total>(1).id("x").run_to_end()).await, Ok(7), "it is the run that is there");
    let other = soon(engine.start::<total>(2).id("x").run_to_end()).await;
    assert!(matches!(other, Err(RunToEndError::Start(StartError::OtherInput { .. }))), "{other:?}");
    assert_eq!(engine.get_run("x").await.unwrap().unwrap().result().await, Ok(json!(7)));
}

#[tokio::test]
async fn a_failure_and_a_refused_start_are_errors() {
    let (engine, ..) = engine();
    let failed = soon(engine.run_to_end::<failing>(1)).await;
    let Err(RunToEndError::Run(RunError::Failed(failure))) = failed else { panic!("{failed:?}") };
    assert_eq!(failure.path, "failing/refuses");
    let without = Engine::builder().build().unwrap();
    let refused = soon(without.run_to_end::<short>(1)).await;
    assert!(matches!(refused, Err(RunToEndError::Start(StartError::MissingResources(_)))), "{refused:?}");
    assert!(without.list_runs(RunFilter::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_run_that_asks_returns_its_question_and_continues_with_the_answer() {
    let (engine, ..) = engine();
    let asked = soon(engine.start::<asking>(1).id("x").run_to_end()).await;
    let Err(RunToEndError::Run(RunError::Waiting { questions })) = asked else { panic!("{asked:?}") };
    assert_eq!(questions, ["asking/asks/amount"]);
    engine.answer("x", "amount", 4).await.unwrap();
    assert_eq!(soon(engine.start::<asking>(1).id("x").run_to_end()).await, Ok(5));
}

#[tokio::test]
async fn it_is_cancelled_from_elsewhere() {
    let (engine, journal, _) = engine();
    let canceller = engine.clone();
    let cancels = async {
        while journal.lines().is_empty() {
            tokio::task::yield_now().await;
        }
        canceller.cancel("x").await.unwrap();
    };
    let (ended, ()) = soon(async { tokio::join!(engine.start::<waiting>(1).id("x").run_to_end(), cancels) }).await;
    assert_eq!(ended, Err(RunToEndError::Run(RunError::Cancelled)));
    assert_eq!(journal.lines(), ["waits", "waits is dropped"]);
}

#[tokio::test]
async fn a_run_whose_caller_stops_waiting_continues() {
    let (engine, journal, go) = engine();
    let mut driven = Box::pin(engine.start::<waiting>(1).id("x").run_to_end());
    while journal.lines().is_empty() {
        poll_once(&mut driven).await;
    }
    drop(driven);
    assert_eq!(journal.lines(), ["waits"], "its node is not dropped");
    let run = engine.get_run("x").await.unwrap().unwrap();
    go.notify_one();
    assert_eq!(soon(run.result()).await, Ok(json!(4)));
}

#[tokio::test]
async fn shutting_down_waits_for_no_caller_that_does_not_poll() {
    let (engine, journal, go) = engine();
    let mut driven = pin!(engine.start::<waiting>(1).id("x").run_to_end());
    while journal.lines().is_empty() {
        poll_once(&mut driven).await;
    }
    soon(engine.shutdown()).await;
    assert_eq!(soon(&mut driven).await, Err(RunToEndError::Run(RunError::ShutDown)));
    assert_eq!(journal.lines(), ["waits", "waits is dropped"]);
    drop(go);
}

#[test]
fn a_run_whose_runtime_is_gone_is_resumed_by_the_next_process() {
    let (store, journal) = (MemoryStore::new(), Journal::default());
    let builder = |go: &Arc<Notify>| {
        let builder = Engine::builder().store(store.clone()).resource(journal.clone()).resource(go.clone());
        builder.register::<waiting>().build().unwrap()
    };
    let (never, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    life(async {
        let engine = builder(&never);
        let begins = async {
            while journal.lines().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            ended = engine.start::<waiting>(1).id("x").run_to_end() => panic!("{ended:?}"),
            () = begins => {}
        }
    });
    go.notify_one();
    life(async {
        let engine = builder(&go);
        let recovery = engine.recover().await.unwrap();
        assert_eq!(soon(recovery.resumed[0].result()).await, Ok(json!(4)));
    });
}

#[tokio::test]
async fn a_future_that_is_dropped_before_it_is_polled_starts_nothing() {
    let (engine, ..) = engine();
    drop(engine.run_to_end::<plain>(1));
    assert!(engine.list_runs(RunFilter::default()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_drive_their_runs_at_once_and_some_stop_waiting() {
    let (engine, ..) = engine();
    let calls = (0..200).map(|number: u32| {
        let engine = engine.clone();
        tokio::spawn(async move {
            if number.is_multiple_of(3) {
                let driven = engine.start::<plain>(number).id(number.to_string()).run_to_end();
                tokio::select! { biased; ended = driven => drop(ended), () = pending() => {} }
            } else {
                assert_eq!(
                    engine.start::<plain>(number).id(number.to_string()).run_to_end().await,
                    Ok((number + 1) * 2)
                );
            }
        })
    });
    for call in soon(futures::future::join_all(calls)).await {
        call.unwrap();
    }
    for number in 0..200_u32 {
        let run = engine.get_run(&number.to_string()).await.unwrap().unwrap();
        assert_eq!(soon(run.result()).await, Ok(json!((number + 1) * 2)));
    }
}
