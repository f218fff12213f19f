//! The open questions of all runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::{EventKind, PendingQuestion, QuestionFilter, Run, json};

#[node]
async fn approve(order: u32, ctx: &Context) -> Result<u32, String> {
    let ask = ctx.ask::<bool>("approve", format!("Order {order}?")).payload(json!({ "order": order }));
    if ask.await { Ok(order) } else { Err("refused".to_owned()) }
}

/// Asks, and continues to work.
#[node]
async fn works_beside(order: u32, ctx: &Context) -> u32 {
    let work = std::future::pending::<u32>();
    tokio::select! {
        more = ctx.ask::<u32>("more", "How much more?") => order + more,
        work = work => work,
    }
}

/// Asks three questions, and takes the first answer.
#[node]
async fn first_of_three(order: u32, ctx: &Context) -> u32 {
    tokio::select! {
        a = ctx.ask::<u32>("number", "?").key("a") => order + a,
        b = ctx.ask::<u32>("number", "?").key("b/c:d") => order + b,
        c = ctx.ask::<u32>("other", "?") => order + c,
    }
}

#[node]
async fn hurried(order: u32, ctx: &Context) -> u32 {
    ctx.ask::<u32>("soon", "?").within(Duration::from_secs(3600)).await.unwrap_or(order)
}

workflow! { approving(u32) -> u32 { START => approve; } }
workflow! { working(u32) -> u32 { START => works_beside; } }
workflow! { choosing(u32) -> u32 { START => first_of_three; } }
workflow! { hurrying(u32) -> u32 { START => hurried; } }
/// Whether `approve_if` fails for the order 2.
static FAILS: AtomicBool = AtomicBool::new(false);

#[node]
async fn approve_if(order: u32, ctx: &Context) -> Result<u32, String> {
    let approved = ctx.ask::<bool>("approve", "?").await;
    if order == 2 && FAILS.load(Ordering::SeqCst) {
        return Err("it fails".to_owned());
    }
    if approved && ctx.ask::<bool>("sure", "?").await { Ok(order) } else { Ok(0) }
}

workflow! { all(Vec<u32>) -> Vec<u32> { START => [approve_if] => END; } }

fn engine(store: SqliteStore) -> Engine {
    let builder = Engine::builder().register::<approving>().register::<working>().register::<choosing>();
    builder.register::<hurrying>().register::<all>().store(store).build().unwrap()
}

async fn waits<T: graphweft::Payload>(run: &Run<T>) {
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
}

fn names(questions: &[PendingQuestion]) -> Vec<(&str, &str)> {
    questions.iter().map(|asked| (asked.run.as_str(), asked.question.name.as_str())).collect()
}

async fn everything(engine: &Engine) -> Vec<PendingQuestion> {
    engine.questions(QuestionFilter::default()).await.unwrap()
}

#[tokio::test]
async fn the_inbox_is_the_same_in_every_process_and_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let first = engine(SqliteStore::open(&path).await.unwrap());
    let reader = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    for id in ["x", "y", "z"] {
        waits(&first.start::<approving>(7).id(id).tag("tenant", "acme").await.unwrap()).await;
    }
    let expected = [("x", "approve"), ("y", "approve"), ("z", "approve")];
    assert_eq!(names(&everything(&first).await), expected);
    let read = everything(&reader).await;
    assert_eq!(names(&read), expected);
    assert_eq!((read[0].question.prompt.as_str(), &read[0].question.payload), ("Order 7?", &json!({ "order": 7 })));
    assert_eq!((read[0].workflow.as_str(), read[0].tags["tenant"].as_str()), ("approving", "acme"));
    first.shutdown().await;
    drop(first);

    let next = engine(SqliteStore::open(&path).await.unwrap());
    assert_eq!(everything(&next).await, read);
    next.recover().await.unwrap();
    next.answer("y", "approve", true).by("ada").comment("fine").await.unwrap();
    assert_eq!(names(&everything(&next).await), [expected[0], expected[2]]);
    assert_eq!(names(&everything(&reader).await), [expected[0], expected[2]]);
    let page = QuestionFilter::default().after(read[0].place.clone()).limit(1);
    assert_eq!(names(&next.questions(page).await.unwrap()), [expected[2]]);
    next.cancel("x").await.unwrap();
    next.get_run("x").await.unwrap().unwrap().outcome().await.unwrap();
    assert_eq!(names(&everything(&reader).await), [expected[2]]);

    let history = next.history("y").await.unwrap().unwrap();
    let given = history.iter().find_map(|event| match &event.kind {
        EventKind::Answered { by, comment, .. } => Some((by.clone(), comment.clone())),
        _ => None,
    });
    assert_eq!(given, Some((Some("ada".to_owned()), Some("fine".to_owned()))));
}

