//! Nodes of pools: calls of services of Restate, whose workers and whose runs' workers come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{BuildError, Workflow};
use graphweft_restate::{RunHandle, Worker, WorkerBuilder, WorkerError};
use graphweft_restate_tests::cluster::{Cluster, until};
use graphweft_restate_tests::here::{Here, ONE, until_invocation_is, with};
use graphweft_restate_tests::judge::Judge;
use graphweft_restate_tests::workers::{Role, Workers};
use graphweft_restate_tests::workflows::{fan, of_fan};

/// What attempts wait for, and how often they have begun, ended and been stopped.
struct Card {
    opens: tokio::sync::Semaphore,
    begun: AtomicU32,
    ended: AtomicU32,
    stopped: AtomicU32,
}

impl Card {
    fn new() -> Arc<Self> {
        let (begun, ended, stopped) = Default::default();
        Arc::new(Card { opens: tokio::sync::Semaphore::new(0), begun, ended, stopped })
    }

    async fn works(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let counts = Stopped(self);
        self.opens.acquire().await.unwrap().forget();
        std::mem::forget(counts);
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    async fn has_begun(&self, times: u32) {
        until("it has begun", || async { self.begun.load(Ordering::SeqCst) >= times }).await;
    }
}

/// Counts an attempt that is dropped in the middle.
struct Stopped<'c>(&'c Card);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.stopped.fetch_add(1, Ordering::SeqCst);
    }
}

#[node(pool = "gpu", retry(max_attempts = 3, initial_delay = "1ms"))]
async fn render(n: u32, ctx: &PoolContext, #[resource] card: &Arc<Card>) -> Result<u32, String> {
    card.works().await;
    if n == 0 && ctx.attempt() == 1 {
        return Err("the card was busy".to_owned());
    }
    ctx.message(format!("rendered {n}"));
    Ok(n + 1)
}
#[node]
async fn sum(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}
workflow! {
    /// Nodes in a pool, side by side.
    pub scene(Vec<u32>) -> u32 { START => [render] => sum; sum => END; }
}

#[node(pool = "gpu", at_most_once)]
async fn print(n: u32, #[resource] card: &Arc<Card>) -> u32 {
    card.works().await;
    n
}
workflow! {
    /// A node in a pool that is attempted once.
    pub poster(u32) -> u32 { START => print; print => END; }
}

fn drives() -> WorkerBuilder {
    Worker::builder().register::<scene>().register::<poster>().resident(Duration::ZERO)
}

fn executes(card: &Arc<Card>) -> WorkerBuilder {
    drives().resource(Arc::clone(card)).pool("gpu").only_pools().max_concurrency(8)
}

/// A worker of the pool, beside the one that drives runs.
async fn pool(cluster: &Cluster, card: &Arc<Card>) -> Here {
    let pool = Here::serve(executes(card)).await;
    pool.register(&cluster.admin()).await;
    pool
}

async fn kinds<W: Workflow>(run: &RunHandle<W>) -> Vec<String> {
    run.events_from(0).await.unwrap().iter().map(|event| event.kind.name().to_owned()).collect()
}

fn count(kinds: &[String], kind: &str) -> usize {
    kinds.iter().filter(|of| *of == kind).count()
}

