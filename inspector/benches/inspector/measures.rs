//! What is measured.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use graphweft::prelude::*;
use graphweft_inspector::Inspector;
use serde_json::json;

use crate::client::{Watchers, get, median};
use crate::runs::{GO, add_runs, engine};
use crate::{Row, millis};

/// How much there is of everything.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    watchers: usize,
    /// Of the run that is watched.
    items: u32,
    /// How often it runs.
    repeats: usize,
    /// How long a run sends a thousand events a second.
    seconds: u32,
    /// Of a list.
    runs: usize,
}

impl Sizes {
    pub(crate) const FULL: Sizes = Sizes { watchers: 200, items: 10_000, repeats: 7, seconds: 10, runs: 100_000 };
    pub(crate) const QUICK: Sizes = Sizes { watchers: 20, items: 500, repeats: 1, seconds: 1, runs: 1_000 };
}

type Measured<T> = Result<T, Box<dyn Error>>;

pub(crate) async fn measure(sizes: Sizes) -> Measured<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let mut rows = watched(&directory.path().join("watched.db"), sizes).await?;
    rows.extend(paced(&directory.path().join("paced.db"), sizes).await?);
    rows.extend(opened(&directory.path().join("opened.db"), sizes).await?);
    rows.extend(listed(&directory.path().join("listed.db"), sizes).await?);
    Ok(rows)
}

/// A server, and the tasks that it runs in.
async fn serve(engine: &Engine) -> Measured<std::net::SocketAddr> {
    let serving = Inspector::new(engine.clone()).bind(0).await?;
    let address = serving.address();
    tokio::spawn(serving.run());
    Ok(address)
}

/// How long a run takes behind its gate, with so many watchers.
async fn run_watched(engine: &Engine, id: &str, input: (&str, u32), watchers: usize) -> Measured<Duration> {
    let address = serve(engine).await?;
    let run = engine.start_json(input.0, json!(input.1)).id(id).await?;
    run.outcome().await?;
    let watching = match watchers {
        0 => None,
        watchers => Some(Watchers::start(address, &format!("/api/runs/{id}/live"), watchers).await?),
    };
    let begin = Instant::now();
    engine.signal(id, GO, ()).await?;
    let outcome = run.outcome().await?;
    let took = begin.elapsed();
    if let Some(watching) = watching {
        watching.end().await?;
    }
    match outcome {
        Outcome::Completed(_) => Ok(took),
        other => Err(format!("the run has not completed: {other:?}").into()),
    }
}

async fn watched(store: &Path, sizes: Sizes) -> Measured<Vec<Row>> {
    let engine = engine(store).await?;
    let input = ("wide", sizes.items);
    let (mut alone, mut seen) = (Vec::new(), Vec::new());
    // In turns, so that both get the same share of whatever else the machine does.
    for n in 0..sizes.repeats {
        alone.push(run_watched(&engine, &format!("alone-{n}"), input, 0).await?);
        seen.push(run_watched(&engine, &format!("seen-{n}"), input, sizes.watchers).await?);
    }
    alone.sort();
    seen.sort();
    let (alone, seen) = (alone[sizes.repeats / 2], seen[sizes.repeats / 2]);
    let ratio = (seen.as_secs_f64() / alone.as_secs_f64() - 1.0) * 100.0;
    let what = format!("a run of {} events, as fast as it can", 2 * sizes.items);
    engine.shutdown().await;
    Ok(vec![
        Row::new(format!("{what}, alone"), millis(alone), ""),
        Row::new(format!("{what}, {} watchers", sizes.watchers), format!("{} ({ratio:+.0} %)", millis(seen)), "+10 %"),
    ])
}

