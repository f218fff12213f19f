//! The records of real runs, and what can be done to them.

use std::sync::OnceLock;
use std::time::Duration;

use arbitrary::{Result, Unstructured};
use graphweft::store::{MemoryStore, Store};
use graphweft::{Event, EventKind, Json, Outcome, Run};

use crate::flows::{self, FLOWS};
use crate::ledger::Ledger;

/// A run's records, and the graph that they were made under.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) workflow: String,
    pub(crate) graph: (u64, Json),
    pub(crate) events: Vec<Event>,
}

/// One process, whose clock jumps to whatever is waited for.
pub(crate) fn life<T>(all: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(all)
}

/// The logs of runs that nothing happened to: of each workflow one that ended, and of some one that was cancelled, or
/// that failed and was tried again.
pub(crate) fn real() -> &'static [Log] {
    static REAL: OnceLock<Vec<Log>> = OnceLock::new();
    REAL.get_or_init(|| {
        let ended = FLOWS.iter().map(|(name, input)| record(name, *input, Ending::Itself));
        let cancelled = [("asks", 1), ("tries", 1)].map(|(name, input)| record(name, input, Ending::Cancelled));
        let retried = [("falls", 1)].map(|(name, input)| record(name, input, Ending::Retried));
        ended.chain(cancelled).chain(retried).collect()
    })
}

/// The same, each as lines of JSON with a name: seeds for a corpus.
pub fn real_runs() -> Vec<(String, String)> {
    let line = |event: &Event| serde_json::to_string(event).expect("a record is JSON") + "\n";
    let named =
        |(at, log): (usize, &Log)| (format!("{}-{at}.json", log.workflow), log.events.iter().map(line).collect());
    real().iter().enumerate().map(named).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Ending {
    Itself,
    Cancelled,
    Retried,
}

fn record(workflow: &str, input: u64, ending: Ending) -> Log {
    life(async {
        let store = MemoryStore::new();
        let ledger = if workflow == "falls" { Ledger::that_fails() } else { Ledger::default() };
        let engine = flows::engine(ledger).store(store.clone()).build().expect("an engine");
        let run = engine.start_json(workflow, Json::from(input)).id("run").await.expect("a run");
        if ending == Ending::Cancelled {
            tokio::time::sleep(Duration::from_millis(1)).await;
            run.cancel().await.expect("a run that can be cancelled");
        }
        to_its_end(&run).await;
        if ending == Ending::Retried {
            let engine = flows::engine(Ledger::default()).store(store.clone()).build().expect("an engine");
            let again = engine.retry("run").rerun("falls/before").await.expect("a run that goes on");
            to_its_end(&again).await;
        }
        let events = engine.history("run").await.expect("a store").expect("the run");
        let graph = store.header("run").await.expect("a store").expect("the run").graph;
        let body = store.graph(graph).await.expect("a store").expect("the graph");
        Log { workflow: workflow.to_owned(), graph: (graph, body), events }
    })
}

async fn to_its_end(run: &Run<Json>) {
    while let Outcome::Waiting(open) = run.outcome().await.expect("a run that goes on") {
        for question in open {
            run.answer(&question.id, true).await.expect("the answer fits");
        }
    }
}

/// The log of these lines of JSON, where that is what they are.
pub(crate) fn parse(text: &[u8]) -> Option<Log> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events: Vec<Event> = lines.map(serde_json::from_slice).collect::<Result<_, _>>().ok()?;
    let workflow = match &events.first()?.kind {
        EventKind::RunStarted { workflow, .. } => workflow.clone(),
        _ => real()[0].workflow.clone(),
    };
    let graph = real().iter().find(|log| log.workflow == workflow)?.graph.clone();
    Some(Log { workflow, graph, events })
}

/// Does something to some of the records.
pub(crate) fn mutate(bytes: &mut Unstructured<'_>, log: &mut Log) -> Result<()> {
    for _ in 0..bytes.int_in_range(1..=4u8)? {
        let Some(last) = log.events.len().checked_sub(1) else { return Ok(()) };
        let at = bytes.int_in_range(0..=last)?;
        let other = bytes.int_in_range(0..=last)?;
        match bytes.int_in_range(0..=9u8)? {
            0 => drop(log.events.remove(at)),
            1 => log.events.insert(other, log.events[at].clone()),
            2 => log.events.swap(at, other),
            3 => log.events.truncate(at),
            4 => log.events[at].path = log.events[other].path.clone(),
            5 => log.events[at].kind = log.events[other].kind.clone(),
            6 => {
                let foreign = &bytes.choose(real())?.events;
                log.events.insert(at, bytes.choose(foreign)?.clone());
            }
            7 => log.graph = bytes.choose(real())?.graph.clone(),
            _ => {
                let mut json = serde_json::to_value(&log.events[at]).expect("a record is JSON");
                change(bytes, &mut json)?;
                if let Ok(changed) = serde_json::from_value(json) {
                    log.events[at] = changed;
                }
            }
        }
    }
    Ok(())
}

/// Puts something else in the place of one of the values in there.
pub(crate) fn change(bytes: &mut Unstructured<'_>, json: &mut Json) -> Result<()> {
    let at = bytes.int_in_range(0..=count(json) - 1)?;
    let with = match bytes.int_in_range(0..=9u8)? {
        0 => Json::Null,
        1 => Json::Bool(bytes.arbitrary()?),
        2 => Json::from(bytes.int_in_range(0..=4u64)?),
        3 => Json::from(u64::MAX - bytes.int_in_range(0..=1u64)?),
        4 => Json::from(bytes.arbitrary::<i64>()?),
        5 => Json::from(bytes.arbitrary::<f64>()?),
        6 => Json::from(bytes.arbitrary::<String>()?),
        7 => Json::Array(Vec::new()),
        8 => Json::Object(serde_json::Map::new()),
        _ => nth(json, &mut bytes.int_in_range(0..=count(json) - 1)?).cloned().unwrap_or_default(),
    };
    if let Some(value) = nth(json, &mut { at }) {
        *value = with;
    }
    Ok(())
}

fn count(json: &Json) -> usize {
    1 + match json {
        Json::Array(items) => items.iter().map(count).sum(),
        Json::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn nth<'j>(json: &'j mut Json, left: &mut usize) -> Option<&'j mut Json> {
    if *left == 0 {
        return Some(json);
    }
    *left -= 1;
    match json {
        Json::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Json::Object(fields) => fields.values_mut().find_map(|field| nth(field, left)),
        _ => None,
    }
}
