//! Runs that nodes of other runs start, and what becomes of them when those end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, BoxFuture, Created, MemoryStore, NewRun, StartedOver, Store, StoreError};
use graphweft::{CancelError, Engine, OnClose, RunError, StartRunError};
use graphweft_tests::{Death, Journal, OnDisk, failure, life, started};

const GO: Signal<u32> = Signal::new("go");

/// Waits for a signal, unless it gets 0.
#[node]
async fn wait(n: u32, ctx: &Context) -> u32 {
    if n == 0 { 0 } else { n + ctx.wait(GO).await }
}

workflow! { linked(u32) -> u32 { START => wait; } }

/// What a run does that starts another one, and what becomes of that.
#[value]
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Completes,
    Fails,
    Waits,
    StartsOver,
    /// It starts no other.
    Alone,
}

#[value]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Close {
    Leave,
    Cancel,
    Wait,
}

impl From<Close> for OnClose {
    fn from(close: Close) -> Self {
        match close {
            Close::Leave => OnClose::Leave,
            Close::Cancel => OnClose::Cancel,
            Close::Wait => OnClose::Wait,
        }
    }
}

#[node]
async fn start(plan: (End, Close), ctx: &Context) -> Result<String, String> {
    let (end, close) = plan;
    if end == End::Alone {
        return Ok("alone".to_owned());
    }
    let run = ctx.start::<linked>(1).on_close(close.into()).tag("of", "start").await;
    let id = run.map_err(|error| error.to_string())?.id().to_owned();
    match end {
        End::Fails => Err("on purpose".to_owned()),
        End::Waits => Ok(format!("{id} {}", ctx.wait(GO).await)),
        End::StartsOver => ctx.start_over::<parent>((End::Alone, close)).await,
        End::Completes | End::Alone => Ok(id),
    }
}

workflow! { parent((End, Close)) -> String { START => start; } }

const ID: &str = "p:parent/start/start:linked";

fn engine() -> Engine {
    Engine::builder().register::<parent>().register::<linked>().build().unwrap()
}

async fn linked_run(engine: &Engine) -> Run<u32> {
    engine.get_run_of::<linked>(ID).await.unwrap().expect("it was started")
}

