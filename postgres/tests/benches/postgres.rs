//! What runs in PostgreSQL cost, beside the same rows written by tokio-postgres in the same run. `GRAPHWEFT_POSTGRES_FSYNC=on
//! postgres/tests/with_server.sh cargo bench -p graphweft-postgres-tests --features server`

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::store::{Append, Claim, NewRun, Owner, Record, RunKey, Store};
use graphweft::{EventKind, json};
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::workflows::{frames, waits};
use graphweft_postgres_tests::{builder, client, fresh_schema, server};

#[node]
async fn count(n: u64) -> u64 {
    n - 1
}
#[node]
async fn more(n: u64) -> Step {
    if n == 0 { Step::Done(n) } else { Step::More(n) }
}

#[derive(Route)]
#[value]
enum Step {
    Done(u64),
    More(u64),
}

workflow! {
    /// So many turns, two nodes each.
    turns(u64) -> u64 {
        START => more => <done: END, more: count>;
        count => more;
    }
}

/// The least and the median.
fn of(mut figures: Vec<f64>) -> (f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[0], figures[figures.len() / 2])
}

fn row(what: &str, figure: String, target: &str) {
    println!("| {what} | {figure} | {target} |");
}

fn batch(run: RunKey, at: u64) -> Append {
    let kind = EventKind::Message { text: "a line that a node has said".to_owned() };
    let records = vec![Record::new("pay/charge", kind.clone()), Record::new("pay/charge", kind)];
    Append::new(run, at, SystemTime::now(), records)
}

fn new_run(id: String) -> NewRun {
    NewRun::new(id, "pay", (1, json!({})).into(), SystemTime::now())
}

async fn created(store: &PostgresStore, id: &str) -> RunKey {
    store.create(new_run(id.to_owned())).await.unwrap();
    store.header(id).await.unwrap().unwrap().key
}

/// A durable step against one commit of the same rows, in tables of the same shape, and against one of a single row of the same size: each
/// one after the other.
async fn step(store: &PostgresStore, schema: &str) {
    const STEPS: u64 = 300;
    let client = client(schema).await;
    client
        .batch_execute(
            "create table plain (run bigint, seq bigint, body text, primary key (run, seq));
             create table plain_runs (key bigint primary key, records bigint not null, header text not null);
             create table plain_journal (
                 run bigint not null, seq bigint not null, records integer not null, place bigint not null unique, time bigint not null,
                 checksum bigint not null, body text not null, primary key (run, seq)
             )",
        )
        .await
        .unwrap();
    let insert = client.prepare("insert into plain values ($1, $2, $3)").await.unwrap();
    let both = "with changed as (
             update plain_runs set records = records + 2 where key = $1 and records = $2 returning key
         )
         insert into plain_journal select key, $2, 2, $3, 1700000000000, 4000000000, $4 from changed";
    let both = client.prepare(both).await.unwrap();
    let header = client.prepare("insert into plain_runs values ($1, 0, $2)").await.unwrap();
    let kind = EventKind::Message { text: "a line that a node has said".to_owned() };
    let body = serde_json::to_string(&[("pay/charge", &kind), ("pay/charge", &kind)]).unwrap();
    let (mut ours, mut raw, mut raw_row) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..7i64 {
        let run = created(store, &format!("steps-{round}")).await;
        let begun = Instant::now();
        for n in 0..STEPS {
            store.append(batch(run, 2 * n)).await.unwrap();
        }
        ours.push(begun.elapsed().as_secs_f64() / STEPS as f64);
        client.execute(&header, &[&round, &"{}".repeat(100)]).await.unwrap();
        let begun = Instant::now();
        for n in 0..i64::try_from(STEPS).unwrap() {
            let place = round * 1_000_000 + n;
            assert_eq!(client.execute(&both, &[&round, &(2 * n), &place, &body]).await.unwrap(), 1);
        }
        raw.push(begun.elapsed().as_secs_f64() / STEPS as f64);
        let begun = Instant::now();
        for n in 0..STEPS {
            client.execute(&insert, &[&round, &i64::try_from(n).unwrap(), &body]).await.unwrap();
        }
        raw_row.push(begun.elapsed().as_secs_f64() / STEPS as f64);
    }
    let figure = |raw: Vec<f64>| {
        let ratio = of(ours.iter().zip(&raw).map(|(ours, raw)| ours / raw).collect()).1;
        format!("{:.0} µs / {:.0} µs = {ratio:.2}", of(ours.clone()).1 * 1e6, of(raw).1 * 1e6)
    };
    row("a durable step, over one commit of the same rows", figure(raw), "≤ 1.2");
    row("the same, over one commit of a single row of the same size", figure(raw_row), "–");
}

