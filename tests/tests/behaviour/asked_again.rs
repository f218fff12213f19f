//! A question that is asked again with another type, text or payload: under a later version of the program, in a later
//! attempt, or after it was dropped.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, SqliteStore, Store};
use graphweft::{AnswerError, Engine, EngineBuilder, EventKind, Question, Run};
use graphweft_tests::{Death, Remains, life};
use serde_json::{Value as Json, json};
use tokio::time::timeout;

/// A version of the program: its node asks for a `$type`.
macro_rules! version {
    ($name:ident, $type:ty, $prompt:expr, $payload:expr) => {
        mod $name {
            use super::*;

            #[node]
            pub(crate) async fn review(ctx: &Context) -> String {
                format!("{:?}", ctx.ask::<$type>("amount", $prompt).payload($payload).await)
            }

            #[node]
            pub(crate) async fn answered(ctx: &Context, #[resource] death: &Death) -> String {
                let answer = ctx.ask::<$type>("amount", $prompt).payload($payload).await;
                death.come("answered").await;
                format!("{answer:?}")
            }

            workflow! { pub(crate) asking(()) -> String { START => review; } }
            workflow! { pub(crate) answering(()) -> String { START => answered; } }

            pub(crate) fn engine(store: impl Store) -> EngineBuilder {
                Engine::builder().store(store).register::<asking>()
            }
        }
    };
}

version!(then, bool, "Ship it?", json!(1));
version!(now, u32, "How many?", json!(2));
version!(reworded, bool, "Really?", json!(1));
version!(with_more_data, bool, "Ship it?", json!([1, 2]));

async fn waiting<T: graphweft::Payload + std::fmt::Debug>(run: &Run<T>) -> Vec<Question> {
    match run.outcome().await.unwrap() {
        Outcome::Waiting(questions) => questions,
        other => panic!("{other:?}"),
    }
}

/// A run that waits for an answer, from before the deploy.
async fn asked_then(store: &(impl Store + Clone)) {
    let engine = then::engine(store.clone()).build().unwrap();
    let run = engine.start::<then::asking>(()).id("run").await.unwrap();
    assert_eq!(waiting(&run).await[0].schema["type"], "boolean");
    engine.shutdown().await;
}

/// The questions of a run, by its events: what was asked, and whether again.
async fn asked(engine: &Engine) -> Vec<(String, Json, bool)> {
    let history = engine.history("run").await.unwrap().unwrap();
    let asked = history.into_iter().filter_map(|event| match event.kind {
        EventKind::QuestionAsked { prompt, schema, again, .. } => Some((prompt, schema["type"].clone(), again)),
        _ => None,
    });
    asked.collect()
}

#[tokio::test]
async fn a_question_of_another_type_is_asked_again_when_its_node_runs_again() {
    let store = MemoryStore::new();
    asked_then(&store).await;
    let engine = now::engine(store).build().unwrap();
    engine.recover().await.unwrap();
    let run = engine.get_run("run").await.unwrap().unwrap();

    // The type before takes this one, and the node runs again.
    let rejected = run.answer("amount", true).await;

    assert!(matches!(rejected, Err(AnswerError::Invalid { .. })), "{rejected:?}");
    let question = waiting(&run).await.remove(0);
    assert_eq!((question.prompt.as_str(), &question.payload), ("How many?", &json!(2)));
    assert_eq!(question.schema["type"], "integer");
    assert_eq!(run.questions().await.unwrap(), [question]);
    let then = ("Ship it?".to_owned(), json!("boolean"), false);
    assert_eq!(asked(&engine).await, [then, ("How many?".to_owned(), json!("integer"), true)]);
    run.answer("amount", 3).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(json!("3")));
}

#[tokio::test]
async fn an_answer_of_the_present_type_is_taken_though_the_recorded_question_is_of_another() {
    for resident in [0, 100] {
        let store = MemoryStore::new();
        asked_then(&store).await;
        let engine = now::engine(store).max_resident_waiting(resident).build().unwrap();
        engine.recover().await.unwrap();

        engine.answer("run", "amount", 3).await.unwrap();

        let run = engine.get_run("run").await.unwrap().unwrap();
        assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(json!("3")));
    }
}

