//! Runs on one server, with workers that are killed, and with workers of this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use graphweft::prelude::*;
use graphweft::{BuildError, Executor, NodeResult, NodeTask, ProgressSender, Workflow};
use graphweft_restate::{ClientError, ListRuns, RunHandle, Worker, WorkerError};
use graphweft_restate_tests::cluster::{Cluster, until};
use graphweft_restate_tests::here::{Here, ONE, until_invocation_is, with};
use graphweft_restate_tests::judge::Judge;
use graphweft_restate_tests::workers::Workers;
use graphweft_restate_tests::workflows::{batch, large, of_batch};

async fn questions<W: Workflow>(run: &RunHandle<W>) -> Vec<graphweft::Question> {
    match run.outcome().await.unwrap() {
        Outcome::Waiting(questions) => questions,
        _ => panic!("it waits"),
    }
}

fn status_of<T: std::fmt::Debug>(refused: Result<T, ClientError>) -> u16 {
    match refused.unwrap_err() {
        ClientError::Refused { status, .. } => status,
        ClientError::NotFound { .. } => 404,
        error => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_worker_is_killed_is_taken_over_and_nothing_recorded_begins_again() {
    let cluster = Cluster::start(ONE).await;
    let ledger = cluster.folder().join("ledger");
    let mut workers = Workers::start(env!("CARGO_BIN_EXE_restate_worker"), &ledger, 1).await;
    let (admin, client) = (cluster.admin(), cluster.client());
    until("the worker is there", || async { admin.register(&workers.address()).await.is_ok() }).await;

    let run = client.start::<batch>(5, "killed").await.unwrap();
    let has_ended = || async { std::fs::read_to_string(&ledger).is_ok_and(|ledger| ledger.contains("end")) };
    until("a node has ended", has_ended).await;
    workers.crash(0);
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(of_batch(5)));

    let mut judge = Judge::of(&ledger);
    judge.compare(&run).await;
    assert!(judge.judged > 8, "the ledger knows the paths");
    let events = run.events_from(0).await.unwrap();
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::RunResumed { .. })), "it was taken over");
}

#[node]
async fn review(text: String, ctx: &Context) -> String {
    if ctx.ask("approve", "Ship it?").await { text } else { "nothing".into() }
}
workflow! {
    /// Waits for a person.
    pub publish(String) -> String { START => review; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_is_suspended_and_resumed_by_an_answer() {
    let (cluster, _here, client) = with(Worker::builder().register::<publish>().resident(Duration::ZERO)).await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    let asked = questions(&run).await;
    assert_eq!((&*asked[0].name, &*asked[0].prompt), ("approve", "Ship it?"));
    until_invocation_is(&cluster, &run, "suspended").await;

    assert_eq!(status_of(run.answer("approve", "perhaps").await), 422);
    assert_eq!(status_of(run.answer("reject", true).await), 409);
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
    assert_eq!(status_of(run.answer("approve", true).await), 409);
    let kinds: Vec<_> = run.events_from(0).await.unwrap().iter().map(|event| event.kind.name().to_owned()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "answered").count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "node_started").count(), 1, "{kinds:?}");
    assert_eq!(noted(&cluster, &run).await, 1);
}

