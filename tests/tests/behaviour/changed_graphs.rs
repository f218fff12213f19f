//! Runs that were recorded under another version of their workflow.

use std::future::pending;
use std::time::Duration;

use futures::StreamExt;
use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{Engine, EventKind, ForkError, Retry, RunError, Workflow, json};
use serde_json::Value as Json;
use tokio::sync::mpsc;

#[derive(Clone)]
struct Stop(mpsc::UnboundedSender<()>);

/// The program that recorded the run.
mod then {
    use super::{Stop, pending};
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn fetch(n: u32) -> u32 {
        n + 1
    }

    #[node]
    pub(crate) async fn waits(n: u32, #[resource] stop: &Stop) -> u32 {
        stop.0.send(()).unwrap();
        pending::<()>().await;
        n
    }

    #[node]
    pub(crate) async fn sends(n: u32) -> u32 {
        n
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => waits => sends; }
    }
}

/// Ends a process in the middle of `then::job`.
fn recorded() -> MemoryStore {
    let store = MemoryStore::new();
    runtime().block_on(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let engine = Engine::builder().store(store.clone()).resource(Stop(tell)).build().unwrap();
        engine.start::<then::job>(1).id("x").await.unwrap();
        told.recv().await.unwrap();
    });
    store
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn resumed<W: Workflow>(store: &MemoryStore) -> Result<Json, RunError> {
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).register::<W>().build().unwrap();
        let mut recovered = engine.recover().await.unwrap();
        match (recovered.resumed.pop(), recovered.failed.pop()) {
            (Some(run), _) => run.result().await,
            (None, Some((_, error))) => Err(error),
            (None, None) => panic!("the run was not found"),
        }
    })
}

fn refused<W: Workflow>() -> String {
    let store = recorded();
    let error = resumed::<W>(&store).unwrap_err();
    assert!(matches!(error, RunError::GraphChanged { .. }), "{error}");
    error.to_string()
}

#[node]
async fn fetch(n: u32) -> u32 {
    panic!("{n} was fetched before")
}

#[node(retry(max_attempts = 7), timeout = "1h")]
async fn waits(n: u32) -> u32 {
    n * 10
}

#[node]
async fn sends(n: u32) -> u32 {
    n + 3
}

#[node]
async fn notes(n: u32) -> u32 {
    n + 100
}

mod more_behind {
    use super::{fetch, notes, sends, waits};
    use graphweft::prelude::*;
    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => waits => notes => sends; }
    }
}

#[test]
fn nodes_may_be_added_behind_what_has_run_and_options_may_change() {
    assert_eq!(resumed::<more_behind::job>(&recorded()), Ok(json!(123)));
}

mod between {
    use super::{fetch, notes, sends, waits};
    use graphweft::prelude::*;
    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => notes => waits => sends; }
    }
}

#[test]
fn a_node_that_has_begun_must_be_reached_in_the_same_way() {
    let error = refused::<between::job>();
    assert!(error.contains("`job/waits`"), "{error}");
}

mod gone {
    use super::{sends, waits};
    use graphweft::prelude::*;
    workflow! {
        pub(crate) job(u32) -> u32 { START => waits => sends; }
    }
}

#[test]
fn a_node_that_has_run_must_still_be_there() {
    let error = refused::<gone::job>();
    assert!(error.contains("`job/fetch`"), "{error}");
}

mod retyped {
    use super::sends;
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn fetch(n: u32) -> String {
        n.to_string()
    }

    #[node]
    pub(crate) async fn reads(text: String) -> u32 {
        text.len() as u32
    }

    workflow! {
        pub(crate) job(u32) -> u32 {
            let waits = reads();
            START => fetch => waits => sends;
        }
    }
}

#[test]
fn what_a_node_has_given_must_be_of_the_same_type() {
    let error = refused::<retyped::job>();
    assert!(error.contains("`job/fetch`") && error.contains("output"), "{error}");
}

mod renamed {
    use super::{Stop, sends};
    use graphweft::prelude::*;

    #[node(renamed_from = "fetch")]
    pub(crate) async fn download(n: u32) -> u32 {
        panic!("{n} was fetched before")
    }

