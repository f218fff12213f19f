//! `kill -9` at random moments, again and again, until the run ends all the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use graphweft::store::SqliteStore;
use graphweft::{Engine, Event, EventKind, RunFilter};

use crate::chance::Chance;
use crate::flows::{Gives, Meddling, Scenario, meddling};
use crate::judge::{Judge, Scene};
use crate::ledger;
use crate::linked;
use crate::people::People;
use crate::process::{DONE, Deed, LEFT, Orders, Process, output, run_id};

/// After so many processes a run is left in peace.
const MOST: u64 = 12;

/// How long a process may take that nobody kills.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a run went.
pub(crate) struct Went {
    pub(crate) kills: u64,
    /// How long its last process took.
    pub(crate) last: Duration,
}

/// Whether its processes are killed.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    /// How long it takes undisturbed.
    Kill(Duration),
    Watch,
}

/// One run from its beginning to its end.
pub(crate) fn run(scenario: &Scenario, seed: u64, mode: Mode, directory: &Path) -> Result<Went, String> {
    let mut chance = Chance::of(seed, scenario.name);
    let mut judges = Judges::default();
    let meddling = meddling(scenario.name);
    let is_meddled_with = matches!(meddling, Some(Meddling::Answers | Meddling::Cancels));
    let mut people = is_meddled_with.then(|| People::new(directory, 1));
    let (mut kills, mut processes) = (0, 0);
    loop {
        processes += 1;
        let life = match mode {
            Mode::Kill(whole) if processes <= MOST => Some(life(&mut chance, whole)),
            _ => None,
        };
        // Some end in good order, which is harder to get right than it looks.
        let leaves = chance.percent(15);
        let orders = Orders {
            directory: directory.display().to_string(),
            workflow: scenario.name.to_owned(),
            input: scenario.input,
            runs: 1,
            seed,
            process: processes,
            pause: Duration::from_millis(scenario.pause),
            lease: Duration::from_secs(3600),
            stay: life.filter(|_| leaves).unwrap_or_default(),
            room: None,
            deed: Deed::Nothing,
        };
        let begun = Instant::now();
        let mut process = Process::start(&orders);
        let ended = loop {
            if let Some(status) = process.ended() {
                break Some(status.code().unwrap_or(-1));
            }
            if life.is_some_and(|life| !leaves && begun.elapsed() > life) {
                process.kill();
                break None;
            }
            if begun.elapsed() > PATIENCE {
                process.kill();
                look(&mut judges, directory, people.as_ref())?;
                return Err(format!("it has not ended within {PATIENCE:?}\n{}", told(judges.history())));
            }
            match &mut people {
                Some(people) if meddling == Some(Meddling::Cancels) => people.cancel(&mut chance),
                Some(people) => people.answer(&mut chance)?,
                None => std::thread::sleep(Duration::from_micros(500)),
            }
        };
        look(&mut judges, directory, people.as_ref())
            .map_err(|error| format!("after process {processes}: {error}\n{}", told(judges.history())))?;
        match ended {
            None => kills += 1,
            Some(LEFT) => {}
            Some(DONE) => {
                over(scenario, &judges, people.as_ref())
                    .map_err(|error| format!("{error}\n{}", told(judges.history())))?;
                return Ok(Went { kills, last: begun.elapsed() });
            }
            Some(code) => {
                return Err(format!("process {} ended with {code}\n{}", orders.process, told(judges.history())));
            }
        }
    }
}

/// At start-up, soon after it, or at any moment.
fn life(chance: &mut Chance, whole: Duration) -> Duration {
    match chance.below(10) {
        0 | 1 => chance.up_to(whole / 10),
        2..=6 => whole / 20 + chance.up_to(whole / 3),
        _ => chance.up_to(whole + whole / 10),
    }
}

/// The judges of the run and of those that it has started, by the ids of these.
#[derive(Default)]
pub(crate) struct Judges(BTreeMap<String, Judge>);

impl Judges {
    /// What was looked at last of the run itself.
    fn history(&self) -> &[Event] {
        self.0.get(&run_id(0)).map_or(&[], Judge::history)
    }

