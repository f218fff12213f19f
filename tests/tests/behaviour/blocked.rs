//! Runs that a program cannot resume: everybody who asks for one gets the reason, at once, and it can be cancelled.

use std::future::{Future, IntoFuture};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{AnswerError, Engine, RunError, json};

/// The program that recorded the runs.
mod then {
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn fetch(n: u32) -> u32 {
        n + 1
    }

    #[node]
    pub(crate) async fn approve(n: u32, ctx: &Context) -> u32 {
        if ctx.ask::<bool>("approve", "Ship it?").await { n } else { 0 }
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => approve; }
    }
}

/// A program in which what has run gives something else.
mod now {
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn fetch(n: u32) -> String {
        n.to_string()
    }

    #[node]
    pub(crate) async fn approve(n: String) -> u32 {
        n.len() as u32
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => approve; }
    }
}

/// A store with a run that waits for an answer, and that no process drives.
async fn waiting() -> MemoryStore {
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    let run = engine.start::<then::job>(1).id("x").await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("it asks") };
    assert_eq!(questions.len(), 1);
    engine.shutdown().await;
    store
}

/// Nothing here may wait for ever.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it says so at once")
}

async fn changed() -> Engine {
    Engine::builder().store(waiting().await).register::<now::job>().build().unwrap()
}

async fn unregistered() -> Engine {
    Engine::builder().store(waiting().await).build().unwrap()
}

#[tokio::test]
async fn recover_reports_a_waiting_run_whose_graph_has_changed() {
    let engine = changed().await;
    let recovery = engine.recover().await.unwrap();
    assert!(recovery.resumed.is_empty());
    let [(id, RunError::GraphChanged { .. })] = &recovery.failed[..] else { panic!("{recovery:?}") };
    assert_eq!(id, "x");
}

#[tokio::test]
async fn a_run_whose_graph_has_changed_says_so_to_all_who_ask() {
    let engine = changed().await;
    engine.recover().await.unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    assert!(matches!(soon(run.outcome()).await, Err(RunError::GraphChanged { .. })));
    assert!(matches!(soon(run.result()).await, Err(RunError::GraphChanged { .. })));
    let answered = soon(run.answer("approve", true)).await;
    assert!(matches!(answered, Err(AnswerError::Run(RunError::GraphChanged { .. }))), "{answered:?}");
    // Nothing was recorded: another program can still take the answer.
    let engine = Engine::builder().store(waiting().await).register::<then::job>().build().unwrap();
    engine.recover().await.unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    run.answer("approve", true).await.unwrap();
    assert_eq!(soon(run.result()).await.unwrap(), json!(2));
}

#[tokio::test]
async fn a_run_that_cannot_be_resumed_is_cancelled_without_its_graph() {
    let engine = changed().await;
    engine.recover().await.unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    run.cancel().await.unwrap();
    assert_eq!(soon(run.outcome()).await.unwrap(), Outcome::Cancelled);
}

#[tokio::test]
async fn a_run_of_an_unregistered_workflow_says_so() {
    let engine = unregistered().await;
    let run = engine.get_run("x").await.unwrap().unwrap();
    let error = soon(run.outcome()).await.unwrap_err();
    assert!(matches!(&error, RunError::NotRegistered { workflow } if workflow == "job"), "{error}");
    // What it asks can be seen without the workflow.
    assert_eq!(run.questions().await.unwrap().len(), 1);
    let error = soon(engine.retry("x").into_future()).await.unwrap_err();
    assert!(error.to_string().contains("workflow `job` is not registered"), "{error}");
    run.cancel().await.unwrap();
    assert_eq!(soon(run.outcome()).await.unwrap(), Outcome::Cancelled);
}

#[test]
fn a_run_under_way_of_an_unregistered_workflow_has_no_outcome_here() {
    #[node]
    async fn stays(n: u32) -> u32 {
        std::future::pending::<()>().await;
        n
    }
    workflow! { staying(u32) -> u32 { START => stays; } }
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = MemoryStore::new();
    let first = runtime();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    first.block_on(engine.start::<staying>(1).id("x").into_future()).unwrap();
    // The process dies.
    drop(first);
    drop(engine);
    runtime().block_on(async {
        let engine = Engine::builder().store(store).build().unwrap();
        let run = engine.get_run("x").await.unwrap().unwrap();
        let error = soon(run.outcome()).await.unwrap_err();
        assert!(matches!(&error, RunError::NotRegistered { workflow } if workflow == "staying"), "{error}");
        run.cancel().await.unwrap();
        assert_eq!(soon(run.outcome()).await.unwrap(), Outcome::Cancelled);
    });
}