    #[node(renamed_from = "waits")]
    pub(crate) async fn rests(n: u32, #[resource] stop: &Stop) -> u32 {
        stop.0.send(()).unwrap();
        std::future::pending::<()>().await;
        n
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => download => rests => sends; }
    }
}

mod renamed_again {
    use super::sends;
    use graphweft::prelude::*;

    #[node(renamed_from("fetch", "download"))]
    pub(crate) async fn loads(n: u32) -> u32 {
        panic!("{n} was fetched before")
    }

    #[node(renamed_from("waits", "rests"))]
    pub(crate) async fn sleeps(n: u32) -> u32 {
        n * 10
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => loads => sleeps => sends; }
    }
}

pub(super) mod keys {
    pub(super) mod before {
        use super::super::Stop;
        use graphweft::prelude::*;

        #[node]
        pub(super) async fn charge(
            n: u32,
            ctx: &Context,
            #[resource] stop: &Stop,
            #[resource] keys: &super::Keys,
        ) -> u32 {
            super::charge(n, ctx, keys).await;
            stop.0.send(()).unwrap();
            std::future::pending().await
        }

        workflow! { pub(in super::super) bank(u32) -> u32 { START => charge; } }
        workflow! { pub(in super::super) shop(u32) -> Vec<u32> { START => pair => [bank]; } }

        #[node]
        async fn pair(n: u32) -> Vec<u32> {
            vec![n]
        }
    }

    pub(super) mod after {
        use graphweft::prelude::*;

        #[node(renamed_from = "charge")]
        pub(super) async fn bill(n: u32, ctx: &Context, #[resource] keys: &super::Keys) -> u32 {
            super::charge(n, ctx, keys).await;
            n
        }

        #[node(renamed_from = "pair")]
        async fn both(n: u32) -> Vec<u32> {
            vec![n]
        }

        workflow! { pub(in super::super) bank(u32) -> u32 { START => bill; } }
        workflow! {
            pub(in super::super) shop(u32) -> Vec<u32> {
                START => both => [till];
                let till = bank(renamed_from = "bank");
            }
        }
    }

    pub(super) mod much_later {
        use graphweft::prelude::*;

        #[node(renamed_from("charge", "bill"))]
        pub(super) async fn collect(n: u32, ctx: &Context, #[resource] keys: &super::Keys) -> u32 {
            super::charge(n, ctx, keys).await;
            n
        }

        #[node(renamed_from("pair", "both"))]
        async fn two(n: u32) -> Vec<u32> {
            vec![n]
        }

        workflow! { pub(in super::super) bank(u32) -> u32 { START => collect; } }
        workflow! {
            pub(in super::super) shop(u32) -> Vec<u32> {
                START => two => [cashier];
                let cashier = bank(renamed_from("bank", "till"));
            }
        }
    }

    #[derive(Clone, Default)]
    pub(in super::super) struct Keys(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

    impl Keys {
        pub(in super::super) fn add(&self, ctx: &graphweft::Context) {
            self.0.lock().unwrap().push(ctx.idempotency_key());
        }

        pub(in super::super) fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }

    async fn charge(n: u32, ctx: &graphweft::Context, keys: &Keys) {
        keys.0.lock().unwrap().push(ctx.idempotency_key());
        let mut of_step = String::new();
        let paid = ctx.step_with("pay", |step| {
            of_step = step.idempotency_key();
            async move { Err::<u32, std::io::Error>(std::io::Error::other(format!("{n}"))) }
        });
        paid.error_as_text().await.unwrap_err();
        keys.0.lock().unwrap().push(of_step);
    }
}

#[test]
fn a_renamed_node_has_its_idempotency_keys_of_before() {
    let (store, given) = (MemoryStore::new(), keys::Keys::default());
    runtime().block_on(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let builder = Engine::builder().store(store.clone()).resource(Stop(tell)).resource(given.clone());
        let engine = builder.register::<keys::before::shop>().build().unwrap();
        engine.start::<keys::before::shop>(7).id("x").await.unwrap();
        told.recv().await.unwrap();
    });
    let first = given.take();
    assert_eq!(first, ["x:shop/bank[0]/charge", "x:shop/bank[0]/charge/pay"]);