/// How many calls of the pool have not ended.
async fn calls(cluster: &Cluster) -> usize {
    let sql =
        "select id from sys_invocation where target_service_name = 'graphweft.pool.gpu' and status <> 'completed'";
    cluster.query(sql).await.matches("inv_").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_a_pool_execute_its_nodes_and_the_run_retries_and_records_them() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    let _pool = pool(&cluster, &card).await;
    card.opens.add_permits(100);
    let run = client.start::<scene>(vec![0, 1, 2, 3], "scene").await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(10));
    assert_eq!(card.begun.load(Ordering::SeqCst), 5);
    let kinds = kinds(&run).await;
    assert_eq!((count(&kinds, "message"), count(&kinds, "run_resumed")), (4, 0), "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_its_pool_is_suspended_and_resumed_by_each_result() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    let _pool = pool(&cluster, &card).await;
    let run = client.start::<scene>(vec![1, 2], "scene").await.unwrap();
    card.has_begun(2).await;
    until_invocation_is(&cluster, &run, "suspended").await;
    assert_eq!(run.status().await.unwrap().unwrap().status, RunStatus::Sleeping);
    card.opens.add_permits(1);
    let completed = || async { count(&kinds(&run).await, "node_completed") >= 1 };
    until("one result is recorded", completed).await;
    until_invocation_is(&cluster, &run, "suspended").await;
    card.opens.add_permits(1);
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(5));
    assert_eq!(card.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_worker_of_a_run_gets_the_results_of_the_tasks_of_the_one_before() {
    let (cluster, here, client) = with(drives()).await;
    let card = Card::new();
    let _pool = pool(&cluster, &card).await;
    let run = client.start::<scene>(vec![1, 2, 3], "scene").await.unwrap();
    let once = client.start::<poster>(7, "poster").await.unwrap();
    card.has_begun(4).await;
    let port = here.stop().await;
    card.opens.add_permits(2);
    until("two have ended", || async { card.ended.load(Ordering::SeqCst) == 2 }).await;
    let _here = Here::serve_at(drives(), port).await;
    card.opens.add_permits(2);
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(9));
    assert_eq!(once.outcome().await.unwrap(), Outcome::Completed(7));
    assert_eq!(card.begun.load(Ordering::SeqCst), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_the_server_has_forgotten_is_made_again_or_reported() {
    let (cluster, here, client) = with(drives()).await;
    let card = Card::new();
    let _pool = pool(&cluster, &card).await;
    let run = client.start::<scene>(vec![1], "scene").await.unwrap();
    let once = client.start::<poster>(7, "poster").await.unwrap();
    card.has_begun(2).await;
    until_invocation_is(&cluster, &run, "suspended").await;
    let port = here.stop().await;
    card.opens.add_permits(2);
    until("both have ended", || async { calls(&cluster).await == 0 }).await;
    cluster.end_invocations("target_service_name = 'graphweft.pool.gpu'", "purge").await;
    card.opens.add_permits(1);
    let _here = Here::serve_at(drives(), port).await;
    let Outcome::Failed(failure) = once.outcome().await.unwrap() else { panic!("its result is gone") };
    assert!(failure.cause.to_string().contains("at_most_once"), "{failure:?}");
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(2));
    assert_eq!(card.begun.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_has_its_attempts_made_again_but_for_those_that_are_made_once() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    let first = pool(&cluster, &card).await;
    let run = client.start::<scene>(vec![1], "scene").await.unwrap();
    let once = client.start::<poster>(7, "poster").await.unwrap();
    card.has_begun(2).await;
    let port = first.stop().await;
    let _second = Here::serve_at(executes(&card), port).await;
    card.has_begun(3).await;
    let Outcome::Failed(failure) = once.outcome().await.unwrap() else { panic!("its only attempt was interrupted") };
    assert!(failure.cause.to_string().contains("at_most_once"), "{failure:?}");
    card.opens.add_permits(1);
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(2));
    assert_eq!(card.begun.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_stops_its_attempts_at_once_and_also_those_of_its_worker_before() {
    for crashes in [false, true] {
        let (cluster, here, client) = with(drives()).await;
        let card = Card::new();
        let _pool = pool(&cluster, &card).await;
        let run = client.start::<scene>(vec![1, 2], "scene").await.unwrap();
        card.has_begun(2).await;
        let mut here = here;
        if crashes {
            // Of calls that take longer the object knows which they are.
            until_invocation_is(&cluster, &run, "suspended").await;
            here = Here::serve_at(drives(), here.stop().await).await;
        }
        run.cancel().await.unwrap();
        until("it has ended", || async { run.status().await.unwrap().unwrap().status == RunStatus::Cancelled }).await;
        until("both have stopped", || async { card.stopped.load(Ordering::SeqCst) == 2 }).await;
        until("no call is left", || async { calls(&cluster).await == 0 }).await;
        drop(here);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_pool_nobody_serves_waits_for_a_worker() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    card.opens.add_permits(100);
    let run = client.start::<scene>(vec![1], "scene").await.unwrap();
    let once = client.start::<poster>(7, "poster").await.unwrap();
    let attempts = "select last_failure from sys_invocation where target_service_key = 'scene'";
    until("the server says which service there is not", || async {
        cluster.query(attempts).await.contains("graphweft.pool.gpu")
    })
    .await;
    let tried = "select retry_count from sys_invocation where target_service_key = 'scene' and retry_count >= 5";
    until("it was tried some times", || async { cluster.query(tried).await.contains("retry_count") }).await;
    let _pool = pool(&cluster, &card).await;
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(2));
    assert_eq!(once.outcome().await.unwrap(), Outcome::Completed(7));
    assert_eq!(card.begun.load(Ordering::SeqCst), 2);
    let kinds = kinds(&run).await;
    assert_eq!(count(&kinds, "run_resumed"), 1, "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_in_restate_and_started_again_has_its_attempts_made_again() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    let _pool = pool(&cluster, &card).await;
    let run = client.start::<scene>(vec![1, 2], "scene").await.unwrap();
    let once = client.start::<poster>(7, "poster").await.unwrap();
    card.has_begun(3).await;
    for run in ["scene", "poster"] {
        cluster.end_invocation(run, "kill").await;
    }
    until("its attempts have ended with it", || async { calls(&cluster).await == 0 }).await;
    client.start::<scene>(vec![1, 2], "scene").await.unwrap();
    client.start::<poster>(7, "poster").await.unwrap();
    card.has_begun(5).await;
    card.opens.add_permits(2);
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(5));
    let Outcome::Failed(failure) = once.outcome().await.unwrap() else { panic!("its only attempt was killed") };
    assert!(failure.cause.to_string().contains("at_most_once"), "{failure:?}");
    assert_eq!(card.begun.load(Ordering::SeqCst), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_may_drive_runs_and_execute_their_nodes() {
    let card = Card::new();
    card.opens.add_permits(100);
    let worker = drives().resource(Arc::clone(&card)).pool("gpu").max_concurrency(1);
    let (_cluster, _here, client) = with(worker).await;
    let run = client.start::<scene>(vec![0, 1, 2, 3], "scene").await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(10));
}

#[test]
fn a_worker_that_could_not_execute_the_nodes_of_its_pool_is_not_made() {
    let refused = drives().pool("gpu").build();
    assert!(matches!(refused, Err(WorkerError::Engine(BuildError::MissingResources(_)))), "{refused:?}");
    let refused = drives().resource(Card::new()).pool("gpus").build();
    assert!(matches!(refused, Err(WorkerError::Engine(BuildError::UnknownPool { .. }))), "{refused:?}");
    drives().build().expect("one that drives runs needs no resources of pools");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_of_a_pool_lose_nothing_and_nothing_that_is_recorded_begins_again() {
    let cluster = Cluster::start(ONE).await;
    let (program, ledger) = (env!("CARGO_BIN_EXE_restate_worker"), cluster.folder().join("ledger"));
    let workers = Workers::start(program, &ledger, 1).await;
    let mut pool = Workers::start_as(Role::Pool(2), program, &ledger, 2).await;
    let (admin, client) = (cluster.admin(), cluster.client());
    for address in [workers.address(), pool.address()] {
        until("the workers are there", || async { admin.register(&address).await.is_ok() }).await;
    }
    let mut runs = Vec::new();
    for n in 0..10 {
        runs.push(client.start::<fan>(n, format!("fan-{n}")).await.unwrap());
        tokio::time::sleep(Duration::from_millis(100)).await;
        pool.crash(usize::try_from(n).unwrap() % 2);
    }
    let mut judge_of = Vec::new();
    for (n, run) in (0..).zip(&runs) {
        assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(of_fan(n)));
        judge_of.push(run);
    }
    let mut judge = Judge::of(&ledger);
    for run in judge_of {
        judge.compare(run).await;
    }
    assert_eq!(judge.judged, 80, "the ledger knows the paths");
}
