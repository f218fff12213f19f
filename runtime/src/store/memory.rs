//! Runs in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::Value;

use super::{
    Append, Appended, Claim, Claimed, Created, NewRun, Owner, Record, Records, RunHeader, RunKey, RunQuery, RunStatus,
    Store, StoreError, Stored,
};
use crate::event::EventKind;

/// Keeps runs in memory, until the process ends. The default store of an engine.
///
/// Of the runs that have ended, the last 1000 stay readable
/// ([`max_resident_finished`](MemoryStore::max_resident_finished)), so memory stays bounded. All futures are ready at
/// once, and none fails. A clone is another handle to the same store.
///
/// ```
/// use graphweft::store::{MemoryStore, RunQuery, Store};
///
/// # graphweft::block_on(async {
/// let store = MemoryStore::new().max_resident_finished(10);
/// assert!(store.list(RunQuery::default()).await?.is_empty());
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Runs>>);

struct Runs {
    runs: BTreeMap<RunKey, Run>,
    by_id: HashMap<String, RunKey>,
    graphs: HashMap<u64, Value>,
    /// With the workflows whose runs they can resume.
    owners: HashMap<Owner, Vec<String>>,
    last_owner: u64,
    last_run: u64,
    /// Runs that can resume without an answer, by the time when they can; 1970 is at once. With many runs, most are not
    /// in it.
    ready: BTreeSet<(SystemTime, RunKey)>,
    /// Suspended runs that can resume without an answer, by the time when they were suspended.
    suspended: BTreeSet<(SystemTime, RunKey)>,
    nudged: BTreeSet<RunKey>,
    /// Runs that are over, in the order in which they ended: by a number that only grows.
    ended: BTreeMap<u64, RunKey>,
    last_end: u64,
    max_resident_finished: usize,
}

impl Default for Runs {
    fn default() -> Self {
        Runs {
            runs: BTreeMap::new(),
            by_id: HashMap::new(),
            graphs: HashMap::new(),
            owners: HashMap::new(),
            last_owner: 0,
            last_run: 0,
            ready: BTreeSet::new(),
            suspended: BTreeSet::new(),
            nudged: BTreeSet::new(),
            ended: BTreeMap::new(),
            last_end: 0,
            max_resident_finished: 1000,
        }
    }
}

struct Run {
    header: RunHeader,
    /// In order, without gaps, none of them empty.
    journal: Vec<Batch>,
    /// Its number in [`Runs::ended`].
    end: Option<u64>,
}

/// Records of one append, as they were given.
struct Batch {
    first: u64,
    time: SystemTime,
    records: Records,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many finished runs are kept. The default is 1000. Beyond that, the run that ended first is removed.
    #[must_use]
    pub fn max_resident_finished(self, runs: usize) -> Self {
        {
            let mut state = self.lock();
            state.max_resident_finished = runs;
            state.forget_finished();
        }
        self
    }

    /// Has the store treat an owner as alive or as dead, whatever the owner does. Its runs stay as they are.
    #[cfg(test)]
    pub(crate) fn believe(&self, owner: Owner, lives: bool) {
        let mut state = self.lock();
        if lives {
            state.owners.entry(owner).or_default();
        } else {
            state.owners.remove(&owner);
        }
    }

    /// No user code runs under this lock, so its data is consistent even after a panic.
    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("runs", &self.lock().runs.len()).finish()
    }
}

impl Run {
    fn add(&mut self, time: SystemTime, records: Records) {
        if !records.is_empty() {
            let first = self.header.records;
            self.header.records += records.len() as u64;
            self.journal.push(Batch { first, time, records });
        }
    }

    fn read(&self, from: u64, limit: usize) -> Vec<Stored> {
        let begun = self.journal.partition_point(|batch| batch.first <= from).saturating_sub(1);
        let stored = self.journal[begun..].iter().flat_map(|batch| {
            let numbered = (batch.first..).zip(batch.records.iter());
            numbered.map(|(seq, record)| Stored { seq, time: batch.time, record: record.clone() })
        });
        stored.skip_while(|stored| stored.seq < from).take(limit).collect()
    }

    /// When it can resume without an answer.
    fn ready(&self) -> Option<SystemTime> {
        match self.header.status {
            RunStatus::Running => Some(SystemTime::UNIX_EPOCH),
            _ => self.header.wake_at,
        }
    }
}

