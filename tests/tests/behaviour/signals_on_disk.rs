//! Signals over a file: two processes at once, restarts, and runs that have not begun.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::store::{Append, Appended, BoxFuture, Record, RunHeader, Store, StoreError};
use graphweft::{EngineBuilder, Json, Signal, SignalError, Signalled, json};
use graphweft_tests::{OnDisk, event, life};

use super::signals::{MESSAGE, taking};

async fn builder(directory: &tempfile::TempDir) -> EngineBuilder {
    Engine::builder().store(SqliteStore::open(directory.path().join("runs.db")).await.unwrap())
}

async fn completed(run: &Run<impl graphweft::Payload + std::fmt::Debug>) -> String {
    let result = async {
        loop {
            match run.outcome().await.unwrap() {
                Outcome::Completed(output) => return format!("{output:?}"),
                Outcome::AwaitingSignals(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), result).await.expect("the run ends")
}

#[tokio::test]
async fn another_process_sends_signals_and_does_not_know_the_workflow() {
    for resident in [0, 100] {
        let directory = tempfile::tempdir().unwrap();
        let driver = builder(&directory).await.register::<taking>().max_resident_waiting(resident).build().unwrap();
        let other = builder(&directory).await.build().unwrap();
        let run = driver.start::<taking>(()).id("run").await.unwrap();
        for message in ["a", "b", "c", "a"] {
            let sent = other.signal("run", MESSAGE, message.to_owned()).id(message).await;
            let is_first = message != "a" || sent == Ok(Signalled::New);
            assert!(is_first || sent == Ok(Signalled::Duplicate), "{sent:?}");
            assert_eq!(driver.signal("run", MESSAGE, message.to_owned()).id(message).await, Ok(Signalled::Duplicate));
        }
        driver.signal("run", MESSAGE, "d".to_owned()).id("d").await.unwrap();
        assert_eq!(other.signal("run", MESSAGE, "d".to_owned()).id("d").await, Ok(Signalled::Duplicate));
        other.signal("run", MESSAGE, "end".to_owned()).await.unwrap();
        assert_eq!(completed(&run).await, r#"["a", "b", "c", "d"]"#);
        let over = other.signal("run", MESSAGE, "late".to_owned()).await;
        assert!(matches!(over, Err(SignalError::RunOver { status: RunStatus::Completed, .. })), "{over:?}");
        driver.shutdown().await;
        other.shutdown().await;
    }
}

#[tokio::test]
async fn signals_of_one_id_from_two_processes_at_once_count_once() {
    let directory = tempfile::tempdir().unwrap();
    let driver = builder(&directory).await.register::<taking>().build().unwrap();
    let other = builder(&directory).await.register::<taking>().build().unwrap();
    let run = driver.start::<taking>(()).id("run").await.unwrap();
    let mut expected = Vec::new();
    for at in 0..30 {
        let message = format!("m{at}");
        let one = driver.signal("run", MESSAGE, message.clone()).id(&message);
        let two = other.signal("run", MESSAGE, message.clone()).id(&message);
        let (one, two) = tokio::join!(one, two);
        assert_ne!(one.unwrap(), two.unwrap(), "{message}");
        expected.push(message);
    }
    other.signal("run", MESSAGE, "end".to_owned()).await.unwrap();
    assert_eq!(completed(&run).await, format!("{expected:?}"));
}

#[tokio::test]
async fn a_signal_does_not_begin_a_run_that_is_to_begin_later() {
    let directory = tempfile::tempdir().unwrap();
    let engine = builder(&directory).await.register::<taking>().build().unwrap();
    let run = engine.start::<taking>(()).id("run").after(Duration::from_millis(1500)).await.unwrap();
    for message in ["a", "end"] {
        assert_eq!(engine.signal("run", MESSAGE, message.to_owned()).await, Ok(Signalled::New));
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);
    assert_eq!(engine.history("run").await.unwrap().unwrap().len(), 3);
    assert_eq!(completed(&run).await, r#"["a"]"#);
}

#[test]
fn each_process_takes_the_signals_that_came_while_it_was_there_or_before() {
    let disk = OnDisk::default();
    disk.process::<taking, _, _>(|engine| async move {
        engine.start::<taking>(()).id("run").await.unwrap();
        engine.signal("run", MESSAGE, "0".to_owned()).await.unwrap();
    });
    for at in 1..6 {
        disk.process::<taking, _, _>(|engine| async move {
            if at % 2 == 0 {
                engine.recover().await.unwrap();
            }
            engine.signal("run", MESSAGE, at.to_string()).id(at.to_string()).await.unwrap();
            assert_eq!(
                engine.signal("run", MESSAGE, at.to_string()).id(at.to_string()).await,
                Ok(Signalled::Duplicate)
            );
        });
    }
    let (result, _) = disk.process::<taking, _, _>(|engine| async move {
        engine.signal("run", MESSAGE, "end".to_owned()).await.unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        (completed(&run).await, ())
    });
    assert_eq!(result, format!("{:?}", json!(["0", "1", "2", "3", "4", "5"])));
}

#[test]
fn a_later_version_of_the_program_that_does_not_wait_any_more_leaves_the_signal_to_others() {
    mod before {
        use super::*;

        #[node]
        pub(crate) async fn first(ctx: &Context) -> String {
            let mut wait = std::pin::pin!(ctx.wait(MESSAGE).key("old"));
            assert!(futures::poll!(wait.as_mut()).is_pending());
            std::future::pending::<()>().await;
            wait.await
        }

        #[node]
        pub(crate) async fn second(first: String, ctx: &Context) -> String {
            first + &ctx.wait(MESSAGE).await
        }

        workflow! { pub(crate) changing(()) -> String { START => first => second; } }
    }
    mod after {
        use super::*;

        #[node]
        pub(crate) async fn first(ctx: &Context) -> String {
            ctx.ask::<String>("text", "Which?").await
        }

        #[node]
        pub(crate) async fn second(first: String, ctx: &Context) -> String {
            first + &ctx.wait(MESSAGE).await
        }

        workflow! { pub(crate) changing(()) -> String { START => first => second; } }
    }
    let disk = OnDisk::default();
    disk.process::<before::changing, _, _>(|engine| async move {
        engine.start::<before::changing>(()).id("run").await.unwrap();
        let is_awaited = |event: &graphweft::Event| matches!(event.kind, EventKind::SignalAwaited { .. });
        while !engine.history("run").await.unwrap().unwrap().iter().any(is_awaited) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    // It is delivered to a wait that the next version does not make.
    disk.process::<before::changing, _, _>(|engine| async move {
        engine.signal("run", MESSAGE, "kept".to_owned()).await.unwrap();
        engine.recover().await.unwrap();
        let is_delivered = |event: &graphweft::Event| matches!(event.kind, EventKind::SignalDelivered { .. });
        while !engine.history("run").await.unwrap().unwrap().iter().any(is_delivered) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    disk.process::<after::changing, _, _>(|engine| async move {
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        while run.questions().await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        run.answer("text", "really ").await.unwrap();
        assert_eq!(completed(&run).await, r#"String("really kept")"#);
    });
}

#[test]
fn a_program_without_the_workflow_goes_by_the_recorded_type_of_a_signal() {
    mod before {
        use super::*;

        #[node]
        pub(crate) async fn wait(ctx: &Context) -> String {
            ctx.wait(Signal::<u32>::new("message")).await.to_string()
        }

        workflow! { pub(crate) retyped(()) -> String { START => wait; } }
    }
    mod after {
        use super::*;

        #[node]
        pub(crate) async fn wait(ctx: &Context) -> String {
            ctx.wait(MESSAGE).await
        }

        workflow! { pub(crate) retyped(()) -> String { START => wait; } }
    }
    async fn awaited(engine: &Engine, of: &str) {
        let run = engine.get_run("run").await.unwrap().unwrap();
        let is_of = |schema: Option<&Json>| schema.is_some_and(|schema| schema["type"] == of);
        while !run.awaited_signals().await.unwrap().iter().any(|wait| is_of(wait.schema.as_ref())) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let disk = OnDisk::default();
    disk.process::<before::retyped, _, _>(|engine| async move {
        engine.start::<before::retyped>(()).id("run").await.unwrap();
        awaited(&engine, "integer").await;
    });
    // Without the code, the type is the recorded one.
    disk.process::<taking, _, _>(|engine| async move {
        let refused = engine.signal_json("run", "message", json!("text")).await.unwrap_err();
        assert!(matches!(&refused, SignalError::Invalid { field, .. } if field == "."), "{refused}");
    });
    disk.process::<after::retyped, _, _>(|engine| async move {
        engine.recover().await.unwrap();
        assert_eq!(engine.signal_json("run", "message", json!("text")).await, Ok(Signalled::New));
        let run = engine.get_run("run").await.unwrap().unwrap();
        assert_eq!(completed(&run).await, r#"String("text")"#);
    });
}

/// A run ends in another process right after its header is read.
struct EndsMeanwhile {
    inner: SqliteStore,
    ends: AtomicBool,
}

impl Store for EndsMeanwhile {
    graphweft_tests::forward_store! {
        join leave create append read list count overview open_questions delete reserve_task claim start_over is_alive is_served feed
        feed_end graph logs
        keeps_snapshots put_snapshot snapshot
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        let header = self.inner.header(id);
        Box::pin(async move {
            let header = header.await?;
            if let Some(header) = header.as_ref().filter(|_| self.ends.swap(false, Ordering::SeqCst)) {
                let record = Record::new(&*header.workflow, event(json!({ "type": "run_completed", "output": [] })));
                let mut end = Append::new(header.key, header.records, SystemTime::now(), vec![record]);
                end.header.status = Some((RunStatus::Completed, None));
                assert_eq!(self.inner.append(end).await, Ok(Appended::Done));
            }
            Ok(header)
        })
    }
}

#[test]
fn no_signal_is_recorded_behind_the_end_of_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let open = async || SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    life(async {
        let engine = Engine::builder().store(open().await).register::<taking>().build().unwrap();
        engine.start::<taking>(()).id("run").await.unwrap().outcome().await.unwrap();
    });
    life(async {
        let store = EndsMeanwhile { inner: open().await, ends: AtomicBool::new(true) };
        let engine = Engine::builder().store(store).build().unwrap();
        let sent = engine.signal("run", MESSAGE, "late".to_owned()).id("evt_1").await;
        assert!(matches!(sent, Err(SignalError::RunOver { .. })), "{sent:?}");
        let events = engine.history("run").await.unwrap().unwrap();
        assert!(events.last().unwrap().is_terminal(), "{events:?}");
    });
}
