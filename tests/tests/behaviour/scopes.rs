//! State of sessions, users and applications: whose it is, what a node reads of it, and what it is when types change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use graphweft::json;
use graphweft::prelude::*;
use graphweft::scope::{APP, App, SESSION, Scope, ScopeError, Session, USER, User, WrittenBy};
use graphweft::state::{Append, MergeMap, Min, Overwrite, Sum};
use graphweft::store::{MemoryStore, NewLogEntry, Store};
use graphweft_tests::{Remains, failure};

const OF_SESSION: StateKey<u64, Sum, Session> = StateKey::new("count");
const OF_USER: StateKey<u64, Sum, User> = StateKey::new("count");
const OF_APP: StateKey<u64, Sum, App> = StateKey::new("count");
const NAME: StateKey<String, Overwrite, User> = StateKey::new("name");
const SEEN: StateKey<Vec<String>, Append, User> = StateKey::new("seen");

/// Adds 1 to the session, 10 to the user, 100 to the application, and gives what was there before.
#[node]
async fn count_all(ctx: &Context) -> Result<[u64; 3], ScopeError> {
    let session = ctx.scope(Session).await?;
    let user = ctx.scope(User).await?;
    let app = ctx.scope(App).await?;
    let before = [session.get(OF_SESSION)?, user.get(OF_USER)?, app.get(OF_APP)?].map(|count| count.unwrap());
    session.update().merge(OF_SESSION, 1).await?;
    user.update().merge(OF_USER, 10).await?;
    app.update().merge(OF_APP, 100).await?;
    Ok(before)
}

workflow! { counting() -> [u64; 3] { START => count_all; } }
workflow! { also_counting() -> [u64; 3] { START => count_all; } }

fn engine() -> Engine {
    Engine::builder().build().unwrap()
}

async fn count_for(engine: &Engine, session: &str, user: &str) -> [u64; 3] {
    let start = engine.start::<counting>(()).state(SESSION, session.to_owned()).state(USER, user.to_owned());
    start.await.unwrap().result().await.unwrap()
}

#[tokio::test]
async fn a_session_a_user_and_an_application_of_one_id_have_nothing_in_common() {
    let engine = engine();
    // All three ids are the same text.
    assert_eq!(count_for(&engine, "counting", "counting").await, [0, 0, 0]);
    assert_eq!(count_for(&engine, "counting", "counting").await, [1, 10, 100]);
    assert_eq!(count_for(&engine, "other", "counting").await, [0, 20, 200]);
    assert_eq!(count_for(&engine, "counting", "other").await, [2, 0, 300]);
}

#[tokio::test]
async fn an_application_is_a_workflow_unless_it_has_a_name() {
    let engine = engine();
    count_for(&engine, "s", "u").await;
    let with = |app: Option<&str>| {
        let start = engine.start::<also_counting>(()).state(SESSION, "t".into()).state(USER, "v".into());
        let start = match app {
            Some(app) => start.state(APP, app.to_owned()),
            None => start,
        };
        async move { start.await.unwrap().result().await.unwrap()[2] }
    };
    assert_eq!(with(None).await, 0);
    assert_eq!(with(Some("counting")).await, 100);
    assert_eq!(engine.scope_ids(App).await.unwrap(), ["also_counting", "counting"]);
}

#[tokio::test]
async fn an_id_may_be_any_text() {
    let engine = engine();
    let long = "ü/%".repeat(256);
    let ids =
        ["", "/", "a", "a/", "a/b", "%", "%25", "%00", "\0", "\0\0", "ada\n", "Ада 🐜", "..", "'; --", long.as_str()];
    for (count, id) in (1..).zip(ids) {
        engine.scope(User, id).await.unwrap().update().merge(OF_USER, count).await.unwrap();
    }
    let mut sorted = ids.map(str::to_owned);
    sorted.sort_unstable();
    assert_eq!(engine.scope_ids(User).await.unwrap(), sorted);
    assert!(engine.scope_ids(Session).await.unwrap().is_empty());
    assert!(engine.delete_scope(User, "a").await.unwrap());
    assert!(engine.delete_scope(User, "\0").await.unwrap());
    assert!(!engine.delete_scope(User, "a").await.unwrap());
    for (count, id) in (1..).zip(ids) {
        let deleted = ["a", "\0"].contains(&id);
        let expected = if deleted { 0 } else { count };
        assert_eq!(engine.scope(User, id).await.unwrap().get(OF_USER).unwrap(), Some(expected), "{id:?}");
    }
}