    runtime().block_on(async {
        let builder = Engine::builder().store(store.clone()).resource(given.clone());
        let engine = builder.register::<keys::after::shop>().build().unwrap();
        let run = engine.recover().await.unwrap().resumed.remove(0);
        assert_eq!(run.result().await.unwrap(), json!([7]));
        // A retry in the same version, and in a later one.
        let run = engine.retry("x").from_node("shop/till[0]/bill").await;
        assert!(run.is_err(), "a run that has completed is not retried");
        let fork = engine.fork("x").id("y").before(5).await.unwrap();
        fork.result().await.unwrap();
        engine.shutdown().await;
    });
    let second = given.take();
    assert_eq!(second[..1], first[..1]);
    assert_eq!(second[2..3], ["y:shop/bank[0]/charge"]);

    runtime().block_on(async {
        let builder = Engine::builder().store(store.clone()).resource(given.clone());
        let engine = builder.register::<keys::much_later::shop>().build().unwrap();
        let fork = engine.fork("y").id("z").before(5).await.unwrap();
        fork.result().await.unwrap();
    });
    assert_eq!(given.take()[..1], ["z:shop/bank[0]/charge"]);
}

#[test]
fn a_renamed_node_is_found_by_its_former_name_once_and_again() {
    let store = recorded();
    runtime().block_on(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let engine = Engine::builder().store(store.clone()).resource(Stop(tell)).register::<renamed::job>();
        let engine = engine.build().unwrap();
        assert_eq!(engine.recover().await.unwrap().resumed.len(), 1);
        told.recv().await.unwrap();
    });
    assert_eq!(resumed::<renamed_again::job>(&store), Ok(json!(23)));
}

#[test]
fn a_fork_before_the_first_event_after_the_start_takes_any_graph() {
    let store = recorded();
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).register::<gone::job>().build().unwrap();
        let refused = engine.fork("x").before(2).await.unwrap_err();
        assert!(matches!(refused, ForkError::Run(RunError::GraphChanged { .. })), "{refused}");
        let fork = engine.fork("x").before(1).id("y").await.unwrap();
        assert_eq!(fork.result().await, Ok(json!(13)));
    });
}

#[test]
fn a_fork_before_the_graph_of_a_run_changed_has_the_graph_of_then() {
    let store = recorded();
    runtime().block_on(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let engine = Engine::builder().store(store.clone()).resource(Stop(tell)).register::<renamed::job>();
        let engine = engine.build().unwrap();
        assert_eq!(engine.recover().await.unwrap().resumed.len(), 1);
        told.recv().await.unwrap();
    });
    runtime().block_on(async {
        let engine = Engine::builder().store(store.clone()).register::<renamed_again::job>().build().unwrap();
        let history = engine.history("x").await.unwrap().unwrap();
        let changed = history.iter().find(|event| matches!(event.kind, EventKind::GraphChanged { .. })).unwrap();
        let fork = engine.fork("x").before(changed.seq).await.unwrap();
        assert_eq!(fork.result().await, Ok(json!(23)));
    });
}

/// A run that was cancelled, and is retried under the graph of `renamed`, with or without naming a node.
fn retried_under_another_graph(from_node: Option<&str>) -> MemoryStore {
    let store = recorded();
    runtime().block_on(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let engine =
            Engine::builder().store(store.clone()).resource(Stop(tell)).register::<then::job>().build().unwrap();
        let run = engine.recover().await.unwrap().resumed.pop().unwrap();
        told.recv().await.unwrap();
        run.cancel().await.unwrap();
        run.outcome().await.unwrap();
    });
    runtime().block_on(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let engine = Engine::builder().store(store.clone()).resource(Stop(tell)).register::<renamed::job>();
        let engine = engine.build().unwrap();
        let retry = engine.retry("x");
        let retry = from_node.into_iter().fold(retry, Retry::from_node);
        retry.await.unwrap();
        told.recv().await.unwrap();
    });
    store
}