#[tokio::test]
async fn an_answer_of_neither_type_is_refused_by_the_present_one() {
    let store = MemoryStore::new();
    asked_then(&store).await;
    let engine = now::engine(store).build().unwrap();

    let refused = engine.answer("run", "amount", "three").await.unwrap_err();

    assert_eq!(refused.to_string(), r#"invalid answer to `asking/review/amount`: "three" is not of type "integer""#);
    let run = engine.get_run("run").await.unwrap().unwrap();
    assert_eq!(waiting(&run).await[0].schema["type"], "integer");
}

#[tokio::test]
async fn an_engine_without_the_workflow_has_the_run_ask_again_through_the_one_that_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let open = || async { SqliteStore::open(directory.path().join("runs.db")).await.unwrap() };
    let engine = then::engine(open().await).build().unwrap();
    let run = engine.start::<then::asking>(()).id("run").await.unwrap();
    waiting(&run).await;
    engine.shutdown().await;
    let worker = now::engine(open().await).build().unwrap();
    worker.recover().await.unwrap();
    let web = Engine::builder().store(open().await).build().unwrap();

    web.answer("run", "amount", 3).await.unwrap();

    let run = web.get_run("run").await.unwrap().unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(json!("3")));
}

#[test]
fn a_recorded_answer_that_does_not_fit_any_more_is_rejected_and_the_question_asked_again() {
    let remains = Remains::default();
    life(async {
        let death = Death::at("answered");
        let engine = remains.engine(&death).build().unwrap();
        let run = engine.start::<then::answering>(()).id("run").await.unwrap();
        waiting(&run).await;
        run.answer("amount", true).await.unwrap();
        death.came().await;
    });
    life(async {
        let engine = remains.engine(&Death::default()).register::<now::answering>().build().unwrap();
        let run = engine.recover().await.unwrap().resumed.remove(0);

        let question = waiting(&run).await.remove(0);

        assert_eq!((question.prompt.as_str(), &question.schema["type"]), ("How many?", &json!("integer")));
        run.answer("amount", 3).await.unwrap();
        assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(json!("3")));
    });
}

/// Asks with the number of its attempt.
#[node(retry(max_attempts = 2, initial_delay = "1ms"))]
async fn asks_by_attempt(ctx: &Context) -> Result<u32, String> {
    let answer = ctx.ask::<u32>("again", format!("attempt {}", ctx.attempt()));
    let limit = if ctx.attempt() == 1 { Duration::from_millis(1) } else { Duration::from_secs(3600) };
    timeout(limit, answer).await.map_err(|error| error.to_string())
}

/// Drops its question, and asks it otherwise.
#[node]
async fn asks_twice(ctx: &Context) -> bool {
    match timeout(Duration::from_millis(1), ctx.ask::<u32>("again", "How many?")).await {
        Ok(many) => many > 0,
        Err(_) => ctx.ask::<bool>("again", "Any?").await,
    }
}

workflow! { asking_by_attempt(()) -> u32 { START => asks_by_attempt; } }
workflow! { asking_twice(()) -> bool { START => asks_twice; } }

/// Waits until it has been asked with this text.
async fn is_asked<T>(run: &Run<T>, wanted: &str) {
    let mut events = run.events();
    let is_it = |kind: &EventKind| matches!(kind, EventKind::QuestionAsked { prompt, .. } if prompt == wanted);
    while !is_it(&events.next().await.unwrap().kind) {}
}

#[tokio::test(start_paused = true)]
async fn a_later_attempt_may_ask_with_another_text() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking_by_attempt>(()).await.unwrap();

    is_asked(&run, "attempt 2").await;

    assert_eq!(run.questions().await.unwrap()[0].prompt, "attempt 2");
    run.answer("again", 2).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_dropped_may_be_asked_with_another_type() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking_twice>(()).id("run").await.unwrap();

    is_asked(&run, "Any?").await;

    assert_eq!(run.questions().await.unwrap()[0].schema["type"], "boolean");
    assert_eq!(asked(&engine).await[1], ("Any?".to_owned(), json!("boolean"), true));
    run.answer("again", true).await.unwrap();
    assert!(run.result().await.unwrap());
}

