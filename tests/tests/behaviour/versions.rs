//! Several versions of a workflow in one program: each run continues under the one that fits.

use std::future::{Future, IntoFuture};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{
    AnswerError, BuildError, Check, CheckedVersion, Engine, EngineBuilder, ForkError, Payload, Retry, RetryError,
    RunError, Workflow, json,
};
use serde_json::Value as Json;

/// The state of the run of every version, written by its first node.
const SEEN: StateKey<String> = StateKey::new("seen");

/// A yes or a no.
mod v1 {
    use super::SEEN;
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn price(n: u32, #[writes(SEEN)] seen: StateWriter<String>) -> u32 {
        seen.set("v1".to_owned());
        n + 1
    }

    #[node]
    pub(crate) async fn approve(n: u32, ctx: &Context) -> Result<u32, std::io::Error> {
        match ctx.ask::<bool>("large", "Pay this?").await {
            true => Ok(n),
            false => Err(std::io::Error::other("declined by v1")),
        }
    }

    #[node]
    pub(crate) async fn pay(n: u32) -> String {
        format!("v1 paid {n}")
    }

    workflow! { pub(crate) refund(u32) -> String { START => price => approve => pay; } }
}

/// How much.
mod v2 {
    use super::SEEN;
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn price(n: u32, #[writes(SEEN)] seen: StateWriter<String>) -> Vec<u64> {
        seen.set("v2".to_owned());
        vec![u64::from(n), 2]
    }

    #[node]
    pub(crate) async fn approve(parts: Vec<u64>, ctx: &Context) -> u64 {
        parts.iter().sum::<u64>() + ctx.ask::<u64>("large", "How much more?").await
    }

    #[node]
    pub(crate) async fn pay(n: u64) -> String {
        format!("v2 paid {n}")
    }

    workflow! { pub(crate) refund(u32) -> String { START => price => approve => pay; } }
}

/// With another input.
mod v3 {
    use graphweft::prelude::*;

    #[value]
    #[derive(Clone)]
    pub(crate) struct Case {
        pub(crate) cents: u32,
    }

    #[node]
    pub(crate) async fn approve(case: Case, ctx: &Context) -> String {
        let why: String = ctx.ask("large", "Why?").await;
        format!("v3 paid {} for {why}", case.cents)
    }

    workflow! { pub(crate) refund(Case) -> String { START => approve; } }
}

/// `v1` with a node behind it: its runs fit.
mod v1_and_more {
    use super::v1::{approve, pay, price};
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn note(text: String) -> String {
        format!("{text}, noted")
    }

    workflow! { pub(crate) refund(u32) -> String { START => price => approve => pay => note; } }
}

/// `v1` without what every run has begun with.
mod unfit {
    use super::v1::{approve, pay};
    use graphweft::prelude::*;

    workflow! { pub(crate) refund(u32) -> String { START => approve => pay; } }
}

/// Nothing here may wait for ever.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it comes to an end")
}

/// Where the processes of a test keep their runs.
#[derive(Clone)]
enum Place {
    Memory(MemoryStore),
    File(std::path::PathBuf),
}

impl Place {
    async fn builder(&self) -> EngineBuilder {
        match self {
            Place::Memory(store) => Engine::builder().store(store.clone()),
            Place::File(path) => Engine::builder().store(SqliteStore::open(path).await.unwrap()),
        }
    }
}

/// A store with a waiting run of a version; its process has ended.
async fn waiting<W: Workflow<Input = u32>>(ids: &[&str]) -> MemoryStore {
    let store = MemoryStore::new();
    leave_waiting::<W>(Engine::builder().store(store.clone()), 10, ids).await;
    store
}

async fn leave_waiting<W: Workflow>(builder: EngineBuilder, input: W::Input, ids: &[&str])
where
    W::Input: Clone,
{
    let engine = builder.register::<W>().build().unwrap();
    for id in ids {
        let run = engine.start::<W>(input.clone()).id(*id).await.unwrap();
        assert!(matches!(soon(run.outcome()).await.unwrap(), Outcome::Waiting(_)));
    }
    engine.shutdown().await;
}

