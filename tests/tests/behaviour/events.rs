//! The records of a run: their order, their numbers, what they hold, and who may read them when.

use std::sync::OnceLock;

use futures::StreamExt;
use graphweft::prelude::*;
use graphweft::store::{BoxFuture, MemoryStore, RunKey, Store, StoreError, Stored};
use graphweft::{AfterFailure, Event, EventKind, EventPosition};
use graphweft_tests::{event, paths, records, records_of};
use tokio::sync::Notify;

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn odd(n: u32) -> Result<u32, String> {
    if n % 2 == 1 { Ok(n) } else { Err(format!("{n} is even")) }
}

#[node]
async fn complain(why: String) -> String {
    why
}

#[node]
async fn talk(n: u32, ctx: &Context) -> u32 {
    ctx.message("first");
    ctx.progress(serde_json::json!({ "done": 1, "of": n }));
    ctx.message("second");
    n
}

workflow! {
    doubled(u32) -> String { START => double => text; }
}

workflow! {
    checked(u32) -> String { START => odd => <ok: text, err: complain>; }
}

workflow! {
    talking(u32) -> u32 { START => talk; }
}

/// On another thread, while the node that calls this is being polled.
fn elsewhere<T: Send>(future: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| scope.spawn(|| graphweft::block_on(future)).join().unwrap())
}

static READS: OnceLock<Engine> = OnceLock::new();

#[node]
async fn reads_its_history(_n: u32, ctx: &Context) -> Vec<String> {
    let engine = READS.get().unwrap();
    let events = elsewhere(async { engine.history(ctx.run_id()).await.unwrap().unwrap() });
    paths(&events, |kind| matches!(kind, EventKind::NodeStarted { .. }))
}

workflow! {
    read(u32) -> Vec<String> { START => double => reads_its_history; }
}

static WATCHES: OnceLock<Engine> = OnceLock::new();

#[node]
async fn watches_itself(_n: u32, ctx: &Context) -> Vec<String> {
    let run = elsewhere(WATCHES.get().unwrap().get_run(ctx.run_id())).unwrap().unwrap();
    let events = run.events();
    ctx.progress(1);
    kinds(&elsewhere(events.take(5).collect::<Vec<_>>()))
}

workflow! {
    watched(u32) -> Vec<String> { START => double => watches_itself; }
}

fn kinds(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    events.iter().map(kind).collect()
}

#[tokio::test]
async fn a_run_is_a_sequence_of_events() {
    let events = records_of::<doubled>(1).await;
    assert_eq!(
        kinds(&events),
        ["run_started", "node_started", "node_completed", "node_started", "node_completed", "run_completed"]
    );
}

#[tokio::test]
async fn events_are_numbered_from_zero_without_gaps() {
    let events = records_of::<checked>(1).await;
    let numbers: Vec<u64> = events.iter().filter(|event| !event.derived).map(|event| event.seq).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn every_event_has_the_id_of_its_run() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<doubled>(1).id("r-1").await.unwrap();
    assert!(records(&run).await.iter().all(|event| event.run_id == "r-1"));
}

#[tokio::test]
async fn the_first_event_holds_the_workflow_and_its_input() {
    let events = records_of::<doubled>(5).await;
    assert_eq!(events[0].kind, event(graphweft::json!({ "type": "run_started", "workflow": "doubled", "input": 5 })));
}

#[tokio::test]
async fn the_last_event_holds_the_output() {
    let events = records_of::<doubled>(5).await;
    assert_eq!(events.last().unwrap().kind, event(graphweft::json!({ "type": "run_completed", "output": "10" })));
}

#[tokio::test]
async fn a_completed_node_is_recorded_with_its_output() {
    let events = records_of::<doubled>(5).await;
    let output = events.iter().find_map(|event| match &event.kind {
        EventKind::NodeCompleted { output, .. } if event.path == "doubled/double" => output.clone(),
        _ => None,
    });
    assert_eq!(output, Some(serde_json::json!(10)));
}

#[tokio::test]
async fn only_the_last_event_is_terminal() {
    let events = records_of::<doubled>(5).await;
    let terminal: Vec<usize> = (0..events.len()).filter(|at| events[*at].is_terminal()).collect();
    assert_eq!(terminal, [events.len() - 1]);
}

#[tokio::test]
async fn a_skipped_node_follows_from_the_record_that_skips_it() {
    let events = records_of::<checked>(1).await;
    assert_eq!(paths(&events, |kind| *kind == EventKind::NodeSkipped), ["checked/complain"]);
    let skipped = events.iter().position(|event| event.kind == EventKind::NodeSkipped).unwrap();
    assert!(events[skipped].derived);
    assert_eq!((events[skipped].seq, &*events[skipped - 1].path), (events[skipped - 1].seq, "checked/odd"));
}

