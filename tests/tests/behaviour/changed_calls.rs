//! Runs of which a node calls a workflow that another version of the program has changed.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, Store};
use graphweft::{Engine, RunError, Workflow, json};

use super::changed_graphs::keys;

/// Workflows that a node calls.
mod called {
    use graphweft::ChildError;
    use graphweft::prelude::*;

    macro_rules! version {
        ($name:ident, { $($nodes:item)* }, $($routes:tt)*) => {
            pub(super) mod $name {
                use super::*;

                $($nodes)*

                workflow! { pub(in super::super) inside(u32) -> u32 { $($routes)* } }

                #[node(uses(inside))]
                async fn calls(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
                    Ok(ctx.call::<inside>(n).await? + 1000)
                }

                workflow! { pub(in super::super) outer(u32) -> u32 { START => calls; } }
            }
        };
    }

    #[node]
    async fn first(n: u32, #[resource] done: &super::Done) -> u32 {
        done.note("first");
        n + 1
    }

    #[node]
    async fn asks(n: u32, ctx: &Context, #[resource] keys: &crate::changed_graphs::keys::Keys) -> u32 {
        keys.add(ctx);
        n + ctx.ask::<u32>("more", "How much more?").await
    }

    #[node]
    async fn tens(n: u32) -> u32 {
        n * 10
    }