/// The program with the second version as the newest.
fn both(store: &MemoryStore) -> Engine {
    let builder = Engine::builder().store(store.clone());
    builder.register::<v2::refund>().register_earlier::<v1::refund>().build().unwrap()
}

async fn run(engine: &Engine, id: &str) -> Run<Json> {
    engine.get_run(id).await.unwrap().expect("it was started")
}

async fn answered<T: Payload>(run: &Run<T>, answer: impl Into<Json>) -> T {
    soon(run.answer("large", answer)).await.unwrap();
    soon(run.result()).await.unwrap()
}

/// Each version of a check: its type, whether it is the newest, and its runs.
fn versions(check: &Check) -> Vec<(&str, bool, Vec<&str>)> {
    let found = |version: &'_ CheckedVersion| version.version.rfind("::versions::").unwrap() + "::versions::".len();
    let seen = check.versions.iter().map(|version| {
        let runs = version.runs.iter().map(String::as_str).collect();
        (&version.version[found(version)..], version.is_newest, runs)
    });
    seen.collect()
}

async fn an_old_run_continues_and_a_new_one_begins_on_the_newest(place: Place) {
    leave_waiting::<v1::refund>(place.builder().await, 10, &["old-1", "old-2", "old-3"]).await;

    // The second process has both versions.
    let engine = place.builder().await.register::<v2::refund>().register_earlier::<v1::refund>().build().unwrap();
    let check = engine.check().await.unwrap();
    assert_eq!((check.checked, &check.refused[..]), (3, &[][..]));
    let expected = [("v2::refund", true, vec![]), ("v1::refund", false, vec!["old-3", "old-2", "old-1"])];
    assert_eq!(versions(&check), expected);
    let recovery = engine.recover().await.unwrap();
    assert!(recovery.failed.is_empty(), "{:?}", recovery.failed);

    let new = engine.start::<v2::refund>(10).id("new-1").await.unwrap();
    let by_name = engine.start_json("refund", json!(20)).id("new-2").await.unwrap();
    assert!(matches!(soon(new.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert!(matches!(soon(by_name.outcome()).await.unwrap(), Outcome::Waiting(_)));

    // Each has the type of its own version.
    let old = engine.get_run_of::<v1::refund>("old-1").await.unwrap().unwrap();
    let refused = soon(old.answer("large", 5u64)).await;
    assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "{refused:?}");
    assert_eq!(answered(&old, true).await, "v1 paid 11");
    let refused = soon(new.answer("large", true)).await;
    assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "{refused:?}");
    assert_eq!(answered(&new, 5u64).await, "v2 paid 17");
    assert_eq!(answered(&by_name, 1u64).await, "v2 paid 23");
    assert_eq!(run(&engine, "old-1").await.state(SEEN).await.unwrap().as_deref(), Some("v1"));
    assert_eq!(new.state(SEEN).await.unwrap().as_deref(), Some("v2"));

    let history = engine.history("old-1").await.unwrap().unwrap();
    assert!(!history.iter().any(|event| matches!(event.kind, EventKind::GraphChanged { .. })));
    engine.shutdown().await;

    // The third has the newest only.
    let engine = place.builder().await.register::<v2::refund>().build().unwrap();
    let check = engine.check().await.unwrap();
    let refused: Vec<_> = check.refused.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!((check.checked, refused), (2, vec!["old-3", "old-2"]));
    assert!(check.versions.is_empty());
    let recovery = engine.recover().await.unwrap();
    assert!(recovery.resumed.is_empty());
    assert_eq!(recovery.failed.len(), 2);
    assert!(recovery.failed.iter().all(|(_, error)| matches!(error, RunError::GraphChanged { .. })), "{recovery:?}");
    let refused = soon(run(&engine, "old-2").await.answer("large", true)).await;
    assert!(matches!(refused, Err(AnswerError::Run(RunError::GraphChanged { .. }))), "{refused:?}");
    engine.shutdown().await;

    // Nothing is lost by that.
    let engine = place.builder().await.register::<v2::refund>().register_earlier::<v1::refund>().build().unwrap();
    engine.recover().await.unwrap();
    assert_eq!(answered(&run(&engine, "old-2").await, true).await, "v1 paid 11");
}

#[tokio::test]
async fn each_run_continues_under_its_version_in_memory() {
    an_old_run_continues_and_a_new_one_begins_on_the_newest(Place::Memory(MemoryStore::new())).await;
}

#[tokio::test]
async fn each_run_continues_under_its_version_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    an_old_run_continues_and_a_new_one_begins_on_the_newest(Place::File(path)).await;
}

