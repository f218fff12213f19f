//! Workers are killed, stopped and cut off, and the server crashes, while they execute runs. What they record is held against
//! a ledger outside.

use std::collections::HashMap;
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

use graphweft::prelude::*;
use graphweft::store::{RunQuery, Store};
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::server::Server;
use graphweft_postgres_tests::workflows::{bank_tables, of_batch};
use graphweft_postgres_tests::{client_of, fresh_schema};

const WORKERS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A worker is killed.
    Kill,
    /// A worker is stopped for longer than its lease.
    Stop,
    /// All connections are cut.
    Cut,
    /// The server crashes, and starts again at once.
    Crash,
    /// The same, and it is away for longer than a statement is tried again.
    Away,
}

/// The first faults: one of each kind.
const EACH: [Fault; 5] = [Fault::Kill, Fault::Stop, Fault::Cut, Fault::Crash, Fault::Away];

/// The others, as the dice say.
const OTHERS: [Fault; 9] = [
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Stop,
    Fault::Cut,
    Fault::Cut,
    Fault::Crash,
    Fault::Away,
];

/// A statement for which the server is away is tried again for some four seconds.
const LONGER_THAN_IT_IS_TRIED: Duration = Duration::from_secs(6);

/// Numbers that look random, from a seed: which worker, which fault, when.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

struct Workers {
    server: String,
    schema: String,
    ledger: std::path::PathBuf,
    runs: u64,
    alive: Vec<Child>,
}

impl Workers {
    fn spawn(&self, at: usize) -> Child {
        Command::new(env!("CARGO_BIN_EXE_worker"))
            .args([&self.server, &self.schema, &format!("w{at}"), &self.runs.to_string()])
            .env("GRAPHWEFT_LEDGER", &self.ledger)
            .spawn()
            .expect("the worker starts")
    }

    fn signal(&self, at: usize, signal: &str) {
        let id = self.alive[at].id().to_string();
        Command::new("kill").args([format!("-{signal}"), id]).status().expect("`kill` is there");
    }

    /// Starts those again that have ended, since the server was away when they started. Nothing else ends one.
    fn restart_ended(&mut self, outage: Option<Instant>) {
        for at in 0..self.alive.len() {
            if let Some(status) = self.alive[at].try_wait().expect("it is a child") {
                assert!(
                    outage.is_some_and(|began| began.elapsed() < Duration::from_secs(30)),
                    "worker {at} has ended: {status}"
                );
                self.alive[at] = self.spawn(at);
            }
        }
    }

    fn kill(&mut self, at: usize) {
        self.alive[at].kill().expect("it can be killed");
        self.alive[at].wait().expect("it ends");
        self.alive[at] = self.spawn(at);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.alive {
            drop(worker.kill());
            drop(worker.wait());
        }
    }
}