    version!(before, {}, START => first => asks;);
    version!(longer, {}, START => first => asks => tens;);
    version!(inserted, {}, START => first => tens => asks;);
    version!(removed, { #[node] async fn other(n: u32) -> u32 { n } }, START => other => asks;);
    version!(
        renamed,
        {
            #[node(renamed_from = "first")]
            async fn start(n: u32) -> u32 { panic!("{n} was there before") }
            #[node(renamed_from = "asks")]
            async fn wonders(n: u32, ctx: &Context, #[resource] keys: &crate::changed_graphs::keys::Keys) -> u32 {
                keys.add(ctx);
                let more = ctx.ask::<u32>("more", "How much more?").await;
                n + more + ctx.ask::<u32>("even", "Even more?").await
            }
        },
        START => start => wonders;
    );
    version!(
        renamed_again,
        {
            #[node(renamed_from("first", "start"))]
            async fn begin(n: u32) -> u32 { panic!("{n} was there before") }
            #[node(renamed_from("asks", "wonders"))]
            async fn demands(n: u32, ctx: &Context, #[resource] keys: &crate::changed_graphs::keys::Keys) -> u32 {
                keys.add(ctx);
                let more = ctx.ask::<u32>("more", "How much more?").await;
                n + more + ctx.ask::<u32>("even", "Even more?").await
            }
        },
        START => begin => demands;
    );
    version!(
        swapped,
        {
            #[node(renamed_from = "asks")]
            async fn first(n: u32, ctx: &Context) -> u32 { n + ctx.ask::<u32>("more", "How much more?").await }
            #[node(renamed_from = "first")]
            async fn asks(n: u32) -> u32 { n }
        },
        START => asks => first;
    );

    /// What was a workflow is a node.
    pub(super) mod as_a_node {
        use super::*;

        #[node]
        async fn inside(n: u32) -> u32 {
            panic!("{n} was asked for before")
        }

        #[node(uses(inside))]
        async fn calls(n: u32, ctx: &Context) -> Result<u32, ChildError<graphweft::Never>> {
            Ok(ctx.call::<inside>(n).await? + 1000)
        }

        workflow! { pub(in super::super) outer(u32) -> u32 { START => calls; } }
    }
}

#[derive(Clone, Default)]
struct Done(std::sync::Arc<std::sync::Mutex<Vec<&'static str>>>, keys::Keys);

impl Done {
    fn note(&self, node: &'static str) {
        self.0.lock().unwrap().push(node);
    }
}

/// A run whose child waits for an answer.
async fn waits_in_a_child(store: &MemoryStore, done: &Done) {
    let engine = program::<called::before::outer>(store, done);
    let run = engine.start::<called::before::outer>(1).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    engine.shutdown().await;
}

fn program<W: Workflow>(store: &MemoryStore, done: &Done) -> Engine {
    let builder = Engine::builder().store(store.clone()).resource(done.clone()).resource(done.1.clone());
    builder.register::<W>().build().unwrap()
}

#[tokio::test]
async fn a_child_whose_workflow_has_changed_is_refused_before_anything_is_recorded() {
    async fn refused<W: Workflow>() -> String {
        let (store, done) = (MemoryStore::new(), Done::default());
        waits_in_a_child(&store, &done).await;
        let engine = program::<W>(&store, &done);
        let before = engine.history("x").await.unwrap().unwrap();

        let check = engine.check().await.unwrap();
        let [(id, error)] = &check.refused[..] else { panic!("it cannot be resumed") };
        assert_eq!(id, "x");
        let recovered = engine.recover().await.unwrap();
        assert_eq!(recovered.failed[0].1.to_string(), error.to_string());
        let answered = engine.answer("x", "more", 5).await.unwrap_err();
        assert!(matches!(answered, graphweft::AnswerError::Run(RunError::GraphChanged { .. })), "{answered}");
        let run = engine.get_run("x").await.unwrap().unwrap();
        assert!(run.outcome().await.is_err());
        assert_eq!(engine.history("x").await.unwrap().unwrap(), before);
        engine.shutdown().await;

        // The version before can still resume it.
        let engine = program::<called::before::outer>(&store, &done);
        engine.recover().await.unwrap();
        engine.answer("x", "more", 5).await.unwrap();
        assert_eq!(engine.get_run("x").await.unwrap().unwrap().result().await.unwrap(), json!(1007));
        assert_eq!(*done.0.lock().unwrap(), ["first"]);
        error.to_string()
    }
    let inserted = refused::<called::inserted::outer>().await;
    assert!(inserted.contains("`outer/calls/inside`") && inserted.contains("`inside/asks`"), "{inserted}");
    let removed = refused::<called::removed::outer>().await;
    assert!(removed.contains("`inside/first`") && removed.contains("renamed_from"), "{removed}");
    let as_a_node = refused::<called::as_a_node::outer>().await;
    assert!(as_a_node.contains("was a workflow when it was called, and is a node now"), "{as_a_node}");
    let swapped = refused::<called::swapped::outer>().await;
    assert!(swapped.contains("the former name of another"), "{swapped}");
}

/// The end of the run has ended the child, which has no record of that.
#[tokio::test]
async fn a_run_that_has_ended_is_looked_at_also_if_the_workflow_of_its_child_has_changed() {
    let (store, done) = (MemoryStore::new(), Done::default());
    waits_in_a_child(&store, &done).await;
    let before = program::<called::before::outer>(&store, &done);
    before.get_run("x").await.unwrap().unwrap().cancel().await.unwrap();
    before.get_run("x").await.unwrap().unwrap().result().await.unwrap_err();
    before.shutdown().await;

    let engine = program::<called::inserted::outer>(&store, &done);
    let run = engine.get_run("x").await.unwrap().unwrap();
    const NONE: StateKey<u32> = StateKey::new("none");
    assert_eq!(run.state(NONE).await, Ok(None));
    let retried = engine.retry("x").await.unwrap_err().to_string();
    assert!(retried.contains("`inside/asks`"), "{retried}");
}

#[tokio::test]
async fn a_child_continues_under_a_workflow_that_agrees_in_what_was_used() {
    let (store, done) = (MemoryStore::new(), Done::default());
    waits_in_a_child(&store, &done).await;
    let engine = program::<called::longer::outer>(&store, &done);
    assert!(engine.check().await.unwrap().refused.is_empty());
    engine.recover().await.unwrap();
    engine.answer("x", "more", 5).await.unwrap();
    assert_eq!(engine.get_run("x").await.unwrap().unwrap().result().await.unwrap(), json!(1070));
    assert_eq!(*done.0.lock().unwrap(), ["first"]);
}

#[tokio::test]
async fn renamed_nodes_of_a_child_are_found_by_their_former_names_once_and_again() {
    let (store, done) = (MemoryStore::new(), Done::default());
    waits_in_a_child(&store, &done).await;
    let engine = program::<called::renamed::outer>(&store, &done);
    assert!(engine.check().await.unwrap().refused.is_empty());
    engine.recover().await.unwrap();
    let question = engine.get_run("x").await.unwrap().unwrap().questions().await.unwrap().remove(0);
    let begun = std::time::Instant::now();
    assert!(matches!(engine.answer("x", &question.id, "five").await, Err(graphweft::AnswerError::Invalid { .. })));
    engine.answer("x", "more", 5).await.unwrap();
    let run = engine.get_run("x").await.unwrap().unwrap();
    while run.questions().await.unwrap().iter().all(|question| question.name != "even") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    engine.shutdown().await;

    let engine = program::<called::renamed_again::outer>(&store, &done);
    assert!(engine.check().await.unwrap().refused.is_empty());
    engine.recover().await.unwrap();
    engine.answer("x", "even", 100).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(8));
    assert_eq!(engine.get_run("x").await.unwrap().unwrap().result().await.unwrap(), json!(1107));
    assert_eq!(*done.0.lock().unwrap(), ["first"]);
    let keys = done.1.take();
    assert!(keys.len() >= 3 && keys.iter().all(|key| key == "x:outer/calls/inside/asks"), "{keys:?}");
}

/// A call of a workflow in a run that is long enough for a snapshot.
mod called_late {
    use graphweft::ChildError;
    use graphweft::prelude::*;

    #[node]
    async fn asks(n: u32, ctx: &Context) -> u32 {
        n + ctx.ask::<u32>("more", "?").await
    }

    #[node]
    async fn tens(n: u32) -> u32 {
        n * 10
    }

    macro_rules! version {
        ($name:ident, $($routes:tt)*) => {
            pub(super) mod $name {
                use super::*;

                workflow! { pub(in super::super) inside(u32) -> u32 { $($routes)* } }

                #[node(uses(inside))]
                async fn calls(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
                    for step in 0..20 {
                        let _done = ctx.step(format!("step{step}"), || async { Ok::<u32, String>(1) }).await;
                    }
                    ctx.call::<inside>(n).await
                }

                workflow! { pub(in super::super) outer(u32) -> u32 { START => calls; } }
            }
        };
    }

    version!(before, START => asks;);
    version!(inserted, START => tens => asks;);
}

#[tokio::test]
async fn a_snapshot_does_not_hide_that_the_workflow_of_a_child_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let builder = || Engine::builder().store(store.clone()).snapshot_every(8);
    let engine = builder().register::<called_late::before::outer>().build().unwrap();
    let run = engine.start::<called_late::before::outer>(1).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    let key = store.header("x").await.unwrap().unwrap().key;
    let snapshot = async {
        while store.snapshot(key).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), snapshot).await.expect("it has a snapshot");
    engine.shutdown().await;