#[tokio::test]
async fn there_may_be_three_versions_in_any_order() {
    let store = waiting::<v1::refund>(&["one"]).await;
    leave_waiting::<v2::refund>(Engine::builder().store(store.clone()), 10, &["two"]).await;
    leave_waiting::<v3::refund>(Engine::builder().store(store.clone()), v3::Case { cents: 10 }, &["three"]).await;
    let builder = Engine::builder().store(store).register_earlier::<v1::refund>().register::<v3::refund>();
    let engine = builder.register_earlier::<v2::refund>().build().unwrap();
    let expected =
        [("v3::refund", true, vec!["three"]), ("v1::refund", false, vec!["one"]), ("v2::refund", false, vec!["two"])];
    assert_eq!(versions(&engine.check().await.unwrap()), expected);
    engine.recover().await.unwrap();
    assert_eq!(answered(&run(&engine, "one").await, true).await, "v1 paid 11");
    assert_eq!(answered(&run(&engine, "two").await, 1u64).await, "v2 paid 13");
    assert_eq!(answered(&run(&engine, "three").await, "a reason".to_owned()).await, "v3 paid 10 for a reason");
}

#[tokio::test]
async fn a_run_whose_own_graph_is_gone_continues_under_the_first_that_fits() {
    let store = waiting::<v1::refund>(&["x", "y"]).await;
    // The newest does not fit, and the earlier one does.
    let builder = Engine::builder().store(store.clone()).register::<v2::refund>();
    let engine = builder.register_earlier::<v1_and_more::refund>().build().unwrap();
    engine.recover().await.unwrap();
    assert_eq!(answered(&run(&engine, "x").await, true).await, "v1 paid 11, noted");
    let history = engine.history("x").await.unwrap().unwrap();
    assert!(history.iter().any(|event| matches!(event.kind, EventKind::GraphChanged { .. })));
    engine.shutdown().await;
    // Both would; the newest is the first.
    let builder = Engine::builder().store(store.clone()).register::<v1_and_more::refund>();
    let engine = builder.register_earlier::<v2::refund>().build().unwrap();
    let expected = [("v1_and_more::refund", true, vec!["y"]), ("v2::refund", false, vec![])];
    assert_eq!(versions(&engine.check().await.unwrap()), expected);
    // With its own graph, the run does not move to the newest although that fits.
    let builder = Engine::builder().store(store).register::<v1_and_more::refund>();
    let engine = builder.register_earlier::<v1::refund>().build().unwrap();
    engine.recover().await.unwrap();
    assert_eq!(answered(&run(&engine, "y").await, true).await, "v1 paid 11");
}