/// How a run ends.
async fn ended<T: graphweft::Payload>(run: &Run<T>) -> Outcome<T> {
    let ends = async {
        loop {
            match run.outcome().await.unwrap() {
                Outcome::AwaitingSignals(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                outcome => return outcome,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ends).await.expect("it ends")
}

async fn until_it_waits<T: graphweft::Payload>(run: &Run<T>) {
    let waits = async { while !matches!(run.outcome().await.unwrap(), Outcome::AwaitingSignals(_)) {} };
    tokio::time::timeout(Duration::from_secs(20), waits).await.expect("it waits");
}

#[tokio::test]
async fn a_node_starts_a_run_that_is_found_by_who_has_started_it() {
    let engine = engine();
    let run = engine.start::<parent>((End::Completes, Close::Leave)).id("p").await.unwrap();
    assert_eq!(ended(&run).await, Outcome::Completed(ID.to_owned()));

    let found = engine.list_runs(RunFilter::default().started_by("p")).await.unwrap();
    let by = found[0].started_by.as_ref().unwrap();
    assert_eq!((found.len(), found[0].id.as_str(), found[0].tags["of"].as_str()), (1, ID, "start"));
    assert_eq!((by.run.as_str(), by.path.as_str()), ("p", "parent/start/start:linked"));
    assert_eq!(by.on_close, OnClose::Leave);
    assert!(engine.list_runs(RunFilter::default().started_by(ID)).await.unwrap().is_empty());
    // It is left as it is.
    engine.signal(ID, GO, 6).await.unwrap();
    assert_eq!(ended(&linked_run(&engine).await).await, Outcome::Completed(7));
    assert!(run.info().await.unwrap().started_by.is_none());
}

#[tokio::test]
async fn a_run_that_is_to_be_cancelled_is_whatever_the_end_of_the_other_one() {
    for end in [End::Completes, End::Fails, End::Waits, End::StartsOver] {
        let engine = engine();
        let run = engine.start::<parent>((end, Close::Cancel)).id("p").await.unwrap();
        if end == End::Waits {
            until_it_waits(&run).await;
            run.cancel().await.unwrap();
        }
        let outcome = ended(&run).await;
        assert!(!matches!(outcome, Outcome::Waiting(_)), "{outcome:?}");
        assert_eq!(ended(&linked_run(&engine).await).await, Outcome::Cancelled, "{end:?}");
        if end == End::StartsOver {
            assert_eq!(outcome, Outcome::Completed("alone".to_owned()));
        }
    }
}

#[tokio::test]
async fn a_run_waits_for_another_one_before_it_ends() {
    for end in [End::Completes, End::Fails, End::StartsOver] {
        let engine = engine();
        let run = engine.start::<parent>((end, Close::Wait)).id("p").await.unwrap();
        let other = async {
            while engine.get_run(ID).await.unwrap().is_none() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            until_it_waits(&linked_run(&engine).await).await;
        };
        tokio::time::timeout(Duration::from_secs(20), other).await.unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(run.status().await.unwrap(), RunStatus::Running, "{end:?}");
        engine.signal(ID, GO, 6).await.unwrap();
        let outcome = ended(&run).await;
        assert_eq!(matches!(outcome, Outcome::Failed(_)), end == End::Fails, "{outcome:?}");
        let (first, other) = (run.info().await.unwrap(), linked_run(&engine).await.info().await.unwrap());
        assert_eq!(other.status, RunStatus::Completed);
        assert!(first.ended >= other.ended);
    }
}

#[tokio::test]
async fn an_engine_that_shuts_down_while_a_run_waits_for_another_does_not_end_it() {
    let store = MemoryStore::new();
    let build = || Engine::builder().store(store.clone()).register::<parent>().register::<linked>().build().unwrap();
    let engine = build();
    engine.start::<parent>((End::Completes, Close::Wait)).id("p").await.unwrap();
    let other = async {
        while engine.get_run(ID).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), other).await.unwrap();
    tokio::time::timeout(Duration::from_secs(20), engine.shutdown()).await.expect("it stops");

    let engine = build();
    engine.recover().await.unwrap();
    let run = engine.get_run("p").await.unwrap().unwrap();
    assert_eq!(run.status().await.unwrap(), RunStatus::Running);
    engine.signal(ID, GO, 6).await.unwrap();
    assert_eq!(ended(&run).await, Outcome::Completed(ID.into()));
}

#[tokio::test]
async fn a_cancelled_run_that_no_program_can_resume_cancels_its_runs_and_waits_for_none() {
    for close in [Close::Leave, Close::Cancel, Close::Wait] {
        let store = MemoryStore::new();
        let builder = || Engine::builder().store(store.clone()).register::<linked>();
        let engine = builder().register::<parent>().build().unwrap();
        until_it_waits(&engine.start::<parent>((End::Waits, close)).id("p").await.unwrap()).await;
        engine.shutdown().await;

        let engine = builder().build().unwrap();
        assert_eq!(engine.recover().await.unwrap().unregistered.len(), 1);
        engine.cancel("p").await.unwrap();
        let other = linked_run(&engine).await;
        if close != Close::Cancel {
            until_it_waits(&other).await;
            engine.signal(ID, GO, 6).await.unwrap();
        }
        let expected = if close == Close::Cancel { Outcome::Cancelled } else { Outcome::Completed(7) };
        assert_eq!(ended(&other).await, expected, "{close:?}");
        assert_eq!(engine.get_run("p").await.unwrap().unwrap().status().await.unwrap(), RunStatus::Cancelled);
    }
}

#[node]
async fn over(n: u32, ctx: &Context) -> u32 {
    if n < 3 { ctx.start_over::<going>(n + 1).await } else { n + ctx.wait(GO).await }
}

workflow! { going(u32) -> u32 { START => over; } }

#[node]
async fn begin(n: u32, ctx: &Context) -> Result<u32, StartRunError> {
    ctx.start::<going>(n).id("g").on_close(OnClose::Cancel).await?;
    Ok(ctx.wait(GO).await)
}

workflow! { beginning(u32) -> u32 { START => begin; } }

#[tokio::test]
async fn a_link_holds_for_the_run_that_follows_by_starting_over() {
    let engine = Engine::builder().register::<beginning>().register::<going>().build().unwrap();
    let run = engine.start::<beginning>(1).id("b").await.unwrap();
    until_it_waits(&run).await;
    let other = engine.get_run_of::<going>("g").await.unwrap().unwrap();
    until_it_waits(&other).await;
    assert_eq!(engine.count_runs(RunFilter::default().started_by("b")).await.unwrap(), 3);
    engine.signal("b", GO, 5).await.unwrap();
    assert_eq!(ended(&run).await, Outcome::Completed(5));
    assert_eq!(ended(&other).await, Outcome::Cancelled);
    assert_eq!(engine.get_run("g~2").await.unwrap().unwrap().status().await.unwrap(), RunStatus::Cancelled);
}

#[node]
async fn many(n: u32, ctx: &Context) -> Result<u32, StartRunError> {
    let mut sum = 0;
    for at in 0..n {
        let run = ctx.start::<linked>(0).key(at).await?;
        sum += run.result().await.unwrap_or(100) + 1;
    }
    Ok(sum)
}

workflow! { starting_many(u32) -> u32 { START => many; } }

#[node]
async fn twice(n: u32, ctx: &Context) -> Result<u32, StartRunError> {
    let (one, _two) = (ctx.start::<linked>(n).await?, ctx.start::<linked>(n).await?);
    Ok(one.id().len() as u32)
}

workflow! { starting_twice(u32) -> u32 { START => twice; } }

#[node]
async fn attempts(n: u32, ctx: &Context) -> Result<u32, String> {
    match ctx.start::<linked>(n).id("taken").await {
        Err(StartRunError::OtherInput { run, .. }) => Err(format!("there is a {run}")),
        Err(StartRunError::NotRegistered { workflow }) => Err(format!("`{workflow}` is unknown")),
        Err(StartRunError::NoEngine { path }) => Err(format!("`{path}` has no engine")),
        other => Err(format!("{other:?}")),
    }
}

workflow! { attempting(u32) -> u32 { START => attempts; } }

#[tokio::test]
async fn keys_distinguish_runs_and_mistakes_are_typed() {
    let engine = Engine::builder().register::<starting_many>().register::<linked>().build().unwrap();
    let run = engine.start::<starting_many>(3).id("m").await.unwrap();
    assert_eq!(ended(&run).await, Outcome::Completed(3));
    let ids = engine.list_runs(RunFilter::default().started_by("m").oldest_first()).await.unwrap();
    assert_eq!(ids[1].id, "m:starting_many/many/start:linked@1");

    let two = failure(engine.start::<starting_twice>(0).await.unwrap().result().await);
    assert!(two.to_string().contains("duplicate request"), "{two}");
    let says = |failed: graphweft::Failure, words: &str| assert!(failed.to_string().contains(words), "{failed}");
    says(failure(attempting(1).await), "`attempting/attempts` has no engine");
    engine.start::<linked>(0).id("taken").await.unwrap();
    says(failure(engine.start::<attempting>(1).await.unwrap().result().await), "there is a taken");

    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let engine = Engine::builder().store(store).register::<attempting>().build().unwrap();
    says(failure(engine.start::<attempting>(1).await.unwrap().result().await), "`linked` is unknown");
}

#[node]
async fn dies(n: u32, ctx: &Context, #[resource] death: &Death, #[resource] journal: &Journal) -> Result<u32, String> {
    journal.note("dies begins");
    let run = ctx.start::<doubled>(n).await.map_err(|error| error.to_string())?;
    death.come("behind").await;
    run.result().await.map_err(|error| error.to_string())
}

#[node]
async fn double(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("double");
    2 * n
}

workflow! { doubled(u32) -> u32 { START => double; } }
workflow! { dying(u32) -> u32 { START => dies; } }

#[test]
fn a_restarted_node_finds_the_run_that_it_has_started() {
    let disk = OnDisk::default();
    life(async {
        let death = Death::at("behind");
        let engine = disk.engine(&death).await.register::<dying>().register::<doubled>().build().unwrap();
        engine.start::<dying>(4).id("run").await.unwrap();
        death.came().await;
        let other = engine.get_run("run:dying/dies/start:doubled").await.unwrap().unwrap();
        other.result().await.unwrap();
    });
    life(async {
        let engine = disk.engine(&Death::default()).await.register::<dying>().register::<doubled>().build().unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run_of::<dying>("run").await.unwrap().unwrap();
        assert_eq!(ended(&run).await, Outcome::Completed(8));
        assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 2);
    });
    assert_eq!((disk.journal.count("dies begins"), disk.journal.count("double")), (2, 1));
}

/// Dies at one of its commits: from then on nothing is ever answered.
#[derive(Clone)]
struct Dying {
    inner: MemoryStore,
    left: Arc<AtomicI64>,
    carried_out: bool,
}

impl Dying {
    fn commit<T: Send + 'static>(
        &self,
        commit: impl FnOnce() -> BoxFuture<'static, Result<T, StoreError>>,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return commit();
        }
        if left == 0 && self.carried_out {
            drop(commit());
        }
        std::future::pending().boxed()
    }
}

