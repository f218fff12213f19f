//! Tasks that a node spawns, with a context of their own: what they ask for at any moment, on any thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{ChildError, EventKind, Failure, Fault, Never, RetryPolicy, Run, RunError};
use graphweft_tests::{Death, Remains, life};
use tokio::sync::Notify;

/// For what has to come sooner or later.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it comes")
}

#[tokio::test]
async fn a_mistake_in_a_spawned_task_fails_the_node() {
    #[node]
    async fn spawns(ctx: &Context) -> u32 {
        let own = ctx.clone();
        tokio::spawn(async move { own.ask::<u32>("amount", "?").await }).await.unwrap()
    }
    workflow! { without_an_engine(()) -> u32 { START => spawns; } }

    let failed = soon(without_an_engine(())).await.unwrap_err();

    let RunError::Failed(Failure { cause, .. }) = failed else { panic!("it has failed") };
    assert!(matches!(cause.fault, Some(Fault::Context { .. })), "{cause}");
}

#[tokio::test]
async fn a_key_that_is_used_twice_in_a_spawned_task_fails_the_node() {
    #[node]
    async fn asks_twice(ctx: &Context) -> u32 {
        let own = ctx.clone();
        let task = tokio::spawn(async move {
            let (a, b) = tokio::join!(own.ask::<u32>("amount", "?"), own.ask::<u32>("amount", "?"));
            a + b
        });
        task.await.unwrap()
    }
    workflow! { asking_twice(()) -> u32 { START => asks_twice; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking_twice>(()).await.unwrap();

    let Err(RunError::Failed(failure)) = soon(run.result()).await else { panic!("it has failed") };

    assert!(failure.to_string().contains("duplicate request"), "{failure}");
}

/// Runs are resumed by an answer. Which of their questions has been asked again by then, and on which thread, is chance.
#[test]
fn questions_of_tasks_are_open_again_in_a_run_that_is_resumed() {
    const RUNS: usize = 60;
    #[node]
    async fn spawns(ctx: &Context) -> u32 {
        let asks = |name: &'static str| {
            let own = ctx.clone();
            tokio::spawn(async move { own.ask::<u32>(name, "?").await })
        };
        let (a, b, d) = (asks("a"), asks("b"), asks("d"));
        let c = ctx.ask::<u32>("c", "?").await;
        c + a.await.unwrap() + b.await.unwrap() + d.await.unwrap()
    }
    workflow! { four_questions(()) -> u32 { START => spawns; } }
    async fn until_open(run: &Run<impl graphweft::Payload>, questions: usize) {
        let open = async {
            while !matches!(run.outcome().await.unwrap(), Outcome::Waiting(open) if open.len() == questions) {
                tokio::task::yield_now().await;
            }
        };
        soon(open).await;
    }
    let remains = Remains::default();
    let several = || tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    several().block_on(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        for at in 0..RUNS {
            let run = engine.start::<four_questions>(()).id(format!("{at}")).await.unwrap();
            until_open(&run, 4).await;
        }
        engine.shutdown().await;
    });
    several().block_on(async {
        let engine = remains.engine(&Death::default()).register::<four_questions>().build().unwrap();
        for at in 0..RUNS {
            engine.answer(&format!("{at}"), "d", 1).await.unwrap();
        }
        for at in 0..RUNS {
            let run = engine.get_run(&format!("{at}")).await.unwrap().unwrap();
            until_open(&run, 3).await;
            for name in ["c", "a", "b"] {
                run.answer(name, 10).await.unwrap();
            }
            assert_eq!(soon(run.result()).await.unwrap(), 31);
        }
    });
}