#[tokio::test]
async fn the_stream_of_an_ended_run_has_what_follows_from_its_records() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<checked>(1).id("x").await.unwrap();
    let live = records(&run).await;
    let later = records(&engine.get_run("x").await.unwrap().unwrap()).await;
    let kinds_of = |events: &[Event]| events.iter().map(|event| (event.seq, event.kind.clone())).collect::<Vec<_>>();
    assert_eq!(kinds_of(&live), kinds_of(&later));
    assert_eq!(kinds_of(&later), kinds_of(&engine.history("x").await.unwrap().unwrap()));
}

#[tokio::test]
async fn a_failure_and_the_arm_that_takes_it_are_one_record() {
    let events = records_of::<checked>(2).await;
    let of_odd: Vec<Event> = events.into_iter().filter(|event| event.path == "checked/odd").collect();
    assert_eq!(kinds(&of_odd), ["node_started", "node_failed"]);
    let EventKind::NodeFailed { then: AfterFailure::Routed { label, .. }, .. } = &of_odd[1].kind else {
        panic!("{:?}", of_odd[1])
    };
    assert_eq!(label, "err");
}

#[tokio::test]
async fn a_node_starts_only_after_the_one_before_it_is_recorded() {
    let events = records_of::<doubled>(1).await;
    let at = |path: &str, of: &str| {
        events.iter().zip(kinds(&events)).position(|(event, kind)| event.path == path && kind == of).unwrap()
    };
    assert!(at("doubled/double", "node_completed") < at("doubled/text", "node_started"));
}

#[tokio::test]
async fn events_may_be_read_from_any_number_on() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<doubled>(1).await.unwrap();
    run.outcome().await.unwrap();
    let numbers: Vec<u64> = run.events_from(4).map(|event| event.seq).collect().await;
    assert_eq!(numbers, [4, 5]);
}

#[tokio::test]
async fn beyond_the_last_number_there_is_nothing() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<doubled>(1).await.unwrap();
    run.outcome().await.unwrap();
    assert_eq!(run.events_from(100).count().await, 0);
}

#[tokio::test]
async fn events_may_be_awaited_before_they_are_there() {
    #[node]
    async fn wait(n: u32, #[resource] go: &std::sync::Arc<Notify>) -> u32 {
        go.notified().await;
        n
    }
    workflow! { waiting(u32) -> u32 { START => wait; } }
    let go = std::sync::Arc::new(Notify::new());
    let engine = Engine::builder().resource(std::sync::Arc::clone(&go)).build().unwrap();
    let run = engine.start::<waiting>(1).await.unwrap();
    let mut late = run.events_from(3);
    go.notify_one();
    assert_eq!(
        late.next().await.map(|event| event.kind),
        Some(event(graphweft::json!({ "type": "run_completed", "output": 1 })))
    );
}

#[tokio::test]
async fn two_readers_see_the_same_events() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<checked>(1).await.unwrap();
    let (one, other) = tokio::join!(records(&run), records(&run));
    assert_eq!(one, other);
}

#[tokio::test]
async fn events_read_back_from_json_as_they_were() {
    for event in records_of::<checked>(2).await {
        let read: Event = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&event).unwrap());
    }
}

#[tokio::test]
async fn an_event_holds_the_version_of_its_format() {
    let events = records_of::<doubled>(1).await;
    assert!(events.iter().all(|event| event.version == Event::VERSION));
}

#[tokio::test]
async fn messages_are_recorded_in_order_under_the_path_of_their_node() {
    let said: Vec<(String, String)> = records_of::<talking>(1)
        .await
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Message { text, .. } => Some((event.path, text)),
            _ => None,
        })
        .collect();
    let path = "talking/talk".to_owned();
    assert_eq!(said, [(path.clone(), "first".to_owned()), (path, "second".to_owned())]);
}

#[tokio::test]
async fn messages_can_be_read_after_the_run() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<talking>(1).await.unwrap();
    run.outcome().await.unwrap();
    let messages = records(&run).await.iter().filter(|event| matches!(event.kind, EventKind::Message { .. })).count();
    assert_eq!(messages, 2);
}

#[tokio::test]
async fn progress_reaches_who_watches() {
    #[node]
    async fn when_let(n: u32, #[resource] go: &std::sync::Arc<Notify>) -> u32 {
        go.notified().await;
        n
    }
    workflow! { talks_when_let(u32) -> u32 { START => when_let => talk; } }
    let go = std::sync::Arc::new(Notify::new());
    let engine = Engine::builder().resource(std::sync::Arc::clone(&go)).build().unwrap();
    let run = engine.start::<talks_when_let>(7).await.unwrap();
    let events = run.events();
    go.notify_one();
    let seen: Vec<serde_json::Value> = events
        .collect::<Vec<_>>()
        .await
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Progress { data, .. } => Some(data),
            _ => None,
        })
        .collect();
    assert_eq!(seen, [serde_json::json!({ "done": 1, "of": 7 })]);
}