#[test]
fn a_fork_before_a_retry_under_another_graph_has_the_graph_of_then() {
    for from_node in [None, Some("job/waits")] {
        let store = retried_under_another_graph(from_node);
        runtime().block_on(async {
            let engine = Engine::builder().store(store.clone()).register::<renamed_again::job>().build().unwrap();
            let history = engine.history("x").await.unwrap().unwrap();
            let retried = history.iter().find(|event| matches!(event.kind, EventKind::RunRetried { .. })).unwrap();
            let fork = engine.fork("x").before(retried.seq).await.unwrap();
            assert_eq!(fork.result().await, Ok(json!(23)), "retried from {from_node:?}");
        });
    }
}

#[test]
fn a_run_that_was_refused_goes_on_in_a_program_that_fits() {
    let store = recorded();
    assert!(resumed::<gone::job>(&store).is_err());
    assert_eq!(resumed::<more_behind::job>(&store), Ok(json!(123)));
}

/// A branch that a route did not take, and that a later version would take.
mod routes {
    pub(crate) mod then {
        use super::super::{Stop, pending};
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn tests(n: u32) -> bool {
            n > 0
        }

        #[node]
        pub(crate) async fn warns(_n: bool) -> u32 {
            1
        }

        #[node]
        pub(crate) async fn goes_on(_n: bool, #[resource] stop: &Stop) -> u32 {
            stop.0.send(()).unwrap();
            pending::<()>().await;
            2
        }

        workflow! {
            pub(crate) fork(u32) -> u32 { START => tests => <true: goes_on, false: warns>; }
        }
    }

    pub(crate) mod now {
        use graphweft::prelude::*;

        #[node]
        pub(crate) async fn tests(_n: u32) -> bool {
            panic!("it was tested before")
        }

        #[node]
        pub(crate) async fn warns(_n: bool) -> u32 {
            1
        }

        #[node]
        pub(crate) async fn goes_on(_n: bool) -> u32 {
            2
        }

        #[node]
        pub(crate) async fn adds(a: u32, b: Option<u32>) -> u32 {
            a + b.unwrap_or_default()
        }

        workflow! {
            pub(crate) fork(u32) -> u32 { tests => <true: (goes_on, warns), false: goes_on>; START => tests; (goes_on, warns) => adds; }
        }
    }
}

#[test]
fn what_was_skipped_must_still_be_skipped() {
    let store = MemoryStore::new();
    runtime().block_on(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let engine = Engine::builder().store(store.clone()).resource(Stop(tell)).build().unwrap();
        engine.start::<routes::then::fork>(1).id("x").await.unwrap();
        told.recv().await.unwrap();
    });
    let error = resumed::<routes::now::fork>(&store).unwrap_err();
    assert!(error.to_string().contains("warns") || error.to_string().contains("goes_on"), "{error}");
}

/// A run continues under a graph in which its first node is renamed.
mod renames {
    pub(super) mod before {
        use graphweft::prelude::*;

        #[node]
        pub(in super::super) async fn check(n: u32) -> u32 {
            n + 1
        }

        #[node]
        pub(in super::super) async fn approve(n: u32, ctx: &Context) -> bool {
            ctx.ask::<bool>("fine", "?").await && n > 0
        }

        #[node]
        pub(in super::super) async fn big(_: bool) -> u32 {
            1
        }

        #[node]
        pub(in super::super) async fn small(_: bool) -> u32 {
            2
        }

        #[node]
        pub(in super::super) async fn ends(n: u32, ctx: &Context) -> u32 {
            ctx.ask::<bool>("end", "?").await;
            n
        }

        workflow! {
            pub(in super::super) ship(u32) -> u32 { START => check => approve => <true: big, false: small> => ends; }
        }
    }

    pub(super) mod after {
        pub(in super::super) use super::before::{approve, big, ends, small};
        use graphweft::prelude::*;

        #[node(renamed_from = "check")]
        pub(in super::super) async fn validate(n: u32) -> u32 {
            n + 1
        }

        #[node]
        pub(in super::super) async fn label(n: u32) -> u32 {
            n * 10
        }

