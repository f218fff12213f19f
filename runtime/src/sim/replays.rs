//! Holds the core of a run, at the moments when all that it has done is on record, against what a core makes of those
//! records alone: the same state, and nothing that it would do next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use graphweft_judge::random_graphs::Random;
use serde_json::{Map, json};

use super::behaviour;
use super::bodies::definition;
use super::disk::{Disk, at_once};
use super::jobs::job;
use super::ledger::Ledger;
use super::scenario::Scenario;
use crate::clock::Clock;
use crate::core::Core;
use crate::driver::{Env, Job, Journal, Observed, Observer, Part, Shared};
use crate::event::EventKind;
use crate::store::{Created, MemoryStore, NewRun, Record, Store, Stored};
use crate::table::Token;

/// How many moments of a run are looked at, at most.
const SAMPLE: usize = 12;

/// The moments of a run.
#[derive(Clone)]
pub(super) struct Moments {
    disk: Disk,
    ledger: Ledger,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    process: u32,
    all: Vec<Moment>,
}

/// All that the core held when so many records were made.
struct Moment {
    process: u32,
    /// Of which child it is the core, by its path; `None` for the run's own.
    child: Option<String>,
    records: u64,
    snapshot: Vec<String>,
}

impl Moments {
    pub(super) fn new(disk: &Disk, ledger: &Ledger) -> Moments {
        Moments { disk: disk.clone(), ledger: ledger.clone(), taken: Arc::default() }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on another process runs.
    pub(super) fn boot(&self) {
        self.taken().process += 1;
    }

    pub(super) fn observer(&self) -> Arc<Observer> {
        let moments = self.clone();
        Arc::new(move |observed| moments.take(&observed))
    }

    fn take(&self, observed: &Observed<'_>) {
        let Observed { core, records, waits } = *observed;
        if !core.is_settled() {
            self.ledger.breaks(format!("behind record {records}, not all is carried out"));
        }
        if waits && let Some(what) = core.waits_in_vain() {
            self.ledger.breaks(format!("the run waits behind record {records}, and {what}"));
        }
        let child = core.prefix().map(str::to_owned);
        let is_clear = match child {
            None => self.look_at_run(core, records),
            // That it is told to stop is not on record; that its node was is.
            Some(_) => !core.is_ending(),
        };
        if !is_clear {
            return;
        }
        let mut snapshot = core.snapshot();
        if child.is_some() {
            // What it begins with is what its node saw then, and had written.
            snapshot.retain(|line| !line.starts_with("state "));
        }
        let process = self.taken().process;
        self.keep(Moment { process, child, records, snapshot });
    }

    /// Whether the core knows of all that is on record.
    fn look_at_run(&self, core: &Core<Token>, records: u64) -> bool {
        let (follows, is_told, is_folded) = self.disk.with_follower(|follower| {
            let is_told = core.is_ending() || !follower.cancel_is_requested();
            (follower.records() == records, is_told, follower.state() == &**core.state())
        });
        if follows && !is_folded {
            self.ledger.breaks(format!("behind record {records}, the state is not the fold of what was recorded"));
        }
        is_told
    }

    fn keep(&self, moment: Moment) {
        let mut taken = self.taken();
        let is_same = |other: &&Moment| {
            (other.process, other.records, &other.child) == (moment.process, moment.records, &moment.child)
        };
        match taken.all.iter().rev().find(is_same) {
            Some(other) => {
                if let Err(why) = same(&other.snapshot, &moment.snapshot) {
                    let records = moment.records;
                    self.ledger
                        .breaks(format!("behind record {records}, something changes and is not recorded: {why}"));
                }
            }
            None => taken.all.push(moment),
        }
    }

    /// Folds the records of each moment, or of a sample of them.
    ///
    /// # Errors
    /// Where that gives something else.
    pub(super) fn are_replayed(&self, scenario: &Scenario, records: &[Stored]) -> Result<(), String> {
        let mut random = Random::new(scenario.chance);
        let taken = self.taken();
        let mut left: Vec<&Moment> = taken.all.iter().collect();
        while left.len() > SAMPLE {
            left.swap_remove(random.below(left.len()));
        }
        left.iter().try_for_each(|moment| {
            let history = &records[..moment.records as usize];
            self.is_replayed(history, moment).map_err(|why| format!("replayed up to record {}: {why}", moment.records))
        })
    }

    fn is_replayed(&self, history: &[Stored], moment: &Moment) -> Result<(), String> {
        let mut core = match &moment.child {
            None => self.replay(history)?,
            Some(path) => self.replay_child(path, history)?,
        };
        if let Some(command) = core.next_command() {
            return Err(format!("it goes on with {command:?}, and did not"));
        }
        let mut snapshot = core.snapshot();
        if moment.child.is_some() {
            snapshot.retain(|line| !line.starts_with("state "));
        }
        same(&moment.snapshot, &snapshot)
    }

    fn replay(&self, history: &[Stored]) -> Result<Core<Token>, String> {
        let Some(EventKind::RunStarted { input, state, .. }) = history.first().map(|first| &first.record.kind) else {
            return Err("there is no run".to_owned());
        };
        let job = Job {
            definition: definition(&self.ledger.scenario().flow),
            shared: self.elsewhere(history)?,
            cancel: None,
            state: state.clone(),
            part: Part::Whole,
            history: history.to_vec(),
        };
        job.replayed(Box::new(input.clone())).map_err(|halt| format!("{halt:?}"))
    }

    /// A child that is a workflow folds what is on record below it since it was entered.
    fn replay_child(&self, path: &str, history: &[Stored]) -> Result<Core<Token>, String> {
        let (scenario, sites) = (self.ledger.scenario(), self.ledger.sites());
        let is_entered =
            |at: &Stored| at.record.path == path && matches!(at.record.kind, EventKind::NodeStarted { .. });
        let entered = history.iter().rposition(is_entered).ok_or("the child was not entered")?;
        let below = history[entered..].iter().filter(|at| at.record.path.starts_with(&format!("{path}/")));
        let job = Job {
            definition: Arc::clone(job(sites.which_job(path).ok_or("there is no such job")?)),
            shared: self.elsewhere(history)?,
            cancel: None,
            state: Map::new(),
            part: Part::Child(path.to_owned(), Arc::default()),
            history: below.cloned().collect(),
        };
        job.replayed(Box::new(behaviour::job_gets(scenario, path))).map_err(|halt| format!("`{path}`: {halt:?}"))
    }

    /// What a run shares with its nodes, for one that nobody sees.
    fn elsewhere(&self, history: &[Stored]) -> Result<Arc<Shared>, String> {
        let now = history.last().map_or(SystemTime::UNIX_EPOCH, |last| last.time);
        let clock = Clock::new(move || now);
        let mut env = Env { clock: clock.clone(), ..Env::default() };
        env.limit_concurrency(self.ledger.scenario().max_concurrency);
        Ok(Arc::new(Shared::recorded(Arc::new(env), unread(clock)?)))
    }
}

/// A journal that nobody reads.
fn unread(clock: Clock) -> Result<Arc<Journal>, String> {
    let store = Arc::new(MemoryStore::new());
    let owner = at_once(store.join()).map_err(|error| error.to_string())?;
    let begins = EventKind::RunStarted { workflow: "w".to_owned(), input: json!(null), state: Map::new() };
    let new = NewRun {
        id: "replayed".to_owned(),
        workflow: "w".to_owned(),
        owner: Some(owner),
        graph: Arc::new((0, json!(null))),
        forked_from: None,
        time: SystemTime::UNIX_EPOCH,
        records: vec![Record { path: "w".to_owned(), kind: begins }],
    };
    match at_once(store.create(new)) {
        Ok(Created::New(header)) => Ok(Arc::new(Journal::new(&header, owner, store, clock))),
        _ => Err("a store that is new has a run".to_owned()),
    }
}

/// Whether two cores hold the same.
fn same(lived: &[String], replayed: &[String]) -> Result<(), String> {
    if lived == replayed {
        return Ok(());
    }
    let only = |these: &[String], others: &[String]| {
        these.iter().filter(|line| !others.contains(line)).cloned().collect::<Vec<_>>().join("\n    ")
    };
    Err(format!("it held\n    {}\n  and holds\n    {}", only(lived, replayed), only(replayed, lived)))
}