    let engine = builder().register::<called_late::inserted::outer>().build().unwrap();
    assert_eq!(engine.check().await.unwrap().refused.len(), 1);
    let answered = engine.answer("x", "more", 5).await.unwrap_err();
    assert!(matches!(answered, graphweft::AnswerError::Run(RunError::GraphChanged { .. })), "{answered}");
    engine.shutdown().await;

    let engine = builder().register::<called_late::before::outer>().build().unwrap();
    engine.answer("x", "more", 5).await.unwrap();
    assert_eq!(engine.get_run("x").await.unwrap().unwrap().result().await.unwrap(), json!(6));
}

/// Workflows that call each other through nodes, each of which has another name in the later version.
mod called_by_renamed {
    use graphweft::ChildError;
    use graphweft::prelude::*;

    pub(super) mod before {
        use super::*;

        #[node]
        async fn asks(n: u32, ctx: &Context) -> u32 {
            n + ctx.ask::<u32>("more", "How much more?").await
        }

        workflow! { pub(in super::super) deepest(u32) -> u32 { START => asks; } }

        #[node(uses(deepest))]
        async fn calls_deepest(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
            ctx.call::<deepest>(n).await
        }

        workflow! { pub(in super::super) inside(u32) -> u32 { START => calls_deepest; } }

        #[node(uses(inside))]
        async fn calls(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
            ctx.call::<inside>(n).await
        }

        workflow! { pub(in super::super) outer(u32) -> u32 { START => calls; } }
    }

    pub(super) mod after {
        use super::*;

        #[node(renamed_from = "asks")]
        async fn wonders(n: u32, ctx: &Context) -> u32 {
            n + ctx.ask::<u32>("more", "How much more?").await
        }

        workflow! { pub(in super::super) deepest(u32) -> u32 { START => wonders; } }

        #[node(uses(deepest), renamed_from = "calls_deepest")]
        async fn hands_down(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
            ctx.call::<deepest>(n).await
        }

        workflow! { pub(in super::super) inside(u32) -> u32 { START => hands_down; } }

        #[node(uses(inside), renamed_from = "calls")]
        async fn delegates(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
            ctx.call::<inside>(n).await
        }

        workflow! { pub(in super::super) outer(u32) -> u32 { START => delegates; } }
    }
}

#[tokio::test]
async fn a_question_of_a_renamed_node_is_answered_below_callers_that_were_renamed_with_it() {
    let former = "outer/calls/inside/calls_deepest/deepest/asks/more";
    let current = "outer/delegates/inside/hands_down/deepest/wonders/more";
    for question in [former, current, "more"] {
        for is_recovered in [true, false] {
            let store = MemoryStore::new();
            let before = Engine::builder().store(store.clone()).register::<called_by_renamed::before::outer>();
            let before = before.build().unwrap();
            let run = before.start::<called_by_renamed::before::outer>(1).id("x").await.unwrap();
            assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
            assert_eq!(run.questions().await.unwrap()[0].id, former);
            before.shutdown().await;

            let after = Engine::builder().store(store).register::<called_by_renamed::after::outer>().build().unwrap();
            if is_recovered {
                assert!(after.recover().await.unwrap().failed.is_empty());
            }
            let answered = after.answer("x", question, 5).await;

            assert_eq!(answered, Ok(()), "{question}, recovered: {is_recovered}");
            assert_eq!(after.get_run("x").await.unwrap().unwrap().result().await.unwrap(), json!(6));
        }
    }
}
