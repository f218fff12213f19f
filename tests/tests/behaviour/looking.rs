//! Looking at runs: one by its handle, and many by a filter.

use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::state::Sum;
use graphweft::store::{RunStatus, SqliteStore};
use graphweft::{EventKind, Run, RunError, RunFilter, RunInfo, json};

const OWNER: StateKey<String> = StateKey::new("owner");
const COST: StateKey<u32, Sum> = StateKey::new("cost");

#[node]
async fn assign(
    order: u32,
    #[writes(OWNER)] owner: StateWriter<String>,
    #[may_write(COST)] cost: StateWriter<u32, Sum>,
) -> u32 {
    owner.set(format!("owner of {order}"));
    cost.merge(3);
    order
}

#[node]
async fn ask_first(order: u32, ctx: &Context, #[may_write(COST)] cost: StateWriter<u32, Sum>) -> Result<u32, String> {
    cost.merge(4);
    let may_go_on: bool = ctx.ask("approve", "May it go on?").await;
    if may_go_on { Ok(order) } else { Err("refused".to_owned()) }
}

workflow! { intake(u32) -> u32 { START => assign => ask_first; } }
workflow! { plain(u32) -> u32 { let other = ask_first(name = "other"); START => other; } }

async fn engine(store: SqliteStore) -> Engine {
    Engine::builder().register::<intake>().register::<plain>().store(store).build().unwrap()
}

async fn waits<T: graphweft::Payload>(run: &Run<T>) {
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
}

#[tokio::test]
async fn a_handle_tells_the_status_and_the_state_while_the_run_waits_and_after_its_end() {
    let engine = Engine::builder().register::<intake>().build().unwrap();
    let run = engine.start::<intake>(7).id("x").await.unwrap();
    waits(&run).await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Waiting);
    assert_eq!(run.state(OWNER).await.unwrap().as_deref(), Some("owner of 7"));
    // What a node writes that is not done is not recorded.
    assert_eq!(run.state(COST).await.unwrap(), Some(3));
    let waiting = run.info().await.unwrap();
    assert_eq!((waiting.id.as_str(), waiting.workflow.as_str()), ("x", "intake"));

    run.answer("approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    assert_eq!(run.status().await.unwrap(), RunStatus::Completed);
    assert_eq!(run.state(COST).await.unwrap(), Some(7));
    let ended = run.info().await.unwrap();
    assert!(ended.updated >= waiting.updated && ended.records > waiting.records);
}

#[tokio::test]
async fn the_state_of_a_run_is_there_in_the_next_process_and_after_a_failure_and_a_retry() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let first = engine(SqliteStore::open(&path).await.unwrap()).await;
    let run = first.start::<intake>(7).id("x").await.unwrap();
    waits(&run).await;
    run.answer("approve", false).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    first.shutdown().await;
    drop((run, first));

    let next = engine(SqliteStore::open(&path).await.unwrap()).await;
    let run = next.get_run_of::<intake>("x").await.unwrap().unwrap();
    assert_eq!(run.status().await.unwrap(), RunStatus::Failed);
    assert_eq!(run.state(OWNER).await.unwrap().as_deref(), Some("owner of 7"));
    assert_eq!(run.state(COST).await.unwrap(), Some(3), "the writes of an attempt that failed do not count");

    next.retry("x").from_node("intake/assign").await.unwrap();
    waits(&run).await;
    assert_eq!(run.state(COST).await.unwrap(), Some(3), "what was voided does not count");
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    assert_eq!(run.state(COST).await.unwrap(), Some(7));
}

#[tokio::test]
async fn what_the_state_does_not_hold_is_an_error_that_says_so() {
    const LENGTH: StateKey<u32> = StateKey::new("owner");
    const NOTHING: StateKey<u32> = StateKey::new("nothing");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let engine = engine(SqliteStore::open(&path).await.unwrap()).await;
    let run = engine.start::<intake>(7).id("x").await.unwrap();
    waits(&run).await;

    assert_eq!(run.state(NOTHING).await.unwrap(), None);
    let error = run.state(LENGTH).await.unwrap_err();
    assert!(matches!(error, RunError::StateMismatch { .. }), "{error:?}");
    assert!(error.to_string().contains("state key `owner` does not hold a `u32`"), "{error}");

    let stranger = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    let run = stranger.get_run("x").await.unwrap().unwrap();
    assert_eq!(run.status().await.unwrap(), RunStatus::Waiting);
    let error = run.state(OWNER).await.unwrap_err();
    assert_eq!(error, RunError::NotRegistered { workflow: "intake".to_owned() });
}

