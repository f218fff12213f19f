//! Runs in memory.

mod commits;
mod logs;

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use foldhash::HashMap;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::Value;

use self::commits::{Commits, Committed};
use self::logs::MemoryLogs;
use super::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, HeaderChange,
    LogStore, NewRun, OpenQuestion, Owner, QuestionChange, QuestionPlace, QuestionQuery, Records, ReserveTask,
    RunHeader, RunKey, RunOverview, RunQuery, RunStatus, StartedOver, Store, StoreError, Stored, Tags,
    to_the_millisecond,
};

use crate::sorted::{SortedMap, SortedSet};

/// Keeps runs in memory, until the process ends. The default store of an engine.
///
/// Of the runs that have ended, the last 1000 stay readable
/// ([`max_resident_finished`](MemoryStore::max_resident_finished)), so memory stays bounded, except that its [logs](Store::logs) are kept until they are deleted. All futures are ready at
/// once, and none fails. A clone is another handle to the same store, for a
/// second engine in the same process.
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
pub struct MemoryStore(Arc<Mutex<Runs>>, MemoryLogs);

struct Runs {
    /// Boxed: in the map, others move to make room.
    runs: SortedMap<RunKey, Box<Run>>,
    by_id: HashMap<String, RunKey>,
    /// The order in which batches were added.
    commits: Commits,
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
    nudged: SortedSet<RunKey>,
    /// Runs that are over, in the order in which they ended: by a number that only grows.
    ended: SortedMap<u64, RunKey>,
    last_end: u64,
    max_resident_finished: usize,
    /// The open questions, in the order in which they were asked.
    questions: SortedMap<QuestionPlace, OpenQuestion>,
    /// The ids of deleted runs, and until when they are kept.
    deleted: HashMap<String, SystemTime>,
    /// Who has a periodic task, and until when.
    tasks: HashMap<String, (Owner, SystemTime)>,
}

impl Default for Runs {
    fn default() -> Self {
        Runs {
            runs: SortedMap::new(),
            by_id: HashMap::default(),
            commits: Commits::default(),
            graphs: HashMap::default(),
            owners: HashMap::default(),
            last_owner: 0,
            last_run: 0,
            ready: BTreeSet::new(),
            suspended: BTreeSet::new(),
            nudged: SortedSet::new(),
            ended: SortedMap::new(),
            last_end: 0,
            max_resident_finished: 1000,
            questions: SortedMap::new(),
            deleted: HashMap::default(),
            tasks: HashMap::default(),
        }
    }
}

struct Run {
    header: RunHeader,
    /// In order, without gaps, none of them empty.
    journal: Vec<Batch>,
    /// Its open questions by their ids, and when they were asked.
    open: SortedMap<String, SystemTime>,
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
    /// Adds records behind those that the header counts, which it does not count yet.
    fn add(&mut self, commits: &mut Commits, first: u64, time: SystemTime, records: Records) {
        if !records.is_empty() {
            commits.add(self.header.key, first);
            self.journal.push(Batch { first, time, records });
        }
    }

    fn last_time(&self) -> Option<SystemTime> {
        self.journal.last().map(|batch| batch.time)
    }

    fn last(&self) -> Vec<Stored> {
        self.read(RunOverview::first_record(&self.header), usize::MAX)
    }

    fn read(&self, from: u64, limit: usize) -> Vec<Stored> {
        let begun = self.journal.partition_point(|batch| batch.first <= from).saturating_sub(1);
        let stored = self.journal[begun..].iter().flat_map(|batch| {
            let numbered = (batch.first..).zip(batch.records.iter());
            numbered.map(|(seq, record)| Stored { seq, time: batch.time, record: record.clone() })
        });
        stored.skip_while(|stored| stored.seq < from).take(limit).collect()
    }