impl Store for Dying {
    graphweft_tests::forward_store! {
        join leave read header list count overview open_questions delete reserve_task claim is_alive is_served feed feed_end graph logs
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        let inner = self.inner.clone();
        self.commit(move || {
            let created = inner.create(run).now_or_never().expect("it is ready at once");
            async move { created }.boxed()
        })
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        self.commit(|| self.inner.append(batch))
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        self.commit(|| self.inner.start_over(end, next))
    }
}

#[test]
fn a_process_that_dies_at_any_commit_neither_loses_nor_doubles_a_run_nor_leaves_it_alive() {
    for end in [End::Completes, End::Fails, End::StartsOver] {
        for close in [Close::Cancel, Close::Wait, Close::Leave] {
            let mut deaths = 0;
            for commit in 0..40 {
                for carried_out in [false, true] {
                    let store = MemoryStore::new();
                    let died = life(async {
                        let left = Arc::new(AtomicI64::new(commit));
                        let dying = Dying { inner: store.clone(), left: Arc::clone(&left), carried_out };
                        let engine = Engine::builder().store(dying).register::<parent>().register::<linked>();
                        let engine = engine.build().unwrap();
                        let all = async {
                            let run = engine.start::<parent>((end, close)).id("p").await.unwrap();
                            if close != Close::Cancel {
                                while engine.get_run(ID).await.unwrap().is_none() {
                                    tokio::time::sleep(Duration::from_millis(1)).await;
                                }
                                let _its_answer_may_be_lost = engine.signal(ID, GO, 1).id("go").await;
                            }
                            ended(&run).await;
                        };
                        let dies = async {
                            while left.load(Ordering::SeqCst) >= 0 {
                                tokio::time::sleep(Duration::from_millis(1)).await;
                            }
                        };
                        futures::future::select(Box::pin(all), Box::pin(dies)).await;
                        left.load(Ordering::SeqCst) < 0
                    });
                    deaths += u32::from(died);
                    life(async {
                        let engine = Engine::builder().store(store.clone()).register::<parent>().register::<linked>();
                        let engine = engine.build().unwrap();
                        engine.recover().await.unwrap();
                        let run = engine.start::<parent>((end, close)).id("p").await.unwrap();
                        if close != Close::Cancel {
                            let other = async {
                                while engine.get_run(ID).await.unwrap().is_none() {
                                    tokio::time::sleep(Duration::from_millis(1)).await;
                                }
                            };
                            tokio::time::timeout(Duration::from_secs(20), other).await.expect("it is started");
                            let _it_may_be_over = engine.signal(ID, GO, 1).id("go").await;
                        }
                        let outcome = ended(&run).await;
                        assert_eq!(matches!(outcome, Outcome::Failed(_)), end == End::Fails, "{outcome:?}");
                        let wanted = match close {
                            Close::Cancel => Outcome::Cancelled,
                            Close::Wait | Close::Leave => Outcome::Completed(2),
                        };
                        let what = format!("{end:?}, {close:?}, died at commit {commit}, {carried_out}");
                        assert_eq!(ended(&linked_run(&engine).await).await, wanted, "{what}");
                        let runs = engine.count_runs(RunFilter::default()).await.unwrap();
                        assert_eq!(runs, if end == End::StartsOver { 3 } else { 2 }, "{what}");
                    });
                }
            }
            assert!(deaths > 8, "{deaths}");
        }
    }
}