#[tokio::test]
async fn an_id_that_is_too_long_is_refused_with_its_length() {
    let engine = engine();
    let id = |length| "x".repeat(length);
    assert!(engine.scope(User, id(1024)).await.is_ok());
    let refused = engine.scope(User, id(1025)).await.unwrap_err();
    assert_eq!(refused, ScopeError::IdTooLong { scope: "user".to_owned(), length: 1025 });
    assert_eq!(refused.to_string(), "the id of a user may have up to 1024 bytes, and this one has 1025");
    let start = engine.start::<counting>(()).state(SESSION, id(1025)).state(USER, "u".to_owned());
    let error = start.await.unwrap().result().await.unwrap_err();
    assert!(error.to_string().contains("the id of a session may have up to 1024 bytes"), "{error}");
}

#[tokio::test]
async fn a_run_without_an_id_is_told_how_to_give_one() {
    let run = engine().start::<counting>(()).state(SESSION, "s".into()).await.unwrap();
    let text = failure(run.result().await).cause.to_string();
    assert_eq!(text, "the run has no user; start it with `.state(USER, \"ada\".to_owned())`");
}

#[test]
fn a_workflow_without_an_engine_has_no_state_beyond_its_run() {
    #[node]
    async fn of_app(ctx: &Context) -> Result<u64, ScopeError> {
        Ok(ctx.scope(App).await?.get(OF_APP)?.unwrap())
    }
    let flow = workflow! { START => of_app };
    let text = failure(graphweft::block_on(flow.run(()))).cause.to_string();
    assert!(text.contains("needs an engine"), "{text}");
}

#[tokio::test]
async fn a_store_without_logs_has_no_state_beyond_a_run() {
    #[derive(Clone)]
    struct NoLogs {
        inner: MemoryStore,
    }

    impl Store for NoLogs {
        graphweft_tests::forward_store! {
            join leave create append start_over read header list count overview open_questions delete reserve_task claim
            is_alive is_served feed feed_end graph keeps_snapshots put_snapshot snapshot
        }
    }

    let engine = Engine::builder().store(NoLogs { inner: MemoryStore::new() }).build().unwrap();
    assert_eq!(engine.scope(User, "ada").await.unwrap_err(), ScopeError::NoLogs);
    assert_eq!(engine.scope_ids(User).await.unwrap_err(), ScopeError::NoLogs);
    assert_eq!(engine.delete_scope(User, "ada").await.unwrap_err(), ScopeError::NoLogs);
}

/// Asks, and says what it has read before it asked.
#[node]
async fn read_and_ask(ctx: &Context) -> Result<Option<String>, ScopeError> {
    let user = ctx.scope(User).await?;
    let _: bool = ctx.ask("go", "Go on?").await;
    user.get(NAME)
}

workflow! { asking() -> Option<String> { START => read_and_ask; } }

#[test]
fn a_node_that_starts_again_reads_what_it_has_read() {
    let remains = Remains::default();
    let name = |engine: Engine, name: &'static str| async move {
        engine.scope(User, "ada").await.unwrap().update().set(NAME, name.to_owned()).await.unwrap();
    };
    graphweft_tests::life(async {
        let engine = remains.engine(&Default::default()).build().unwrap();
        name(engine.clone(), "Ada").await;
        let run = engine.start::<asking>(()).id("run").state(USER, "ada".into()).await.unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it asks") };
    });
    graphweft_tests::life(async {
        let engine = remains.engine(&Default::default()).register::<asking>().build().unwrap();
        name(engine.clone(), "Bob").await;
        engine.recover().await.unwrap();
        engine.answer("run", "go", true).await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        assert_eq!(run.result().await.unwrap(), json!("Ada"));
    });
}