        workflow! {
            pub(in super::super) ship(u32) -> u32 {
                START => validate => approve => <true: big, false: small> => ends => label;
            }
        }
    }
}

#[tokio::test]
async fn inputs_and_derived_events_are_there_on_both_sides_of_a_renaming() {
    let store = MemoryStore::new();
    let before = Engine::builder().store(store.clone()).register::<renames::before::ship>().build().unwrap();
    before.start::<renames::before::ship>(5).id("x").await.unwrap().outcome().await.unwrap();
    before.shutdown().await;

    let after = Engine::builder().store(store.clone()).register::<renames::after::ship>().build().unwrap();
    let run = after.get_run_of::<renames::after::ship>("x").await.unwrap().unwrap();
    // Made before the run continues, and so by the first graph.
    let events = run.events();
    after.recover().await.unwrap();
    run.answer("fine", true).await.unwrap();
    run.outcome().await.unwrap();
    run.answer("end", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 10);

    let derived = |events: Vec<graphweft::Event>| -> Vec<(String, &str)> {
        events.into_iter().filter(|event| event.derived).map(|event| (event.path, event.kind.name())).collect()
    };
    let skipped = [("ship/small".to_owned(), "node_skipped")];
    assert_eq!(derived(events.collect().await), skipped, "as they come");
    assert_eq!(derived(after.history("x").await.unwrap().unwrap()), skipped, "from the beginning");

    let inputs = run.inputs().await.unwrap();
    for (path, input) in [("ship/check", json!(5)), ("ship/approve", json!(6)), ("ship/big", json!(true))] {
        assert_eq!(run.input_of(path).await, Ok(Some(input.clone())), "{path}");
        assert_eq!(inputs.get(path), Some(&Ok(input)), "{path}");
    }
}

/// A node that asks, under two names.
mod asking {
    pub(super) mod before {
        use graphweft::prelude::*;

        #[node]
        async fn approve(n: u32, ctx: &Context) -> String {
            format!("{n} {}", ctx.ask::<String>("fine", "Is it fine?").await)
        }

        workflow! { pub(in super::super) ship(Vec<u32>) -> Vec<String> { START => [approve]; } }
    }

    pub(super) mod after {
        use graphweft::prelude::*;

        #[node(renamed_from = "approve")]
        async fn confirm(n: u32, ctx: &Context) -> String {
            format!("{n} {}", ctx.ask::<String>("fine", "Is it fine?").await)
        }

        workflow! { pub(in super::super) ship(Vec<u32>) -> Vec<String> { START => [confirm]; } }
    }
}

#[tokio::test]
async fn an_answer_to_a_node_that_was_renamed_is_taken_or_refused_as_any_other() {
    let answers: [(&str, Json, bool); 5] = [
        ("fine", json!("yes"), true),
        ("ship/approve[0]/fine", json!("yes"), true),
        ("ship/confirm[0]/fine", json!("yes"), true),
        ("fine", json!(3), false),
        ("ship/approve[0]/fine", json!(3), false),
    ];
    for (question, answer, fits) in answers {
        let store = MemoryStore::new();
        let before = Engine::builder().store(store.clone()).register::<asking::before::ship>().build().unwrap();
        before.start::<asking::before::ship>(vec![7]).id("x").await.unwrap().outcome().await.unwrap();
        before.shutdown().await;

        let after = Engine::builder().store(store.clone()).register::<asking::after::ship>().build().unwrap();
        after.recover().await.unwrap();
        let begun = std::time::Instant::now();
        let answered = after.answer("x", question, answer.clone()).await;
        assert!(begun.elapsed() < Duration::from_secs(5), "{question} {answer}: {answered:?}");
        let run = after.get_run_of::<asking::after::ship>("x").await.unwrap().unwrap();
        if fits {
            answered.unwrap();
        } else {
            assert!(matches!(&answered, Err(graphweft::AnswerError::Invalid { .. })), "{answered:?}");
            let Outcome::Waiting(open) = run.outcome().await.unwrap() else { panic!("it has no answer") };
            let [open] = &open[..] else { panic!("it asks once") };
            assert_eq!(open.id, "ship/confirm[0]/fine");
            let listed = after.questions(Default::default()).await.unwrap();
            assert_eq!(listed.iter().map(|open| open.question.id.as_str()).collect::<Vec<_>>(), [open.id.as_str()]);
            after.answer("x", &open.id, "yes").await.unwrap();
        }
        assert_eq!(run.result().await.unwrap(), ["7 yes"]);
        assert!(after.questions(Default::default()).await.unwrap().is_empty());
    }
}

