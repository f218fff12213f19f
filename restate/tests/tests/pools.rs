//! Nodes of pools: calls of services of Restate, whose workers and whose runs' workers come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{BuildError, Workflow};
use graphweft_restate::{RunHandle, Worker, WorkerBuilder, WorkerError};
use graphweft_restate_tests::cluster::{Cluster, Shape, until};
use graphweft_restate_tests::here::{Here, ONE, until_invocation_is, with, with_shape};
use graphweft_restate_tests::judge::Judge;
use graphweft_restate_tests::workers::{Role, Workers};
use graphweft_restate_tests::workflows::{fan, of_fan};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What attempts wait for, and how often they have begun, ended and been stopped.
struct Card {
    opens: tokio::sync::Semaphore,
    begun: AtomicU32,
    ended: AtomicU32,
    stopped: AtomicU32,
    /// The number of the last that has begun.
    last: AtomicU32,
}

impl Card {
    fn new() -> Arc<Self> {
        let (begun, ended, stopped, last) = Default::default();
        Arc::new(Card { opens: tokio::sync::Semaphore::new(0), begun, ended, stopped, last })
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
    card.last.store(n, Ordering::SeqCst);
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

#[node(pool = "gpu", timeout = "200ms")]
async fn etch(n: u32, #[resource] card: &Arc<Card>) -> u32 {
    card.works().await;
    n
}
workflow! {
    /// A node in a pool that has little time.
    pub plate(u32) -> u32 { START => etch; etch => END; }
}

fn drives() -> WorkerBuilder {
    Worker::builder().register::<scene>().register::<poster>().register::<plate>().resident(Duration::ZERO)
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
async fn the_time_limit_of_a_node_is_that_of_its_execution() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    // It has its time from when a worker begins it.
    let run = client.start::<plate>(1, "plate").await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let _pool = pool(&cluster, &card).await;
    let Outcome::Failed(failure) = run.outcome().await.unwrap() else { panic!("it has a time limit") };
    assert_eq!(failure.cause.fault, Some(Fault::Timeout { after: Duration::from_millis(200) }));
    assert_eq!((card.begun.load(Ordering::SeqCst), card.stopped.load(Ordering::SeqCst)), (1, 1));
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
async fn a_run_that_is_cancelled_stops_attempts_that_its_worker_before_had_only_just_called() {
    let (cluster, here, client) = with(drives()).await;
    let card = Card::new();
    let _pool = pool(&cluster, &card).await;
    let run = client.start::<scene>(vec![1, 2, 3], "scene").await.unwrap();
    card.has_begun(3).await;
    // The object does not know yet which invocations these are, and the next worker asks for none of them.
    let port = here.stop().await;
    cluster.end_invocation("scene", "cancel").await;
    let _here = Here::serve_at(drives(), port).await;
    until("it has ended", || async { run.status().await.unwrap().unwrap().status == RunStatus::Cancelled }).await;
    until("all have stopped", || async { card.stopped.load(Ordering::SeqCst) == 3 }).await;
    until("no call is left", || async { calls(&cluster).await == 0 }).await;
    assert_eq!(card.begun.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_wait_in_a_full_worker_are_cancelled_also_if_another_one_had_begun_them() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    let first = pool(&cluster, &card).await;
    let mut runs = Vec::new();
    for n in 1..=6 {
        runs.push(client.start::<scene>(vec![n], format!("scene-{n}")).await.unwrap());
    }
    card.has_begun(6).await;
    // The server gives it all of them over one connection.
    let full = executes(&card).max_concurrency(1).streams(64);
    let _full = Here::serve_at(full, first.stop().await).await;
    card.has_begun(7).await;
    let under_way = card.last.load(Ordering::SeqCst);
    let waiting = (1..).zip(&runs).filter(|(n, _)| *n != under_way);
    for (left, (_, run)) in (1..=5).rev().zip(waiting) {
        run.cancel().await.unwrap();
        until("its call has ended", || async { calls(&cluster).await == left }).await;
    }
    assert_eq!(card.begun.load(Ordering::SeqCst), 7);
    card.opens.add_permits(1);
    let run = &runs[under_way as usize - 1];
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(under_way + 1));
}

/// Passes on what a worker says, but for the end of its first result, behind which the connection is cut: as if the server had died when it had
/// recorded the one and not the other.
async fn cut_once(listener: TcpListener, port: u16, is_cut: Arc<AtomicBool>) -> std::io::Result<()> {
    loop {
        let (mut server, _) = listener.accept().await?;
        let is_cut = Arc::clone(&is_cut);
        tokio::spawn(async move {
            let mut worker = TcpStream::connect(("127.0.0.1", port)).await?;
            let ((mut from_server, mut to_server), (mut from_worker, mut to_worker)) = (server.split(), worker.split());
            let cuts = async {
                loop {
                    // A frame of HTTP/2: its length, type and flags, and its stream.
                    let mut head = [0; 9];
                    from_worker.read_exact(&mut head).await?;
                    let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
                    let mut data = vec![0; length];
                    from_worker.read_exact(&mut data).await?;
                    let is_result = head[3] == 0 && data.len() > END.len() && data.ends_with(&END);
                    let cuts = is_result && !is_cut.swap(true, Ordering::SeqCst);
                    if cuts {
                        data.truncate(length - END.len());
                        head[..3].copy_from_slice(&u32::try_from(data.len()).unwrap().to_be_bytes()[1..]);
                    }
                    to_server.write_all(&head).await?;
                    to_server.write_all(&data).await?;
                    if cuts {
                        tokio::time::sleep(Duration::from_millis(500)).await;
                        return Ok::<_, std::io::Error>(());
                    }
                }
            };
            tokio::select! {
                cut = cuts => cut,
                copied = tokio::io::copy(&mut from_server, &mut to_worker) => copied.map(drop),
            }
        });
    }
}

/// The message that ends an invocation.
const END: [u8; 8] = [0, 3, 0, 0, 0, 0, 0, 0];

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_recorded_without_its_end_is_a_result() {
    let (cluster, _here, client) = with(drives()).await;
    let card = Card::new();
    card.opens.add_permits(100);
    let worker = Here::serve(executes(&card)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let is_cut = Arc::new(AtomicBool::new(false));
    let cuts = tokio::spawn(cut_once(listener, worker.port(), Arc::clone(&is_cut)));
    cluster.admin().register(&address).await.unwrap();
    let run = client.start::<poster>(7, "poster").await.unwrap();
    let outcome = tokio::time::timeout(Duration::from_secs(30), run.outcome()).await;
    assert_eq!(outcome.expect("it has ended").unwrap(), Outcome::Completed(7));
    assert_eq!(card.begun.load(Ordering::SeqCst), 1);
    assert!(is_cut.load(Ordering::SeqCst), "its end was sent apart from the result");
    cuts.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_many_calls_leaves_its_place_in_the_server_to_them() {
    let (cluster, _here, client) = with_shape(Shape { at_once: Some(1), ..ONE }, drives()).await;
    let card = Card::new();
    card.opens.add_permits(100);
    let _pool = pool(&cluster, &card).await;
    // The client would ask the server for the status, for which there is no place meanwhile.
    let items: Vec<u32> = (1..=80).collect();
    let body = format!("{items:?}");
    let sent = cluster.post("/graphweft.scene/wide/run/send", &body).await;
    assert!(sent.starts_with("HTTP/1.1 202"), "{sent}");
    let run = client.run::<scene>("wide");
    let sql = "select id from sys_invocation where target_handler_name = 'execute' and status = 'completed'";
    until("a call has had a place", || async { cluster.query(sql).await.contains("inv_") }).await;
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(items.iter().map(|n| n + 1).sum()));
    assert_eq!(card.begun.load(Ordering::SeqCst), 80);
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