#[test]
fn a_question_under_a_timer_of_the_nodes_own_is_open_after_a_restart_between_two_rounds() {
    #[node]
    async fn waits_a_while(ctx: &Context, #[resource] death: &Death) -> u32 {
        loop {
            if let Ok(answer) = tokio::time::timeout(Duration::from_millis(5), ctx.ask::<u32>("amount", "?")).await {
                return answer;
            }
            let step = || async {
                death.come("step").await;
                Ok::<_, Never>(())
            };
            ctx.step("look", step).key(ctx.attempt()).await.ok();
            if let Ok(answer) = tokio::time::timeout(Duration::from_secs(3600), ctx.ask::<u32>("amount", "?")).await {
                return answer;
            }
        }
    }
    workflow! { waiting_a_while(()) -> u32 { START => waits_a_while; } }
    let remains = Remains::default();
    remains.dies_at::<waiting_a_while>((), "step");
    life(async {
        let engine = remains.engine(&Death::default()).register::<waiting_a_while>().build().unwrap();
        engine.recover().await.unwrap();
        let answered = async {
            while engine.answer("run", "amount", 7).await.is_err() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon(answered).await;
        let run = engine.get_run("run").await.unwrap().unwrap();
        assert_eq!(soon(run.result()).await.unwrap(), 7);
    });
}

#[tokio::test]
async fn a_step_of_a_task_ends_with_the_attempt() {
    #[node]
    async fn spawns(ctx: &Context, #[resource] ended: &Arc<Notify>) -> Result<u32, String> {
        let (own, ended) = (ctx.clone(), Arc::clone(ended));
        let task = tokio::spawn(async move {
            let fails = || async { Err::<u32, String>("always".to_owned()) };
            let failed = own
                .step("fails", fails)
                .retry(RetryPolicy::with_max_attempts(9).initial_delay(Duration::from_millis(20)))
                .await;
            ended.notify_one();
            failed.is_err()
        });
        match tokio::time::timeout(Duration::from_millis(30), task).await {
            Ok(_) => Ok(0),
            Err(late) => Err(late.to_string()),
        }
    }
    #[node]
    async fn asks(_late: String, ctx: &Context) -> u32 {
        ctx.ask("amount", "?").await
    }
    workflow! { timing_out(()) -> u32 { START => spawns => <ok: END, err: asks>; asks => END; } }
    let ended = Arc::new(Notify::new());
    let engine = Engine::builder().resource(Arc::clone(&ended)).build().unwrap();
    let run = engine.start::<timing_out>(()).await.unwrap();

    assert!(matches!(soon(run.outcome()).await.unwrap(), Outcome::Waiting(_)));

    soon(ended.notified()).await;
    run.answer("amount", 3).await.unwrap();
    assert_eq!(soon(run.result()).await.unwrap(), 3);
}

/// Counts the bodies that are alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn one(&self) -> impl Drop + use<> {
        struct One(Arc<AtomicUsize>);
        impl Drop for One {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        One(Arc::clone(&self.0))
    }
}

#[test]
fn an_engine_that_is_shut_down_has_waited_for_nodes_at_every_depth() {
    static IS_BUSY: AtomicBool = AtomicBool::new(false);
    #[node]
    async fn computes(#[resource] alive: &Alive) -> u32 {
        let _alive = alive.one();
        IS_BUSY.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(200));
        tokio::task::yield_now().await;
        1
    }
    #[node]
    async fn beside() -> u32 {
        std::future::pending().await
    }
    #[node]
    async fn add(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! { inner(()) -> u32 { START => (computes, beside) => add; } }
    #[node]
    async fn calls(ctx: &Context) -> Result<u32, ChildError<Failure>> {
        ctx.call::<inner>(()).await
    }
    workflow! { outer(()) -> u32 { START => calls; } }
    workflow! { outermost(()) -> u32 { START => (outer, beside) => add; } }
    for start in ["inner", "outer", "outermost"] {
        IS_BUSY.store(false, Ordering::SeqCst);
        let alive = Alive::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
        runtime.block_on(async {
            let engine = Engine::builder().resource(alive.clone());
            let engine = engine.register::<inner>().register::<outer>().register::<outermost>().build().unwrap();
            engine.start_json(start, serde_json::Value::Null).await.unwrap();
            while !IS_BUSY.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            engine.shutdown().await;
            assert_eq!(alive.0.load(Ordering::SeqCst), 0, "{start}");
        });
    }
}