/// Names the user, unless another has done so while it was asked; then it fails, or tries again.
#[node(retry(max_attempts = 3, when = ScopeError::is_conflict))]
async fn rename(name: String, ctx: &Context) -> Result<Option<String>, ScopeError> {
    let user = ctx.scope(User).await?;
    let _: bool = ctx.ask("go", "Go on?").await;
    let before = user.get(NAME)?;
    user.update().push(SEEN, name.clone()).set(NAME, name).await?;
    Ok(before)
}

workflow! { renaming(String) -> Option<String> { START => rename; } }
workflow! {
    renaming_once(String) -> Option<String> {
        let rename = rename(retry(max_attempts = 1));
        START => rename;
    }
}

async fn set_name(engine: &Engine, name: &str) {
    engine.scope(User, "ada").await.unwrap().update().set(NAME, name.to_owned()).await.unwrap();
}

#[tokio::test]
async fn an_overwrite_of_what_another_has_written_meanwhile_is_an_error_that_names_who() {
    let engine = Engine::builder().register::<renaming_once>().build().unwrap();
    let start = |name: &str| engine.start::<renaming_once>(name.to_owned()).id(name).state(USER, "ada".to_owned());
    let (first, second) = (start("Ada").await.unwrap(), start("Bob").await.unwrap());
    for run in [&first, &second] {
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it asks") };
    }
    first.answer("go", true).await.unwrap();
    assert_eq!(first.result().await.unwrap(), None);
    second.answer("go", true).await.unwrap();
    let failed = failure(second.result().await);
    let expected = "state key `name` of user \"ada\" was written by `renaming_once/rename` of run `Ada` since it was read; read it again, as a \
                    node with retries does, or give the key a reducer";
    assert_eq!(failed.cause.to_string(), expected);
    // Nothing of the update was written.
    let user = engine.scope(User, "ada").await.unwrap();
    assert_eq!(
        (user.get(NAME).unwrap().unwrap().as_str(), user.get(SEEN).unwrap().unwrap()),
        ("Ada", vec!["Ada".into()])
    );
    // A retry of the run reads anew.
    let again = engine.retry("Bob").await.unwrap();
    assert_eq!(again.result().await.unwrap(), json!("Ada"));
}

workflow! {
    renaming_inside(String) -> Option<String> {
        let inside = renaming_once(retry(max_attempts = 2));
        START => inside;
    }
}

#[tokio::test]
async fn a_workflow_around_a_node_that_is_retried_after_a_conflict_reads_anew() {
    let engine = engine();
    let run = engine.start::<renaming_inside>("Bob".to_owned()).state(USER, "ada".to_owned()).await.unwrap();
    let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it asks") };
    set_name(&engine, "Ada").await;
    run.answer("go", true).await.unwrap();
    let outcome = loop {
        match run.outcome().await.unwrap() {
            Outcome::Waiting(_) => run.answer("go", true).await.unwrap(),
            outcome => break outcome,
        }
    };
    assert!(matches!(&outcome, Outcome::Completed(Some(before)) if before == "Ada"), "{outcome:?}");
}

#[tokio::test]
async fn a_node_that_is_retried_after_a_conflict_reads_anew() {
    let engine = engine();
    let run = engine.start::<renaming>("Bob".to_owned()).state(USER, "ada".to_owned()).await.unwrap();
    let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it asks") };
    set_name(&engine, "Ada").await;
    run.answer("go", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), Some("Ada".to_owned()));
    let user = engine.scope(User, "ada").await.unwrap();
    assert_eq!(
        (user.get(NAME).unwrap().unwrap().as_str(), user.get(SEEN).unwrap().unwrap()),
        ("Bob", vec!["Bob".into()])
    );
}