    /// The runs that it has started.
    pub(crate) fn started(&self) -> impl Iterator<Item = (&str, &[Event])> {
        self.0.iter().filter(|(id, _)| **id != run_id(0)).map(|(id, judge)| (id.as_str(), judge.history()))
    }
}

fn look(judges: &mut Judges, directory: &Path, people: Option<&People>) -> Result<(), String> {
    let histories = match people {
        Some(people) => vec![(run_id(0), people.history(0))],
        None => histories_as_they_lie(directory),
    };
    let ledger = ledger::read(directory);
    for (id, history) in histories {
        let judge = judges.0.entry(id.clone()).or_insert_with(|| Judge::of(id.clone()));
        judge.look(history, &ledger, Scene::Still).map_err(|error| format!("run `{id}`: {error}"))?;
    }
    Ok(())
}

/// Of all runs, read from a copy, so that the next process finds the files as the last one has left them.
fn histories_as_they_lie(directory: &Path) -> Vec<(String, Vec<Event>)> {
    let copy = tempfile::tempdir().expect("there is room");
    // A process that dies while it makes the file leaves a journal of another kind.
    for name in ["runs.db", "runs.db-wal", "runs.db-journal"] {
        let from = directory.join(name);
        if from.exists() {
            fs::copy(from, copy.path().join(name)).expect("the database can be copied");
        }
    }
    runtime().block_on(async {
        let store = SqliteStore::open(copy.path().join("runs.db")).await.expect("a killed process leaves it sound");
        let engine = Engine::builder().store(store).build().expect("the engine is sound");
        let mut histories = Vec::new();
        for run in engine.list_runs(RunFilter::default()).await.expect("the runs can be listed") {
            let history = recorded(&engine, &run.id).await;
            histories.push((run.id, history));
        }
        histories
    })
}

/// The recorded events of a run, without those that follow from them.
pub(crate) async fn recorded(engine: &Engine, run: &str) -> Vec<Event> {
    let mut history = engine.history(run).await.expect("the history can be read").unwrap_or_default();
    history.retain(|event| !event.derived);
    history
}

pub(crate) fn history_as_it_lies(directory: &Path) -> Vec<Event> {
    let histories = histories_as_they_lie(directory);
    histories.into_iter().find(|(id, _)| *id == run_id(0)).map(|(_, history)| history).unwrap_or_default()
}

fn over(scenario: &Scenario, judges: &Judges, people: Option<&People>) -> Result<(), String> {
    let history = judges.history();
    linked::over(history, judges)?;
    let expected = match scenario.output {
        Gives::Always(output) => Some(output()),
        Gives::Following(output) => Some(output(history)),
        Gives::Nothing => None,
    };
    let find = |kind: fn(&EventKind) -> bool| history.iter().position(|event| kind(&event.kind));
    let requested = find(|kind| matches!(kind, EventKind::CancelRequested));
    let is_cancelled = find(|kind| matches!(kind, EventKind::RunCancelled)).is_some();
    let mut since = history.iter().skip(requested.unwrap_or_default());
    // Whoever was at its last node has not heard of it in time; whoever takes it up later has.
    let is_heard = since.any(|event| matches!(event.kind, EventKind::RunResumed { .. }));
    if is_cancelled != requested.is_some() && (is_cancelled || is_heard) {
        return Err("a run is cancelled where somebody wants that, and nowhere else".to_owned());
    }
    // It may have been done before anybody cancelled it.
    if output(history) != expected.as_ref() && (expected.is_some() || is_cancelled) {
        return Err(format!("its output is {:?}, and not {expected:?}", output(history)));
    }
    people.map_or(Ok(()), |people| people.are_heard(0, history))
}

/// A history, to be read.
pub(crate) fn told(history: &[Event]) -> String {
    let line = |event: &Event| {
        let kind = serde_json::to_string(&event.kind).unwrap_or_default();
        format!("  {} {} {kind}\n", event.seq, event.path)
    };
    history.iter().map(line).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("there is a runtime")
}