#[tokio::test]
async fn a_question_beside_other_work_is_in_the_inbox_and_stays_there_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let first = engine(SqliteStore::open(&path).await.unwrap());
    let run = first.start::<working>(7).id("x").await.unwrap();
    while everything(&first).await.is_empty() {
        tokio::task::yield_now().await;
    }
    first.shutdown().await;
    drop((run, first));

    let next = engine(SqliteStore::open(&path).await.unwrap());
    assert_eq!(names(&everything(&next).await), [("x", "more")]);
    next.recover().await.unwrap();
    next.answer("x", "more", 3).await.unwrap();
    assert_eq!(next.get_run_of::<working>("x").await.unwrap().unwrap().result().await.unwrap(), 10);
    assert_eq!(everything(&next).await, []);
}

#[tokio::test]
async fn questions_that_are_withdrawn_leave_the_inbox_and_are_found_by_their_names_until_then() {
    let engine = Engine::builder().register::<choosing>().build().unwrap();
    let run = engine.start::<choosing>(1).id("x").await.unwrap();
    waits(&run).await;
    let by_name = engine.questions(QuestionFilter::default().name("number")).await.unwrap();
    assert_eq!(names(&by_name), [("x", "number:a"), ("x", "number:b/c:d")]);

    engine.answer("x", &by_name[1].question.id, 5).await.unwrap();

    assert_eq!(run.result().await.unwrap(), 6);
    assert_eq!(everything(&engine).await, []);
}

#[tokio::test]
async fn a_question_says_until_when_it_waits() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<hurrying>(1).await.unwrap();
    waits(&run).await;
    let asked = everything(&engine).await.remove(0);
    let until = asked.question.until.unwrap();
    let open_for = until.duration_since(asked.asked).unwrap();
    assert!((3600..3610).contains(&open_for.as_secs()), "{open_for:?}");
    assert_eq!(run.questions().await.unwrap(), [asked.question]);
}

#[tokio::test]
async fn a_run_that_is_retried_or_forked_asks_again_in_the_inbox() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let engine = engine(SqliteStore::open(&path).await.unwrap());
    let run = engine.start::<all>(vec![1, 2, 3]).id("x").await.unwrap();
    waits(&run).await;
    let open = everything(&engine).await;
    assert_eq!(open.len(), 3);
    run.answer(&open[0].question.id, true).await.unwrap();
    FAILS.store(true, Ordering::SeqCst);
    run.answer(&open[1].question.id, true).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    assert_eq!(everything(&engine).await, []);

    FAILS.store(false, Ordering::SeqCst);
    let again = engine.retry("x").await.unwrap();
    waits(&again).await;
    let mut open_again: Vec<_> = again.questions().await.unwrap().into_iter().map(|question| question.id).collect();
    let mut inbox: Vec<_> = everything(&engine).await.into_iter().map(|asked| asked.question.id).collect();
    open_again.sort();
    inbox.sort();
    assert_eq!(inbox, open_again);
    let kinds: Vec<_> = inbox.iter().map(|id| id.rsplit('/').next().unwrap()).collect();
    assert_eq!(kinds, ["sure", "sure", "approve"]);

    let fork = engine.fork("x").before(1).id("y").await.unwrap();
    waits(&fork).await;
    let of_fork = engine.questions(QuestionFilter::default().id_prefix("y")).await.unwrap();
    assert_eq!(of_fork.len(), 3);
}