#[tokio::test]
async fn a_program_whose_overwrite_comes_too_late_is_refused_as_well() {
    let engine = engine();
    let user = engine.scope(User, "ada").await.unwrap();
    set_name(&engine, "Ada").await;
    let late = user.update().set(NAME, "Bob".into()).await.unwrap_err();
    let ScopeError::Conflict { scope, id, key, by } = late else { panic!("{late}") };
    assert_eq!([scope, id, key], ["user", "ada", "name"]);
    assert_eq!(by, WrittenBy::Program);
    // Another key was not written by anybody.
    let user = engine.scope(User, "ada").await.unwrap();
    engine.scope(User, "ada").await.unwrap().update().merge(OF_USER, 1).await.unwrap();
    user.update().set(NAME, "Bob".into()).await.unwrap();
    // A deletion is no write.
    let user = engine.scope(User, "ada").await.unwrap();
    assert!(engine.delete_scope(User, "ada").await.unwrap());
    user.update().set(NAME, "Eve".into()).await.unwrap();
    assert_eq!(engine.scope(User, "ada").await.unwrap().get(NAME).unwrap(), Some("Eve".into()));
}

#[derive(Clone, Default)]
struct Door(Arc<AtomicBool>);

/// Fails behind its update, in its first attempt.
#[node(retry(max_attempts = 2))]
async fn stumble(ctx: &Context) -> Result<Vec<String>, ScopeError> {
    let user = ctx.scope(User).await?;
    let seen = user.get(SEEN)?.unwrap();
    user.update().push(SEEN, format!("attempt {}", ctx.attempt())).await?;
    if ctx.attempt() == 1 {
        return Err(Fault::Context { message: "stumbled".into() }.into());
    }
    Ok(seen)
}

/// Passes on what it is given, if the door is open.
#[node]
async fn pass(seen: Vec<String>, #[resource] door: &Door) -> Result<Vec<String>, String> {
    if door.0.load(Ordering::SeqCst) { Ok(seen) } else { Err("closed".into()) }
}

workflow! { stumbling() -> Vec<String> { START => stumble => pass; } }

#[tokio::test]
async fn an_attempt_that_fails_behind_its_update_has_written_once_and_one_that_is_executed_anew_writes_again() {
    let door = Door::default();
    let engine = Engine::builder().resource(door.clone()).register::<stumbling>().build().unwrap();
    let run = engine.start::<stumbling>(()).id("run").state(USER, "ada".into()).await.unwrap();
    failure(run.result().await);
    door.0.store(true, Ordering::SeqCst);
    let again = engine.retry("run").await.unwrap();
    // The second attempt has read what the first one did.
    assert_eq!(again.result().await.unwrap(), json!([]));
    let seen = || async { engine.scope(User, "ada").await.unwrap().get(SEEN).unwrap().unwrap() };
    assert_eq!(seen().await, ["attempt 1"]);
    door.0.store(false, Ordering::SeqCst);
    let other = engine.start::<stumbling>(()).id("other").state(USER, "ada".into()).await.unwrap();
    failure(other.result().await);
    assert_eq!(seen().await, ["attempt 1", "attempt 1"]);
    door.0.store(true, Ordering::SeqCst);
    let anew = engine.retry("other").from_node("stumbling/stumble").await.unwrap();
    assert_eq!(anew.result().await.unwrap().as_array().unwrap().len(), 2);
    assert_eq!(seen().await.len(), 3);
}

#[node]
async fn twice(keyed: bool, ctx: &Context) -> Result<u64, ScopeError> {
    let first = ctx.scope(User).await?;
    first.update().merge(OF_USER, 1).await?;
    let second = ctx.scope(User);
    let second = if keyed { second.key("again") } else { second };
    let second = second.await?;
    let count = second.get(OF_USER)?.unwrap();
    second.update().merge(OF_USER, 1).await?;
    Ok(count)
}