    /// The batch with this first record.
    fn batch(&self, first: u64) -> Option<Committed<'_>> {
        let batch = &self.journal[self.journal.binary_search_by_key(&first, |batch| batch.first).ok()?];
        Some(Committed { header: &self.header, first, time: batch.time, records: &batch.records })
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
        match self.kept_until(&new) {
            Some(until) => Created::Deleted { until },
            None => Created::New(self.add(new)),
        }
    }

    /// Until when a new run cannot have its id, since one with that was deleted.
    fn kept_until(&self, new: &NewRun) -> Option<SystemTime> {
        self.deleted.get(&new.id).copied().filter(|until| *until > new.time)
    }

    fn start_over(&mut self, end: Append, next: NewRun) -> StartedOver {
        if !self.is_next(&end) {
            return StartedOver::Conflict;
        }
        if self.by_id.contains_key(&next.id) {
            return StartedOver::Existing;
        }
        if let Some(until) = self.kept_until(&next) {
            return StartedOver::Deleted { until };
        }
        self.append(end);
        StartedOver::Done(Box::new(self.add(next)))
    }

    /// Adds a run whose id is free.
    fn add(&mut self, new: NewRun) -> RunHeader {
        self.deleted.remove(&new.id);
        self.last_run += 1;
        let key = RunKey(self.last_run);
        let run = Run { header: new.header(key), journal: Vec::new(), open: SortedMap::new(), end: None };
        let mut run = Box::new(run);
        run.add(&mut self.commits, 0, new.time, new.records.into());
        let created = run.header.clone();
        self.ready.extend(run.ready().map(|at| (at, key)));
        self.suspended.extend(run.header.wake_at.map(|_| (run.header.updated, key)));
        self.runs.insert(key, run);
        self.by_id.insert(new.id, key);
        self.keep_graph(&new.graph);
        created
    }

    /// Whether a batch is at the end of its journal.
    fn is_next(&self, batch: &Append) -> bool {
        self.runs.get(&batch.run).is_some_and(|run| run.header.records == batch.at)
    }

    fn append(&mut self, batch: Append) -> Appended {
        if !self.is_next(&batch) {
            return Appended::Conflict;
        }
        let Append { run: key, at, time, records, header: change } = batch;
        let Some(run) = self.runs.get_mut(&key) else { return Appended::Conflict };
        let added = records.len() as u64;
        run.add(&mut self.commits, at, time, records);
        for graph in change.graphs() {
            self.keep_graph(graph);
        }
        if change.nudge {
            self.nudged.insert(key);
        }
        self.change(key, &change, added, time);
        if !change.questions.is_empty() {
            self.change_questions(key, change.questions);
        }
        self.forget_finished();
        Appended::Done
    }

    /// Changes the header of a run, and the indexes over it.
    fn change(&mut self, key: RunKey, change: &HeaderChange, records: u64, time: SystemTime) {
        let Some(run) = self.runs.get_mut(&key) else { return };
        if change.status.is_none() && !change.nudge {
            run.header.apply(change, records, time);
            return;
        }
        if let Some(at) = run.ready() {
            self.ready.remove(&(at, key));
            self.suspended.remove(&(run.header.updated, key));
        }
        if let Some(end) = run.end.take() {
            self.ended.remove(&end);
        }
        run.header.apply(change, records, time);
        self.ready.extend(run.ready().map(|at| (at, key)));
        self.suspended.extend(run.header.wake_at.map(|_| (run.header.updated, key)));
        if run.header.status.is_over() {
            self.last_end += 1;
            run.end = Some(self.last_end);
            self.ended.insert(self.last_end, key);
            self.change_questions(key, QuestionChange { is_all: true, ..QuestionChange::default() });
        }
    }

    fn change_questions(&mut self, key: RunKey, change: QuestionChange) {
        let Some(run) = self.runs.get_mut(&key).filter(|run| !run.open.is_empty() || !change.open.is_empty()) else {
            return;
        };
        let QuestionChange { is_all, open, mut closed } = change;
        if is_all {
            let stays: HashSet<&str> = open.iter().map(|open| open.question.id.as_str()).collect();
            closed.extend(run.open.keys().filter(|id| !stays.contains(id.as_str())).cloned());
        }
        for question in closed {
            if let Some(asked) = run.open.remove(&question) {
                self.questions.remove(&QuestionPlace { asked, run: key, question });
            }
        }
        for mut open in open.into_iter().filter(|_| !run.header.status.is_over()) {
            let asked = *run.open.get_or_insert_with(open.question.id.clone(), || to_the_millisecond(open.asked));
            open.asked = asked;
            self.questions.insert(QuestionPlace { asked, run: key, question: open.question.id.clone() }, open);
        }
    }

    /// Removes a run, with everything that leads to it.
    fn remove(&mut self, key: RunKey) -> Option<Box<Run>> {
        self.change_questions(key, QuestionChange { is_all: true, ..QuestionChange::default() });
        let run = self.runs.remove(&key)?;
        self.by_id.remove(&run.header.id);
        self.commits.removed(run.journal.len(), |run| self.runs.contains_key(&run));
        self.nudged.remove(&key);
        if let Some(at) = run.ready() {
            self.ready.remove(&(at, key));
            self.suspended.remove(&(run.header.updated, key));
        }
        if let Some(end) = run.end {
            self.ended.remove(&end);
        }
        Some(run)
    }

    fn delete(&mut self, delete: Delete) -> Vec<RunKey> {
        let Delete { mut runs, ids_until, now } = delete;
        self.deleted.retain(|_, until| *until > now);
        runs.retain(|key| {
            let is_over = self.runs.get(key).is_some_and(|run| run.header.status.is_over());
            let removed = if is_over { self.remove(*key) } else { None };
            if let (Some(run), Some(until)) = (&removed, ids_until) {
                self.deleted.insert(run.header.id.clone(), until);
            }
            removed.is_some()
        });
        runs
    }

    fn reserve(&mut self, task: ReserveTask) -> bool {
        let ReserveTask { task, owner, until, now } = task;
        let is_taken = |(by, until): &(Owner, SystemTime)| *by != owner && *until > now && self.owners.contains_key(by);
        if self.tasks.get(&task).is_some_and(is_taken) {
            return false;
        }
        self.tasks.insert(task, (owner, until));
        true
    }

    fn overview(&self, query: &RunQuery) -> Vec<RunOverview> {
        let of = |header: RunHeader| {
            let run = &self.runs[&header.key];
            let first = run.open.iter().min_by_key(|(id, asked)| (**asked, *id));
            let first = first.map(|(id, asked)| QuestionPlace { asked: *asked, run: header.key, question: id.clone() });
            let question = first.and_then(|place| self.questions.get(&place)).cloned();
            RunOverview::new(header, Ok(run.last()), run.open.len() as u64, question)
        };
        self.list(query).into_iter().map(of).collect()
    }

    fn questions(&self, query: &QuestionQuery) -> Vec<AskedQuestion> {
        let after = query.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let wanted = self.questions.range((after, Bound::Unbounded)).filter_map(|(place, open)| {
            let header = &self.runs[&place.run].header;
            let is_wanted = header.id.starts_with(&query.id_prefix)
                && (query.workflows.is_empty() || query.workflows.contains(&header.workflow))
                && has_tags(header, &query.tags)
                && query.name.as_ref().is_none_or(|name| open.name() == name.as_str());
            is_wanted.then(|| AskedQuestion::new(header, open.clone()))
        });
        wanted.take(limit).collect()
    }

    fn forget_finished(&mut self) {
        while self.ended.len() > self.max_resident_finished {
            let Some((_, key)) = self.ended.pop_first() else { return };
            self.remove(key);
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
        self.nudged.remove(&key);
        let run = self.runs.get_mut(&key)?;
        let time = claim.resumed_at(run.last_time());
        let resumed = claim.record(&run.header.workflow);
        run.add(&mut self.commits, run.header.records, time, vec![resumed].into());
        self.change(key, &claim.change(), 1, time);
        Some(self.runs.get(&key)?.header.clone())
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
                && query.unchanged_since.is_none_or(|since| header.updated < since)
                && has_tags(header, &query.tags)
                && !query.not_workflows.contains(&header.workflow)
                && !query.not_graphs.contains(&header.graph)
                && (query.status.is_empty() || query.status.contains(&header.status))
                && query
                    .started_by
                    .as_ref()
                    .is_none_or(|run| header.started_by.as_ref().is_some_and(|started_by| started_by.run == *run))
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

fn has_tags(header: &RunHeader, wanted: &Tags) -> bool {
    wanted.iter().all(|(key, value)| header.tags.get(key) == Some(value))
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

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        done(self.lock().start_over(end, next))
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

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        done(self.lock().overview(&query))
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        done(self.lock().questions(&query))
    }

    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        done(self.lock().delete(delete))
    }

    fn reserve_task(&self, task: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        done(self.lock().reserve(task))
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

    /// Another engine may have another handle.
    fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn is_volatile(&self) -> bool {
        true
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        let runs = self.lock();
        done(runs.commits.page(&query, |run, first| runs.runs.get(&run)?.batch(first)))
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        done(self.lock().commits.end())
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        done(self.lock().graphs.get(&hash).cloned())
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        Some(Arc::new(self.1.clone()))
    }
}