/// Appends a second of one run, and of 64 at once.
async fn at_once(store: &PostgresStore) {
    let rate = async |runs: u64, steps: u64, name: &str| {
        let mut keys = Vec::new();
        for run in 0..runs {
            keys.push(created(store, &format!("{name}-{run}")).await);
        }
        let begun = Instant::now();
        join_all(keys.into_iter().map(|run| async move {
            for n in 0..steps {
                store.append(batch(run, 2 * n)).await.unwrap();
            }
        }))
        .await;
        (runs * steps) as f64 / begun.elapsed().as_secs_f64()
    };
    let (mut ratios, mut alone) = (Vec::new(), Vec::new());
    for round in 0..5 {
        let one = rate(1, 300, &format!("one-{round}")).await;
        ratios.push(rate(64, 60, &format!("many-{round}")).await / one);
        alone.push(one);
    }
    row("64 runs at once, over the rate of one", format!("{:.1} × {:.0}/s", of(ratios).1, of(alone).1), "≥ 10");
}

/// A claim that finds nothing, with few and with 100,000 runs that wait.
async fn claims(store: &PostgresStore, schema: &str) {
    let owner = store.join(vec!["pay".to_owned()]).await.unwrap();
    let claim = async || {
        let mut figures = Vec::new();
        for _ in 0..200 {
            let begun = Instant::now();
            store.claim(nothing(owner)).await.unwrap();
            figures.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        of(figures).1
    };
    let client = client(schema).await;
    client.batch_execute("delete from runs").await.unwrap();
    let few = claim().await;
    let waiting = "insert into runs (id, workflow, status, created, updated, owner, ready, nudged, graph, tags, records, header)
        select 'waits-' || n, 'pay', 'waiting', 1, 1, null, case when n % 2 = 0 then 9000000000000000 end, false, 1, '{}', 0, '{}'
        from generate_series(1, 100000) as n";
    client.batch_execute(waiting).await.unwrap();
    client.batch_execute("analyze runs").await.unwrap();
    let many = claim().await;
    row(
        "a claim with 100,000 runs that wait, over one with none",
        format!("{many:.0} µs / {few:.0} µs = {:.2}", many / few),
        "≤ 1.1",
    );
}

fn nothing(owner: Owner) -> Claim {
    Claim::new(owner, vec!["pay".to_owned()], SystemTime::now())
}

/// How many statements an engine sends while nothing happens, by the log of the server.
async fn idle() {
    const TIME: Duration = Duration::from_secs(20);
    let schema = fresh_schema();
    let engine =
        Engine::builder().store(builder(&schema).connect().await.unwrap()).register::<turns>().build().unwrap();
    engine.recover().await.unwrap();
    // What it does when it begins is over.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let client = client(&schema).await;
    let log = std::env::var("GRAPHWEFT_POSTGRES_LOG").expect("`with_server.sh` sets it");
    let count = || {
        let log = std::fs::read_to_string(&log).expect("the log of the server");
        log.lines().filter(|line| line.contains("LOG:  execute ") || line.contains("LOG:  statement: ")).count()
    };
    let logs = async |which: &str| {
        client.batch_execute(&format!("alter system set log_statement = '{which}'")).await.unwrap();
        client.batch_execute("select pg_reload_conf()").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    logs("all").await;
    let before = count();
    tokio::time::sleep(TIME).await;
    let sent = count() - before;
    logs("none").await;
    row(
        "statements a second of an idle engine",
        format!("{sent} in {} s = {:.2}", TIME.as_secs(), sent as f64 / TIME.as_secs_f64()),
        "≤ 1",
    );
}

/// A whole run by the engine, a node.
async fn engine_run() {
    let schema = fresh_schema();
    let engine =
        Engine::builder().store(builder(&schema).connect().await.unwrap()).register::<turns>().build().unwrap();
    let mut figures = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        engine.start::<turns>(100).await.unwrap().result().await.unwrap();
        figures.push(begun.elapsed().as_secs_f64() / 201.0 * 1e6);
    }
    row("a node of a run by an engine, one run at a time", format!("{:.0} µs", of(figures).1), "–");
}

/// A process with an engine.
struct Worker(Child, BufReader<std::process::ChildStdout>);

impl Worker {
    /// One that is ready to start so many runs, whose nodes wait so long.
    fn spawn(schema: &str, name: &str, runs: u64, millis: u64) -> Self {
        let process = Command::new(env!("CARGO_BIN_EXE_waiting_worker"))
            .args([&server(), schema, name, &runs.to_string(), &millis.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let mut worker = Worker::of(process);
        worker.says("ready");
        worker
    }

    fn of(mut process: Child) -> Self {
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        Worker(process, output)
    }

    fn begins(&mut self) {
        self.0.stdin.as_mut().expect("it is piped").write_all(b"\n").expect("it listens");
    }

    fn says(&mut self, expected: &str) {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("it prints");
        assert_eq!(line.trim_end(), expected);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The same work by one process and by three, eight nodes at a time in each.
async fn workers() {
    const RUNS: u64 = 240;
    let schema = fresh_schema();
    drop(builder(&schema).connect().await.unwrap());
    let duration = |count: u64, round: u32| {
        let name = |worker| format!("{count}-{worker}-{round}");
        let mut workers: Vec<_> =
            (0..count).map(|worker| Worker::spawn(&schema, &name(worker), RUNS / count, 50)).collect();
        let begun = Instant::now();
        workers.iter_mut().for_each(Worker::begins);
        for worker in &mut workers {
            worker.says("started");
            worker.says("over");
        }
        begun.elapsed().as_secs_f64()
    };
    let (mut ratios, mut alone) = (Vec::new(), Vec::new());
    for round in 0..5 {
        let one = duration(1, round);
        ratios.push(one / duration(3, round));
        alone.push(RUNS as f64 * 4.0 / one);
    }
    row(
        "nodes that wait 50 ms, eight at a time in each process: three processes, over one",
        format!("{:.2} × {:.0}/s", of(ratios).1, of(alone).1),
        "≥ 2.8",
    );
}

/// The fan-out of one run by one worker of its pool and by three, eight attempts at a time in each.
async fn pools() {
    const ITEMS: u64 = 480;
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine =
        Engine::builder().executor(store.executor()).store(store.clone()).register::<frames>().build().unwrap();
    engine.recover().await.unwrap();
    let seconds = async |count: u64| {
        let spawn = |_| {
            let mut process = Command::new(env!("CARGO_BIN_EXE_pool_worker"));
            process
                .args([server().as_str(), schema.as_str(), "8"])
                .env("GRAPHWEFT_LEDGER", "/dev/null")
                .stdout(Stdio::piped());
            let process = process.spawn().expect("the worker starts");
            let mut worker = Worker::of(process);
            worker.says("ready");
            worker
        };
        let workers: Vec<Worker> = (0..count).map(spawn).collect();
        let begun = Instant::now();
        engine.start::<frames>(ITEMS).await.unwrap().result().await.unwrap();
        let seconds = begun.elapsed().as_secs_f64();
        drop(workers);
        seconds
    };
    let (mut ratios, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let one = seconds(1).await;
        ratios.push(one / seconds(3).await);
        alone.push(ITEMS as f64 / one);
    }
    engine.shutdown().await;
    row(
        "the items of one run in a pool, 50 ms each, eight at a time in each worker: three workers, over one",
        format!("{:.2} × {:.0}/s", of(ratios).1, of(alone).1),
        "≥ 2.8",
    );
}

/// From SIGKILL until another process has the runs.
async fn takeover() {
    const RUNS: usize = 20;
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = Engine::builder().store(store.clone()).register::<waits>().build().unwrap();
    engine.recover().await.unwrap();
    let (mut first, mut all) = (Vec::new(), Vec::new());
    for round in 0..10 {
        let mut worker = Worker::spawn(&schema, &format!("dies-{round}"), RUNS as u64, 3_600_000);
        worker.begins();
        worker.says("started");
        let owner = async |n: usize| store.header(&format!("dies-{round}-{n}")).await.unwrap().unwrap().owner;
        let dead = owner(0).await;
        // At any moment of what engines do periodically.
        tokio::time::sleep(Duration::from_millis(137 * round)).await;
        drop(worker);
        let (begun, mut taken) = (Instant::now(), [false; RUNS]);
        while taken.contains(&false) {
            for (n, taken) in taken.iter_mut().enumerate().filter(|(_, taken)| !**taken) {
                *taken = owner(n).await != dead;
                if *taken && first.len() == all.len() {
                    first.push(begun.elapsed().as_secs_f64());
                }
            }
        }
        all.push(begun.elapsed().as_secs_f64());
    }
    let most = all.iter().copied().fold(0.0, f64::max);
    row(
        "from SIGKILL of a process with 20 runs until another one has the first of them, and all",
        format!("{:.2} s, {:.2} s (most {most:.2} s)", of(first).1, of(all).1),
        "≤ 2 s",
    );
    engine.shutdown().await;
}

#[tokio::main]
async fn main() {
    // Only this one: `cargo bench .. -- pools`.
    if std::env::args().any(|argument| argument == "pools") {
        return pools().await;
    }
    println!("| work | figure | goal |\n| --- | --- | --- |");
    idle().await;
    let schema = fresh_schema();
    let store = builder(&schema).max_connections(32).connect().await.unwrap();
    step(&store, &schema).await;
    at_once(&store).await;
    engine_run().await;
    workers().await;
    pools().await;
    takeover().await;
    claims(&store, &schema).await;
}