#[tokio::test]
async fn a_run_is_got_as_one_of_its_workflow_and_of_no_other() {
    let engine = Engine::builder().register::<intake>().register::<plain>().build().unwrap();
    engine.start::<plain>(1).id("x").await.unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    waits(&run).await;
    run.answer("approve", true).await.unwrap();

    let typed = engine.get_run_of::<plain>("x").await.unwrap().unwrap();
    assert_eq!(typed.result().await.unwrap(), 1);
    assert_eq!(run.typed::<plain>().unwrap().result().await.unwrap(), 1);
    let other = engine.get_run_of::<intake>("x").await.unwrap_err();
    assert_eq!(other.to_string(), "run `x` is a run of workflow `plain`, and not of `intake`");
    assert!(engine.get_run_of::<plain>("y").await.unwrap().is_none());
}

fn ids(runs: &[RunInfo]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

#[tokio::test]
async fn runs_are_listed_and_counted_by_the_same_filter() {
    let engine = Engine::builder().register::<intake>().register::<plain>().build().unwrap();
    let before = SystemTime::now();
    for id in ["acme/1", "acme/2", "other/1"] {
        waits(&engine.start::<intake>(1).id(id).await.unwrap()).await;
    }
    waits(&engine.start::<plain>(1).id("acme/3").await.unwrap()).await;
    engine.cancel("acme/2").await.unwrap();
    let cancelled = engine.get_run("acme/2").await.unwrap().unwrap();
    assert_eq!(cancelled.outcome().await.unwrap(), Outcome::Cancelled);

    let acme = || RunFilter::default().id_prefix("acme/");
    let page = engine.list_runs(acme().oldest_first().limit(2)).await.unwrap();
    assert_eq!(ids(&page), ["acme/1", "acme/2"]);
    let next = engine.list_runs(acme().oldest_first().after(page[1].key)).await.unwrap();
    assert_eq!(ids(&next), ["acme/3"]);
    let waiting = acme().workflow("intake").workflow("plain").status(RunStatus::Waiting);
    assert_eq!(ids(&engine.list_runs(waiting.clone()).await.unwrap()), ["acme/3", "acme/1"]);
    assert_eq!(engine.count_runs(waiting.limit(1)).await.unwrap(), 2, "the limit is that of a list");
    assert_eq!(engine.count_runs(RunFilter::default().started(before..)).await.unwrap(), 4);
    let later = SystemTime::now() + Duration::from_secs(1);
    assert_eq!(engine.count_runs(RunFilter::default().started(later..)).await.unwrap(), 0);
    assert_eq!(engine.count_runs(RunFilter::default().started(..=later)).await.unwrap(), 4);
}

#[tokio::test]
async fn what_is_known_of_a_run_is_json() {
    let engine = Engine::builder().register::<intake>().build().unwrap();
    let run = engine.start::<intake>(7).id("x").await.unwrap();
    waits(&run).await;
    let outcome = serde_json::to_value(run.outcome().await.unwrap()).unwrap();
    assert_eq!(outcome["waiting"][0]["id"], "intake/ask_first/approve");
    run.answer("approve", true).await.unwrap();
    let outcome = serde_json::to_value(run.outcome().await.unwrap()).unwrap();
    assert_eq!(outcome, json!({"completed": 7}));
    assert_eq!(serde_json::to_value(Outcome::<u32>::Cancelled).unwrap(), json!("cancelled"));

    let info = run.info().await.unwrap();
    let text = serde_json::to_value(&info).unwrap();
    let since = info.created.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(text["created"], json!(since.as_millis() as u64));
    assert_eq!((&text["id"], &text["status"], &text["wake_at"]), (&json!("x"), &json!("completed"), &json!(null)));

    let history = engine.history("x").await.unwrap().unwrap();
    assert!(history.iter().any(|event| matches!(event.kind, EventKind::QuestionAsked { .. })));
    for event in history {
        assert_eq!(serde_json::to_value(&event).unwrap()["type"], event.kind.name());
    }
}

#[tokio::test]
async fn runs_have_tags_in_their_first_event_and_are_found_by_them() {
    let directory = tempfile::tempdir().unwrap();
    let engine = engine(SqliteStore::open(directory.path().join("runs.db")).await.unwrap()).await;
    let run = engine.start::<intake>(1).id("a").tag("tenant", "acme").tag("kind", "new").await.unwrap();
    waits(&run).await;
    waits(&engine.start::<intake>(2).id("b").tag("tenant", "other").await.unwrap()).await;
    waits(&engine.fork("a").before(1).id("c").await.unwrap()).await;

    let acme = RunFilter::default().tag("tenant", "acme").status(RunStatus::Waiting);
    let found = engine.list_runs(acme.clone()).await.unwrap();
    assert_eq!(found.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["c", "a"], "a fork has the same tags");
    assert_eq!(engine.count_runs(acme.clone().tag("kind", "old")).await.unwrap(), 0);
    assert_eq!(found[1].tags.get("kind").map(String::as_str), Some("new"));
    let history = engine.history("a").await.unwrap().unwrap();
    let EventKind::RunStarted { tags, .. } = &history[0].kind else { panic!("{history:?}") };
    assert_eq!(tags, &found[1].tags);
    // The same start again: the run keeps its tags.
    let again = engine.start::<intake>(1).id("a").tag("tenant", "another").await.unwrap();
    assert_eq!(again.info().await.unwrap().tags, found[1].tags);
}

#[tokio::test]
async fn a_tag_that_is_too_long_is_refused_with_its_length() {
    let engine = Engine::builder().build().unwrap();
    for (key, value, wrong) in [
        (String::new(), String::new(), "invalid tag ``: a key has 1 to 64 bytes, and this one has 0"),
        (
            "tenant".to_owned(),
            "x".repeat(257),
            "invalid tag `tenant`: a value has at most 256 bytes, and this one has 257",
        ),
    ] {
        let refused = engine.start::<intake>(1).tag(key, value).await.unwrap_err();
        assert_eq!(refused.to_string(), wrong);
    }
    let many = (0..17).fold(engine.start::<intake>(1), |start, tag| start.tag(format!("{tag:02}"), ""));
    let refused = many.await.unwrap_err().to_string();
    assert_eq!(refused, "invalid tag `16`: a run has at most 16 tags, and this one has 17");
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_list_says_where_a_run_is_what_it_waits_for_and_why_it_failed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let engine = engine(SqliteStore::open(&path).await.unwrap()).await;
    let other = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    let run = engine.start::<intake>(1).id("a").await.unwrap();
    waits(&run).await;

    let waiting = other.list_runs(RunFilter::default()).await.unwrap().remove(0);
    let position = waiting.position.clone().unwrap();
    assert_eq!(position.path, "intake/ask_first/approve");
    assert_eq!((waiting.open_questions, waiting.ended, waiting.failure.clone()), (1, None, None));
    assert_eq!(waiting.question.clone().unwrap().prompt, "May it go on?");

    run.answer("approve", false).await.unwrap();
    run.outcome().await.unwrap();
    let failed = other.list_runs(RunFilter::default()).await.unwrap().remove(0);
    assert_eq!((failed.open_questions, failed.question, failed.position), (0, None, None));
    assert_eq!(failed.ended, Some(failed.updated));
    assert_eq!(failed.failure.as_deref(), Some("node `intake/ask_first` failed after 1 attempt: refused"));
    assert_eq!(
        serde_json::to_value(run.info().await.unwrap()).unwrap()["failure"],
        "node `intake/ask_first` failed after 1 attempt: refused"
    );
}

#[tokio::test]
async fn a_list_says_how_many_items_are_done() {
    #[node]
    async fn numbers(n: u32) -> Vec<u32> {
        (0..n).collect()
    }
    #[node(max_parallel = 2)]
    async fn looks(n: u32, ctx: &Context) -> u32 {
        if n >= 3 {
            let _: bool = ctx.ask("go", "Go on?").await;
        }
        n
    }
    #[node]
    async fn sums(all: Vec<u32>) -> u32 {
        all.iter().sum()
    }
    workflow! { looks_at_all(u32) -> u32 { START => numbers => [looks] => sums; } }
    workflow! {
        twice(u32) -> u32 {
            let in_turn = looks_at_all(max_parallel = 1);
            START => numbers => [in_turn] => sums;
        }
    }

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let engine = Engine::builder().register::<looks_at_all>().register::<twice>();
    let engine = engine.store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    let other = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    let items = async |id: &str| {
        let info = other.list_runs(RunFilter::default().id_prefix(id)).await.unwrap().remove(0);
        let position = info.position.unwrap();
        (position.path, position.items.map(|items| (items.path, items.done, items.all)))
    };

    let run = engine.start::<looks_at_all>(5).id("a").await.unwrap();
    waits(&run).await;
    assert_eq!(
        items("a").await,
        ("looks_at_all/looks[4]/go".to_owned(), Some(("looks_at_all/looks".to_owned(), 3, 5)))
    );
    run.answer("looks_at_all/looks[3]/go", true).await.unwrap();
    run.answer("looks_at_all/looks[4]/go", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 10);

    // Of `[..]` in `[..]` the inner one.
    let run = engine.start::<twice>(5).id("b").await.unwrap();
    waits(&run).await;
    let inner = "twice/in_turn[4]/looks";
    assert_eq!(items("b").await.1, Some((inner.to_owned(), 3, 4)));
    run.answer(&format!("{inner}[3]/go"), true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 10);
}