/// Sends its input as progress whenever it is let, and ends at 0.
#[node]
async fn counts(n: u32, ctx: &Context, #[resource] go: &std::sync::Arc<Notify>) -> u32 {
    for left in (1..=n).rev() {
        go.notified().await;
        ctx.progress(left);
    }
    go.notified().await;
    n
}

workflow! { counting(u32) -> u32 { START => counts; } }

async fn next_progress(events: &mut graphweft::Events) -> Option<(serde_json::Value, EventPosition)> {
    while let Some(event) = events.next().await {
        let position = event.position();
        if let EventKind::Progress { data, .. } = event.kind {
            return Some((data, position));
        }
    }
    None
}

#[tokio::test]
async fn who_comes_back_has_missed_no_progress_of_a_node_that_is_under_way() {
    let go = std::sync::Arc::new(Notify::new());
    let engine = Engine::builder().resource(std::sync::Arc::clone(&go)).build().unwrap();
    let run = engine.start::<counting>(5).await.unwrap();
    let mut events = run.events();
    let mut other = run.events();
    go.notify_one();
    assert_eq!(next_progress(&mut events).await.unwrap().0, 5);
    go.notify_one();
    let (data, last) = next_progress(&mut events).await.unwrap();
    assert_eq!((data, last.to_string()), (4.into(), "1.2".to_owned()));
    drop(events);
    // Nobody of this client listens now; another one shows that it was sent.
    go.notify_one();
    while next_progress(&mut other).await.unwrap().0 != 3 {}
    drop(other);
    let mut again = run.events_after(last.to_string().parse().unwrap());
    assert_eq!(next_progress(&mut again).await.unwrap().0, 3);
    go.notify_one();
    assert_eq!(next_progress(&mut again).await.unwrap().0, 2);
    go.notify_one();
    assert_eq!(next_progress(&mut again).await.unwrap().0, 1);
    go.notify_one();
    assert_eq!(next_progress(&mut again).await, None);
    assert_eq!(run.result().await.unwrap(), 5);
    let mut late = run.events();
    assert_eq!(next_progress(&mut late).await, None, "the node is over, and its progress with it");
}

#[tokio::test]
async fn progress_that_was_sent_before_comes_between_the_records_where_it_was_sent() {
    #[node]
    async fn says(n: u32, ctx: &Context, #[resource] go: &std::sync::Arc<Notify>) -> u32 {
        ctx.progress("before");
        ctx.message("one");
        let Ok(_) = ctx.step("two", async || Ok::<_, String>(2)).await else { return 0 };
        ctx.progress("between");
        ctx.message("three");
        let Ok(_) = ctx.step("four", async || Ok::<_, String>(4)).await else { return 0 };
        ctx.progress("behind");
        go.notify_one();
        std::future::pending::<()>().await;
        n
    }
    workflow! { saying(u32) -> u32 { START => says; } }
    let go = std::sync::Arc::new(Notify::new());
    let engine = Engine::builder().resource(std::sync::Arc::clone(&go)).build().unwrap();
    let run = engine.start::<saying>(1).await.unwrap();
    go.notified().await;
    let seen: Vec<Event> = run.events().take(9).collect().await;
    let shown = |event: &Event| match &event.kind {
        EventKind::Progress { data, .. } => data.as_str().unwrap_or_default().to_owned(),
        kind => kind.name().to_owned(),
    };
    let shown: Vec<String> = seen.iter().map(shown).collect();
    let records = ["message", "node_started", "node_completed"];
    assert_eq!(shown[..3], ["run_started", "node_started", "before"]);
    assert_eq!(shown[3..6], records);
    assert_eq!(shown[6], "between");
    assert!(seen.is_sorted_by_key(Event::position), "{shown:?}");
    let last = seen.last().unwrap().position();
    let rest: Vec<Event> = run.events_after(last).take(2).collect().await;
    let all: Vec<Event> = run.events().take(11).collect().await;
    assert_eq!(seen.into_iter().chain(rest).collect::<Vec<_>>(), all);
    run.cancel().await.unwrap();
}