/// The same arm, written in other ways.
mod arms {
    use graphweft::prelude::*;

    #[value]
    #[derive(Route)]
    pub(super) enum Level {
        Low,
        Medium,
        High,
    }

    #[node]
    async fn look(n: u32) -> Level {
        match n {
            0 => Level::Low,
            1 => Level::Medium,
            _ => Level::High,
        }
    }

    #[node]
    async fn asks(ctx: &Context) -> u32 {
        ctx.ask::<u32>("more", "?").await
    }

    #[node]
    async fn much() -> u32 {
        100
    }

    macro_rules! version {
        ($name:ident, $($arms:tt)*) => {
            pub(super) mod $name {
                use super::{asks, look, much};
                use graphweft::prelude::*;

                workflow! { pub(in super::super) levels(u32) -> u32 { START => look => $($arms)*; } }
            }
        };
    }

    version!(then, <low | medium: asks, high: much>);
    version!(turned_around, <high: much, medium | low: asks>);
    version!(as_variants, <High: much, Medium | Low: asks>);

    macro_rules! inside {
        ($name:ident, $($arms:tt)*) => {
            pub(super) mod $name {
                use super::{Level, asks, look, much};
                use graphweft::prelude::*;

                workflow! { inside(Level) -> u32 { START => $($arms)*; } }
                workflow! { pub(in super::super) levels(u32) -> u32 { START => look => inside; } }
            }
        };
    }

    inside!(then_inside, <low | medium: asks, high: much>);
    inside!(turned_around_inside, <high: much, medium | low: asks>);
}

#[tokio::test]
async fn the_labels_of_one_arm_may_change_places_and_be_spelled_like_their_variants() {
    async fn continues<Then: Workflow<Input = u32>, Now: Workflow>(n: u32) {
        let store = MemoryStore::new();
        let then = Engine::builder().store(store.clone()).register::<Then>().build().unwrap();
        then.start::<Then>(n).id("run").await.unwrap().outcome().await.unwrap();
        then.shutdown().await;
        let now = Engine::builder().store(store).register::<Now>().build().unwrap();
        assert!(now.check().await.unwrap().refused.is_empty());
        now.answer("run", "more", 7).await.unwrap();
        assert_eq!(now.get_run("run").await.unwrap().unwrap().result().await.unwrap(), 7);
    }
    for n in [0, 1] {
        continues::<arms::then::levels, arms::turned_around::levels>(n).await;
        continues::<arms::then::levels, arms::as_variants::levels>(n).await;
        continues::<arms::then_inside::levels, arms::turned_around_inside::levels>(n).await;
    }
}

/// Requests that have one name, of one kind then and of another kind now.
mod kinds {
    use graphweft::prelude::*;
    use graphweft::{ChildError, ErrorText};

    macro_rules! version {
        ($name:ident, |$ctx:ident| $asks:expr) => {
            pub(super) mod $name {
                use super::*;

                #[node]
                async fn pay(n: u32, $ctx: &Context) -> Result<u32, ChildError<ErrorText>> {
                    let price: u32 = $asks;
                    Ok(n + price + $ctx.ask::<u32>("more", "?").await)
                }

                workflow! { pub(in super::super) shop(u32) -> u32 { START => pay; } }
            }
        };
    }

    version!(step, |ctx| ctx.step("price", || async { Ok::<u32, ErrorText>(7) }).await?);
    version!(question, |ctx| ctx.ask("price", "How much?").await);
}