#[tokio::test]
async fn the_end_of_a_fork_changes_nothing_of_the_runs_of_its_origin() {
    let engine = engine();
    let run = engine.start::<parent>((End::Waits, Close::Cancel)).id("p").await.unwrap();
    until_it_waits(&run).await;
    let fork = engine.fork("p").id("f").await.unwrap();
    let history = engine.history("f").await.unwrap().unwrap();
    assert!(history.iter().any(|event| event.path == "parent/start/start:linked"));
    engine.signal("f", GO, 1).await.unwrap();
    // It has the handle to the run of its origin.
    assert_eq!(ended(&fork).await, Outcome::Completed(format!("{ID} 1").into()));
    until_it_waits(&linked_run(&engine).await).await;
    assert_eq!(engine.count_runs(RunFilter::default().started_by("f")).await.unwrap(), 0);

    // Before the request: it starts a run of its own.
    let at = history.iter().find(|event| event.path == "parent/start/start:linked").unwrap().seq;
    let fork = engine.fork("p").before(at).id("g").await.unwrap();
    engine.signal("g", GO, 2).await.unwrap();
    let own = "g:parent/start/start:linked";
    assert_eq!(ended(&fork).await, Outcome::Completed(format!("{own} 2").into()));
    assert_eq!(ended(&engine.get_run(own).await.unwrap().unwrap()).await, Outcome::Cancelled);
    until_it_waits(&linked_run(&engine).await).await;
    run.cancel().await.unwrap();
    assert_eq!(ended(&run).await, Outcome::Cancelled);
    assert_eq!(ended(&linked_run(&engine).await).await, Outcome::Cancelled);
}

