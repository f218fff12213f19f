//! Questions to people.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use graphweft::prelude::*;
use graphweft::store::{MemoryStore, RunStatus};
use graphweft::{
    AnswerError, AskHuman, Engine, EventKind, First, Question, QuestionFilter, RetryPolicy, RunError, RunFilter, json,
};
use graphweft_tests::records;
use serde_json::Value as Json;

#[value]
#[derive(PartialEq, Debug)]
struct Decision {
    approved: bool,
    lines: Vec<Line>,
}

#[value]
#[derive(PartialEq, Debug)]
struct Line {
    price: u32,
}

#[node]
async fn decide(text: String, ctx: &Context) -> String {
    let decision = ctx.ask::<Decision>("approve", "Ship it?").payload(&text).await;
    format!("{text}: {}", if decision.approved { "yes" } else { "no" })
}

workflow! {
    publish(String) -> String { START => decide; }
}

fn engine() -> Engine {
    Engine::builder().register::<publish>().build().unwrap()
}

fn yes() -> Json {
    json!({"approved": true, "lines": []})
}

async fn waiting<T: graphweft::Payload + std::fmt::Debug>(run: &graphweft::Run<T>) -> Vec<Question> {
    match run.outcome().await.unwrap() {
        Outcome::Waiting(questions) => questions,
        other => panic!("{other:?}"),
    }
}

fn ids(questions: &[Question]) -> Vec<&str> {
    questions.iter().map(|question| question.id.as_str()).collect()
}

#[tokio::test]
async fn a_question_says_all_that_its_answer_needs() {
    let run = engine().start::<publish>("a poem".into()).await.unwrap();
    let question = &waiting(&run).await[0];
    assert_eq!((question.name.as_str(), question.path.as_str()), ("approve", "publish/decide"));
    assert_eq!((question.prompt.as_str(), &question.payload), ("Ship it?", &json!("a poem")));
    assert_eq!(question.schema["required"], json!(["approved", "lines"]));
}