async fn paced(store: &Path, sizes: Sizes) -> Measured<Vec<Row>> {
    let engine = engine(store).await?;
    let mut rows = Vec::new();
    for watchers in [0, sizes.watchers] {
        let (memory, processor) = (resident()?, processor_time()?);
        let took = run_watched(&engine, &format!("talks-{watchers}"), ("talks", sizes.seconds), watchers).await?;
        let rate = f64::from(sizes.seconds) * 1000.0 / took.as_secs_f64();
        let share = (processor_time()? - processor).as_secs_f64() / took.as_secs_f64() * 100.0;
        let grown = (resident()? - memory) as f64 / 1024.0;
        let what = format!("1,000 events a second for {} s, {watchers} watchers", sizes.seconds);
        rows.push(Row::new(&what, format!("{rate:.0} events/s, {share:.0} % of a processor"), ""));
        rows.push(Row::new(
            format!("{what}: memory of the server"),
            format!("{grown:+.1} MB"),
            "not watchers × events",
        ));
    }
    engine.shutdown().await;
    Ok(rows)
}

async fn opened(store: &Path, sizes: Sizes) -> Measured<Vec<Row>> {
    let engine = engine(store).await?;
    let run = engine.start_json("wide", json!(sizes.items)).id("w").await?;
    run.outcome().await?;
    run.signal(GO, ()).await?;
    run.outcome().await?;
    let events = run.info().await?.records;
    let address = serve(&engine).await?;
    let (first, bytes) = get(address, "/api/runs/w/view").await?;
    let again = median(address, "/api/runs/w/view", 5).await?;
    let memory = resident()?;
    let watching = Watchers::start(address, "/api/runs/w/live", sizes.watchers).await?;
    let grown = (resident()? - memory) as f64 / 1024.0;
    watching.end().await?;
    let middle = format!("/api/runs/w/values?path=wide%2Fone%5B{}%5D", sizes.items / 2);
    let values = median(address, &middle, 5).await?;
    engine.shutdown().await;
    let bare = Inspector::of_store(SqliteStore::open(store).await?)?.bind(0).await?;
    let address = bare.address();
    let served = tokio::spawn(bare.run());
    get(address, "/api/runs/w/view").await?;
    let bare = median(address, &middle, 5).await?;
    served.abort();
    let what = format!("a run of {events} events");
    Ok(vec![
        Row::new(
            format!("{what}: its view, first"),
            format!("{}, {} kB", millis(first), bytes / 1024),
            "1 s with the page",
        ),
        Row::new(format!("{what}: its view, again"), millis(again), ""),
        Row::new(format!("{what}: {} watchers, memory", sizes.watchers), format!("{grown:+.1} MB"), ""),
        Row::new(format!("{what}: the values of a node"), millis(values), ""),
        Row::new(format!("{what}: the same over a bare store"), millis(bare), ""),
    ])
}

async fn listed(store: &Path, sizes: Sizes) -> Measured<Vec<Row>> {
    add_runs(store, sizes.runs).await?;
    let serving = Inspector::of_store(SqliteStore::open(store).await?)?.bind(0).await?;
    let address = serving.address();
    let served = tokio::spawn(serving.run());
    let mut rows = Vec::new();
    let last = sizes.runs - 1;
    for (what, path) in [
        ("the newest", "/api/runs?limit=50".to_owned()),
        ("of a workflow and a tag", "/api/runs?workflow=refund&tag=tenant%3Dt7&limit=50".to_owned()),
        ("of a status that none has", "/api/runs?status=failed&limit=50".to_owned()),
        ("by the beginning of the id", format!("/api/runs?id_prefix=run-{last}&limit=50")),
    ] {
        let took = median(address, &path, 9).await?;
        rows.push(Row::new(format!("50 of {} runs, {what}", sizes.runs), millis(took), "50 ms"));
    }
    rows.push(Row::new(format!("counts of {} runs", sizes.runs), millis(median(address, "/api/counts", 9).await?), ""));
    served.abort();
    Ok(rows)
}

/// The memory of this process, in kB.
fn resident() -> Measured<i64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// How long this process has computed.
fn processor_time() -> Measured<Duration> {
    let mut nanos = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanos += stat.split(' ').next().unwrap_or_default().parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanos))
}