workflow! { reading_twice(bool) -> u64 { START => twice; } }

#[tokio::test]
async fn a_node_that_reads_twice_gives_the_second_time_a_key() {
    let engine = engine();
    let start = |keyed| engine.start::<reading_twice>(keyed).state(USER, "ada".to_owned());
    assert_eq!(start(true).await.unwrap().result().await.unwrap(), 1);
    let text = failure(start(false).await.unwrap().result().await).cause.to_string();
    assert!(text.contains("duplicate request `reading_twice/twice/state.user`"), "{text}");
}

#[tokio::test]
async fn a_program_makes_an_update_with_a_key_once() {
    let engine = engine();
    for _ in 0..2 {
        let user = engine.scope(User, "ada").key("import 7").await.unwrap();
        user.update().merge(OF_USER, 1).set(NAME, "Ada".into()).await.unwrap();
        engine.scope(User, "ada").await.unwrap().update().merge(OF_USER, 10).await.unwrap();
    }
    assert_eq!(engine.scope(User, "ada").await.unwrap().get(OF_USER).unwrap(), Some(21));
}

#[tokio::test]
async fn a_value_that_does_not_fit_its_type_any_more_is_an_error_that_names_both() {
    const AS_NUMBER: StateKey<u64, Overwrite, User> = StateKey::new("name");
    const SMALL: StateKey<u8, Min, User> = StateKey::new("count");
    const AS_LIST: StateKey<Vec<u64>, Append, User> = StateKey::new("count");
    let engine = engine();
    set_name(&engine, "Ada").await;
    engine.scope(User, "ada").await.unwrap().update().merge(OF_USER, 300).await.unwrap();
    let user = engine.scope(User, "ada").await.unwrap();
    let ScopeError::Mismatch { scope, id, key, message } = user.get(AS_NUMBER).unwrap_err() else { panic!() };
    assert_eq!([scope, id, key], ["user", "ada", "name"]);
    assert!(message.contains("does not hold a `u64`"), "{message}");
    assert!(matches!(user.get(SMALL), Err(ScopeError::Mismatch { .. })));
    // What would break a key is not written.
    let refused = user.update().set(NAME, "Bob".into()).push(AS_LIST, 1).await.unwrap_err();
    assert!(matches!(&refused, ScopeError::Refused { key, .. } if key == "count"), "{refused}");
    // A key that was broken by two programs at once does not break the others, and can be set.
    let (one, two) = (engine.scope(User, "bob").await.unwrap(), engine.scope(User, "bob").await.unwrap());
    one.update().merge(OF_USER, 1).set(NAME, "Bob".into()).await.unwrap();
    two.update().push(AS_LIST, 1).await.unwrap();
    let user = engine.scope(User, "bob").await.unwrap();
    assert!(matches!(user.get(OF_USER), Err(ScopeError::Mismatch { .. })));
    assert!(matches!(user.get_json("count"), Err(ScopeError::Mismatch { .. })));
    assert_eq!(user.get(NAME).unwrap(), Some("Bob".into()));
    const ANY: StateKey<u64, Overwrite, User> = StateKey::new("count");
    user.update().set(ANY, 5).await.unwrap();
    assert_eq!(engine.scope(User, "bob").await.unwrap().get(OF_USER).unwrap(), Some(5));
}

#[tokio::test]
async fn an_entry_of_another_program_is_an_error_that_names_it() {
    let engine = engine();
    let log = NewLogEntry::new("%state/user/ada", "x", json!({ "who": "knows" }), SystemTime::now());
    engine.logs().unwrap().append(log).await.unwrap();
    let error = engine.scope(User, "ada").await.unwrap_err();
    assert!(matches!(&error, ScopeError::Unreadable { log, position: 1, .. } if log == "%state/user/ada"), "{error}");
    assert!(engine.scope(User, "bob").await.is_ok());
}