#[tokio::test]
async fn another_text_or_other_data_are_shown_too() {
    for later in [reworded::engine as fn(MemoryStore) -> EngineBuilder, with_more_data::engine] {
        let store = MemoryStore::new();
        asked_then(&store).await;
        let engine = later(store).build().unwrap();
        let mut events = engine.get_run("run").await.unwrap().unwrap().events();
        // It is resumed, and refused.
        let refused = engine.answer("run", "amount", 3).await;
        assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "{refused:?}");

        let is_again = |kind: &EventKind| matches!(kind, EventKind::QuestionAsked { again: true, .. });
        while !is_again(&events.next().await.unwrap().kind) {}

        assert_eq!(asked(&engine).await.len(), 2);
        engine.answer("run", "amount", true).await.unwrap();
    }
}

#[tokio::test]
async fn a_question_that_is_asked_as_before_is_not_recorded_again() {
    let store = MemoryStore::new();
    asked_then(&store).await;
    let engine = then::engine(store).build().unwrap();
    let refused = engine.answer("run", "amount", 3).await;
    assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "{refused:?}");

    engine.answer("run", "amount", true).await.unwrap();

    assert_eq!(asked(&engine).await.len(), 1);
}

struct Text(&'static str);

#[node]
async fn approve(ctx: &Context, #[resource] text: &Text) -> String {
    let answer = ctx.ask::<bool>("approve", text.0).within(Duration::from_secs(60)).await;
    answer.map_or_else(|elapsed| elapsed.to_string(), |yes| yes.to_string())
}

workflow! { approving(()) -> String { START => approve; } }

type Clock = Arc<Mutex<SystemTime>>;

fn clock() -> Clock {
    Arc::new(Mutex::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)))
}

fn approving_by(clock: &Clock, store: &MemoryStore, text: &'static str) -> Engine {
    let clock = Arc::clone(clock);
    let builder = Engine::builder().store(store.clone()).resource(Text(text)).register::<approving>();
    builder.clock(move || *clock.lock().unwrap()).build().unwrap()
}

/// Where no process was there to withdraw it.
#[tokio::test]
async fn a_question_is_not_answered_after_its_time() {
    let (clock, store) = (clock(), MemoryStore::new());
    let first = approving_by(&clock, &store, "Ship it?");
    waiting(&first.start::<approving>(()).id("run").await.unwrap()).await;
    first.shutdown().await;
    *clock.lock().unwrap() += Duration::from_secs(61);

    let second = approving_by(&clock, &store, "Ship it?");
    let refused = second.answer("run", "approve", true).await;

    assert!(matches!(refused, Err(AnswerError::Withdrawn { .. })), "{refused:?}");
    second.recover().await.unwrap();
    let run = second.get_run_of::<approving>("run").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), "nothing came within 60s");
}

#[tokio::test]
async fn a_question_that_is_asked_again_with_another_text_is_open_as_long_as_the_first_one() {
    let (clock, store) = (clock(), MemoryStore::new());
    let engine = |text| approving_by(&clock, &store, text);
    let first = engine("Ship it?");
    let until = waiting(&first.start::<approving>(()).id("run").await.unwrap()).await[0].until;
    assert!(until.is_some());
    first.shutdown().await;
    *clock.lock().unwrap() += Duration::from_secs(40);

    let second = engine("Really?");
    let mut events = second.get_run("run").await.unwrap().unwrap().events();
    second.recover().await.unwrap();
    second.wake("run").await.unwrap();
    while !matches!(events.next().await.unwrap().kind, EventKind::QuestionAsked { again: true, .. }) {}

    let asked = second.get_run("run").await.unwrap().unwrap().questions().await.unwrap();
    assert_eq!(
        asked.iter().map(|question| (&*question.prompt, question.until)).collect::<Vec<_>>(),
        [("Really?", until)]
    );
    let inbox = second.questions(graphweft::QuestionFilter::default()).await.unwrap();
    assert_eq!(inbox.iter().map(|open| open.question.until).collect::<Vec<_>>(), [until]);
}