#[tokio::test]
async fn a_run_that_fits_no_version_is_refused_with_what_does_not_fit_under_each() {
    let store = waiting::<v1::refund>(&["x"]).await;
    let builder = Engine::builder().store(store.clone()).register::<v2::refund>();
    let engine = builder.register_earlier::<unfit::refund>().build().unwrap();
    let check = engine.check().await.unwrap();
    let [(id, error @ RunError::NoVersionFits { workflow, versions })] = &check.refused[..] else {
        panic!("{check:?}")
    };
    assert_eq!((id.as_str(), workflow.as_str(), versions.len()), ("x", "refund", 2));
    let text = error.to_string();
    assert!(
        text.starts_with("the run cannot be resumed: its records fit no registered version of workflow `refund`; ")
    );
    assert!(text.contains("versions::v2::refund`: node `refund/price`: "), "{text}");
    assert!(text.contains("versions::unfit::refund`: node `refund/price`: "), "{text}");
    assert_eq!(&versions[1].0[versions[1].0.len() - 13..], "unfit::refund");

    let recovery = engine.recover().await.unwrap();
    let [(_, reported)] = &recovery.failed[..] else { panic!("{recovery:?}") };
    assert_eq!(reported, error);
    let run = run(&engine, "x").await;
    assert_eq!(&soon(run.outcome()).await.unwrap_err(), error);
    assert_eq!(soon(run.answer("large", true)).await, Err(AnswerError::Run(error.clone())));
    assert_eq!(soon(engine.fork("x").into_future()).await.unwrap_err(), ForkError::Run(error.clone()));
    assert_eq!(&run.state(SEEN).await.unwrap_err(), error);
    run.cancel().await.unwrap();
    let refused = soon(engine.retry("x").into_future()).await.unwrap_err();
    assert_eq!(refused, RetryError::Run(error.clone()));
    engine.shutdown().await;
    // It is retried where a version fits.
    let engine = both(&store);
    let run = engine.retry("x").await.unwrap();
    assert!(matches!(soon(run.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&run, true).await, "v1 paid 11");
}

#[test]
fn versions_that_cannot_be_distinguished_are_refused() {
    mod same {
        use crate::versions::v1::{approve, price};
        use graphweft::prelude::*;

        /// Does something else, which no graph shows.
        #[node]
        pub(crate) async fn pay(n: u32) -> String {
            format!("the same paid {n}")
        }

        workflow! { pub(crate) refund(u32) -> String { START => price => approve => pay; } }
    }
    let error = Engine::builder().register::<v1::refund>().register_earlier::<same::refund>().build().unwrap_err();
    assert!(matches!(&error, BuildError::SameGraph { workflow, .. } if workflow == "refund"), "{error}");
    assert!(error.to_string().contains("v1::refund` and `") && error.to_string().contains("same::refund`"), "{error}");
    let earlier = Engine::builder().register::<v2::refund>().register_earlier::<v1::refund>();
    let error = earlier.register_earlier::<same::refund>().build().unwrap_err();
    assert!(matches!(error, BuildError::SameGraph { .. }), "{error}");
    let error = Engine::builder().register::<v1::refund>().register_earlier::<v1::refund>().build().unwrap_err();
    assert!(matches!(error, BuildError::SameGraph { .. }), "{error}");

    let error = Engine::builder().register_earlier::<v1::refund>().build().unwrap_err();
    assert!(matches!(&error, BuildError::NoNewestVersion { workflow, .. } if workflow == "refund"), "{error}");
    let error = Engine::builder().register::<v1::refund>().register::<v2::refund>().build().unwrap_err();
    assert!(error.to_string().contains("`register_earlier`"), "{error}");
    // The same one twice is one.
    let earlier = Engine::builder().register::<v2::refund>().register_earlier::<v1::refund>();
    assert!(earlier.register_earlier::<v1::refund>().register::<v2::refund>().build().is_ok());
}

#[tokio::test]
async fn a_retry_stays_with_the_version_of_the_run() {
    let store = waiting::<v1::refund>(&["x", "y"]).await;
    let engine = both(&store);
    engine.recover().await.unwrap();
    for (id, retry) in [("x", (|retry| retry) as fn(Retry) -> Retry), ("y", |retry| retry.from_node("refund/price"))] {
        let declined = run(&engine, id).await;
        soon(declined.answer("large", false)).await.unwrap();
        let Outcome::Failed(failure) = soon(declined.outcome()).await.unwrap() else { panic!("it was declined") };
        assert!(failure.to_string().contains("declined by v1"), "{failure}");
        let retried = soon(retry(engine.retry(id)).into_future()).await.unwrap();
        if id == "x" {
            // Its answer is reused.
            assert!(matches!(soon(retried.outcome()).await.unwrap(), Outcome::Failed(_)));
        } else {
            assert!(matches!(soon(retried.outcome()).await.unwrap(), Outcome::Waiting(_)));
            assert_eq!(answered(&retried, true).await, "v1 paid 11");
        }
    }
}

#[tokio::test]
async fn a_retry_that_was_requested_without_the_code_is_carried_out_under_the_version_of_the_run() {
    let store = waiting::<v1::refund>(&["x"]).await;
    let bare = Engine::builder().store(store.clone()).build().unwrap();
    run(&bare, "x").await.cancel().await.unwrap();
    bare.retry("x").await.unwrap();
    bare.shutdown().await;
    let engine = both(&store);
    assert_eq!(versions(&engine.check().await.unwrap())[1].2, ["x"]);
    engine.recover().await.unwrap();
    assert_eq!(answered(&run(&engine, "x").await, true).await, "v1 paid 11");
}

#[tokio::test]
async fn a_fork_stays_with_the_version_of_the_run_and_one_of_the_input_begins_on_the_newest() {
    let store = waiting::<v1::refund>(&["x"]).await;
    let engine = both(&store);
    engine.recover().await.unwrap();
    let forked = engine.fork("x").await.unwrap();
    assert!(matches!(soon(forked.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&forked, true).await, "v1 paid 11");
    let anew = engine.fork("x").before(1).await.unwrap();
    assert!(matches!(soon(anew.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&anew, 1u64).await, "v2 paid 13");
    engine.shutdown().await;

    // The newest does not take the input. The other one does, but it is not the one of the run.
    let builder = Engine::builder().store(store).register::<v3::refund>();
    let engine = builder.register_earlier::<v2::refund>().register_earlier::<v1::refund>().build().unwrap();
    let anew = engine.fork("x").before(1).await.unwrap();
    assert!(matches!(soon(anew.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&anew, true).await, "v1 paid 11");
}

#[tokio::test]
async fn a_start_with_the_id_of_an_old_run_finds_that_under_its_version() {
    let store = waiting::<v1::refund>(&["x"]).await;
    let engine = both(&store);
    let found = engine.start::<v2::refund>(10).id("x").await.unwrap();
    assert!(matches!(soon(found.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&found, true).await, "v1 paid 11");
}

#[tokio::test]
async fn a_version_can_be_named_at_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let builder = Engine::builder().store(store).register::<v2::refund>();
    let engine = builder.register_earlier::<v1::refund>().build().unwrap();
    let named = engine.start::<v1::refund>(10).id("x").await.unwrap();
    assert!(matches!(soon(named.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&named, true).await, "v1 paid 11");
}

#[tokio::test]
async fn a_run_that_has_left_the_memory_comes_back_under_its_version() {
    let store = waiting::<v1::refund>(&["old"]).await;
    let builder = Engine::builder().store(store).max_resident_waiting(0).register::<v2::refund>();
    let engine = builder.register_earlier::<v1::refund>().build().unwrap();
    engine.recover().await.unwrap();
    let named = engine.start::<v1::refund>(20).id("named").await.unwrap();
    assert!(matches!(soon(named.outcome()).await.unwrap(), Outcome::Waiting(_)));
    let new = engine.start::<v2::refund>(20).id("new").await.unwrap();
    assert!(matches!(soon(new.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&run(&engine, "old").await, true).await, "v1 paid 11");
    assert_eq!(answered(&named, true).await, "v1 paid 21");
    assert_eq!(answered(&new, 3u64).await, "v2 paid 25");
}

#[tokio::test]
async fn what_a_node_was_given_is_read_by_the_version_of_its_run() {
    let store = waiting::<v1::refund>(&["x"]).await;
    let engine = both(&store);
    let old = run(&engine, "x").await;
    assert_eq!(old.input_of("refund/approve").await.unwrap(), Some(json!(11)));
    assert_eq!(old.state(SEEN).await.unwrap().as_deref(), Some("v1"));
    assert!(engine.graph("refund").unwrap() != engine.run_graph("x").await.unwrap().unwrap());
}

mod nested {
    pub(super) mod v1 {
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn ask(n: u32, ctx: &Context) -> u32 {
            n + ctx.ask::<u32>("large", "How much?").await
        }

        workflow! { pub(crate) inner(u32) -> u32 { START => ask; } }
        workflow! { pub(crate) outer(u32) -> u32 { START => inner; } }
    }

    pub(super) mod v2 {
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn doubled(n: u32, ctx: &Context) -> u32 {
            2 * n * ctx.ask::<u32>("large", "How often?").await
        }

        workflow! { pub(crate) inner(u32) -> u32 { START => doubled; } }
        workflow! { pub(crate) outer(u32) -> u32 { START => inner; } }
    }
}

#[tokio::test]
async fn a_nested_workflow_makes_a_version_of_the_one_around_it() {
    let store = waiting::<nested::v1::outer>(&["x"]).await;
    let builder = Engine::builder().store(store).register::<nested::v2::outer>();
    let engine = builder.register_earlier::<nested::v1::outer>().build().unwrap();
    engine.recover().await.unwrap();
    assert_eq!(answered(&run(&engine, "x").await, 5u32).await, 15);
    let new = engine.start::<nested::v2::outer>(10).await.unwrap();
    assert!(matches!(soon(new.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&new, 5u32).await, 100);
}

#[tokio::test]
async fn a_mock_replaces_the_node_of_one_version() {
    let store = waiting::<v1::refund>(&["x"]).await;
    let builder = Engine::builder().store(store).register::<v2::refund>().register_earlier::<v1::refund>();
    let builder = builder.mock::<v1::pay>(|n, _| async move { Ok(format!("mocked {n}")) });
    let engine = builder.build().unwrap();
    engine.recover().await.unwrap();
    assert_eq!(answered(&run(&engine, "x").await, true).await, "mocked 11");
    let new = engine.start::<v2::refund>(10).await.unwrap();
    assert!(matches!(soon(new.outcome()).await.unwrap(), Outcome::Waiting(_)));
    assert_eq!(answered(&new, 1u64).await, "v2 paid 13");
}

mod linked {
    pub(super) const GO: graphweft::Signal<u32> = graphweft::Signal::new("go");

    pub(super) mod v1 {
        use super::GO;
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn ship(n: u32) -> String {
            format!("v1 ships {n}")
        }

        workflow! { pub(crate) shipping(u32) -> String { START => ship; } }

        #[node]
        pub(crate) async fn order(n: u32, ctx: &Context) -> String {
            let more = ctx.wait(GO).await;
            let run = ctx.start::<shipping>(n + more).await.expect("it is registered");
            run.result().await.expect("it completes")
        }

        workflow! { pub(crate) shop(u32) -> String { START => order; } }
    }

    pub(super) mod v2 {
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn send(n: u32) -> String {
            format!("v2 sends {n}")
        }

        workflow! { pub(crate) shipping(u32) -> String { START => send; } }

        #[node]
        pub(crate) async fn buy(n: u32, ctx: &Context) -> String {
            let run = ctx.start::<shipping>(n).await.expect("it is registered");
            run.result().await.expect("it completes")
        }

        workflow! { pub(crate) shop(u32) -> String { START => buy; } }
    }
}

#[tokio::test]
async fn a_node_of_an_earlier_version_starts_runs_of_the_version_that_it_names() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::File(directory.path().join("runs.db"));
    let before = place.builder().await.register::<linked::v1::shop>().register::<linked::v1::shipping>();
    let before = before.build().unwrap();
    let old = before.start::<linked::v1::shop>(1).id("old").await.unwrap();
    assert!(matches!(soon(old.outcome()).await.unwrap(), Outcome::AwaitingSignals(_)));
    before.shutdown().await;

    let builder = place.builder().await.register::<linked::v2::shop>().register::<linked::v2::shipping>();
    let builder = builder.register_earlier::<linked::v1::shop>().register_earlier::<linked::v1::shipping>();
    let engine = builder.build().unwrap();
    engine.recover().await.unwrap();
    engine.signal("old", linked::GO, 4).await.unwrap();
    assert_eq!(soon(run(&engine, "old").await.result()).await.unwrap(), "v1 ships 5");
    let new = engine.start::<linked::v2::shop>(7).await.unwrap();
    assert_eq!(soon(new.result()).await.unwrap(), "v2 sends 7");
}

mod chats {
    pub(super) const SAY: graphweft::Signal<u32> = graphweft::Signal::new("say");

    pub(super) mod v1 {
        use super::SAY;
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn hear(n: u32, ctx: &Context) -> String {
            let said = ctx.wait(SAY).await;
            ctx.start_over::<chat>(n + said).await
        }

        workflow! { pub(crate) chat(u32) -> String { START => hear; } }
    }

    pub(super) mod v2 {
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn sum(n: u32) -> String {
            format!("v2 ends with {n}")
        }

        workflow! { pub(crate) chat(u32) -> String { START => sum; } }
    }

    /// With an input that no number is.
    pub(super) mod v3 {
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn say(text: Vec<String>) -> String {
            text.join(" ")
        }

        workflow! { pub(crate) chat(Vec<String>) -> String { START => say; } }
    }
}

async fn chatting() -> MemoryStore {
    let store = MemoryStore::new();
    let before = Engine::builder().store(store.clone()).register::<chats::v1::chat>().build().unwrap();
    let old = before.start::<chats::v1::chat>(1).id("x").await.unwrap();
    assert!(matches!(soon(old.outcome()).await.unwrap(), Outcome::AwaitingSignals(_)));
    before.shutdown().await;
    store
}

#[tokio::test]
async fn a_run_that_starts_over_begins_again_on_the_newest() {
    let builder = Engine::builder().store(chatting().await).register::<chats::v2::chat>();
    let engine = builder.register_earlier::<chats::v1::chat>().build().unwrap();
    engine.recover().await.unwrap();
    engine.signal("x", chats::SAY, 4).await.unwrap();
    assert_eq!(soon(run(&engine, "x").await.result()).await.unwrap(), "v2 ends with 5");
    assert_eq!(run(&engine, "x~1").await.status().await.unwrap(), RunStatus::Completed);
}

#[tokio::test]
async fn a_run_whose_next_input_the_newest_does_not_read_starts_over_on_its_own_version() {
    let builder = Engine::builder().store(chatting().await).register::<chats::v3::chat>();
    let engine = builder.register_earlier::<chats::v1::chat>().build().unwrap();
    engine.recover().await.unwrap();
    engine.signal("x", chats::SAY, 4).await.unwrap();
    let next = async {
        loop {
            if let Some(next) = engine.get_run("x~1").await.unwrap() {
                return next;
            }
            tokio::task::yield_now().await;
        }
    };
    let next = soon(next).await;
    assert!(matches!(soon(next.outcome()).await.unwrap(), Outcome::AwaitingSignals(_)));
    assert_eq!(versions(&engine.check().await.unwrap())[1].2, ["x~1"]);
}

/// The module of the earlier version was copied whole, with a workflow in it that has not changed.
mod copied {
    macro_rules! version {
        ($version:ident, $($wiring:tt)*) => {
            pub(super) mod $version {
                use graphweft::prelude::*;

                #[node]
                async fn send(n: u32) -> u32 {
                    n
                }

                workflow! { pub(crate) notice(u32) -> u32 { START => send; } }

                #[node]
                async fn order(n: u32, ctx: &Context) -> Result<u32, String> {
                    ctx.ask::<bool>("ship", "Ship it?").await;
                    let notice = ctx.start::<notice>(n).await.map_err(|error| error.to_string())?;
                    notice.result().await.map_err(|error| error.to_string())
                }

                #[node]
                async fn label(n: u32) -> u32 {
                    n * 2
                }

                workflow! { pub(crate) shop(u32) -> u32 { $($wiring)* } }
            }
        };
    }

    version!(v1, START => order => label;);
    version!(v2, START => label => order;);
}

#[tokio::test]
async fn a_node_of_an_earlier_version_starts_its_copy_of_a_workflow_that_has_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let store = graphweft::store::SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let builder = || Engine::builder().store(store.clone());
    let engine = builder().register::<copied::v1::shop>().register::<copied::v1::notice>().build().unwrap();
    let run = engine.start::<copied::v1::shop>(20).id("old").await.unwrap();
    assert!(matches!(soon(run.outcome()).await.unwrap(), Outcome::Waiting(_)));
    engine.shutdown().await;

    let newest = builder().register::<copied::v2::shop>().register::<copied::v2::notice>();
    let engine = newest.register_earlier::<copied::v1::shop>().build().unwrap();
    engine.recover().await.unwrap();
    let run = self::run(&engine, "old").await;
    soon(run.answer("ship", true)).await.unwrap();
    assert_eq!(soon(run.result()).await.unwrap(), 40);
}