#[tokio::test]
async fn a_retry_finds_the_run_as_it_is() {
    let engine = engine();
    let run = engine.start::<parent>((End::Fails, Close::Cancel)).id("p").await.unwrap();
    assert!(matches!(ended(&run).await, Outcome::Failed(_)));
    assert_eq!(ended(&linked_run(&engine).await).await, Outcome::Cancelled);
    for from_node in [false, true] {
        let retry = engine.retry("p");
        let run = if from_node { retry.from_node("parent/start") } else { retry }.await.unwrap();
        assert!(matches!(ended(&run).await, Outcome::Failed(_)));
        assert_eq!(linked_run(&engine).await.status().await.unwrap(), RunStatus::Cancelled);
        assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 2);
    }
    assert_eq!(
        started(&engine.history("p").await.unwrap().unwrap()).iter().filter(|at| *at == "parent/start").count(),
        3
    );
}

#[test]
fn runs_of_two_processes_end_one_another() {
    let directory = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open(directory.path().join("runs.db"));
    life(async {
        let one = Engine::builder().store(open().await.unwrap()).register::<parent>().register::<linked>();
        let one = one.build().unwrap();
        let run = one.start::<parent>((End::Waits, Close::Cancel)).id("p").await.unwrap();
        until_it_waits(&run).await;
        // Another process takes the first run over, and the second stays where it is.
        one.shutdown().await;
        let two = Engine::builder().store(open().await.unwrap()).register::<linked>().build().unwrap();
        two.recover().await.unwrap();
        until_it_waits(&linked_run(&two).await).await;
        let three = Engine::builder().store(open().await.unwrap()).register::<parent>().register::<linked>();
        let three = three.build().unwrap();
        three.signal("p", GO, 3).await.unwrap();
        let run = three.get_run("p").await.unwrap().unwrap();
        assert_eq!(ended(&run).await, Outcome::Completed(format!("{ID} 3").into()));
        assert_eq!(ended(&linked_run(&two).await).await, Outcome::Cancelled);
        assert_eq!(
            run.typed::<linked>().err().map(|error| matches!(error, RunError::OtherWorkflow { .. })),
            Some(true)
        );
    });
}

