//! One thread or several: the same meaning, and real parallelism where there are threads.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use futures::FutureExt;
use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{AnswerError, BuildError, ForkError, RetryError, RunError, RunToEndError, StartError, json};
use graphweft_tests::life;

#[node]
async fn left(n: u32, #[resource] meet: &Barrier) -> u32 {
    // Blocks its thread: two of these only end where two threads run them at the same moment.
    meet.wait();
    n
}

#[node]
async fn right(n: u32, #[resource] meet: &Barrier) -> u32 {
    meet.wait();
    n
}

#[node]
async fn sum(a: u32, b: u32) -> u32 {
    a + b
}

#[node]
async fn double(n: u32) -> u32 {
    tokio::task::yield_now().await;
    n * 2
}

#[node]
async fn count(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn meet_all(n: u32, #[resource] meet: &Barrier) -> u32 {
    meet.wait();
    n
}

#[node]
async fn meet_in_place(n: u32, #[resource] meet: &Barrier) -> u32 {
    tokio::task::block_in_place(|| meet.wait());
    n
}

/// What one node says to another that computes.
struct Word {
    says: Mutex<Sender<u32>>,
    hears: Mutex<Receiver<u32>>,
}

#[node]
async fn computes(n: u32, #[resource] word: &Word) -> u32 {
    n + word.hears.lock().unwrap().recv_timeout(Duration::from_secs(20)).expect("the other one speaks meanwhile")
}

#[node]
async fn quick(n: u32) -> u32 {
    n
}

#[node]
async fn speaks(n: u32, #[resource] word: &Word) -> u32 {
    word.says.lock().unwrap().send(n).unwrap();
    n
}

/// Which task of tokio it runs in.
fn own_task() -> String {
    format!("{:?}", tokio::task::try_id())
}

#[node]
async fn at_once(_: u32) -> String {
    own_task()
}

#[node]
async fn after_others(_: u32) -> String {
    tokio::task::yield_now().await;
    own_task()
}

workflow! { at_once_each(Vec<u32>) -> Vec<String> { START => [at_once]; } }
workflow! { after_others_each(Vec<u32>) -> Vec<String> { START => [after_others]; } }
workflow! { parallel(u32) -> u32 { START => (left, right) => sum; } }
workflow! { all_at_once(u32) -> Vec<u32> { START => count => [meet_all]; } }
workflow! { all_in_place(u32) -> Vec<u32> { START => count => [meet_in_place]; } }
workflow! { computes_first(u32) -> u32 { START => (computes, quick); quick => speaks; (computes, speaks) => sum; } }
workflow! { computes_last(u32) -> u32 { START => (quick, computes); quick => speaks; (computes, speaks) => sum; } }
workflow! { doubles(u32) -> Vec<u32> { START => count => [double]; } }

/// Or the suite would run on one thread where it is told to run on several.
#[tokio::test]
async fn a_test_runs_on_the_kind_of_runtime_that_is_asked_for() {
    let is_asked_for = std::env::var_os("GRAPHWEFT_THREADS").is_some();
    let flavor = tokio::runtime::Handle::current().runtime_flavor();
    assert_eq!(flavor == tokio::runtime::RuntimeFlavor::MultiThread, is_asked_for);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn branches_run_on_several_threads_at_the_same_moment() {
    let engine = Engine::builder().resource(Barrier::new(2)).build().unwrap();
    assert_eq!(engine.start::<parallel>(2).await.unwrap().result().await.unwrap(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn items_run_on_several_threads_at_the_same_moment() {
    let engine = Engine::builder().resource(Barrier::new(3)).build().unwrap();
    assert_eq!(engine.start::<all_at_once>(3).await.unwrap().result().await.unwrap(), [0, 1, 2]);
}

#[tokio::test(flavor = "current_thread")]
async fn one_thread_is_enough() {
    assert_eq!(doubles(4).await.unwrap(), [0, 2, 4, 6]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_runs_at_once_on_several_threads_keep_apart() {
    let runs = (0..50).map(|n| tokio::spawn(doubles(n)));
    for (n, run) in futures::future::join_all(runs).await.into_iter().enumerate() {
        let expected: Vec<u32> = (0..n as u32).map(|item| item * 2).collect();
        assert_eq!(run.unwrap().unwrap(), expected);
    }
}

#[test]
fn without_a_runtime_a_run_is_refused_in_words() {
    let Err(RunError::Failed(failure)) = doubles(1).now_or_never().unwrap() else { panic!("it ran") };
    assert!(failure.cause.to_string().contains("tokio runtime"), "{failure}");
}

#[test]
fn a_run_whose_runtime_is_shut_down_says_so() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    #[node]
    async fn never(_n: u32) -> u32 {
        std::future::pending().await
    }
    workflow! { stuck(u32) -> u32 { START => never; } }
    let engine = Engine::builder().build().unwrap();
    let run = runtime.block_on(engine.start::<stuck>(1).into_future()).unwrap();
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(other.block_on(run.outcome()), Err(RunError::ShutDown));
}

#[test]
fn a_runtime_without_a_clock_is_enough_where_nothing_takes_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(doubles(2)).unwrap(), [0, 2]);
}

fn without_timers() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[test]
fn in_a_runtime_without_timers_no_engine_is_built() {
    let refused = without_timers().block_on(async { Engine::builder().build().map(drop) });
    assert_eq!(refused, Err(BuildError::NoTimers));
    assert!(BuildError::NoTimers.to_string().contains("`enable_time()`"));
}

#[test]
fn in_a_runtime_without_timers_no_run_is_started() {
    let engine = Engine::builder().resource(Barrier::new(1)).build().unwrap();
    without_timers().block_on(async {
        let refused = engine.start::<all_at_once>(3).id("a").await.map(drop);
        assert_eq!(refused, Err(StartError::NoTimers));
        let refused = engine.start::<all_at_once>(3).id("a").run_to_end().await;
        assert_eq!(refused, Err(RunToEndError::Start(StartError::NoTimers)));
        assert!(engine.get_run("a").await.unwrap().is_none());
    });
}

#[test]
fn in_a_runtime_without_timers_no_run_is_retried_or_forked() {
    #[node]
    async fn fails(_n: u32) -> Result<u32, String> {
        Err("it does".to_owned())
    }
    workflow! { failing(u32) -> u32 { START => fails; } }
    let engine = Engine::builder().register::<failing>().build().unwrap();
    graphweft::block_on(async { drop(engine.start::<failing>(1).id("a").await.unwrap().outcome().await) });
    let records = async || engine.history("a").await.unwrap().unwrap().len();
    without_timers().block_on(async {
        let before = records().await;
        assert_eq!(engine.retry("a").await.map(drop), Err(RetryError::Run(RunError::NoTimers)));
        assert_eq!(engine.fork("a").before(1).id("b").await.map(drop), Err(ForkError::Run(RunError::NoTimers)));
        assert_eq!(records().await, before);
        assert!(engine.get_run("b").await.unwrap().is_none());
    });
}

/// A run without an engine may need none.
#[test]
fn in_a_runtime_without_timers_a_node_that_sleeps_fails() {
    #[node]
    async fn sleeps(_n: u32, ctx: &Context) -> u32 {
        // Not so short that it may be over before it is waited for.
        ctx.sleep(Duration::from_secs(60)).await;
        1
    }
    workflow! { sleeping(u32) -> u32 { START => sleeps; } }
    let Err(RunError::Failed(failure)) = without_timers().block_on(sleeping(1)) else { panic!("it slept") };
    assert!(failure.cause.to_string().contains("timers are disabled"), "{failure}");
}

fn different(tasks: &[String]) -> usize {
    tasks.iter().collect::<std::collections::HashSet<_>>().len()
}

/// Without a second thread there is nothing to gain from another task.
#[tokio::test(start_paused = false)]
async fn nodes_that_are_done_when_they_are_first_polled_share_a_task_on_one_thread() {
    assert_eq!(different(&at_once_each(vec![0; 10]).await.unwrap()), 1);
}

/// Whichever of them is polled first: the thread that computes keeps no other from going on with the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_a_node_that_is_done_begins_while_another_computes() {
    for at in 0..100 {
        let (says, hears) = std::sync::mpsc::channel();
        let word = Word { says: Mutex::new(says), hears: Mutex::new(hears) };
        let engine = Engine::builder().resource(word).build().unwrap();
        let heard = match at % 4 {
            0 => engine.start::<computes_first>(1).await.unwrap().result().await.ok(),
            1 => engine.start::<computes_last>(1).await.unwrap().result().await.ok(),
            2 => engine.start::<computes_first>(1).run_to_end().await.ok(),
            _ => engine.start::<computes_last>(1).run_to_end().await.ok(),
        };
        assert_eq!(heard, Some(3), "{at}");
    }
}

/// A thread that is handed over does not keep a place among those that compute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_hand_their_thread_over_are_as_many_at_once_as_there_are() {
    let engine = Engine::builder().resource(Barrier::new(8)).build().unwrap();
    assert_eq!(engine.start::<all_in_place>(8).await.unwrap().result().await.unwrap(), (0..8).collect::<Vec<_>>());
}

#[tokio::test]
async fn nodes_that_wait_have_a_task_each_however_often_they_ran() {
    for _ in 0..100 {
        assert_eq!(different(&after_others_each(vec![0; 10]).await.unwrap()), 10);
    }
}

#[node]
async fn asks_and_hangs(ctx: &Context) -> u32 {
    let n = ctx.ask::<u32>("n", "?").await;
    if n == 0 { std::future::pending().await } else { n }
}

workflow! { asking_and_hanging(()) -> u32 { START => asks_and_hangs; } }

#[test]
fn in_a_runtime_without_timers_unfinished_runs_are_left_and_each_call_says_why() {
    let store = MemoryStore::new();
    let engine = || Engine::builder().store(store.clone()).register::<asking_and_hanging>().build().unwrap();
    life(async {
        let engine = engine();
        for id in ["waits", "runs"] {
            let run = engine.start::<asking_and_hanging>(()).id(id).await.unwrap();
            assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))));
        }
        engine.answer("runs", "n", 0).await.unwrap();
    });
    let engine = engine();
    without_timers().block_on(async {
        let recovered = engine.recover().await.unwrap();
        let failed: Vec<_> = recovered.failed.iter().map(|(id, why)| (id.as_str(), why)).collect();
        assert_eq!(failed, [("runs", &RunError::NoTimers), ("waits", &RunError::NoTimers)]);
        assert!(recovered.resumed.is_empty());

        let run = async |id| engine.get_run(id).await.unwrap().unwrap();
        assert!(matches!(run("waits").await.outcome().await, Ok(Outcome::Waiting(_))));
        assert_eq!(run("runs").await.outcome().await, Err(RunError::NoTimers));
        assert_eq!(engine.answer("waits", "n", 1).await, Err(AnswerError::Run(RunError::NoTimers)));
        let mut events = run("runs").await.events();
        while events.next().await.is_some() {}
    });
    life(async {
        // The answer is recorded.
        engine.recover().await.unwrap();
        let run = engine.get_run("waits").await.unwrap().unwrap();
        assert_eq!(run.result().await, Ok(json!(1)));
    });
}

#[test]
fn outside_of_a_runtime_calls_that_need_one_say_so() {
    let store = MemoryStore::new();
    let engine = || Engine::builder().store(store.clone()).register::<asking_and_hanging>().build().unwrap();
    life(async {
        let engine = engine();
        let run = engine.start::<asking_and_hanging>(()).id("waits").await.unwrap();
        assert!(matches!(run.outcome().await, Ok(Outcome::Waiting(_))));
    });
    let engine = engine();
    let calls = async {
        let recovered = engine.recover().await.unwrap();
        assert_eq!(recovered.failed, [("waits".to_owned(), RunError::NoRuntime)]);
        assert_eq!(engine.answer("waits", "n", 1).await, Err(AnswerError::Run(RunError::NoRuntime)));
    };
    // Nothing of it waits.
    assert!(calls.now_or_never().is_some());
}