impl Runs {
    fn create(&mut self, new: NewRun) -> Created {
        if let Some(key) = self.by_id.get(&new.id) {
            return Created::Existing(self.runs[key].header.clone());
        }
        self.last_run += 1;
        let key = RunKey(self.last_run);
        let header = RunHeader {
            key,
            id: new.id.clone(),
            workflow: new.workflow,
            status: RunStatus::Running,
            created: new.time,
            updated: new.time,
            records: 0,
            owner: new.owner,
            wake_at: None,
            graph: new.graph.0,
            forked_from: new.forked_from,
        };
        let mut run = Run { header, journal: Vec::new(), end: None };
        run.add(new.time, new.records.into());
        let created = run.header.clone();
        self.ready.extend(run.ready().map(|at| (at, key)));
        self.runs.insert(key, run);
        self.by_id.insert(new.id, key);
        self.keep_graph(&new.graph);
        Created::New(created)
    }

    fn append(&mut self, batch: Append) -> Appended {
        let Some(run) = self.runs.get_mut(&batch.run) else { return Appended::Conflict };
        if batch.at != run.header.records {
            return Appended::Conflict;
        }
        run.add(batch.time, batch.records);
        if let Some(graph) = &batch.header.graph {
            run.header.graph = graph.0;
            self.keep_graph(graph);
        }
        if let Some((status, wake_at)) = batch.header.status {
            self.set_status(batch.run, status, wake_at, batch.time);
        }
        if let (Some(owner), Some(run)) = (batch.header.owner, self.runs.get_mut(&batch.run)) {
            run.header.owner = owner;
        }
        if batch.header.nudge {
            self.nudged.insert(batch.run);
            let status = self.runs.get(&batch.run).map(|run| run.header.status);
            if let Some(status) = status.filter(|status| status.is_suspended()) {
                self.set_status(batch.run, status, Some(batch.time), batch.time);
            }
        }
        self.forget_finished();
        Appended::Done
    }

    fn set_status(&mut self, key: RunKey, status: RunStatus, wake_at: Option<SystemTime>, time: SystemTime) {
        let Some(run) = self.runs.get_mut(&key) else { return };
        if let Some(at) = run.ready() {
            self.ready.remove(&(at, key));
            self.suspended.remove(&(run.header.updated, key));
        }
        if let Some(end) = run.end.take() {
            self.ended.remove(&end);
        }
        if run.header.status != status {
            run.header.updated = time;
        }
        run.header.status = status;
        run.header.wake_at = wake_at.filter(|_| status.is_suspended());
        self.ready.extend(run.ready().map(|at| (at, key)));
        self.suspended.extend(run.header.wake_at.map(|_| (run.header.updated, key)));
        if status.is_over() {
            // A run that is over has no owner.
            run.header.owner = None;
            self.last_end += 1;
            run.end = Some(self.last_end);
            self.ended.insert(self.last_end, key);
        }
    }

    fn forget_finished(&mut self) {
        while self.ended.len() > self.max_resident_finished {
            let Some((_, key)) = self.ended.pop_first() else { return };
            self.nudged.remove(&key);
            if let Some(run) = self.runs.remove(&key) {
                self.by_id.remove(&run.header.id);
            }
        }
    }

    fn keep_graph(&mut self, graph: &(u64, Value)) {
        self.graphs.entry(graph.0).or_insert_with(|| graph.1.clone());
    }

    fn claim(&mut self, claim: &Claim) -> Claimed {
        let except: HashSet<RunKey> = claim.except.iter().copied().collect();
        let can_take = |key: &RunKey| {
            let header = &self.runs[key].header;
            let is_free = header.owner.is_none_or(|owner| {
                if owner == claim.owner {
                    claim.own || header.status.is_suspended()
                } else {
                    claim.orphans && !self.owners.contains_key(&owner)
                }
            });
            is_free
                && !except.contains(key)
                && claim.only.is_none_or(|only| only == *key)
                && claim.workflows.contains(&header.workflow)
        };
        let mut later = self.ready.iter().skip_while(|(at, _)| *at <= claim.now);
        let next_wake = later.find(|(_, key)| can_take(key)).map(|(at, _)| *at);
        let now = self.ready.iter().take_while(|(at, _)| *at <= claim.now).map(|(_, key)| *key);
        // Runs suspended in the future of this clock: it was set back since.
        let not_yet = self.suspended.iter().rev().take_while(|(since, _)| *since > claim.now).map(|(_, key)| *key);
        let not_yet = not_yet.filter(|key| self.runs[key].ready().is_some_and(|at| at > claim.now));
        let take: Vec<RunKey> = now.chain(not_yet).filter(can_take).take(claim.limit).collect();
        let runs = take.into_iter().filter_map(|key| self.take_over(key, claim)).collect();
        let is_mine = |key: &RunKey| self.runs[key].header.owner == Some(claim.owner);
        let nudged: Vec<RunKey> = self.nudged.iter().copied().filter(is_mine).collect();
        self.nudged.retain(|key| !nudged.contains(key));
        let is_lost = |key: &RunKey| self.runs.get(key).is_some_and(|run| run.header.owner != Some(claim.owner));
        let nudged = nudged.into_iter().chain(claim.except.iter().copied().filter(is_lost)).collect();
        Claimed { runs, damaged: Vec::new(), nudged, next_wake }
    }

