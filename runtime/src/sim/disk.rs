//! The store of a simulated run: what is written outlives every process, and a process that is to die does so at a
//! commit.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::at_once::at_once;
use super::follow::Follower;
use super::leases::Leased;
use super::originals::Original;
use super::scenario::{How, Scenario, StoreFault};
use super::tracks::Tracks;
use crate::event::EventKind;
use crate::store::{Append, Owner, Record, RunHeader, RunKey, Snapshot, Stored};

/// The number of no process.
const NO_PROCESS: u32 = 0;

/// The part that survives a crash: the store itself, and all that was ever written to it.
#[derive(Clone)]
pub(super) struct Disk(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) store: Box<dyn Leased>,
    /// Tokio's, and so of no meaning to the store.
    pub(super) commit_takes: u64,
    /// Whether processes take runs over from others that live.
    pub(super) is_shared: bool,
    pub(super) died: Notify,
    pub(super) lapsed: Notify,
    pub(super) taken_over: Notify,
    state: Mutex<State>,
}

pub(super) struct State {
    /// The first of the processes that live now, by number.
    pub(super) booted: u32,
    /// All that ever were, by number from 1 on.
    machines: Vec<Machine>,
    /// The faults of processes that do not exist yet.
    faults: VecDeque<StoreFault>,
    /// Processes that are believed to be dead, and whose runs are not taken over yet.
    pub(super) lapses: VecDeque<Lapse>,
    /// How often another process was put in charge.
    charge: u32,
    pub(super) all_commits: u64,
    pub(super) tracks: Tracks,
    pub(super) counts: Takeovers,
    /// The store of the simulator keeps them itself, whatever store is behind it.
    pub(super) snapshots: BTreeMap<RunKey, Snapshot>,
}

/// The state of a process.
pub(super) struct Machine {
    pub(super) owners: Vec<Owner>,
    /// How many commits it has asked for.
    pub(super) commits: u64,
    pub(super) fault: Option<StoreFault>,
    pub(super) fails: Option<How>,
    /// Whether it is believed to be dead.
    pub(super) is_lapsed: bool,
    /// When the store first refused what it recorded, since another has the run.
    pub(super) refused: BTreeMap<RunKey, Instant>,
}

/// A process is believed to be dead, and lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lapse {
    pub(super) of: u32,
    /// How long no process takes over.
    pub(super) after: Duration,
    /// Whether a process takes over that was believed to be dead before.
    pub(super) back: bool,
}

/// How often processes took runs over from others that lived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Takeovers {
    pub(super) taken: u64,
    /// Those by a process that had lost the run before.
    pub(super) taken_back: u64,
    /// Appends of processes that had lost the run.
    pub(super) refused: u64,
}

impl Takeovers {
    pub(super) fn add(&mut self, more: Takeovers) {
        self.taken += more.taken;
        self.taken_back += more.taken_back;
        self.refused += more.refused;
    }
}

