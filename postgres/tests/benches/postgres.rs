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
use graphweft_postgres::tokio_postgres::{Client, Statement};
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
    let kind = EventKind::message("a line that a node has said");
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

/// Changes settings of the server.
async fn alter(settings: &[&str]) {
    let client = client("public").await;
    for setting in settings {
        client.batch_execute(&format!("alter system set {setting}")).await.unwrap();
    }
    client.batch_execute("select pg_reload_conf()").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// How long a commit takes at least.
#[derive(Clone, Copy)]
enum Commit {
    /// As long as the disk of this machine needs, which for a virtual one may be nearly nothing.
    OfMachine,
    /// As on a disk that needs 3 ms to write safely: the server waits for so long before it writes what has come until then.
    OfDisk,
}

impl Commit {
    fn named(self) -> &'static str {
        match self {
            Commit::OfMachine => "",
            Commit::OfDisk => ", where a commit takes 3 ms",
        }
    }

    async fn set(self) {
        let micros = match self {
            Commit::OfMachine => 0,
            Commit::OfDisk => 3000,
        };
        alter(&["commit_siblings = 0", &format!("commit_delay = {micros}")]).await;
    }
}

/// The rows of a step, written by tokio-postgres: in tables of the same shape, without what only we need.
struct Plain {
    client: Client,
    schema: String,
    both: Statement,
    body: String,
}

impl Plain {
    /// Makes the tables.
    async fn in_new_tables(schema: &str) -> Self {
        let tables = "create table plain (run bigint, seq bigint, body text, primary key (run, seq));
         create table plain_runs (key bigint primary key, records bigint not null, header text not null);
         create table plain_journal (
             run bigint not null, seq bigint not null, records integer not null, place bigint not null unique, time bigint not null,
             checksum bigint not null, body text not null, primary key (run, seq)
         )";
        client(schema).await.batch_execute(tables).await.unwrap();
        Plain::of(schema).await
    }

    async fn of(schema: &str) -> Self {
        let client = client(schema).await;
        let both = "with changed as (
                 update plain_runs set records = records + 2 where key = $1 and records = $2 returning key
             )
             insert into plain_journal select key, $2, 2, $3, 1700000000000, 4000000000, $4 from changed";
        let both = client.prepare(both).await.unwrap();
        let kind = EventKind::message("a line that a node has said");
        let body = serde_json::to_string(&[("pay/charge", &kind), ("pay/charge", &kind)]).unwrap();
        Plain { client, schema: schema.to_owned(), both, body }
    }

    /// Another connection.
    async fn beside(&self) -> Self {
        Plain::of(&self.schema).await
    }

    async fn begin(&self, run: u64) {
        let insert = "insert into plain_runs values ($1, 0, $2)";
        self.client.execute(insert, &[&(run as i64), &"{}".repeat(100)]).await.unwrap();
    }

    async fn write(&self, run: u64, n: u64) {
        let (run, at, place) = (run as i64, 2 * n as i64, (run * 1_000_000 + n) as i64);
        assert_eq!(self.client.execute(&self.both, &[&run, &at, &place, &self.body]).await.unwrap(), 1);
    }
}

/// A durable step against one commit of the same rows, in tables of the same shape, and against one of a single row of the same size: each
/// one after the other.
async fn step(commit: Commit) {
    const STEPS: u64 = 300;
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let plain = Plain::in_new_tables(&schema).await;
    let insert = plain.client.prepare("insert into plain values ($1, $2, $3)").await.unwrap();
    let (mut ours, mut raw, mut raw_row) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..7 {
        let run = created(&store, &format!("steps-{round}")).await;
        let begun = Instant::now();
        for n in 0..STEPS {
            store.append(batch(run, 2 * n)).await.unwrap();
        }
        ours.push(begun.elapsed().as_secs_f64() / STEPS as f64);
        plain.begin(round).await;
        let begun = Instant::now();
        for n in 0..STEPS {
            plain.write(round, n).await;
        }
        raw.push(begun.elapsed().as_secs_f64() / STEPS as f64);
        let begun = Instant::now();
        for n in 0..STEPS {
            plain.client.execute(&insert, &[&(round as i64), &(n as i64), &plain.body]).await.unwrap();
        }
        raw_row.push(begun.elapsed().as_secs_f64() / STEPS as f64);
    }
    let figure = |raw: Vec<f64>| {
        let ratio = of(ours.iter().zip(&raw).map(|(ours, raw)| ours / raw).collect()).1;
        format!("{:.0} µs / {:.0} µs = {ratio:.2}", of(ours.clone()).1 * 1e6, of(raw).1 * 1e6)
    };
    let named = commit.named();
    row(&format!("a durable step, over one commit of the same rows{named}"), figure(raw), "≤ 1.2");
    row(&format!("the same, over one commit of a single row of the same size{named}"), figure(raw_row), "–");
}