#[tokio::test]
async fn a_value_that_cannot_be_recorded_is_refused() {
    const BIG: StateKey<String, Overwrite, User> = StateKey::new("big");
    let engine = Engine::builder().max_value_size(100).build().unwrap();
    let update = engine.scope(User, "ada").await.unwrap().update().set(NAME, "Ada".into());
    let refused = update.set(BIG, "x".repeat(200)).await.unwrap_err();
    assert!(matches!(&refused, ScopeError::Refused { key, .. } if key == "big"), "{refused}");
    assert!(engine.scope_ids(User).await.unwrap().is_empty());
}

#[tokio::test]
async fn keys_are_listed_and_read_by_their_names() {
    const MAP: StateKey<std::collections::BTreeMap<String, u64>, MergeMap, App> = StateKey::new("per day");
    let engine = engine();
    let app = engine.scope(App, "shop").await.unwrap();
    assert_eq!(app.get(MAP).unwrap(), Some(Default::default()));
    app.update().merge(MAP, [("monday".to_owned(), 1)].into()).merge(OF_APP, 2).await.unwrap();
    let app = engine.scope(App, "shop").await.unwrap();
    assert_eq!(app.keys().collect::<Vec<_>>(), ["count", "per day"]);
    assert_eq!(app.get_json("per day").unwrap(), Some(json!({ "monday": 1 })));
    assert_eq!(app.get_json("nothing").unwrap(), None);
}

/// The entries of a log.
async fn entries(engine: &Engine, log: &str) -> usize {
    engine.logs().unwrap().read(log, 0, u64::MAX).await.unwrap().len()
}

async fn count_up<S: Scope>(engine: &Engine, scope: S, id: &str, key: StateKey<u64, Sum, S>, times: usize) {
    for _ in 0..times {
        engine.scope(scope, id).await.unwrap().update().merge(key, 1).await.unwrap();
    }
}

#[tokio::test]
async fn a_long_log_is_read_from_a_snapshot() {
    let engine = engine();
    count_up(&engine, App, "shop", OF_APP, 1_500).await;
    assert_eq!(engine.scope(App, "shop").await.unwrap().get(OF_APP).unwrap(), Some(1_500));
    assert_eq!(entries(&engine, "%state/app/shop").await, 1_500);
    let snapshots = engine.logs().unwrap().read("%state-at/app/shop", 0, u64::MAX).await.unwrap();
    assert!((1..=2).contains(&snapshots.len()), "{}", snapshots.len());
    let last = &snapshots.last().unwrap().value;
    assert!(last["values"]["count"].as_u64().unwrap() > 1_200, "{last}");
    // It is a cache: one that is lost or damaged is none.
    let logs = engine.logs().unwrap();
    logs.append(NewLogEntry::new("%state-at/app/shop", "x", json!("damaged"), SystemTime::now())).await.unwrap();
    assert_eq!(engine.scope(App, "shop").await.unwrap().get(OF_APP).unwrap(), Some(1_500));
    logs.delete("%state-at/app/shop").await.unwrap();
    assert_eq!(engine.scope(App, "shop").await.unwrap().get(OF_APP).unwrap(), Some(1_500));
    assert_eq!(entries(&engine, "%state-at/app/shop").await, 1);
}

#[tokio::test]
async fn what_was_deleted_does_not_come_back_by_a_snapshot() {
    let engine = engine();
    count_up(&engine, App, "shop", OF_APP, 300).await;
    assert_eq!(entries(&engine, "%state-at/app/shop").await, 1);
    // As if it had been written while the scope was deleted.
    engine.logs().unwrap().delete("%state/app/shop").await.unwrap();
    assert_eq!(engine.scope(App, "shop").await.unwrap().get(OF_APP).unwrap(), Some(0));
    count_up(&engine, App, "shop", OF_APP, 2).await;
    assert_eq!(engine.scope(App, "shop").await.unwrap().get(OF_APP).unwrap(), Some(2));
    assert!(engine.delete_scope(App, "shop").await.unwrap());
    assert_eq!(entries(&engine, "%state-at/app/shop").await, 0);
}
