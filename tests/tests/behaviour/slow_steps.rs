//! When steps and children began, as other processes and later readers see it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::{Event, EventKind};
use tokio::sync::Notify;

#[node]
async fn steps(n: u32, ctx: &Context, #[resource] go: &Arc<Notify>) -> Result<u32, ChildError<String>> {
    ctx.step("let", || async {
        go.notified().await;
        Ok::<(), String>(())
    })
    .await?;
    Ok(n)
}

#[node]
async fn waits(n: u32, #[resource] go: &Arc<Notify>) -> u32 {
    go.notified().await;
    n
}

#[node]
async fn calls(n: u32, ctx: &Context) -> Result<u32, ChildError<Never>> {
    ctx.call::<waits>(n).await
}

workflow! { stepping(u32) -> u32 { START => steps; } }
workflow! { calling(u32) -> u32 { START => calls; } }

fn start_of<'e>(events: &'e [Event], path: &str) -> Option<&'e Event> {
    events.iter().find(|event| event.path == path && matches!(event.kind, EventKind::NodeStarted { .. }))
}

async fn seen_from_elsewhere<W: graphweft::Workflow<Input = u32>>(path: &str)
where
    W::Output: std::fmt::Debug + PartialEq<u32>,
{
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let go = Arc::new(Notify::new());
    let engine = Engine::builder()
        .store(SqliteStore::open(&file).await.unwrap())
        .resource(Arc::clone(&go))
        .register::<W>()
        .build()
        .unwrap();
    let other = Engine::builder().store(SqliteStore::open(&file).await.unwrap()).build().unwrap();
    let run = engine.start::<W>(7).id("x").await.unwrap();
    let before = SystemTime::now();
    let mut looks = 0;
    while start_of(&other.history("x").await.unwrap().unwrap(), path).is_none() {
        looks += 1;
        assert!(looks < 1000, "the start is not there after ten seconds");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let waited = before.elapsed().unwrap();
    let events = other.history("x").await.unwrap().unwrap();
    let start = start_of(&events, path).unwrap();
    let EventKind::NodeStarted { began, .. } = &start.kind else { panic!("{start:?}") };
    let began = began.expect("it is recorded later than it began");
    assert!(began < start.time && start.time.duration_since(began).unwrap() <= waited + Duration::from_secs(1));
    go.notify_one();
    assert_eq!(run.result().await.unwrap(), 7);
    let records = other.history("x").await.unwrap().unwrap();
    let starts = records.iter().filter(|event| event.path == path);
    assert_eq!(starts.filter(|event| matches!(event.kind, EventKind::NodeStarted { .. })).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_sees_a_step_that_takes_long_while_it_is_under_way() {
    seen_from_elsewhere::<stepping>("stepping/steps/let").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_sees_a_child_that_takes_long_while_it_is_under_way() {
    seen_from_elsewhere::<calling>("calling/calls/waits").await;
}

#[tokio::test]
async fn how_long_a_step_took_is_known_afterwards() {
    #[node]
    async fn quick(n: u32, ctx: &Context) -> Result<u32, ChildError<String>> {
        let sleep = || async move {
            tokio::time::sleep(Duration::from_millis(60)).await;
            Ok::<(), String>(())
        };
        ctx.step("some", sleep).await?;
        Ok(n)
    }
    workflow! { timed(u32) -> u32 { START => quick; } }
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("runs.db")).await.unwrap();
    let in_file = Engine::builder().store(store).register::<timed>().build().unwrap();
    let in_memory = Engine::builder().build().unwrap();
    for engine in [in_file, in_memory] {
        engine.start::<timed>(7).id("x").await.unwrap().result().await.unwrap();
        let events = engine.history("x").await.unwrap().unwrap();
        let start = start_of(&events, "timed/quick/some").unwrap();
        let EventKind::NodeStarted { began, .. } = start.kind else { panic!("{start:?}") };
        let is_end = |event: &&Event| event.path == start.path && matches!(event.kind, EventKind::NodeCompleted { .. });
        let took = events.iter().find(is_end).unwrap().time.duration_since(began.unwrap_or(start.time)).unwrap();
        assert!(took >= Duration::from_millis(50), "{took:?}");
    }
}
