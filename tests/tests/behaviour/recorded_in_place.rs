//! Nodes that follow one another in place: the records of a step are pushed as one, in an engine whose store is lost with the process as they
//! go, in any other before the next node begins. A run has the same records in both as where each event is applied and recorded by itself.

use futures::future::BoxFuture;
use graphweft::prelude::*;
use graphweft::state::Sum;
use graphweft::store::SqliteStore;
use graphweft::{Engine, EventKind, Never, RunError, Workflow};
use graphweft_tests::life;

const TOTAL: StateKey<u32, Sum> = StateKey::new("total");

#[node]
async fn add(n: u32) -> u32 {
    n + 1
}

#[node]
async fn yields(n: u32) -> u32 {
    tokio::task::yield_now().await;
    n + 1
}

#[node]
async fn counts(n: u32, #[writes(TOTAL)] total: StateWriter<u32, Sum>) -> u32 {
    total.merge(n);
    n
}

#[node]
async fn reads(n: u32, ctx: &Context) -> u32 {
    n + ctx.state().get(TOTAL).unwrap_or_default().unwrap_or_default()
}

#[node]
async fn steps(n: u32, ctx: &Context) -> u32 {
    ctx.step("double", async || Ok::<_, Never>(n * 2)).await.unwrap_or_default()
}

#[node]
async fn asks(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("amount", "How much?").await
}

#[node(at_most_once)]
async fn once(n: u32) -> u32 {
    n + 1
}

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn fails_twice(n: u32, ctx: &Context) -> Result<u32, String> {
    if ctx.attempt() < 3 { Err("not yet".to_owned()) } else { Ok(n) }
}

#[node]
async fn panics(n: u32) -> u32 {
    assert!(n > 1_000, "on purpose");
    n
}

#[node]
async fn fails(n: u32) -> Result<u32, String> {
    Err(format!("{n} is too much"))
}

#[node]
async fn path(_: u32, ctx: &Context) -> String {
    ctx.path()
}

#[node]
async fn length(path: String) -> u32 {
    path.len() as u32
}

#[node]
async fn turn(n: u32) -> u32 {
    n
}

#[node]
async fn until_200(n: u32) -> Turn {
    if n < 200 { Turn::Again(n) } else { Turn::Done(n) }
}

#[value]
#[derive(Route)]
enum Turn {
    Again(u32),
    Done(u32),
}

workflow! {
    chain(u32) -> u32 {
        let second = add();
        let third = add();
        START => add => length_of_path => second => third;
    }
}
workflow! { length_of_path(u32) -> u32 { START => path => length; } }
workflow! { rounds(u32) -> u32 { START => turn => add => until_200 => <again: turn, done: END>; } }
workflow! {
    waits(u32) -> u32 {
        let second = add();
        let again = yields();
        let last = yields();
        START => add => yields => second => again => last;
    }
}
workflow! {
    state(u32) -> u32 {
        let second = add();
        let counts_again = counts();
        let reads_again = reads();
        START => add => counts => reads => second => counts_again => reads_again;
    }
}
workflow! {
    requests(u32) -> u32 {
        let second = add();
        let third = add();
        START => add => steps => second => asks => third;
    }
}
workflow! {
    options(u32) -> u32 {
        let second = add();
        let once_more = once();
        START => add => once => fails_twice => second => once_more;
    }
}
workflow! {
    panicking(u32) -> u32 {
        let second = add();
        let last = add();
        START => add => second => panics => last;
    }
}
workflow! {
    failing(u32) -> u32 {
        let last = add();
        START => add => fails => last;
    }
}
workflow! {
    routed(u32) -> u32 {
        let passed = add();
        START => add => fails => <ok: passed, err: length>;
        passed => END;
        length => END;
    }
}