async fn all_are_over(store: &PostgresStore, runs: u64) -> bool {
    let mut over = RunQuery::default();
    over.status = vec![RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled];
    store.count(over).await.is_ok_and(|over| over == runs)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_recorded_node_begins_again_whatever_crashes() {
    let seed = std::env::var("GRAPHWEFT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let faults: u64 = std::env::var("GRAPHWEFT_CRASHES").ok().and_then(|most| most.parse().ok()).unwrap_or(16);
    let mut dice = Dice(seed);
    let mut server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (schema, ledger, runs) = (fresh_schema(), folder.path().join("ledger"), faults);
    let store = PostgresStore::builder(&server.address()).schema(&schema).connect().await.unwrap();
    let bank = format!("{schema}_bank");
    client_of(&server.address(), &schema).await.batch_execute(&bank_tables(&bank)).await.unwrap();
    let mut workers = Workers { server: server.address(), schema: schema.clone(), ledger, runs, alive: Vec::new() };
    workers.alive = (0..WORKERS).map(|at| workers.spawn(at)).collect();
    let all = runs * 3 * WORKERS as u64;
    // Without the workflows: it answers, and drives no run.
    let person = Engine::builder().store(store.clone()).build().unwrap();
    let begun = Instant::now();
    let mut outage = None;
    let (mut fault, mut stopped, mut cut, mut crashed, mut away) = (0, 0, 0, 0, 0);
    while !all_are_over(&store, all).await {
        let limit = Duration::from_secs(300 + 5 * faults);
        assert!(begun.elapsed() < limit, "runs are left after {limit:?}; seed {seed}");
        if let Ok(asked) = person.questions(graphweft::QuestionFilter::default()).await {
            // Some wait until all is quiet.
            for asked in asked.into_iter().filter(|_| fault == faults || dice.below(8) == 0).collect::<Vec<_>>() {
                // It may be answered already, or the server may be away.
                drop(person.answer(&asked.run, &asked.question.id, 10u64).await);
            }
        }
        tokio::time::sleep(Duration::from_millis(100 + dice.below(300))).await;
        workers.restart_ended(outage);
        if fault == faults {
            continue;
        }
        fault += 1;
        let at = usize::try_from(dice.below(WORKERS as u64)).unwrap();
        let which = EACH.get(fault as usize - 1).copied();
        let which = which.unwrap_or_else(|| OTHERS[usize::try_from(dice.below(OTHERS.len() as u64)).unwrap()]);
        if matches!(which, Fault::Cut | Fault::Crash | Fault::Away) {
            outage = Some(Instant::now());
        }
        match which {
            Fault::Kill => workers.kill(at),
            Fault::Stop => {
                stopped += 1;
                workers.signal(at, "STOP");
                tokio::time::sleep(Duration::from_secs(6)).await;
                workers.signal(at, "CONT");
            }
            Fault::Cut => {
                cut += 1;
                let client = client_of(&server.address(), &schema).await;
                let cut = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'graphweft'";
                client.batch_execute(cut).await.unwrap();
            }
            Fault::Crash => {
                crashed += 1;
                tokio::task::block_in_place(|| server.crash());
            }
            Fault::Away => {
                away += 1;
                tokio::task::block_in_place(|| server.crash_for(LONGER_THAN_IT_IS_TRIED));
            }
        }
    }
    println!(
        "seed {seed}: {all} runs, {fault} faults ({stopped} stops, {cut} cuts, {crashed} crashes of the server, {away} times away), {:?}",
        begun.elapsed()
    );
    judge(&person, &store, &workers, runs).await;
    audit(&client_of(&server.address(), &schema).await, &bank, runs * WORKERS as u64).await;
}

/// Every step of every run of the bank has written once, no money is made or lost, and each run has its order.
async fn audit(client: &graphweft_postgres::tokio_postgres::Client, bank: &str, runs: u64) {
    let audit = format!(
        "select (select sum(cents)::bigint from {bank}.accounts), (select count(*) from {bank}.orders),
             (select count(*) from {bank}.entries), (select count(*) from (select distinct run, step from {bank}.entries) as once),
             (select count(*) from {bank}.orders o join runs r on r.id = o.run), (select count(*) from runs where workflow = 'bank')"
    );
    let row = client.query_one(&audit, &[]).await.unwrap();
    let found: Vec<i64> = (0..6).map(|at| row.get(at)).collect();
    let runs = i64::try_from(runs).unwrap();
    assert_eq!(found, [0, runs, 3 * runs, 3 * runs, runs, runs]);
}

async fn judge(engine: &Engine, store: &PostgresStore, workers: &Workers, runs: u64) {
    // The last start of each node, and how often it has ended.
    let mut last: HashMap<(String, String), (u128, u32)> = HashMap::new();
    for line in std::fs::read_to_string(&workers.ledger).unwrap().lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [what, micros, run, path] = words[..] else { panic!("{line}") };
        let seen = last.entry((run.to_owned(), path.to_owned())).or_default();
        if what == "start" { seen.0 = micros.parse().unwrap() } else { seen.1 += 1 }
    }
    let mut judged = 0u64;
    for (at, n) in (0..WORKERS).flat_map(|at| (0..runs).map(move |n| (at, n))) {
        for (id, expected) in [(format!("w{at}-batch-{n}"), of_batch(n)), (format!("w{at}-approval-{n}"), n + 13)] {
            let run = engine.get_run(&id).await.unwrap().expect("it was started");
            assert_eq!(run.result().await.unwrap(), graphweft::json!(expected), "{id}");
            let header = store.header(&id).await.unwrap().unwrap();
            let records = store.read(header.key, 0, usize::MAX).await.unwrap();
            assert_eq!(records.len() as u64, header.records);
            for stored in records {
                let EventKind::NodeCompleted { .. } = stored.record.kind else { continue };
                let Some((started, ended)) = last.get(&(id.clone(), stored.record.path.clone())) else { continue };
                judged += 1;
                let recorded = stored.time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() + 1000;
                assert!(*started <= recorded, "{id}: {} began again after its record", stored.record.path);
                assert!(*ended > 0, "{id}: {} is recorded and has not ended", stored.record.path);
            }
        }
    }
    assert!(judged > runs, "the ledger knows the paths");
}