/// Steps a second of one run, and of 64 at once; and as a program would write the same rows that has a connection for each.
async fn at_once(commit: Commit) {
    let schema = fresh_schema();
    let store = builder(&schema).max_connections(32).connect().await.unwrap();
    let store = &store;
    let ours = async |runs: u64, steps: u64, name: &str| {
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
    let plain = Plain::in_new_tables(&schema).await;
    let clients = join_all((0..64).map(|_| plain.beside())).await;
    let raw = async |runs: u64, steps: u64, round: u64| {
        let from = round * 1000;
        for run in from..from + runs {
            plain.begin(run).await;
        }
        let begun = Instant::now();
        join_all((from..).zip(&clients).take(runs as usize).map(|(run, client)| async move {
            for n in 0..steps {
                client.write(run, n).await;
            }
        }))
        .await;
        (runs * steps) as f64 / begun.elapsed().as_secs_f64()
    };
    let (mut ratios, mut alone, mut raws, mut many) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..5 {
        let one = ours(1, 300, &format!("one-{round}")).await;
        let all = ours(64, 60, &format!("many-{round}")).await;
        let raw_one = raw(1, 300, 2 * round).await;
        let raw_all = raw(64, 60, 2 * round + 1).await;
        ratios.push(all / one);
        alone.push(one);
        raws.push(raw_all / raw_one);
        many.push(all / raw_all);
    }
    let named = commit.named();
    row(
        &format!("64 runs at once, over the rate of one{named}"),
        format!("{:.1} × {:.0}/s", of(ratios).1, of(alone).1),
        "≥ 10",
    );
    row(&format!("the same of 64 connections of tokio-postgres, over one{named}"), format!("{:.1}", of(raws).1), "–");
    row(&format!("64 runs at once, over 64 connections of tokio-postgres{named}"), format!("{:.2}", of(many).1), "–");
}

/// A claim that finds nothing, in turn with no run and with 100,000 that wait.
async fn claims() {
    let (none, many) = (fresh_schema(), fresh_schema());
    let stores = (builder(&none).connect().await.unwrap(), builder(&many).connect().await.unwrap());
    let waiting = "insert into runs (id, workflow, status, created, updated, owner, ready, nudged, graph, tags, records, header)
        select 'waits-' || n, 'pay', 'waiting', 1, 1, null, case when n % 2 = 0 then 9000000000000000 end, false, 1, '{}', 0, '{}'
        from generate_series(1, 100000) as n";
    client(&many).await.batch_execute(waiting).await.unwrap();
    for schema in [&none, &many] {
        let client = client(schema).await;
        for statement in ["vacuum analyze runs", "vacuum analyze owners", "checkpoint"] {
            client.batch_execute(statement).await.unwrap();
        }
    }
    let workflows = || vec!["pay".to_owned()];
    let owners = (stores.0.join(workflows()).await.unwrap(), stores.1.join(workflows()).await.unwrap());
    let claim = async |store: &PostgresStore, owner: Owner| {
        let begun = Instant::now();
        store.claim(nothing(owner)).await.unwrap();
        begun.elapsed().as_secs_f64() * 1e6
    };
    let (mut with_none, mut with_many) = (Vec::new(), Vec::new());
    for _ in 0..500 {
        with_none.push(claim(&stores.0, owners.0).await);
        with_many.push(claim(&stores.1, owners.1).await);
    }
    let (none, many) = (of(with_none).1, of(with_many).1);
    row(
        "a claim with 100,000 runs that wait, over one with none",
        format!("{many:.0} µs / {none:.0} µs = {:.2}", many / none),
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
    let log = std::env::var("GRAPHWEFT_POSTGRES_LOG").expect("`with_server.sh` sets it");
    let count = || {
        let log = std::fs::read_to_string(&log).expect("the log of the server");
        log.lines().filter(|line| line.contains("LOG:  execute ") || line.contains("LOG:  statement: ")).count()
    };
    alter(&["log_statement = 'all'"]).await;
    let before = count();
    tokio::time::sleep(TIME).await;
    let sent = count() - before;
    alter(&["log_statement = 'none'"]).await;
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

/// All of it, or what is named: `cargo bench .. -- at_once claims`.
#[tokio::main]
async fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|wanted| wanted == name);
    println!("| work | figure | goal |\n| --- | --- | --- |");
    if is_wanted("idle") {
        idle().await;
    }
    for commit in [Commit::OfMachine, Commit::OfDisk] {
        commit.set().await;
        if is_wanted("step") {
            step(commit).await;
        }
        if is_wanted("at_once") {
            at_once(commit).await;
        }
    }
    Commit::OfMachine.set().await;
    if is_wanted("engine_run") {
        engine_run().await;
    }
    if is_wanted("workers") {
        workers().await;
    }
    if is_wanted("pools") {
        pools().await;
    }
    if is_wanted("takeover") {
        takeover().await;
    }
    if is_wanted("claims") {
        claims().await;
    }
}