async fn result_of<W: Workflow<Input = u32, Output = u32>>(engine: Engine) -> (Result<u32, RunError>, Vec<String>) {
    let run = engine.start::<W>(1).await.unwrap();
    let answers = async {
        while let Ok(Outcome::Waiting(questions)) = run.outcome().await {
            for question in questions {
                let _asked_only_once = engine.answer(run.id(), &question.id, 5).await;
            }
        }
    };
    answers.await;
    let result = run.result().await;
    let history = engine.history(run.id()).await.unwrap().unwrap();
    let is_meant = |kind: &EventKind| kind.is_recorded();
    let lines = history.iter().filter(|event| is_meant(&event.kind)).map(|event| {
        let mut kind = serde_json::to_value(&event.kind).unwrap();
        if let EventKind::NodeFailed { .. } = event.kind {
            // Its next attempt is at a time that is drawn.
            kind["then"] = serde_json::Value::Null;
        }
        if let (EventKind::NodeStarted { .. }, Some(fields)) = (&event.kind, kind.as_object_mut()) {
            fields.remove("began");
        }
        format!("{} {} {} {kind}", event.seq, event.path, event.derived)
    });
    (result, lines.collect())
}

type Played = (Result<u32, RunError>, Vec<String>);

/// The run in both stores, and in one with a limit: then nothing is done in place.
fn played<W: Workflow<Input = u32, Output = u32>>() -> [Played; 3] {
    let once = |engine: BoxFuture<'static, Engine>| life(async { result_of::<W>(engine.await).await });
    let in_memory = once(Box::pin(async { Engine::builder().build().unwrap() }));
    let on_disk = |max_concurrency: Option<usize>| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("runs.db");
        once(Box::pin(async move {
            let mut engine = Engine::builder().store(SqliteStore::open(file).await.unwrap()).register::<W>();
            if let Some(most) = max_concurrency {
                engine = engine.max_concurrency(most);
            }
            engine.build().unwrap()
        }))
    };
    [in_memory, on_disk(None), on_disk(Some(1))]
}

fn has_the_same_records<W: Workflow<Input = u32, Output = u32>>(records: usize) {
    let [in_memory, on_disk, one_by_one] = played::<W>();
    assert_eq!(in_memory.1, on_disk.1);
    assert_eq!(on_disk.1, one_by_one.1);
    assert_eq!(format!("{:?}", in_memory.0), format!("{:?}", on_disk.0));
    assert_eq!(format!("{:?}", on_disk.0), format!("{:?}", one_by_one.0));
    assert_eq!(in_memory.1.len(), records, "{:#?}", in_memory.1);
}

#[test]
fn nodes_that_follow_one_another_have_the_records_that_they_have_anywhere() {
    has_the_same_records::<chain>(14);
}

#[test]
fn turns_of_a_loop_have_their_records_also_beyond_those_of_one_commit() {
    has_the_same_records::<rounds>(1 + 2 * 3 * 199 + 1);
}

#[test]
fn a_node_that_waits_has_the_records_of_those_before_it() {
    has_the_same_records::<waits>(12);
}

#[test]
fn what_is_written_to_the_state_is_recorded_with_its_node() {
    has_the_same_records::<state>(14);
}

#[test]
fn what_a_node_asks_for_is_recorded_behind_its_start() {
    has_the_same_records::<requests>(16);
}

#[test]
fn a_node_that_may_run_once_or_may_be_tried_again_has_its_records() {
    has_the_same_records::<options>(18);
}

#[test]
fn a_node_that_panics_fails_behind_those_before_it() {
    has_the_same_records::<panicking>(8);
}

#[test]
fn a_node_that_fails_does_so_behind_those_before_it() {
    has_the_same_records::<failing>(6);
    has_the_same_records::<routed>(8);
}

#[test]
fn a_node_that_waits_for_long_is_seen_to_have_begun() {
    life(async {
        let engine = Engine::builder().build().unwrap();
        let run = engine.start::<forever>(1).await.unwrap();
        let mut events = run.events();
        let mut started = Vec::new();
        while started.len() < 3 {
            let event = futures::StreamExt::next(&mut events).await.unwrap();
            started.extend(matches!(event.kind, EventKind::NodeStarted { .. }).then_some(event.path));
        }
        assert_eq!(started, ["forever/add", "forever/add2", "forever/never"]);
        let begun = engine.history(run.id()).await.unwrap().unwrap();
        assert_eq!(begun.len(), 6);
    });
}

#[node]
async fn never(n: u32) -> u32 {
    std::future::pending::<()>().await;
    n
}

workflow! {
    forever(u32) -> u32 {
        let add2 = add();
        START => add => add2 => never;
    }
}