#[tokio::test]
async fn the_node_goes_on_with_the_answer() {
    let run = engine().start::<publish>("a poem".into()).await.unwrap();
    waiting(&run).await;
    run.answer("publish/decide/approve", yes()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "a poem: yes");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_with_the_field_and_the_question_stays_open() {
    let run = engine().start::<publish>("a poem".into()).await.unwrap();
    waiting(&run).await;
    let error = run.answer("approve", json!({"approved": true, "lines": [{"price": 1}, {"price": "two"}]})).await;
    let Err(AnswerError::Invalid { field, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(field, "lines[1].price");
    let answered = run.events().take(3).collect::<Vec<_>>().await;
    assert!(matches!(answered[2].kind, EventKind::QuestionAsked { .. }), "nothing is recorded of it: {answered:?}");
    assert_eq!(waiting(&run).await.len(), 1);
    run.answer("approve", yes()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "a poem: yes");
}

#[tokio::test]
async fn what_cannot_be_answered_says_why() {
    let engine = engine();
    let run = engine.start::<publish>("a poem".into()).id("x").await.unwrap();
    waiting(&run).await;
    let error = run.answer("aprove", yes()).await.unwrap_err();
    assert_eq!(error.to_string(), "run `x` has not asked `aprove`; open: `publish/decide/approve`");
    let error = engine.answer("y", "approve", yes()).await.unwrap_err();
    assert_eq!(error, AnswerError::UnknownRun { run: "y".into() });
    run.answer("approve", yes()).await.unwrap();
    let error = run.answer("approve", yes()).await.unwrap_err();
    let question = "publish/decide/approve".to_owned();
    assert_eq!(error, AnswerError::AlreadyAnswered { run: "x".into(), question: question.clone() });
    run.result().await.unwrap();
    let error = run.answer("approve", yes()).await.unwrap_err();
    assert_eq!(error, AnswerError::AlreadyAnswered { run: "x".into(), question });
}

#[tokio::test]
async fn a_question_of_a_cancelled_run_is_withdrawn() {
    let run = engine().start::<publish>("a poem".into()).await.unwrap();
    waiting(&run).await;
    run.cancel().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
    let error = run.answer("approve", yes()).await.unwrap_err();
    assert!(matches!(error, AnswerError::Withdrawn { .. }), "{error}");
}

#[tokio::test]
async fn a_run_that_waits_has_no_result_and_names_its_questions() {
    let run = engine().start::<publish>("a poem".into()).await.unwrap();
    let error = run.result().await.unwrap_err();
    assert_eq!(error, RunError::Waiting { questions: vec!["publish/decide/approve".into()] });
}

#[tokio::test]
async fn without_an_engine_nobody_can_answer_and_the_node_says_so() {
    let error = publish("a poem".into()).await.unwrap_err();
    assert!(error.to_string().contains("start the run with `engine.start"), "{error}");
}

#[node]
async fn three(ctx: &Context) -> String {
    let (a, b, c) =
        tokio::join!(async { ctx.ask::<u32>("a", "?").await }, async { ctx.ask::<u32>("b", "?").await }, async {
            ctx.ask::<u32>("b", "again?").key(2).await
        },);
    format!("{a} {b} {c}")
}

workflow! {
    several(u32) -> String { START => three; }
}

#[tokio::test]
async fn several_questions_of_one_node_are_open_at_once_and_answered_one_by_one() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<several>(1).await.unwrap();
    assert_eq!(ids(&waiting(&run).await), ["several/three/a", "several/three/b", "several/three/b:2"]);
    run.answer("several/three/b", 2).await.unwrap();
    assert_eq!(ids(&waiting(&run).await), ["several/three/a", "several/three/b:2"]);
    run.answer("b:2", 3).await.unwrap();
    assert_eq!(ids(&waiting(&run).await), ["several/three/a"]);
    run.answer("a", 1).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "1 2 3");
}

#[node]
async fn left(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("how_much", "?").await
}

#[node]
async fn right(n: u32, ctx: &Context) -> u32 {
    n * ctx.ask::<u32>("how_much", "?").await
}

#[node]
async fn works(n: u32) -> u32 {
    n
}

#[node]
async fn joined(a: u32, b: u32, c: u32) -> Vec<u32> {
    vec![a, b, c]
}

workflow! {
    branches(u32) -> Vec<u32> { START => (left, right, works) => joined; }
}

#[tokio::test]
async fn questions_of_several_nodes_are_told_apart_and_other_branches_go_on() {
    let run = Engine::builder().build().unwrap().start::<branches>(3).await.unwrap();
    assert_eq!(ids(&waiting(&run).await), ["branches/left/how_much", "branches/right/how_much"]);
    let done = |event: &graphweft::Event| {
        event.path == "branches/works" && matches!(event.kind, EventKind::NodeCompleted { .. })
    };
    assert!(run.events().take(10).any(|event| std::future::ready(done(&event))).await);
    let error = run.answer("how_much", 1).await.unwrap_err();
    assert!(matches!(&error, AnswerError::Ambiguous { open, .. } if open.len() == 2), "{error}");
    run.answer("branches/left/how_much", 1).await.unwrap();
    run.answer("how_much", 5).await.unwrap();
    assert_eq!(run.result().await.unwrap(), [4, 15, 3]);
}

#[value]
#[derive(Route)]
enum Verdict {
    Redo(String),
    Good(String),
}

#[node]
async fn draft(text: String) -> String {
    text + "!"
}

#[node]
async fn review(text: String, ctx: &Context) -> Verdict {
    if ctx.ask::<bool>("good", "Good?").payload(&text).await { Verdict::Good(text) } else { Verdict::Redo(text) }
}

workflow! {
    reviewed(String) -> String { START => draft => review => <redo: draft, good: END>; }
}

#[tokio::test]
async fn each_turn_of_a_loop_asks_anew() {
    let run = Engine::builder().build().unwrap().start::<reviewed>("a".into()).await.unwrap();
    for turn in 1..20 {
        let asked = waiting(&run).await;
        let id = if turn == 1 { "reviewed/review/good".to_owned() } else { format!("reviewed/review#{turn}/good") };
        assert_eq!(ids(&asked), [id]);
        assert_eq!(asked[0].payload, json!("a".to_owned() + &"!".repeat(turn)));
        run.answer("good", turn == 19).await.unwrap();
    }
    assert_eq!(run.result().await.unwrap(), "a".to_owned() + &"!".repeat(19));
}

workflow! {
    titled(String) -> String {
        let title: AskHuman<String, String> = AskHuman::new("title", "What is it called?");
        START => draft => title => draft_again;
    }
}

#[node]
async fn draft_again(text: String) -> String {
    text.to_uppercase()
}

workflow! {
    around(String) -> String { START => titled => draft; }
}

#[tokio::test]
async fn a_person_is_a_node() {
    let run = Engine::builder().build().unwrap().start::<around>("ants".into()).await.unwrap();
    let asked = waiting(&run).await;
    assert_eq!(ids(&asked), ["around/titled/title/title"]);
    assert_eq!(asked[0].payload, json!("ants!"));
    run.answer("title", "The Ants").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "THE ANTS!");
}