/// A child that a task awaits goes on where it stood, though its node holds nothing of it when it starts again.
#[test]
fn a_child_that_a_task_awaits_is_not_begun_anew_when_its_run_is_resumed() {
    #[node]
    async fn counts(#[resource] alive: &Alive) -> u32 {
        alive.0.fetch_add(1, Ordering::SeqCst) as u32
    }
    #[node]
    async fn asks(_n: u32, ctx: &Context) -> u32 {
        ctx.ask("inside", "?").await
    }
    workflow! { inner(()) -> u32 { START => counts => asks; } }
    #[node]
    async fn calls(ctx: &Context) -> Result<u32, ChildError<Failure>> {
        let own = ctx.clone();
        let task = tokio::spawn(async move { own.call::<inner>(()).await });
        let beside = ctx.ask::<u32>("beside", "?").await;
        Ok(task.await.expect("nobody stops it")? + beside)
    }
    workflow! { outer(()) -> u32 { START => calls; } }
    let alive = Alive::default();
    let remains = Remains::default();
    let process = || remains.engine(&Death::default()).resource(alive.clone()).register::<outer>().build().unwrap();
    life(async {
        let engine = process();
        let run = engine.start::<outer>(()).id("run").await.unwrap();
        let open = async {
            while !matches!(run.outcome().await.unwrap(), Outcome::Waiting(open) if open.len() == 2) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon(open).await;
    });
    life(async {
        let engine = process();
        engine.answer("run", "inside", 3).await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let _ = run.outcome().await.unwrap();
        run.answer("beside", 4).await.unwrap();
        assert_eq!(soon(run.result()).await.unwrap(), 7);
    });
    assert_eq!(alive.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_question_that_a_task_asks_again_and_again_is_asked_once() {
    #[node]
    async fn spawns(ctx: &Context) -> u32 {
        let own = ctx.clone();
        let task = tokio::spawn(async move {
            for _ in 0..20 {
                tokio::select! {
                    answer = own.ask::<u32>("amount", "?") => return answer,
                    () = tokio::time::sleep(Duration::from_millis(2)) => {}
                }
            }
            0
        });
        task.await.unwrap()
    }
    workflow! { asking_on(()) -> u32 { START => spawns; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking_on>(()).id("run").await.unwrap();
    let ended = async {
        while matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(ended).await;
    assert_eq!(run.result().await.unwrap(), 0);

    let events = engine.history("run").await.unwrap().unwrap();

    // Once when it is asked, and once when nobody asks any more.
    let withdrawn = events.iter().filter(|event| event.kind == EventKind::RequestWithdrawn).count();
    assert!(withdrawn <= 1, "{events:#?}");
    assert!(!events.iter().any(|event| event.kind == EventKind::RequestReopened), "{events:#?}");
}

/// `x` is in the middle of a poll when the graph around it is dropped. What it asks for then is not recorded.
#[test]
fn a_node_of_a_child_that_is_dropped_in_the_middle_of_a_poll_asks_for_nothing_more() {
    static IS_BUSY: AtomicBool = AtomicBool::new(false);
    #[node]
    async fn x(ctx: &Context) -> u32 {
        IS_BUSY.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(300));
        ctx.step("save", || async { Ok::<u32, Never>(1) }).await.unwrap_or(0)
    }
    #[node]
    async fn y() -> u32 {
        std::future::pending().await
    }
    #[node]
    async fn z(x: u32, y: u32) -> u32 {
        x + y
    }
    workflow! { inner(()) -> u32 { START => (x, y) => z; } }
    #[node]
    async fn calls(ctx: &Context) -> u32 {
        tokio::select! {
            ended = ctx.call::<inner>(()) => ended.unwrap_or(0),
            stop = ctx.ask::<u32>("stop", "?") => stop + ctx.ask::<u32>("more", "?").await,
        }
    }
    workflow! { outer(()) -> u32 { START => calls; } }
    let several = || tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
    let remains = Remains::default();
    several().block_on(async {
        let engine = remains.engine(&Death::default()).build().unwrap();
        let run = engine.start::<outer>(()).id("run").await.unwrap();
        while !IS_BUSY.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        run.answer("stop", 3).await.unwrap();
        assert!(matches!(soon(run.outcome()).await.unwrap(), Outcome::Waiting(open) if open.len() == 1));
        engine.shutdown().await;
    });
    several().block_on(async {
        let engine = remains.engine(&Death::default()).register::<outer>().build().unwrap();
        engine.answer("run", "more", 4).await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        assert_eq!(soon(run.result()).await.unwrap(), 7);
    });
}

/// A clone of the context that outlives its node.
#[tokio::test]
async fn a_task_that_outlives_its_node_hears_of_that_and_says_nothing_more() {
    const LATE: StateKey<u32> = StateKey::new("late");
    static SENT: Mutex<Option<tokio::sync::oneshot::Sender<bool>>> = Mutex::new(None);
    #[node]
    async fn spawns(n: u32, ctx: &Context, #[may_write(LATE)] late: StateWriter<u32>) -> u32 {
        let (ctx, listens) = (ctx.clone(), Arc::new(Notify::new()));
        let says = Arc::clone(&listens);
        tokio::spawn(async move {
            let before = ctx.is_cancelled();
            says.notify_one();
            ctx.cancelled().await;
            ctx.message("too late");
            late.set(1);
            let sent = SENT.lock().unwrap().take().unwrap();
            sent.send(!before && ctx.is_cancelled()).unwrap();
        });
        listens.notified().await;
        n
    }
    #[node]
    async fn waits(n: u32, #[resource] go: &Arc<Notify>) -> u32 {
        go.notified().await;
        n
    }
    workflow! { outlived(u32) -> u32 { START => spawns => waits; } }
    let go = Arc::new(Notify::new());
    let (send, heard) = tokio::sync::oneshot::channel();
    *SENT.lock().unwrap() = Some(send);
    let engine = Engine::builder().resource(Arc::clone(&go)).build().unwrap();
    let run = engine.start::<outlived>(1).await.unwrap();
    let heard = soon(heard).await.unwrap();
    assert!(heard);
    go.notify_one();
    assert_eq!(run.result().await, Ok(1));
    let history = engine.history(run.id()).await.unwrap().unwrap();
    assert!(!history.iter().any(|event| matches!(event.kind, graphweft::EventKind::Message { .. })), "{history:?}");
}

/// What a clone asks for when its node has completed would be done beside the run, and for nothing.
#[tokio::test]
async fn a_clone_that_outlives_a_completed_node_can_neither_ask_nor_call() {
    static SENT: Mutex<Option<tokio::sync::oneshot::Sender<(bool, bool, bool)>>> = Mutex::new(None);
    #[node]
    async fn child(n: u32) -> u32 {
        n
    }
    #[node]
    async fn spawns(n: u32, ctx: &Context) -> u32 {
        let ctx = ctx.clone();
        tokio::spawn(async move {
            ctx.cancelled().await;
            let called = ctx.call::<child>(1).await.is_ok();
            let stepped = ctx.step("step", async || Ok::<u32, Never>(1)).await.is_ok();
            let mut ask = std::pin::pin!(ctx.ask::<u32>("late", "?"));
            let asked = futures::poll!(&mut ask).is_ready();
            SENT.lock().unwrap().take().unwrap().send((called, stepped, asked)).unwrap();
            std::future::pending::<()>().await;
        });
        n
    }
    #[node]
    async fn waits(n: u32, #[resource] go: &Arc<Notify>) -> u32 {
        go.notified().await;
        n
    }
    workflow! { outlived_by_a_clone(u32) -> u32 { START => spawns => waits; } }
    let go = Arc::new(Notify::new());
    let (send, heard) = tokio::sync::oneshot::channel();
    *SENT.lock().unwrap() = Some(send);
    let engine = Engine::builder().resource(Arc::clone(&go)).build().unwrap();
    let run = engine.start::<outlived_by_a_clone>(1).await.unwrap();

    assert_eq!(soon(heard).await.unwrap(), (false, false, false));

    assert_eq!(run.questions().await.unwrap(), []);
    go.notify_one();
    assert_eq!(run.result().await, Ok(1));
    let history = engine.history(run.id()).await.unwrap().unwrap();
    let below = |event: &graphweft::Event| event.path.starts_with("outlived_by_a_clone/spawns/");
    assert!(!history.iter().any(below), "{history:#?}");
}

/// The child that it asks for has the path of that of the attempt under way.
#[tokio::test]
async fn a_clone_of_a_failed_attempt_calls_nothing_while_the_next_one_is_under_way() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    #[node]
    async fn child(n: u32) -> u32 {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        n
    }
    struct Signs {
        is_next_under_way: Notify,
        has_clone_called: Notify,
    }
    #[node(retry(max_attempts = 2, initial_delay = "1ms", jitter = 0.0))]
    async fn spawns(n: u32, ctx: &Context, #[resource] signs: &Arc<Signs>) -> Result<u32, String> {
        if ctx.attempt() == 1 {
            let (ctx, signs) = (ctx.clone(), Arc::clone(signs));
            tokio::spawn(async move {
                signs.is_next_under_way.notified().await;
                assert!(ctx.call::<child>(n + 1).await.is_err());
                let stepped = ctx.step("step", async || Ok::<u32, Never>(n + 1)).await;
                assert!(stepped.is_err());
                signs.has_clone_called.notify_one();
            });
            return Err("the first one".into());
        }
        signs.is_next_under_way.notify_one();
        signs.has_clone_called.notified().await;
        let called = ctx.call::<child>(n).await.map_err(|error| error.to_string())?;
        let stepped = ctx.step("step", async || Ok::<u32, Never>(n)).await.map_err(|error| error.to_string())?;
        Ok(called + stepped)
    }
    workflow! { tried_twice(u32) -> u32 { START => spawns; } }
    let signs = Signs { is_next_under_way: Notify::new(), has_clone_called: Notify::new() };
    let engine = Engine::builder().resource(Arc::new(signs)).build().unwrap();
    let run = engine.start::<tried_twice>(5).await.unwrap();
    assert_eq!(soon(run.result()).await, Ok(10));
    assert_eq!(BEGUN.load(Ordering::SeqCst), 1);
}