#[test]
fn a_run_that_is_cancelled_after_the_death_of_its_process_leaves_no_other_one_alive() {
    for commit in 0..12 {
        for carried_out in [false, true] {
            let store = MemoryStore::new();
            life(async {
                let left = Arc::new(AtomicI64::new(commit));
                let dying = Dying { inner: store.clone(), left: Arc::clone(&left), carried_out };
                let engine = Engine::builder().store(dying).register::<parent>().register::<linked>().build().unwrap();
                let starts = async {
                    engine.start::<parent>((End::Waits, Close::Cancel)).id("p").await.unwrap();
                    std::future::pending::<()>().await;
                };
                let dies = async {
                    while left.load(Ordering::SeqCst) >= 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                };
                let dies = tokio::time::timeout(Duration::from_millis(300), dies);
                futures::future::select(Box::pin(starts), Box::pin(dies)).await;
            });
            life(async {
                let engine = Engine::builder().store(store.clone()).register::<parent>().register::<linked>();
                let engine = engine.build().unwrap();
                let Some(run) = engine.get_run("p").await.unwrap() else {
                    let unknown = engine.cancel("p").await;
                    assert_eq!(unknown, Err(CancelError::UnknownRun { run: "p".to_owned() }));
                    return;
                };
                engine.cancel("p").await.unwrap();
                engine.recover().await.unwrap();
                let what = format!("died at commit {commit}, {carried_out}");
                assert_eq!(ended(&run).await, Outcome::Cancelled, "{what}");
                if let Some(other) = engine.get_run(ID).await.unwrap() {
                    assert_eq!(ended(&other).await, Outcome::Cancelled, "{what}");
                }
            });
        }
    }
}

#[node]
async fn starts_the_first_time(n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
    journal.note("starts");
    if journal.count("starts") == 1 {
        ctx.start::<linked>(n).id("other").on_close(OnClose::Cancel).await.map_err(|error| error.to_string())?;
        return Err("on purpose".to_owned());
    }
    Ok(n)
}

workflow! { starting_once(u32) -> u32 { START => starts_the_first_time; } }

#[tokio::test]
async fn a_run_of_a_request_that_a_retry_has_voided_is_cancelled_all_the_same() {
    let journal = Journal::default();
    let engine = Engine::builder().register::<starting_once>().register::<linked>().resource(journal).build().unwrap();
    let run = engine.start::<starting_once>(1).id("s").await.unwrap();
    assert!(matches!(ended(&run).await, Outcome::Failed(_)));
    // It is made to run again, as after a retry of its own.
    engine.retry("other").await.unwrap();
    let other = engine.get_run_of::<linked>("other").await.unwrap().unwrap();
    until_it_waits(&other).await;
    engine.retry("s").from_node("starting_once/starts_the_first_time").await.unwrap();
    assert_eq!(ended(&run).await, Outcome::Completed(1));
    assert_eq!(ended(&other).await, Outcome::Cancelled);
}