/// Starts a run that waits, and ends the process that it waits in.
fn left_waiting(store: &MemoryStore, ids: &[&str]) {
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).register::<publish>().build().unwrap();
        for id in ids {
            waiting(&engine.start::<publish>("a poem".into()).id(*id).await.unwrap()).await;
        }
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn a_run_that_waits_is_not_loaded_and_goes_on_when_its_answer_comes() {
    let store = MemoryStore::new();
    left_waiting(&store, &["x", "y"]);
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).register::<publish>().build().unwrap();
        let recovered = engine.recover().await.unwrap();
        assert!(recovered.resumed.is_empty(), "{recovered:?}");
        let run = engine.get_run("x").await.unwrap().unwrap();
        assert_eq!(ids(&waiting(&run).await), ["publish/decide/approve"]);
        let error = run.answer("approve", json!({"approved": 1, "lines": []})).await.unwrap_err();
        assert!(matches!(&error, AnswerError::Invalid { field, .. } if field == "approved"), "{error}");
        run.answer("approve", yes()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), json!("a poem: yes"));
        let waiting = engine.list_runs(RunFilter::default().status(RunStatus::Waiting)).await.unwrap();
        assert_eq!(waiting.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["y"]);
    });
}

/// A runtime of several threads drops the nodes while its last threads still drive the run.
#[test]
fn a_run_that_waits_goes_on_waiting_when_its_runtime_is_shut_down() {
    let store = MemoryStore::new();
    for at in 0..50 {
        let process = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        process.block_on(async {
            let engine = Engine::builder().store(store.clone()).build().unwrap();
            waiting(&engine.start::<branches>(3).id(at.to_string()).await.unwrap()).await;
        });
    }
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).build().unwrap();
        let waiting = engine.list_runs(RunFilter::default().status(RunStatus::Waiting)).await.unwrap();
        assert_eq!(waiting.len(), 50);
    });
}

#[test]
fn an_answer_may_come_from_a_process_that_does_not_know_the_workflow_while_another_has_the_run() {
    let store = MemoryStore::new();
    left_waiting(&store, &["x"]);
    runtime().block_on(async {
        let stranger = Engine::builder().store(store.clone()).build().unwrap();
        let error = stranger.answer("x", "approve", yes()).await.unwrap_err();
        assert!(matches!(error, AnswerError::Run(RunError::NotRegistered { .. })), "nobody would continue it: {error}");
        // Another engine asks, and its run leaves the memory.
        let builder = Engine::builder().store(store.clone()).register::<publish>().max_resident_waiting(0);
        let engine = builder.build().unwrap();
        let run = engine.start::<publish>("a poem".into()).id("y").await.unwrap();
        waiting(&run).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let error = stranger.answer("y", "approve", json!(7)).await.unwrap_err();
        assert!(matches!(error, AnswerError::Invalid { .. }), "{error}");
        stranger.answer("y", "approve", yes()).await.unwrap();
        let error = stranger.answer("y", "approve", yes()).await.unwrap_err();
        assert!(matches!(error, AnswerError::AlreadyAnswered { .. }), "{error}");
        while let Outcome::Waiting(_) = run.outcome().await.unwrap() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(run.result().await.unwrap(), "a poem: yes");
    });
}