impl Disk {
    pub(super) fn new(store: impl Leased, scenario: &Scenario, follower: Follower) -> Disk {
        let state = State {
            booted: 1,
            machines: Vec::new(),
            faults: scenario.faults.iter().copied().collect(),
            lapses: VecDeque::new(),
            charge: 0,
            all_commits: 0,
            tracks: Tracks::new(follower),
            counts: Takeovers::default(),
            snapshots: BTreeMap::new(),
        };
        Disk(Arc::new(Shared {
            is_shared: store.is_shared() || scenario.has_takeovers() || scenario.has_requests(),
            store: Box::new(store),
            commit_takes: scenario.commit_takes,
            died: Notify::new(),
            lapsed: Notify::new(),
            taken_over: Notify::new(),
            state: Mutex::new(state),
        }))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All processes are dead, and known to be.
    pub(super) fn die(&self) {
        let mut state = self.state();
        for owner in state.machines.iter_mut().flat_map(|machine| std::mem::take(&mut machine.owners)) {
            drop(self.0.store.leave(owner));
        }
        state.booted = state.machines.len() as u32 + 1;
        state.lapses.clear();
    }

    /// A place for another process, beside those that live. Returns its number.
    pub(super) fn place(&self) -> u32 {
        let mut state = self.state();
        let fault = state.faults.pop_front();
        state.machines.push(Machine {
            owners: Vec::new(),
            commits: 0,
            fault,
            fails: None,
            is_lapsed: false,
            refused: BTreeMap::new(),
        });
        state.machines.len() as u32
    }

    /// A process that was believed to be dead renews its lease. Returns whether that has an effect.
    pub(super) fn renew(&self, number: u32) -> bool {
        let owners = self.state().machine(number).owners.clone();
        let is_believed = owners.into_iter().all(|owner| self.0.store.renew(owner));
        self.state().machine(number).is_lapsed = !is_believed;
        is_believed
    }

    /// Resolves when a process has to die, and all others with it.
    pub(super) async fn died(&self) {
        self.0.died.notified().await;
    }

    /// Resolves when a process is believed to be dead. Cancel safe.
    pub(super) async fn lapsed(&self) -> Lapse {
        loop {
            if let Some(lapse) = self.state().lapses.pop_front() {
                return lapse;
            }
            self.0.lapsed.notified().await;
        }
    }

    pub(super) fn has_lapsed(&self) -> bool {
        !self.state().lapses.is_empty()
    }

    /// Ends the charge of the present process. Returns the number of the next charge.
    pub(super) fn next_charge(&self) -> u32 {
        let mut state = self.state();
        state.charge += 1;
        state.charge
    }

    pub(super) fn is_in_charge(&self, charge: u32) -> bool {
        self.state().charge == charge
    }

    pub(super) fn takeovers(&self) -> Takeovers {
        self.state().counts
    }

    pub(super) fn all_commits(&self) -> u64 {
        self.state().all_commits
    }

    pub(super) fn header(&self, id: &str) -> Option<RunHeader> {
        at_once(self.0.store.header(id)).ok().flatten()
    }

    /// The first records of a run.
    pub(super) fn records_of(&self, run: RunKey, most: u64) -> Vec<Stored> {
        at_once(self.0.store.read(run, 0, most as usize)).expect("the store itself is sound")
    }

    /// All records of a run by its id.
    pub(super) fn read(&self, id: &str) -> Vec<Stored> {
        let Some(header) = self.header(id) else { return Vec::new() };
        at_once(self.0.store.read(header.key, 0, usize::MAX)).expect("the store itself is sound")
    }

    /// The runs that the one that is played now comes from by forks, the first one first.
    pub(super) fn originals(&self) -> Vec<Original> {
        self.state().tracks.originals.clone()
    }

    /// The id of the run that is played now.
    pub(super) fn id(&self) -> String {
        self.state().tracks.id().to_owned()
    }

    /// How often a run has started over.
    pub(super) fn started_over(&self) -> u64 {
        self.state().tracks.before.len() as u64
    }

    pub(super) fn forks(&self) -> usize {
        self.state().tracks.originals.len()
    }

    /// The runs that were forked are as they were.
    ///
    /// # Errors
    /// The change.
    pub(super) fn originals_are_untouched(&self) -> Result<(), String> {
        self.state().tracks.originals.iter().try_for_each(|original| original.is_untouched(&*self.0.store))
    }

    /// Reads the records of the run.
    pub(super) fn with_records<T>(&self, look: impl FnOnce(&[Stored]) -> T) -> T {
        look(&self.state().tracks.now.records)
    }

    /// Reads the records of a run by its id.
    pub(super) fn with_records_of<T>(&self, id: &str, look: impl FnOnce(&[Stored]) -> T) -> T {
        look(&self.state().tracks.by_id(id).records)
    }

    /// The records of the early fork, and their consequences.
    pub(super) fn early(&self) -> Option<(Vec<Stored>, Vec<Stored>)> {
        self.state().tracks.early.as_ref().map(|track| (track.records.clone(), track.follower.events()))
    }

    /// The forks that were requested and forked: their ids, records, and consequences.
    pub(super) fn links(&self) -> Vec<(String, Vec<Stored>, Vec<Stored>)> {
        let state = self.state();
        let links = state.tracks.links.iter();
        links.map(|track| (track.id.clone(), track.records.clone(), track.follower.events())).collect()
    }

    /// Reads the records of a run that a process may know: those before another process has taken it over.
    pub(super) fn with_known<T>(&self, process: u32, id: &str, look: impl FnOnce(&[Stored]) -> T) -> T {
        let state = self.state();
        let track = state.tracks.by_id(id);
        look(&track.records[..track.known_to(process)])
    }

    /// How often a run was resumed.
    pub(super) fn resumed(&self, id: &str) -> usize {
        let is_resumed = |at: &&Stored| matches!(at.record.kind, EventKind::RunResumed { .. });
        self.with_records_of(id, |records| records.iter().filter(is_resumed).count())
    }

    pub(super) fn is_owner(&self, process: u32, id: &str) -> bool {
        self.state().tracks.by_id(id).owner() == Some(process)
    }

    pub(super) fn is_alive(&self, process: u32) -> bool {
        self.state().booted <= process
    }

    /// The time since which a process must know that another has a run.
    pub(super) fn refused(&self, process: u32, id: &str) -> Option<Instant> {
        let mut state = self.state();
        let run = state.tracks.by_id(id).run?;
        state.machine(process).refused.get(&run).copied()
    }

    /// Reads the new records of the run's journal.
    pub(super) fn refresh(&self) {
        let mut state = self.state();
        state.tracks.refresh(&*self.0.store);
        // A run in which something is broken may never end.
        if state.tracks.broken.is_some() {
            self.0.died.notify_one();
        }
    }

    /// Reads the fold of the records.
    pub(super) fn with_follower<T>(&self, look: impl FnOnce(&Follower) -> T) -> T {
        look(&self.state().tracks.now.follower)
    }

    pub(super) fn with_follower_of<T>(&self, id: &str, look: impl FnOnce(&Follower) -> T) -> T {
        look(&self.state().tracks.by_id(id).follower)
    }

    /// The guarantee that the records break, if any.
    pub(super) fn broken(&self) -> Option<String> {
        self.state().tracks.broken.clone()
    }
}

impl State {
    pub(super) fn machine(&mut self, number: u32) -> &mut Machine {
        &mut self.machines[number as usize - 1]
    }