#[tokio::test]
async fn a_stream_that_is_read_when_the_run_is_over_has_its_events_in_their_order() {
    #[node]
    async fn counts_when_let(n: u32, ctx: &Context, #[resource] go: &std::sync::Arc<Notify>) -> u32 {
        go.notified().await;
        (0..n).for_each(|at| ctx.progress(at));
        n
    }
    workflow! { counting_when_let(u32) -> u32 { START => counts_when_let; } }
    let go = std::sync::Arc::new(Notify::new());
    let engine = Engine::builder().resource(std::sync::Arc::clone(&go)).build().unwrap();
    let run = engine.start::<counting_when_let>(2).await.unwrap();
    let (all, behind_first) = (run.events(), run.events_after("0".parse().unwrap()));
    go.notify_one();
    run.result().await.unwrap();
    let all: Vec<Event> = all.collect().await;
    let names: Vec<&str> = all.iter().map(|event| event.kind.name()).collect();
    assert_eq!(names, ["run_started", "node_started", "progress", "progress", "node_completed", "run_completed"]);
    assert_eq!(behind_first.collect::<Vec<_>>().await, all[1..]);
}

#[tokio::test]
async fn of_much_progress_the_last_is_kept() {
    #[node]
    async fn floods(n: u32, ctx: &Context, #[resource] go: &std::sync::Arc<Notify>) -> u32 {
        (0..n).for_each(|at| ctx.progress(at));
        go.notify_one();
        std::future::pending::<()>().await;
        n
    }
    workflow! { flooding(u32) -> u32 { START => floods; } }
    let go = std::sync::Arc::new(Notify::new());
    let engine = Engine::builder().resource(std::sync::Arc::clone(&go)).build().unwrap();
    let run = engine.start::<flooding>(5000).await.unwrap();
    go.notified().await;
    let mut events = run.events();
    let kept: Vec<_> =
        futures::stream::unfold(&mut events, async |events| Some((next_progress(events).await?.0, events)))
            .take(1024)
            .collect()
            .await;
    let wanted: Vec<serde_json::Value> = (5000 - 1024..5000).map(Into::into).collect();
    assert_eq!(kept, wanted);
    run.cancel().await.unwrap();
}

#[tokio::test]
async fn progress_is_not_recorded() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<talking>(7).await.unwrap();
    run.outcome().await.unwrap();
    let progress = paths(&records(&run).await, |kind| matches!(kind, EventKind::Progress { .. }));
    assert_eq!(progress, Vec::<String>::new());
}

#[tokio::test]
async fn who_reads_a_run_sees_the_start_of_a_node_that_is_being_polled() {
    let engine = READS.get_or_init(|| Engine::builder().build().unwrap());
    let run = engine.start::<read>(1).await.unwrap();
    assert_eq!(run.result().await.unwrap(), ["read/double", "read/reads_its_history"]);
}

#[tokio::test]
async fn progress_comes_after_the_start_of_its_node() {
    let engine = WATCHES.get_or_init(|| Engine::builder().build().unwrap());
    let run = engine.start::<watched>(1).await.unwrap();
    let seen = ["run_started", "node_started", "node_completed", "node_started", "progress"];
    assert_eq!(run.result().await.unwrap(), seen);
}

/// A store whose records cannot be read, as those of a damaged file.
#[derive(Clone, Default)]
struct Unreadable {
    inner: MemoryStore,
}

fn unreadable() -> StoreError {
    StoreError::Io { path: "runs.db".into(), message: "input/output error".to_owned() }
}

impl Store for Unreadable {
    graphweft_tests::forward_store! {
        join leave create append claim header list count overview open_questions delete reserve_task start_over is_alive is_served feed
        feed_end graph logs keeps_snapshots put_snapshot snapshot
    }

    fn read(&self, _run: RunKey, _from: u64, _limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        Box::pin(async { Err(unreadable()) })
    }
}

#[tokio::test]
async fn events_that_end_before_their_run_say_why() {
    let store = Unreadable::default();
    let engine = Engine::builder().store(store.inner.clone()).register::<doubled>().build().unwrap();
    engine.start::<doubled>(1).id("run").await.unwrap().outcome().await.unwrap();
    let all = |engine: &Engine| {
        let engine = engine.clone();
        async move {
            let mut events = engine.get_run("run").await.unwrap().unwrap().events();
            let mut count = 0;
            while events.next().await.is_some() {
                count += 1;
            }
            (count, events.error().cloned())
        }
    };
    let (count, error) = all(&engine).await;
    assert!(count > 0);
    assert_eq!(error, None, "the run has ended");
    let other = Engine::builder().store(store).build().unwrap();
    assert_eq!(all(&other).await, (0, Some(RunError::Store(unreadable()))));
    engine.shutdown().await;
    let (count_again, error) = all(&engine).await;
    assert_eq!((count_again, error), (count, None), "all of them can still be read");
}