/// The process that asked is gone, and nobody has loaded the run since: it waits for nothing but its answer.
#[test]
fn an_answer_of_a_stranger_reaches_a_run_that_only_another_process_can_resume() {
    let store = MemoryStore::new();
    left_waiting(&store, &["x", "y"]);
    runtime().block_on(async {
        let worker = Engine::builder().store(store.clone()).register::<publish>().build().unwrap();
        worker.recover().await.unwrap();
        let stranger = Engine::builder().store(store.clone()).build().unwrap();
        let run = stranger.get_run("x").await.unwrap().unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
        stranger.answer("x", "approve", yes()).await.unwrap();
        while let Outcome::Waiting(_) = run.outcome().await.unwrap() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(run.result().await.unwrap(), json!("a poem: yes"));
        worker.shutdown().await;
        let error = stranger.answer("y", "approve", yes()).await.unwrap_err();
        assert!(matches!(error, AnswerError::Run(RunError::NotRegistered { .. })), "nobody is left: {error}");
    });
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_another_process_reaches_the_run_where_it_waits() {
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).register::<publish>().build().unwrap();
    engine.recover().await.unwrap();
    let run = engine.start::<publish>("a poem".into()).id("x").await.unwrap();
    waiting(&run).await;
    let other = Engine::builder().store(store).build().unwrap();
    other.answer("x", "approve", yes()).await.unwrap();
    assert_eq!(told(&run).await, Outcome::Completed("a poem: yes".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_another_process_drives_is_cancelled_through_the_store() {
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).register::<publish>().build().unwrap();
    engine.recover().await.unwrap();
    let run = engine.start::<publish>("a poem".into()).id("x").await.unwrap();
    waiting(&run).await;
    let other = Engine::builder().store(store).build().unwrap();
    other.cancel("x").await.unwrap();
    assert_eq!(told(&run).await, Outcome::Cancelled);
}

/// How a run ends that waits until word comes through the store.
async fn told(run: &graphweft::Run<String>) -> Outcome<String> {
    for _ in 0..100 {
        match run.outcome().await.unwrap() {
            Outcome::Waiting(_) => tokio::time::advance(Duration::from_millis(100)).await,
            end => return end,
        }
    }
    panic!("no word has come");
}

#[tokio::test(start_paused = true)]
async fn runs_that_wait_leave_the_memory_when_there_are_many_and_go_on_all_the_same() {
    let engine = Engine::builder().register::<publish>().max_resident_waiting(2).build().unwrap();
    let mut runs = Vec::new();
    for at in 0..6 {
        let run = engine.start::<publish>(format!("poem {at}")).id(format!("run {at}")).await.unwrap();
        waiting(&run).await;
        runs.push(run);
    }
    for (at, run) in runs.iter().enumerate() {
        run.answer("approve", yes()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), format!("poem {at}: yes"));
    }
}

#[test]
fn an_answered_run_of_a_dead_process_goes_on_where_it_was_answered() {
    let store = MemoryStore::new();
    let dead = runtime();
    // Its owner never says that it has gone.
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    dead.block_on(async {
        waiting(&engine.start::<publish>("a poem".into()).id("x").await.unwrap()).await;
    });
    drop(dead);
    runtime().block_on(async {
        let other = Engine::builder().store(store.clone()).register::<publish>().build().unwrap();
        drop(engine);
        other.answer("x", "approve", yes()).await.unwrap();
        assert_eq!(other.get_run("x").await.unwrap().unwrap().result().await.unwrap(), json!("a poem: yes"));
    });
}

#[test]
fn several_questions_of_a_run_that_is_not_loaded_are_answered_one_after_another() {
    let store = MemoryStore::new();
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).build().unwrap();
        waiting(&engine.start::<several>(1).id("x").await.unwrap()).await;
    });
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).register::<several>().build().unwrap();
        for (question, answer) in [("a", 1), ("several/three/b", 2), ("b:2", 3)] {
            engine.answer("x", question, answer).await.unwrap();
        }
        assert_eq!(engine.get_run("x").await.unwrap().unwrap().result().await.unwrap(), json!("1 2 3"));
    });
}

#[node(timeout = "1m", retry(max_attempts = 2, initial_delay = "1h", max_delay = "1h"))]
async fn asks_for_a_minute(ctx: &Context) -> bool {
    if ctx.attempt() == 1 { ctx.ask::<bool>("soon", "Now?").await } else { true }
}

workflow! { impatient() -> bool { START => asks_for_a_minute; } }

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_run_whose_question_has_gone_does_nothing_meanwhile() {
    let run = Engine::builder().build().unwrap().start::<impatient>(()).await.unwrap();
    assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))));

    // Paused time passes only where nobody does anything.
    tokio::time::sleep(Duration::from_secs(61)).await;

    assert_eq!(run.outcome().await, Ok(Outcome::Completed(true)));
}

#[node]
async fn comes_first() -> bool {
    tokio::time::sleep(Duration::from_secs(120)).await;
    true
}

#[node]
async fn goes_on(first: bool, ctx: &Context) -> bool {
    first && ctx.ask::<bool>("then", "Go on?").await
}

workflow! { race() -> bool {
    let first: First<bool> = First::default();
    START => (comes_first, asks_for_a_minute);
    comes_first | asks_for_a_minute => first => goes_on;
} }