fn unreachable<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    match result.unwrap_err() {
        error @ ClientError::Unreachable { .. } => error.to_string(),
        error => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_worker_each_request_says_so_within_half_a_minute() {
    let (_cluster, here, client) = with(Worker::builder().register::<publish>()).await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    questions(&run).await;
    let port = here.stop().await;

    let (begun, never) = (std::time::Instant::now(), client.run::<publish>("never"));
    let (started, status, events, answered, cancelled) = tokio::join!(
        client.start::<publish>("another".into(), "never"),
        run.status(),
        run.events_from(0),
        run.answer("approve", true),
        never.cancel(),
    );
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let said =
        [unreachable(started), unreachable(status), unreachable(events), unreachable(answered), unreachable(cancelled)];
    for said in said {
        assert!(said.contains("the server is there, and no worker has answered"), "{said}");
    }

    let _here = Here::serve_at(Worker::builder().register::<publish>(), port).await;
    // What was asked for is done; what could not be asked whether it is there is not started.
    until("it is answered", || async { run.status().await.unwrap().unwrap().status.is_over() }).await;
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
    assert_eq!(never.status().await.unwrap(), None);
}

#[node]
async fn halve(x: f64) -> f64 {
    x / 2.0
}
workflow! {
    /// Takes a float.
    pub half(f64) -> f64 { START => halve; halve => END; }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_run_is_refused_where_it_is_started() {
    let (cluster, _here, client) = with(Worker::builder().register::<half>()).await;
    for id in ["", ".", "..", &"x".repeat(1025)] {
        assert_eq!(status_of(client.start::<half>(1.0, id).await), 400, "{id}");
    }
    let error = client.start::<half>(f64::NAN, "nan").await.unwrap_err().to_string();
    assert_eq!(error, "the input: plain JSON has no such value: give it another type, such as a text");
    assert_eq!(client.run::<half>("nan").status().await.unwrap(), None);

    let run = client.start::<half>(3.0, "three").await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(1.5));
    assert_eq!(status_of(run.fork(2, "..").await), 400);
    let error = run.fork(2, "three").await.unwrap_err().to_string();
    assert_eq!(error, "run `three` is there already, and is another one; choose another id");
    let error = run.fork(0, "none").await.unwrap_err().to_string();
    assert!(error.contains("a fork keeps the first at least; give a number from 1 to"), "{error}");
    let answer = cluster.post("/graphweft.half/three/retry", "null").await;
    assert!(answer.contains("records") && !answer.contains("OfEnd"), "{answer}");

    let ingress_of_administration = graphweft_restate::Client::connect(&[cluster.admin_address()]);
    let error = ingress_of_administration.start::<half>(1.0, "one").await.unwrap_err().to_string();
    assert!(error.contains("a `Client` takes the addresses of the ingress"), "{error}");
    let admin_of_ingress = graphweft_restate::Admin::connect(&[cluster.ingress_address()]);
    let error = admin_of_ingress.list(ListRuns::of("half")).await.unwrap_err().to_string();
    assert!(error.contains("an `Admin` those of the administration"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_in_memory_takes_an_answer_without_being_resumed() {
    let worker = Worker::builder().register::<publish>().resident(Duration::from_secs(600));
    let (_cluster, _here, client) = with(worker).await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    let asked = questions(&run).await;
    run.answer(&asked[0].id, false).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("nothing".into()));
    let events = run.events_from(0).await.unwrap();
    assert!(!events.iter().any(|event| matches!(event.kind, EventKind::RunResumed { .. })), "{events:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_start_gives_the_same_run_and_another_input_is_refused() {
    let (_cluster, _here, client) = with(Worker::builder().register::<publish>()).await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    client.start::<publish>("a poem".into(), "poem").await.unwrap();
    assert_eq!(status_of(client.start::<publish>("a song".into(), "poem").await), 409);
    let started = run.events_from(0).await.unwrap();
    assert_eq!(started[0].kind.name(), "run_started");
    assert_eq!(client.run::<publish>("song").status().await.unwrap(), None);
    assert_eq!(status_of(client.run::<publish>("song").events_from(0).await), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_run_is_cancelled() {
    let (cluster, _here, client) = with(Worker::builder().register::<publish>().resident(Duration::ZERO)).await;
    let run = client.start::<publish>("a poem".into(), "poem/1 of 2").await.unwrap();
    questions(&run).await;
    until_invocation_is(&cluster, &run, "suspended").await;
    run.cancel().await.unwrap();
    until("it has ended", || async { run.status().await.unwrap().unwrap().status == RunStatus::Cancelled }).await;
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
    run.cancel().await.unwrap();
    assert_eq!(noted(&cluster, &run).await, 1);
}

#[node]
async fn nap(n: u32, ctx: &Context) -> u32 {
    ctx.sleep(Duration::from_millis(1_500)).await;
    n + 1
}
workflow! {
    /// Sleeps.
    pub naps(u32) -> u32 { START => nap; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_sleeps_is_suspended_and_woken_by_the_server() {
    let (cluster, _here, client) = with(Worker::builder().register::<naps>().resident(Duration::ZERO)).await;
    let run = client.start::<naps>(1, "nap").await.unwrap();
    until_invocation_is(&cluster, &run, "suspended").await;
    assert_eq!(run.status().await.unwrap().unwrap().status, RunStatus::Sleeping);
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(2));
}

#[node]
async fn sleep_and_ask(ctx: &Context) -> bool {
    ctx.sleep(Duration::from_secs(1)).await;
    ctx.ask("approve", "Ship it?").await
}
workflow! {
    /// Sleeps, and then waits for a person.
    pub late(()) -> bool { START => sleep_and_ask; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_timer_the_server_fires_early_is_not_suspended_and_resumed_again_and_again() {
    // The server is ahead of this worker.
    let clock = || SystemTime::now() - Duration::from_millis(700);
    let worker = Worker::builder().register::<late>().resident(Duration::ZERO).configure(|engine| engine.clock(clock));
    let (cluster, _here, client) = with(worker).await;
    let run = client.start::<late>((), "late").await.unwrap();
    questions(&run).await;
    until_invocation_is(&cluster, &run, "suspended").await;
    let journal = cluster.query("select entry_type from sys_journal").await;
    assert_eq!(journal.matches("Command: Sleep").count(), 1, "{journal}");
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(true));
}

const PAID: Signal<u32> = Signal::new("paid");

#[node]
async fn collect(n: u32, ctx: &Context) -> u32 {
    n + ctx.wait(PAID).await + ctx.wait(PAID).await
}
workflow! {
    /// Waits for two payments.
    pub collects(u32) -> u32 { START => collect; }
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_reach_a_suspended_run_in_their_order_and_one_with_an_id_once() {
    let (cluster, _here, client) = with(Worker::builder().register::<collects>().resident(Duration::ZERO)).await;
    let run = client.start::<collects>(1, "order").await.unwrap();
    until_invocation_is(&cluster, &run, "suspended").await;
    let outcome =
        tokio::time::timeout(Duration::from_secs(30), run.outcome()).await.expect("it does not wait for ever");
    let Outcome::AwaitingSignals(signals) = outcome.unwrap() else { panic!("it waits for a payment") };
    assert_eq!(
        signals.iter().map(|signal| (&*signal.name, &*signal.path)).collect::<Vec<_>>(),
        [("paid", "collects/collect")]
    );
    for (id, cents) in [("first", 10), ("first", 10), ("second", 200)] {
        run.signal(PAID, id, cents).await.unwrap();
    }
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(211));
    assert_eq!(noted(&cluster, &run).await, 2);
}

struct Bank {
    is_up: AtomicBool,
    reserved: AtomicU32,
}

#[node]
async fn reserve(seat: u32, #[resource] bank: &Arc<Bank>) -> u32 {
    bank.reserved.fetch_add(1, Ordering::SeqCst);
    seat
}
#[node]
async fn charge(seat: u32, #[resource] bank: &Arc<Bank>) -> Result<String, String> {
    if bank.is_up.load(Ordering::SeqCst) { Ok(format!("seat {seat} is paid")) } else { Err("no connection".into()) }
}
workflow! {
    /// Fails while the bank is down.
    pub book(u32) -> String { START => reserve => charge; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_is_found_retried_and_forgotten() {
    let bank = Arc::new(Bank { is_up: AtomicBool::new(false), reserved: AtomicU32::new(0) });
    let worker = Worker::builder().register::<book>().resource(Arc::clone(&bank)).max_concurrency(4);
    let (cluster, _here, client) = with(worker).await;
    let run = client.start::<book>(12, "seat-12").await.unwrap();
    assert!(
        matches!(run.outcome().await.unwrap(), Outcome::Failed(failure) if failure.cause.to_string() == "no connection")
    );
    assert_eq!(status_of(client.run::<book>("seat-13").retry().await), 404);

    let admin = cluster.admin();
    let failed = admin.list(ListRuns::of("book").status(RunStatus::Failed).id_prefix("seat")).await.unwrap();
    assert_eq!(failed.iter().map(|header| &*header.id).collect::<Vec<_>>(), ["seat-12"]);

    bank.is_up.store(true, Ordering::SeqCst);
    run.retry().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("seat 12 is paid".into()));
    assert_eq!(bank.reserved.load(Ordering::SeqCst), 1);
    assert_eq!(status_of(run.retry().await), 409);

    run.forget().await.unwrap();
    assert!(admin.list(ListRuns::of("book")).await.unwrap().is_empty());
    assert_eq!(run.status().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_one_program_has_refused_is_made_by_the_next() {
    let bank = Arc::new(Bank { is_up: AtomicBool::new(false), reserved: AtomicU32::new(0) });
    let (_cluster, here, client) = with(Worker::builder().register::<book>().resource(Arc::clone(&bank))).await;
    let run = client.start::<book>(12, "seat-12").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));

    let port = here.stop().await;
    let here = Here::serve_at(Worker::builder().register::<gone::book>(), port).await;
    for _ in 0..2 {
        assert_eq!(status_of(run.retry().await), 409);
    }
    let port = here.stop().await;
    bank.is_up.store(true, Ordering::SeqCst);
    let _here = Here::serve_at(Worker::builder().register::<book>().resource(bank), port).await;
    run.retry().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("seat 12 is paid".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_the_id_and_the_length_of_one_before_is_not_forgotten_for_it() {
    let worker = Worker::builder().register::<naps>().retention(Duration::from_secs(3));
    let (cluster, _here, client) = with(worker).await;
    let ended = async || {
        let run = client.start::<naps>(1, "nap").await.unwrap();
        run.outcome().await.unwrap();
        run
    };
    let first = ended().await.status().await.unwrap().unwrap();
    client.run::<naps>("nap").forget().await.unwrap();
    let run = ended().await;
    assert_eq!(run.status().await.unwrap().unwrap().records, first.records);
    let planned = async || {
        let sql = "select id from sys_invocation where target_handler_name = 'forget' and status = 'scheduled'";
        cluster.query(sql).await.matches("inv_").count()
    };
    until("the first is to be forgotten", || async { planned().await < 2 }).await;
    let is_there = run.status().await.unwrap().is_some();
    assert!(is_there || planned().await == 0);
}

/// Changes what the object of a run holds, which Restate does when nothing drives it.
async fn set_state<W: Workflow>(cluster: &Cluster, run: &RunHandle<W>, state: serde_json::Value) {
    let body = serde_json::json!({ "object_key": run.id(), "new_state": state });
    let set = cluster.ask_admin(&format!("/services/graphweft.{}/state", W::NAME), &body.to_string()).await;
    assert!(set.starts_with("HTTP/1.1 202"), "{set}");
}

/// What the objects hold: each value as the numbers of its bytes, which `set_state` takes.
async fn state_of(cluster: &Cluster) -> serde_json::Map<String, serde_json::Value> {
    let response = cluster.query("select key, value from state").await;
    let (_, body) = response.split_once("\r\n\r\n").expect("it has a body");
    // Each chunk follows its size.
    let body: String = body.split("\r\n").skip(1).step_by(2).collect();
    let rows: serde_json::Value = serde_json::from_str(&body).expect("it is JSON");
    let pairs = rows["rows"].as_array().expect("there are rows").iter().map(|row| {
        let (key, hex) = (row["key"].as_str().expect("a text"), row["value"].as_str().expect("a text"));
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("it is hexadecimal");
        (key.to_owned(), (0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>().into())
    });
    pairs.collect()
}

#[node]
async fn passes(n: u32) -> u32 {
    tokio::time::sleep(Duration::from_millis(1)).await;
    n + 1
}

workflow! {
    chain(u32) -> u32 {
        let second = passes();
        let third = passes();
        let fourth = passes();
        START => passes => second => third => fourth;
    }
}

/// The end of a node, and the begin of the next one or the end of the run, are one value of the object.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_one_append() {
    let (cluster, _here, client) = with(Worker::builder().register::<chain>()).await;
    let run = client.start::<chain>(1, "appends").await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(5));
    let events = run.events_from(0).await.unwrap();
    let state = state_of(&cluster).await;
    let appends = state.keys().filter(|key| key.starts_with("r/")).count();
    // The begin of the run, that of its first node, and the four ends.
    assert_eq!((events.len(), appends), (10, 6));
}

#[node]
async fn sleep_for_an_hour(n: u32, ctx: &Context) -> u32 {
    ctx.sleep(Duration::from_secs(60 * 60)).await;
    n
}
workflow! {
    /// Sleeps for longer than a test.
    pub sleeps(u32) -> u32 { START => sleep_for_an_hour; }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_run_that_is_forgotten_gets_an_error() {
    let (cluster, _here, client) = with(Worker::builder().register::<sleeps>().resident(Duration::ZERO)).await;
    let run = client.start::<sleeps>(1, "order").await.unwrap();
    until_invocation_is(&cluster, &run, "suspended").await;
    let waits = tokio::spawn({
        let run = run.clone();
        async move { run.outcome().await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    cluster.end_invocation(run.id(), "kill").await;
    set_state(&cluster, &run, serde_json::json!({})).await;
    let outcome = tokio::time::timeout(Duration::from_secs(30), waits).await.expect("it does not wait for ever");
    assert_eq!(status_of(outcome.unwrap()), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_were_read_while_the_run_changed_are_read_again() {
    let (cluster, _here, client) = with(Worker::builder().register::<naps>()).await;
    let run = client.start::<naps>(1, "nap").await.unwrap();
    run.outcome().await.unwrap();
    let state = state_of(&cluster).await;
    // As if some of it had been read before a change, and the rest behind it.
    let mut torn = state.clone();
    torn.remove("r/0000000001").expect("it is recorded");
    set_state(&cluster, &run, torn.into()).await;
    let change = async {
        let sql = "select status from sys_invocation where target_handler_name = 'events'";
        until("it was attempted", || async { cluster.query(sql).await.contains("backing-off") }).await;
        set_state(&cluster, &run, state.into()).await;
    };
    // One request: the client makes another one in the end.
    let events = async { tokio::join!(cluster.post("/graphweft.naps/nap/events", "0"), change).0 };
    let events = tokio::time::timeout(Duration::from_secs(30), events).await.expect("it is read");
    assert!(events.contains("run_completed"), "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_run_is_kept_as_long_as_the_worker_says_and_one_that_waits_is_not_forgotten() {
    let worker = Worker::builder().register::<naps>().register::<publish>().retention(Duration::from_millis(300));
    let (_cluster, _here, client) = with(worker).await;
    let waits = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    questions(&waits).await;
    // It gets its turn when the run has ended.
    let run = client.start::<naps>(1, "nap").await.unwrap();
    until("the run is there", || async { run.status().await.unwrap().is_some() }).await;
    until("the run is gone", || async { run.status().await.unwrap().is_none() }).await;
    assert!(waits.status().await.unwrap().is_some());
}

mod before {
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn review(text: String, ctx: &Context) -> String {
        if ctx.ask("approve", "Ship it?").await { text } else { "nothing".into() }
    }
    workflow! {
        /// As it was.
        pub changing(String) -> String { START => review; }
    }
}

mod after {
    use graphweft::prelude::*;

    use super::before::review;

    #[node]
    async fn sign(text: String) -> String {
        format!("{text}, signed")
    }
    workflow! {
        /// As it is now: with another node behind the one that waits.
        pub changing(String) -> String { START => review => sign; }
    }
}

mod gone {
    use graphweft::prelude::*;

    #[node]
    async fn sign(text: String) -> String {
        format!("{text}, signed")
    }
    workflow! {
        /// Without the node that waits.
        pub changing(String) -> String { START => sign; }
    }
    workflow! {
        /// Without the node that has failed.
        pub book(u32) -> String { START => is_free; }
    }
    workflow! {
        /// Without the node that is under way.
        pub holding(u32) -> u32 { START => two; }
    }

    #[node]
    async fn is_free(seat: u32) -> String {
        format!("seat {seat} is free")
    }
    #[node]
    async fn two(_n: u32) -> u32 {
        2
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_goes_on_under_a_new_program() {
    let old = Worker::builder().register::<before::changing>().resident(Duration::ZERO);
    let (cluster, here, client) = with(old).await;
    let run = client.start::<before::changing>("a poem".into(), "poem").await.unwrap();
    questions(&run).await;
    until_invocation_is(&cluster, &run, "suspended").await;

    let port = here.stop().await;
    let here = Here::serve_at(Worker::builder().register::<after::changing>(), port).await;
    here.register(&cluster.admin()).await;
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("a poem, signed".into()));
    let events = run.events_from(0).await.unwrap();
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::GraphChanged { .. })), "{events:#?}");
}

/// Without the node that waits.
mod without {
    use graphweft::prelude::*;

    #[node]
    async fn sign(text: String) -> String {
        format!("{text}, signed")
    }
    workflow! {
        /// Does not ask any more.
        pub changing(String) -> String { START => sign; }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_run_that_no_program_can_continue_is_refused_and_a_cancel_behind_it_ends_the_run() {
    let old = || Worker::builder().register::<before::changing>().resident(Duration::ZERO);
    let (cluster, here, client) = with(old()).await;
    let poem = client.start::<before::changing>("a poem".into(), "poem").await.unwrap();
    let prose = client.start::<before::changing>("prose".into(), "prose").await.unwrap();
    for run in [&poem, &prose] {
        questions(run).await;
        until_invocation_is(&cluster, run, "suspended").await;
    }

    let port = here.stop().await;
    let here = Here::serve_at(Worker::builder().register::<without::changing>(), port).await;
    here.register(&cluster.admin()).await;
    for run in [&poem, &prose] {
        match run.answer("approve", true).await.unwrap_err() {
            ClientError::Refused { status: 409, message } => assert!(message.contains("it was removed"), "{message}"),
            error => panic!("{error}"),
        }
        assert!(run.events_from(0).await.unwrap().iter().all(|event| event.kind.name() != "answered"));
    }
    poem.cancel().await.unwrap();
    assert_eq!(poem.outcome().await.unwrap(), Outcome::Cancelled);

    // The question is open, for a program that can continue the run.
    let port = here.stop().await;
    let here = Here::serve_at(old(), port).await;
    here.register(&cluster.admin()).await;
    prose.answer("approve", true).await.unwrap();
    assert_eq!(prose.outcome().await.unwrap(), Outcome::Completed("prose".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_worker_has_moved_waits_for_it_or_is_given_to_the_new_address_as_the_readme_says() {
    let worker = || Worker::builder().register::<publish>().resident(Duration::ZERO);
    let (cluster, old, client) = with(worker()).await;
    let ids = ["suspended", "answered", "back"];
    let mut runs = Vec::new();
    for id in ids {
        let run = client.start::<publish>(id.into(), id).await.unwrap();
        questions(&run).await;
        until_invocation_is(&cluster, &run, "suspended").await;
        runs.push(run);
    }
    let port = old.stop().await;
    let new = Here::serve(worker()).await;
    new.register(&cluster.admin()).await;
    let of = |id: &str| format!("target_service_key = '{id}' and target_handler_name = 'run'");

    // One that waits is resumed at the new address, to wait there.
    cluster.end_invocations(&of("suspended"), "resume?deployment=latest").await;
    runs[0].answer("approve", true).await.unwrap();
    assert_eq!(runs[0].outcome().await.unwrap(), Outcome::Completed("suspended".into()));

    // One that is tried again and again has to be paused before.
    let answers = tokio::spawn({
        let run = client.run::<publish>("answered");
        async move { run.answer("approve", true).await }
    });
    until_invocation_is(&cluster, &runs[1], "backing-off").await;
    let found = cluster
        .query(
            "select i.id, d.endpoint from sys_invocation i join sys_deployment d on i.pinned_deployment_id = d.id \
             where i.status <> 'completed' and i.target_service_key = 'answered'",
        )
        .await;
    assert!(found.contains(&format!("127.0.0.1:{port}")), "{found}");
    cluster.end_invocations(&of("answered"), "pause").await;
    until_invocation_is(&cluster, &runs[1], "paused").await;
    cluster.end_invocations(&of("answered"), "resume?deployment=latest").await;
    answers.await.unwrap().unwrap();
    assert_eq!(runs[1].outcome().await.unwrap(), Outcome::Completed("answered".into()));

    // One that is left alone continues when a worker is at the old address again.
    let _old = Here::serve_at(worker(), port).await;
    runs[2].answer("approve", true).await.unwrap();
    assert_eq!(runs[2].outcome().await.unwrap(), Outcome::Completed("back".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_the_workflow_does_not_take_is_reported() {
    let (_cluster, _here, client) = with(Worker::builder().register::<naps>()).await;
    // A program of another version.
    mod other {
        use graphweft::prelude::*;
        #[node]
        async fn nap(text: String) -> u32 {
            u32::try_from(text.len()).unwrap_or_default()
        }
        workflow! {
            /// Takes a text.
            pub naps(String) -> u32 { START => nap; }
        }
    }
    let run = client.start::<other::naps>("much".into(), "nap").await.unwrap();
    let refused = run.outcome().await;
    assert!(
        matches!(&refused, Err(ClientError::Refused { status: 400, message }) if message.contains("naps")),
        "{refused:?}"
    );
}

#[node]
async fn starts(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.start::<naps>(n).await.map(|_| n).map_err(|error| error.to_string())
}
workflow! {
    /// Starts another run.
    pub parent(u32) -> u32 { START => starts; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_another_run_gets_an_error_that_says_why_it_cannot() {
    let (_cluster, _here, client) = with(Worker::builder().register::<parent>().register::<naps>()).await;
    let run = client.start::<parent>(1, "parent").await.unwrap();
    let Outcome::Failed(failure) = run.outcome().await.unwrap() else { panic!("it cannot start another one") };
    assert!(failure.cause.to_string().contains("starting another run is not possible"), "{failure:?}");
}

#[node]
async fn again(n: u32, ctx: &Context) -> u32 {
    ctx.start_over::<endless>(n + 1).await
}
workflow! {
    /// Has no end.
    pub endless(u32) -> u32 { START => again; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_starts_over_fails_and_says_why() {
    let (_cluster, _here, client) = with(Worker::builder().register::<endless>()).await;
    let run = client.start::<endless>(1, "endless").await.unwrap();
    let Outcome::Failed(failure) = run.outcome().await.unwrap() else { panic!("it cannot start over") };
    assert!(failure.cause.to_string().contains("starting over is not possible"), "{failure:?}");
}

/// How many messages are noted in the appends that record them: those do not count if they come again.
async fn noted<W: Workflow>(cluster: &Cluster, run: &RunHandle<W>) -> usize {
    let sql = format!("select value_utf8 from state where service_key = '{}' and key like 'r/%'", run.id());
    cluster.query(&sql).await.matches(r#"\"m\":\"inv_"#).count()
}

/// How large the journal of the invocation of a run is: it grows each time that the run is resumed.
async fn journal_of<W: Workflow>(cluster: &Cluster, run: &RunHandle<W>) -> String {
    let sql = format!(
        "select journal_size from sys_invocation where target_service_key = '{}' and target_handler_name = 'run'",
        run.id()
    );
    let response = cluster.query(&sql).await;
    let (_, rows) = response.split_once("rows").expect("it is JSON");
    rows.to_owned()
}

const MORE: Signal<u32> = Signal::new("more");

#[node]
async fn gather(n: u32, ctx: &Context) -> u32 {
    let mut sum = n;
    for _ in 0..3 {
        sum += ctx.wait(MORE).await;
    }
    sum
}
workflow! {
    /// Waits for three numbers.
    pub gathers(u32) -> u32 { START => gather; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_got_a_message_and_waits_again_is_not_resumed_for_it_once_more() {
    let (cluster, _here, client) = with(Worker::builder().register::<gathers>().resident(Duration::ZERO)).await;
    let run = client.start::<gathers>(1, "sum").await.unwrap();
    until_invocation_is(&cluster, &run, "suspended").await;
    for (id, n) in [("a", 10), ("b", 100)] {
        run.signal(MORE, id, n).await.unwrap();
        until_invocation_is(&cluster, &run, "suspended").await;
    }
    let before = journal_of(&cluster, &run).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(journal_of(&cluster, &run).await, before);
    run.signal(MORE, "c", 1000).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(1111));
}

#[node]
async fn step_and_gather(steps: u32, ctx: &Context) -> u32 {
    for step in 0..steps {
        let stepped = ctx.step("count", || async { Ok::<u32, String>(1) }).key(step).await;
        stepped.expect("it has no error");
    }
    ctx.wait(MORE).await + ctx.wait(MORE).await + ctx.wait(MORE).await
}
workflow! {
    /// As many steps as the input says, and then waits for three numbers.
    pub steps_and_gathers(u32) -> u32 { START => step_and_gather; }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_of_a_run_does_not_grow_by_its_records_when_it_is_resumed() {
    let worker = Worker::builder().register::<steps_and_gathers>().resident(Duration::ZERO);
    let (cluster, _here, client) = with(worker).await;
    let run = client.start::<steps_and_gathers>(100, "steps").await.unwrap();
    until_invocation_is(&cluster, &run, "suspended").await;
    let entries = async || cluster.query("select entry_type from sys_journal").await.matches("entry_type").count();
    let before = entries().await;
    for (id, n) in [("a", 10), ("b", 100)] {
        run.signal(MORE, id, n).await.unwrap();
        until_invocation_is(&cluster, &run, "suspended").await;
    }
    assert!(run.status().await.unwrap().unwrap().records > 100);
    let grown = entries().await - before;
    assert!(grown < 100, "{grown} entries");
    run.signal(MORE, "c", 1000).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(1110));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_free_when_its_run_is_forgotten_and_another_input_is_refused_before() {
    let (_cluster, _here, client) = with(Worker::builder().register::<naps>()).await;
    for n in [1, 7] {
        let run = client.start::<naps>(n, "nap").await.unwrap();
        assert_eq!(status_of(run.forget().await), 409);
        assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(n + 1));
        assert_eq!(client.start::<naps>(n, "nap").await.unwrap().outcome().await.unwrap(), Outcome::Completed(n + 1));
        assert_eq!(status_of(client.start::<naps>(n + 1, "nap").await), 409);
        run.forget().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_with_an_id_of_before_is_retried_and_every_failure_once() {
    let bank = Arc::new(Bank { is_up: AtomicBool::new(false), reserved: AtomicU32::new(0) });
    let (cluster, _here, client) = with(Worker::builder().register::<book>().resource(bank)).await;
    for _ in 0..2 {
        let run = client.start::<book>(1, "seat").await.unwrap();
        for _ in 0..2 {
            let records = loop {
                let progress = run.status().await.unwrap();
                if let Some(progress) = progress.filter(|progress| progress.status == RunStatus::Failed) {
                    break progress.records;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            run.retry().await.unwrap();
            assert!(run.status().await.unwrap().unwrap().records > records);
            // Another one of the same end, as a program in another language may send it.
            let again = cluster.post("/graphweft.book/seat/retry", &format!("{{\"records\":{records}}}")).await;
            assert!(again.starts_with("HTTP/1.1 409"), "{again}");
        }
        until("it has failed", || async { run.status().await.unwrap().unwrap().status == RunStatus::Failed }).await;
        run.forget().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_cannot_be_read_change_nothing() {
    let (cluster, _here, client) = with(Worker::builder().register::<naps>()).await;
    let run = client.start::<naps>(1, "nap").await.unwrap();
    run.outcome().await.unwrap();
    for (handler, body) in
        [("forget", "{\"record\":1}"), ("forget", "{"), ("events", "\"all\""), ("retry", "{\"record\":1}")]
    {
        let refused = cluster.post(&format!("/graphweft.naps/nap/{handler}"), body).await;
        assert!(refused.starts_with("HTTP/1.1 400"), "{handler}: {refused}");
    }
    assert!(run.status().await.unwrap().is_some());
}

struct Gate;

#[node]
async fn needs(n: u32, #[resource] _gate: &Gate) -> u32 {
    n
}
workflow! {
    /// Needs a resource.
    pub needing(u32) -> u32 { START => needs; }
}

#[test]
fn a_worker_without_a_resource_of_a_node_that_it_would_execute_is_not_made() {
    let refused = Worker::builder().register::<needing>().build();
    assert!(matches!(refused, Err(WorkerError::Engine(BuildError::MissingResources(_)))), "{refused:?}");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("Gate") && said.contains("`needing/needs`"), "{said}");
    Worker::builder().register::<needing>().resource(Gate).build().expect("it is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_that_cannot_begin_says_why_is_cancelled_and_may_be_made_again() {
    let (cluster, here, client) = with(Worker::builder().register::<before::changing>()).await;
    let run = client.start::<before::changing>("a poem".into(), "poem").await.unwrap();
    questions(&run).await;
    let port = here.stop().await;
    let here = Here::serve_at(Worker::builder().register::<gone::changing>(), port).await;
    here.register(&cluster.admin()).await;
    let said = unreachable(run.fork(None, "poem-2").await);
    assert!(said.contains("`poem-2`") && said.contains("review"), "{said}");
    let fork = client.run::<before::changing>("poem-2");
    assert_eq!(fork.status().await.unwrap(), None);
    fork.cancel().await.unwrap();
    assert_eq!(status_of(fork.outcome().await), 409);

    let port = here.stop().await;
    let here = Here::serve_at(Worker::builder().register::<after::changing>(), port).await;
    here.register(&cluster.admin()).await;
    assert_eq!(questions(&run.fork(None, "poem-2").await.unwrap()).await[0].name, "approve");
}

#[node(pool = "gpu")]
async fn embed(n: u32) -> u32 {
    n + 1
}
workflow! {
    /// Has a node of a pool.
    pub embeds(u32) -> u32 { START => embed; }
}

/// Says that it has a task, and executes it when it may.
struct Elsewhere(Engine, Arc<Opens>);

impl Executor for Elsewhere {
    fn execute(&self, task: NodeTask, progress: ProgressSender) -> BoxFuture<'static, Result<NodeResult, Fault>> {
        let (worker, opens) = (self.0.clone(), Arc::clone(&self.1));
        progress.accepted();
        Box::pin(async move {
            opens.0.notified().await;
            worker.execute(task).await.map_err(|error| Fault::Context { message: error.to_string() })
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_a_pool_stays_in_memory_and_asks_again_after_a_crash() {
    let worker = || {
        let opens = Arc::new(Opens(tokio::sync::Notify::new()));
        let pool = Elsewhere(Engine::builder().register::<embeds>().build().unwrap(), Arc::clone(&opens));
        let worker = Worker::builder().register::<embeds>().resident(Duration::ZERO);
        (opens, worker.configure(|engine| engine.executor(pool)))
    };
    let (cluster, here, client) = with(worker().1).await;
    let run = client.start::<embeds>(1, "embed").await.unwrap();
    let sleeps = || async { run.status().await.unwrap().is_some_and(|now| now.status == RunStatus::Sleeping) };
    until("it waits for the pool", sleeps).await;

    let (port, (opens, worker)) = (here.stop().await, worker());
    let _here = Here::serve_at(worker, port).await;
    let resumed = || async {
        let events = run.events_from(0).await.unwrap();
        events.iter().any(|event| event.kind.name() == "run_resumed") && sleeps().await
    };
    until("another worker waits for it", resumed).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    until_invocation_is(&cluster, &run, "running").await;
    opens.0.notify_one();
    let outcome = tokio::time::timeout(Duration::from_secs(30), run.outcome()).await.expect("it has its result");
    assert_eq!(outcome.unwrap(), Outcome::Completed(2));
}

#[node]
async fn ask_beside(#[resource] opens: &Arc<Opens>, ctx: &Context) -> bool {
    let (approved, ()) = tokio::join!(ctx.ask("approve", "Ship it?"), opens.0.notified());
    approved
}
workflow! {
    /// Waits for a person and for something that only this process knows of.
    pub beside(()) -> bool { START => ask_beside; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_leave_the_memory_when_it_begins_to_wait_leaves_it_later() {
    let opens = Arc::new(Opens(tokio::sync::Notify::new()));
    let worker = Worker::builder().register::<beside>().resource(Arc::clone(&opens)).resident(Duration::ZERO);
    let (cluster, _here, client) = with(worker).await;
    let run = client.start::<beside>((), "beside").await.unwrap();
    questions(&run).await;
    until_invocation_is(&cluster, &run, "running").await;
    opens.0.notify_one();
    until_invocation_is(&cluster, &run, "suspended").await;
    opens.0.notify_one();
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(true));
}

struct Opens(tokio::sync::Notify);

#[node]
async fn holds(n: u32, #[resource] opens: &Arc<Opens>) -> u32 {
    opens.0.notified().await;
    n + 1
}
workflow! {
    /// Is under way until its resource says so.
    pub holding(u32) -> u32 { START => holds; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_program_cannot_resume_does_not_grow_by_the_attempts_at_it() {
    let opens = Arc::new(Opens(tokio::sync::Notify::new()));
    let worker = Worker::builder().register::<holding>().resource(Arc::clone(&opens));
    let (cluster, here, client) = with(worker).await;
    let run = client.start::<holding>(1, "held").await.unwrap();
    let records = || async { run.status().await.unwrap().map_or(0, |progress| progress.records) };
    let is_under_way = || async {
        records().await > 0 && run.events_from(0).await.unwrap().iter().any(|event| event.kind.name() == "node_started")
    };
    until("its node has started", is_under_way).await;

    let port = here.stop().await;
    let here = Here::serve_at(Worker::builder().register::<gone::holding>(), port).await;
    let sql = "select last_start_at, last_failure from sys_invocation where target_handler_name = 'run'";
    let attempts = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let before = records().await;
    until("it was attempted four times", || async {
        let answer = cluster.query(sql).await;
        let attempt = answer.split_once("last_start_at").map(|(_, rest)| rest.chars().take(32).collect::<String>());
        let mut attempts = attempts.lock().unwrap();
        attempts.extend(attempt.filter(|_| answer.contains("holds")));
        attempts.len() >= 4
    })
    .await;
    assert_eq!(records().await, before);

    let port = here.stop().await;
    opens.0.notify_one();
    let _here = Here::serve_at(Worker::builder().register::<holding>().resource(opens), port).await;
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invocation_that_is_cancelled_in_restate_cancels_its_run() {
    let (cluster, _here, client) = with(Worker::builder().register::<publish>().resident(Duration::ZERO)).await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    questions(&run).await;
    until_invocation_is(&cluster, &run, "suspended").await;
    cluster.end_invocation(run.id(), "cancel").await;
    until("it has ended", || async { run.status().await.unwrap().unwrap().status == RunStatus::Cancelled }).await;
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_invocation_was_killed_in_restate_continues_when_it_is_started_again() {
    let (cluster, _here, client) = with(Worker::builder().register::<publish>().resident(Duration::ZERO)).await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    questions(&run).await;
    until_invocation_is(&cluster, &run, "suspended").await;
    cluster.end_invocation(run.id(), "kill").await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("a poem".into()));

    // So does a fork that is made again.
    let other = run.fork(1, "poem-2").await.unwrap();
    questions(&other).await;
    until_invocation_is(&cluster, &other, "suspended").await;
    cluster.end_invocations("target_service_key = 'poem-2' and target_handler_name = 'fork'", "kill").await;
    let other = run.fork(1, "poem-2").await.unwrap();
    let answered = tokio::time::timeout(Duration::from_secs(30), other.answer("approve", false)).await;
    answered.expect("a worker takes it").unwrap();
    assert_eq!(other.outcome().await.unwrap(), Outcome::Completed("nothing".into()));
}

#[node]
async fn twice(ctx: &Context) -> (u32, u32) {
    let first = ctx.ask("how_many", "How many?").key(1).await;
    (first, ctx.ask("how_many", "How many more?").key(2).await)
}
workflow! {
    /// Asks two questions, one after the other.
    pub asks_twice(()) -> (u32, u32) { START => twice; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_made_again_is_one_answer_and_not_one_to_the_next_question_of_the_same_name() {
    let (cluster, _here, client) = with(Worker::builder().register::<asks_twice>().resident(Duration::ZERO)).await;
    let run = client.start::<asks_twice>((), "twice").await.unwrap();
    let first = questions(&run).await[0].id.clone();
    for _ in 0..2 {
        let body = format!("{{\"question\":\"{first}\",\"answer\":1}}");
        let answered = cluster.post_once("/graphweft.asks_twice/twice/answer", &body, "call-1").await;
        assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    }
    until("the next one is asked", || async { questions(&run).await[0].id != first }).await;
    assert_eq!(noted(&cluster, &run).await, 1);
    assert_eq!(status_of(run.answer(&first, 2).await), 409);
    run.answer(&questions(&run).await[0].id, 2).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed((1, 2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_started_without_a_body_has_the_input_null() {
    let (cluster, _here, client) = with(Worker::builder().register::<asks_twice>()).await;
    let started = cluster.post("/graphweft.asks_twice/twice/run/send", "").await;
    assert!(started.starts_with("HTTP/1.1 202"), "{started}");
    questions(&client.run::<asks_twice>("twice")).await;
    client.start::<asks_twice>((), "twice").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_value_is_recorded_in_parts_and_one_that_is_too_large_fails_its_node() {
    let (_cluster, _here, client) = with(Worker::builder().register::<large>().register::<publish>()).await;
    let run = client.start::<large>(14 << 20, "fits").await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(14 << 20));
    let run = client.start::<large>(40 << 20, "too-large").await.unwrap();
    let Outcome::Failed(failure) = run.outcome().await.unwrap() else { panic!("it is too large") };
    assert!(failure.cause.to_string().contains("15728640"), "{failure:?}");
    let refused = client.start::<publish>("x".repeat(40 << 20), "too-large").await;
    assert!(matches!(refused, Err(ClientError::TooLarge { .. })), "{refused:?}");
}

#[node]
async fn hoard(steps: u32, #[resource] bank: &Arc<Bank>, ctx: &Context) -> Result<usize, String> {
    let mut bytes = 0;
    for step in 0..steps {
        let grown = ctx.step("grow", || async { Ok::<_, String>("x".repeat(9 << 20)) }).key(step).await;
        bytes += grown.map_err(|error| error.to_string())?.len();
    }
    ctx.ask::<bool>("keep", "Keep it?").await;
    if !bank.is_up.load(Ordering::SeqCst) {
        return Err("no connection".into());
    }
    ctx.ask::<bool>("sure", "Are you sure?").await;
    Ok(bytes)
}
workflow! {
    /// Has large records, and waits behind them.
    pub hoards(u32) -> usize { START => hoard; }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_more_records_than_fit_into_the_memory_of_an_invocation_is_resumed_retried_and_cancelled() {
    let bank = Arc::new(Bank { is_up: AtomicBool::new(false), reserved: AtomicU32::new(0) });
    let worker = || Worker::builder().register::<hoards>().resource(Arc::clone(&bank)).resident(Duration::ZERO);
    let (cluster, here, client) = with(worker()).await;
    let run = client.start::<hoards>(4, "kept").await.unwrap();
    assert_eq!(questions(&run).await[0].name, "keep");
    until_invocation_is(&cluster, &run, "suspended").await;
    let other = client.start::<hoards>(4, "dropped").await.unwrap();
    assert_eq!(questions(&other).await[0].name, "keep");
    until_invocation_is(&cluster, &other, "suspended").await;

    // Another process reads all of it.
    let port = here.stop().await;
    let here = Here::serve_at(worker(), port).await;
    run.answer("keep", true).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    bank.is_up.store(true, Ordering::SeqCst);
    run.retry().await.unwrap();
    assert_eq!(questions(&run).await[0].name, "sure");
    let port = here.stop().await;
    let _here = Here::serve_at(worker(), port).await;
    run.answer("sure", true).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(36 << 20));

    other.cancel().await.unwrap();
    assert_eq!(other.outcome().await.unwrap(), Outcome::Cancelled);
    other.forget().await.unwrap();
    assert_eq!(other.status().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_reads_what_it_has_written_from_its_journal_and_nothing_twice() {
    let (cluster, _here, client) = with(Worker::builder().register::<gathers>().resident(Duration::ZERO)).await;
    let reads = async |run: &str| {
        let sql = format!(
            "select entry_type from sys_journal join sys_invocation on sys_journal.id = sys_invocation.id where \
             target_service_key = '{run}' and target_handler_name = 'run' and entry_type like '%State%'"
        );
        let entries = cluster.query(&sql).await;
        (entries.matches("Command: GetLazyStateKeys\"").count(), entries.matches("Command: GetLazyState\"").count())
    };
    let run = client.start::<gathers>(1, "sum").await.unwrap();
    for (id, n) in [("a", 10), ("b", 100)] {
        until_invocation_is(&cluster, &run, "suspended").await;
        run.signal(MORE, id, n).await.unwrap();
    }
    until_invocation_is(&cluster, &run, "suspended").await;
    assert_eq!(reads("sum").await, (1, 0));
    run.signal(MORE, "c", 1000).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(1111));
}

#[tokio::test(flavor = "multi_thread")]
async fn any_limit_of_a_list_is_one() {
    let (cluster, _here, client) = with(Worker::builder().register::<half>()).await;
    client.start::<half>(1.0, "one").await.unwrap().outcome().await.unwrap();
    for (limit, found) in [(usize::MAX, 1), (1, 1), (0, 0)] {
        assert_eq!(cluster.admin().list(ListRuns::of("half").limit(limit)).await.unwrap().len(), found, "{limit}");
    }
}

#[test]
fn a_worker_whose_connections_would_carry_no_run_is_refused() {
    let error = Worker::builder().register::<half>().streams(0).build().unwrap_err().to_string();
    assert!(error.starts_with("`streams(0)`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_nested_too_deep_is_refused() {
    let (cluster, _here, client) = with(Worker::builder().register::<gathers>()).await;
    let run = client.start::<gathers>(1, "sum").await.unwrap();
    until("it waits", || async { run.status().await.unwrap().is_some_and(|status| status.status.is_suspended()) })
        .await;
    for depth in [100, 123, 124, 125, 126, 127, 500] {
        let payload = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let body = format!("{{\"name\":\"more\",\"payload\":{payload}}}");
        let refused =
            tokio::time::timeout(Duration::from_secs(20), cluster.post("/graphweft.gathers/sum/signal", &body));
        let refused = refused.await.unwrap_or_else(|_| panic!("{depth}: no reply"));
        assert!(refused.starts_with("HTTP/1.1 422") || refused.starts_with("HTTP/1.1 400"), "{depth}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_another_end_and_the_run_that_it_comes_from_stays_as_it_is() {
    let worker = Worker::builder().register::<publish>().register::<large>().resident(Duration::ZERO);
    let (cluster, _here, client) = with(worker).await;
    let run = client.start::<publish>("a poem".into(), "poem").await.unwrap();
    questions(&run).await;
    run.answer("approve", true).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
    let before = run.events_from(0).await.unwrap();
    let answered = before.iter().find(|event| event.kind.name() == "answered").unwrap().seq;

    let other = run.fork(answered, "poem-2").await.unwrap();
    questions(&other).await;
    until_invocation_is(&cluster, &other, "suspended").await;
    other.answer("approve", false).await.unwrap();
    assert_eq!(other.outcome().await.unwrap(), Outcome::Completed("nothing".into()));
    assert_eq!(run.events_from(0).await.unwrap(), before);

    // Once more, it is the same; another one with its id is refused, and so is what there is not.
    assert_eq!(
        run.fork(answered, "poem-2").await.unwrap().outcome().await.unwrap(),
        Outcome::Completed("nothing".into())
    );
    assert_eq!(status_of(run.fork(1, "poem-2").await), 409);
    assert_eq!(status_of(run.fork(None, "poem").await), 409);
    assert_eq!(status_of(run.fork(1000, "poem-3").await), 409);
    assert_eq!(status_of(client.run::<publish>("prose").fork(None, "poem-4").await), 404);
    assert_eq!(status_of(client.start::<publish>("a poem".into(), "poem-2").await), 409);

    // What was refused leaves its id free.
    let third = run.fork(None, "poem-3").await.unwrap();
    assert_eq!(third.outcome().await.unwrap(), Outcome::Completed("a poem".into()));
    let fourth = other.fork(1, "poem-4").await.unwrap();
    assert_eq!(questions(&fourth).await[0].name, "approve");

    let large = client.start::<large>(9 << 20, "large").await.unwrap();
    assert_eq!(large.outcome().await.unwrap(), Outcome::Completed(9 << 20));
    let again = large.fork(None, "large-2").await.unwrap();
    assert_eq!(again.outcome().await.unwrap(), Outcome::Completed(9 << 20));
}