    fn take_over(&mut self, key: RunKey, claim: &Claim) -> Option<RunHeader> {
        self.set_status(key, RunStatus::Running, None, claim.now);
        self.nudged.remove(&key);
        let run = self.runs.get_mut(&key)?;
        run.header.owner = Some(claim.owner);
        let resumed = EventKind::RunResumed { owner: claim.owner.0 };
        let resumed = Record { path: run.header.workflow.clone(), kind: resumed };
        run.add(claim.now, vec![resumed].into());
        Some(run.header.clone())
    }

    fn leave(&mut self, owner: Owner) {
        self.owners.remove(&owner);
        for run in self.runs.values_mut().filter(|run| run.header.owner == Some(owner)) {
            run.header.owner = None;
        }
    }

    /// The runs that a query is about, oldest first, whatever its limit.
    fn found<'r>(&'r self, query: &'r RunQuery) -> impl DoubleEndedIterator<Item = &'r RunHeader> {
        let is_wanted = |header: &&RunHeader| {
            header.id.starts_with(&query.id_prefix)
                && (query.workflows.is_empty() || query.workflows.contains(&header.workflow))
                && query.from.is_none_or(|from| header.created >= from)
                && query.until.is_none_or(|until| header.created < until)
                && !query.not_workflows.contains(&header.workflow)
                && query.not_graph != Some(header.graph)
                && (query.status.is_empty() || query.status.contains(&header.status))
                && query.forked_from.as_ref().is_none_or(|origin| {
                    header.forked_from.as_ref().is_some_and(|(forked_from, _)| forked_from == origin)
                })
        };
        let after = query.after.map_or(Bound::Unbounded, Bound::Excluded);
        let before = query.before.map_or(Bound::Unbounded, Bound::Excluded);
        // A range of a map may not end before it begins.
        let is_empty = query.after.zip(query.before).is_some_and(|(after, before)| after >= before);
        let keys = if is_empty { None } else { Some(self.runs.range((after, before))) };
        keys.into_iter().flatten().map(|(_, run)| &run.header).filter(is_wanted)
    }

    fn list(&self, query: &RunQuery) -> Vec<RunHeader> {
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let found = self.found(query);
        if query.oldest_first {
            found.take(limit).cloned().collect()
        } else {
            found.rev().take(limit).cloned().collect()
        }
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> Vec<Stored> {
        self.runs.get(&run).map_or_else(Vec::new, |run| run.read(from, limit))
    }
}

fn done<T: Send + 'static>(value: T) -> BoxFuture<'static, Result<T, StoreError>> {
    ready(Ok(value)).boxed()
}

impl Store for MemoryStore {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        let mut runs = self.lock();
        runs.last_owner += 1;
        let owner = Owner(runs.last_owner);
        runs.owners.insert(owner, workflows);
        done(owner)
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        self.lock().leave(owner);
        std::future::ready(()).boxed()
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        done(self.lock().create(run))
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        done(self.lock().append(batch))
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        done(self.lock().read(run, from, limit))
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        let runs = self.lock();
        done(runs.by_id.get(id).map(|key| runs.runs[key].header.clone()))
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        done(self.lock().list(&query))
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        done(self.lock().found(&query).count() as u64)
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        done(self.lock().claim(&claim))
    }

    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        done(self.lock().owners.contains_key(&owner))
    }

    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        done(self.lock().owners.values().flatten().any(|served| served == workflow))
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn is_volatile(&self) -> bool {
        true
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        done(self.lock().graphs.get(&hash).cloned())
    }
}