/// No record says that the node is cancelled.
#[tokio::test(start_paused = true)]
async fn another_engine_lists_no_question_of_a_node_that_was_cancelled_before_its_next_attempt() {
    let store = MemoryStore::default();
    let engine = || Engine::builder().store(store.clone()).register::<race>().build().unwrap();
    let (driver, other) = (engine(), engine());
    let run = driver.start::<race>(()).id("run").await.unwrap();
    let seen = other.get_run("run").await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ids(&seen.questions().await.unwrap()), ["race/asks_for_a_minute/soon"]);
    tokio::time::sleep(Duration::from_secs(120)).await;

    let open = seen.questions().await.unwrap();

    assert_eq!(ids(&open), ["race/goes_on/then"]);
    let gone = other.answer("run", "soon", true).await.unwrap_err();
    assert!(matches!(gone, AnswerError::Withdrawn { .. }), "{gone}");
    run.answer("then", true).await.unwrap();
    assert_eq!(run.result().await, Ok(true));
}

#[value]
#[derive(Copy, Debug)]
enum Nameless {
    Question,
    Step,
    Child,
}

#[node]
async fn names_nothing(what: Nameless, ctx: &Context) -> Result<bool, graphweft::ChildError<graphweft::Never>> {
    match what {
        Nameless::Question => Ok(ctx.ask("", "Ship it?").await),
        Nameless::Step => ctx.step("", async || Ok(true)).await,
        Nameless::Child => ctx.call_as("", comes_first {}, ()).await,
    }
}

workflow! { nameless(Nameless) -> bool { START => names_nothing; } }

#[tokio::test]
async fn what_a_node_asks_for_needs_a_name() {
    for what in [Nameless::Question, Nameless::Step, Nameless::Child] {
        let engine = Engine::builder().register::<nameless>().build().unwrap();
        let run = engine.start::<nameless>(what).await.unwrap();
        let Outcome::Failed(failure) = run.outcome().await.unwrap() else { panic!("{what:?} has no name") };
        assert!(failure.to_string().contains("`nameless/names_nothing` gives a"), "{failure}");
        assert!(failure.to_string().contains("an empty name; name it"), "{failure}");
        assert_eq!(records(&run).await.iter().filter(|event| event.path.ends_with('/')).count(), 0);
    }
}

#[value]
#[derive(Copy, Debug)]
enum Long {
    Name,
    Key,
    Text,
    Message,
}

#[node]
async fn says_too_much(what: Long, ctx: &Context) -> bool {
    let long = "x".repeat(2_000);
    match what {
        Long::Name => ctx.ask(&*long, "Ship it?").await,
        Long::Key => ctx.ask("ship", "Ship it?").key(&*long).await,
        Long::Text => ctx.ask("ship", &*long).await,
        Long::Message => {
            ctx.message(long);
            true
        }
    }
}

workflow! { talkative(Long) -> bool { START => says_too_much; } }

#[tokio::test]
async fn what_a_node_asks_for_and_says_has_a_limit() {
    let engine = Engine::builder().register::<talkative>().max_value_size(1_500).build().unwrap();
    for (what, says) in [
        (Long::Name, "a name and a key of 2000 bytes together, and 1024 are allowed"),
        (Long::Key, "a name and a key of 2004 bytes together, and 1024 are allowed"),
        (Long::Text, "the text of `talkative/says_too_much/ship` has 2000 bytes, and `max_value_size` allows 1500"),
    ] {
        let run = engine.start::<talkative>(what).await.unwrap();
        let Outcome::Failed(failure) = run.outcome().await.unwrap() else { panic!("{what:?} is taken") };
        assert!(failure.to_string().contains(says), "{failure}");
    }
    let run = engine.start::<talkative>(Long::Message).await.unwrap();
    assert_eq!(run.result().await, Ok(true));
    assert!(!records(&run).await.iter().any(|event| matches!(event.kind, EventKind::Message { .. })));
}

#[derive(Default)]
struct IsMended(AtomicBool);

#[node]
async fn fails_once(#[resource] is_mended: &IsMended) -> Result<bool, std::io::Error> {
    tokio::time::sleep(Duration::from_secs(120)).await;
    if is_mended.0.swap(true, Ordering::Relaxed) { Ok(true) } else { Err(std::io::Error::other("late")) }
}

#[node(timeout = "1m", retry(max_attempts = 2, initial_delay = "1h", max_delay = "1h"))]
async fn asks_in_each_attempt(ctx: &Context) -> bool {
    ctx.ask::<bool>("soon", "Now?").await
}