    /// From a record on, the run that is played now is that of a process.
    pub(super) fn owns(&mut self, process: u32, run: RunKey, from: u64) {
        let Some(track) = self.tracks.of(run) else { return };
        let before = track.owner().filter(|before| *before != process);
        let is_back = track.owners.iter().any(|(_, owner)| *owner == process);
        track.owners.push((from, process));
        self.machine(process).refused.remove(&run);
        if before.is_some_and(|before| before >= self.booted) {
            self.counts.taken += 1;
            self.counts.taken_back += u64::from(is_back);
        }
    }

    /// From a record on, no process has a run.
    pub(super) fn is_free(&mut self, run: RunKey, from: u64) {
        if let Some(track) = self.tracks.of(run) {
            track.owners.push((from, NO_PROCESS));
        }
    }

    /// What a process appends to a run is refused.
    pub(super) fn is_refused(&mut self, process: u32, run: RunKey) {
        let is_lost = self.tracks.of(run).is_some_and(|track| track.is_lost_to(process));
        self.counts.refused += u64::from(is_lost);
        if is_lost {
            self.machine(process).refused.entry(run).or_insert_with(Instant::now);
        }
    }

    /// Checks that a process which does not have a run only adds what others ask of it.
    pub(super) fn look_at_append(&mut self, process: u32, batch: &Append) {
        let is_said = |record: &Record| {
            let kind = &record.kind;
            matches!(
                kind,
                EventKind::Answered { .. }
                    | EventKind::SignalReceived { .. }
                    | EventKind::CancelRequested
                    | EventKind::RunRetried { requested: true, .. }
            )
        };
        let owner = self.tracks.of(batch.run).and_then(|track| track.owner());
        let Some(owner) = owner.filter(|owner| *owner != NO_PROCESS) else { return };
        if owner != process && !batch.records.iter().all(is_said) {
            let broken = format!("process {process} records {:?}, and {owner} has the run", batch.records);
            self.tracks.breaks(Err(broken));
        }
    }
}