#[tokio::test]
async fn a_request_of_another_kind_says_what_it_was() {
    async fn error<Now: Workflow>(store: MemoryStore) -> String {
        let now = Engine::builder().store(store).register::<Now>().build().unwrap();
        now.recover().await.unwrap();
        now.answer("x", "more", 1).await.ok();
        let error = now.get_run("x").await.unwrap().unwrap().result().await.unwrap_err().to_string();
        // Back in the program of then it is there.
        let history = now.history("x").await.unwrap().unwrap();
        assert!(history.iter().all(|event| event.kind.name() != "request_withdrawn"), "{history:#?}");
        error
    }
    let store = MemoryStore::new();
    let then = Engine::builder().store(store.clone()).register::<kinds::step::shop>().build().unwrap();
    then.start::<kinds::step::shop>(1).id("x").await.unwrap().outcome().await.unwrap();
    then.shutdown().await;
    let was_step = error::<kinds::question::shop>(store).await;
    assert!(
        was_step.contains("`shop/pay/price` is recorded as a child or a step, and is a question now"),
        "{was_step}"
    );

    let store = MemoryStore::new();
    let then = Engine::builder().store(store.clone()).register::<kinds::question::shop>().build().unwrap();
    let run = then.start::<kinds::question::shop>(1).id("x").await.unwrap();
    run.outcome().await.unwrap();
    run.answer("price", 7).await.unwrap();
    run.outcome().await.unwrap();
    then.shutdown().await;
    let was_question = error::<kinds::step::shop>(store).await;
    assert!(was_question.contains("is recorded as a question, and is a child or a step now"), "{was_question}");
}

/// Graphs inside of nodes, which have more nodes in the later version.
mod grown {
    use graphweft::prelude::*;

    #[node]
    async fn pack(n: u32) -> u32 {
        n
    }

    #[node]
    async fn label(n: u32) -> u32 {
        panic!("{n} was sent before")
    }

    #[node]
    async fn many(n: u32) -> Vec<u32> {
        vec![n, n + 1]
    }

    #[node]
    async fn sum(all: Vec<u32>) -> u32 {
        all.iter().sum()
    }

    #[node]
    async fn asks(n: u32, ctx: &Context) -> u32 {
        n + ctx.ask::<u32>("more", "How much more?").await
    }

    macro_rules! version {
        ($name:ident, $($routes:tt)*) => {
            pub(super) mod $name {
                use super::*;

                workflow! { delivery(u32) -> u32 { START => $($routes)*; } }
                workflow! { pub(in super::super) order(u32) -> u32 { START => delivery => asks; } }
                workflow! { pub(in super::super) list(u32) -> u32 { START => many => [$($routes)*] => sum => asks; } }
            }
        };
    }

    version!(before, pack);
    version!(behind, pack => label);
    version!(in_front, label => pack);
}

#[test]
fn a_node_that_was_added_at_the_end_of_what_has_completed_is_named() {
    fn refused<Then: Workflow<Input = u32>, Now: Workflow>() -> String {
        let store = MemoryStore::new();
        runtime().block_on(async {
            let engine = Engine::builder().store(store.clone()).register::<Then>().build().unwrap();
            engine.start::<Then>(1).id("x").await.unwrap().outcome().await.unwrap();
            engine.shutdown().await;
            let now = Engine::builder().store(store).register::<Now>().build().unwrap();
            let refused = now.check().await.unwrap().refused.remove(0).1;
            assert_eq!(now.answer("x", "more", 1).await.unwrap_err().to_string(), refused.to_string());
            refused.to_string()
        })
    }
    let help = "(keep the version before by `register_earlier`, or add nodes behind all that such runs have reached)";
    let what = "it was completed when it was recorded, and `label` would have to be executed inside it now, behind what was recorded";
    let nested = refused::<grown::before::order, grown::behind::order>();
    assert!(nested.ends_with(&format!("node `order/delivery`: {what} there {help}")), "{nested}");
    let items = refused::<grown::before::list, grown::behind::list>();
    assert!(items.ends_with(&format!("node `list/[pack]`: {what} there {help}")), "{items}");

    let in_front = refused::<grown::before::list, grown::in_front::list>();
    assert!(in_front.contains("node `list/[pack]`: inside the brackets, `label` was put before `pack`"), "{in_front}");
}