#[node]
async fn are_both(both: (bool, bool)) -> bool {
    both.0 && both.1
}

workflow! { pair() -> bool { START => (fails_once, asks_in_each_attempt) => are_both; } }

#[tokio::test(start_paused = true)]
async fn a_question_of_a_node_that_was_cancelled_before_its_next_attempt_is_open_again_if_the_run_is_retried() {
    let builder = Engine::builder().resource(IsMended::default()).register::<pair>();
    let engine = builder.build().unwrap();
    let run = engine.start::<pair>(()).id("run").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ids(&run.questions().await.unwrap()), ["pair/asks_in_each_attempt/soon"]);
    tokio::time::sleep(Duration::from_secs(121)).await;
    assert!(matches!(run.outcome().await, Ok(Outcome::Failed(_))));

    let run = engine.retry("run").await.unwrap();

    // It waits for its next attempt, which has the answer.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ids(&run.questions().await.unwrap()), ["pair/asks_in_each_attempt/soon"]);
    let answer = tokio::spawn({
        let run = run.clone();
        async move { run.answer("soon", true).await }
    });
    assert_eq!(run.result().await, Ok(json!(true)));
    drop(answer);
    let kinds = records(&run).await;
    let is_reopened = |event: &graphweft::Event| event.kind == EventKind::RequestReopened;
    assert!(!kinds.iter().any(is_reopened), "its withdrawal does not count: {kinds:?}");
}

/// A name and a key with characters that have a meaning in paths.
#[tokio::test]
async fn a_question_is_answered_by_the_name_that_its_node_wrote() {
    #[node]
    async fn asks_oddly(ctx: &Context) -> (bool, bool) {
        let odd = "odd/na me#1";
        futures::join!(ctx.ask(odd, "?"), ctx.ask(odd, "?").key("k:ü/%2F"))
    }
    workflow! { oddly(()) -> (bool, bool) { START => asks_oddly; } }
    let engine = Engine::builder().register::<oddly>().build().unwrap();
    let run = engine.start::<oddly>(()).await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("it asks") };
    let names: Vec<&str> = questions.iter().map(|question| question.name.as_str()).collect();
    assert_eq!(names, ["odd/na me#1", "odd/na me#1:k:ü/%2F"]);
    run.answer("odd/na me#1", false).await.unwrap();
    run.answer("odd/na me#1:k:ü/%2F", true).await.unwrap();
    assert_eq!(run.result().await, Ok((false, true)));
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_child_workflow_is_withdrawn_when_that_begins_anew() {
    #[node]
    async fn asks_at_first(ctx: &Context, #[resource] asked: &AtomicBool) -> u32 {
        if !asked.swap(true, Ordering::SeqCst) {
            return ctx.ask::<u32>("many", "how many?").await;
        }
        ctx.sleep(Duration::from_secs(3600)).await;
        7
    }
    workflow! { inside(()) -> u32 { START => asks_at_first; } }
    #[node]
    async fn calls(ctx: &Context) -> u32 {
        let twice = RetryPolicy::with_max_attempts(2).initial_delay(Duration::from_secs(60)).jitter(0.0);
        ctx.call::<inside>(()).timeout(Duration::from_secs(7200)).retry(twice).await.unwrap_or(0)
    }
    workflow! { around(()) -> u32 { START => calls; } }
    let engine = Engine::builder().resource(AtomicBool::new(false)).register::<around>().build().unwrap();
    let run = engine.start::<around>(()).id("run").await.unwrap();
    let many = "around/calls/inside/asks_at_first/many";
    let Outcome::Waiting(open) = run.outcome().await.unwrap() else { panic!("it asks") };
    assert_eq!(open[0].id, many);
    tokio::time::sleep(Duration::from_secs(7200 + 30)).await;
    let early = tokio::spawn(async move { run.answer(many, 5).await });
    tokio::time::sleep(Duration::from_secs(60)).await;
    // Between the attempts nothing reads an answer.
    let early = early.await.unwrap();
    assert!(matches!(early, Err(AnswerError::Unread { .. })), "{early:?}");
    let run = engine.get_run("run").await.unwrap().unwrap();
    assert_eq!((run.questions().await.unwrap(), run.status().await.unwrap()), (vec![], RunStatus::Sleeping));
    assert!(engine.questions(QuestionFilter::default()).await.unwrap().is_empty());
    assert!(matches!(run.answer(many, 5).await, Err(AnswerError::Withdrawn { .. })));
    assert_eq!(run.result().await.unwrap(), json!(7));
}
