//! The store of one process: a process that has to die, or to lose its runs, does so at a commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending, ready};
use serde_json::Value as Json;

use super::at_once::at_once;
use super::disk::{Disk, Lapse};
use super::scenario::{How, StoreFault};
use crate::event::EventKind;
use crate::store::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, LogAppended,
    LogEntry, LogStore, LogTrim, NewLogEntry, NewRun, Owner, QuestionQuery, Record, ReserveTask, RunHeader, RunKey,
    RunOverview, RunQuery, Snapshot, StartedOver, Store, StoreError, Stored,
};

/// How long a commit waits for another process to take over, which may have nothing to take over.
const HELD: Duration = Duration::from_millis(400);

/// The fate of a commit.
enum Fate {
    Done,
    /// Carried out or not, without a result for the caller.
    Dies {
        carried_out: bool,
    },
    Fails {
        how: How,
        carried_out: bool,
    },
    /// The process is believed to be dead from here on. If the commit is held, another process takes over before it.
    Lapses {
        held: Option<Duration>,
    },
}

/// The store of one process.
#[derive(Clone)]
pub(super) struct Process {
    disk: Disk,
    pub(super) number: u32,
}

impl Process {
    /// The next process. Those before are dead, and known to be.
    pub(super) fn boot(disk: &Disk) -> Process {
        disk.die();
        Process::join(disk)
    }

    /// Another process, beside those that live.
    pub(super) fn join(disk: &Disk) -> Process {
        Process { disk: disk.clone(), number: disk.place() }
    }

    fn is_dead(&self) -> bool {
        let mut state = self.disk.state();
        self.number < state.booted || matches!(state.machine(self.number).fails, Some(How::Dies))
    }

    /// Ends its faults.
    pub(super) fn mend(&self) {
        self.disk.state().machine(self.number).fails = None;
    }

    pub(super) fn is_failing(&self) -> bool {
        self.disk.state().machine(self.number).fails.is_some()
    }

    /// The fate of the next commit.
    fn fate(&self) -> Fate {
        let mut state = self.disk.state();
        let machine = state.machine(self.number);
        if let Some(how) = machine.fails {
            return Fate::Fails { how, carried_out: false };
        }
        let (at, fault) = (machine.commits, machine.fault);
        machine.commits += 1;
        state.all_commits += 1;
        match fault.filter(|fault| fault.at == at) {
            None => Fate::Done,
            Some(StoreFault { how: How::Dies, carried_out, .. }) => {
                state.machine(self.number).fails = Some(How::Dies);
                Fate::Dies { carried_out }
            }
            Some(StoreFault { how: How::TakenOver { after, back }, carried_out, .. }) => {
                let after = Duration::from_millis(after);
                state.lapses.push_back(Lapse { of: self.number, after, back });
                Fate::Lapses { held: (!carried_out).then_some(after + HELD) }
            }
            Some(StoreFault { how, carried_out, .. }) => {
                if how != How::Busy {
                    state.machine(self.number).fails = Some(how);
                }
                Fate::Fails { how, carried_out }
            }
        }
    }

    /// Any process may take over the runs of a process that is believed to be dead.
    fn lapse(&self) {
        let mut state = self.disk.state();
        let machine = state.machine(self.number);
        machine.is_lapsed = true;
        machine.owners.iter().for_each(|owner| self.disk.0.store.lapse(*owner));
        drop(state);
        self.disk.0.lapsed.notify_one();
    }

    async fn until_taken_over(&self, most: Duration) {
        let is_taken = async {
            loop {
                let notified = self.disk.0.taken_over.notified();
                if !self.disk.is_owner(self.number, &self.disk.id())
                    && self.disk.with_records(|records| !records.is_empty())
                {
                    return;
                }
                notified.await;
            }
        };
        // There may be nothing to take over.
        let _ = tokio::time::timeout(most, is_taken).await;
    }

    fn commit<T: Send + 'static>(
        &self,
        carry_out: impl FnOnce(&Process) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        if self.is_dead() {
            return pending().boxed();
        }
        let fate = self.fate();
        let carries_out = match fate {
            Fate::Done => true,
            Fate::Dies { carried_out } | Fate::Fails { carried_out, .. } => carried_out,
            Fate::Lapses { held } => held.is_none(),
        };
        let process = self.clone();
        let mut carry_out = Some(move || {
            let done = carry_out(&process);
            process.disk.refresh();
            done
        });
        let done = if carries_out { carry_out.take().map(|carry_out| carry_out()) } else { None };
        if let Fate::Lapses { .. } = fate {
            self.lapse();
        }
        let takes = Duration::from_millis(self.disk.0.commit_takes);
        match (fate, done, carry_out) {
            (Fate::Done | Fate::Lapses { .. }, Some(done), _) if takes.is_zero() => ready(done).boxed(),
            (Fate::Done | Fate::Lapses { .. }, Some(done), _) => tokio::time::sleep(takes).map(|()| done).boxed(),
            (Fate::Fails { how, .. }, ..) => ready(Err(error(how))).boxed(),
            (Fate::Lapses { held: Some(most) }, _, Some(carry_out)) => {
                let process = self.clone();
                async move {
                    process.until_taken_over(most).await;
                    carry_out()
                }
                .boxed()
            }
            _ => {
                self.disk.0.died.notify_one();
                pending().boxed()
            }
        }
    }

    fn look<T: Send + 'static>(
        &self,
        carry_out: impl FnOnce(&dyn Store) -> BoxFuture<'_, Result<T, StoreError>>,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        if self.is_dead() {
            return pending().boxed();
        }
        if let Some(how) = self.disk.state().machine(self.number).fails {
            return ready(Err(error(how))).boxed();
        }
        ready(at_once(carry_out(&*self.disk.0.store))).boxed()
    }

    /// Takes runs over, where there are any.
    fn claims(&self, claim: Claim) -> Result<Claimed, StoreError> {
        if self.disk.state().machine(self.number).is_lapsed {
            self.disk.0.store.lapse(claim.owner);
        }
        let claimed = at_once(self.disk.0.store.claim(claim))?;
        for run in &claimed.runs {
            self.disk.state().owns(self.number, run.key, run.records - 1);
        }
        self.disk.0.taken_over.notify_waiters();
        Ok(claimed)
    }
}

fn is_request(record: &Record) -> bool {
    matches!(record.kind, EventKind::RunRetried { requested: true, .. })
}

fn error(how: How) -> StoreError {
    let (path, message) = (PathBuf::from("runs.db"), "on purpose".to_owned());
    match how {
        How::Full => StoreError::Full { path, message },
        How::Busy => StoreError::Busy { path, message },
        How::Io | How::Dies | How::TakenOver { .. } => StoreError::Io { path, message },
    }
}

/// Whether a store has failed as in the scenario.
pub(super) fn is_on_purpose(failed: &StoreError, faults: &[StoreFault]) -> bool {
    let hows = [How::Full, How::Io, How::Busy];
    hows.iter().any(|how| *failed == error(*how)) && faults.iter().any(|fault| fault.how != How::Dies)
}

impl Store for Process {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        let joined = self.look(|store| store.join(workflows));
        async move {
            let owner = joined.await?;
            self.disk.state().machine(self.number).owners.push(owner);
            Ok(owner)
        }
        .boxed()
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        if self.is_dead() { std::future::ready(()).boxed() } else { self.disk.0.store.leave(owner) }
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        self.commit(|process| {
            let (store, is_owned) = (&*process.disk.0.store, run.owner.is_some());
            let created = at_once(store.create(run))?;
            let mut state = process.disk.state();
            if let Created::New(header) | Created::Existing(header) = &created {
                state.tracks.plays(store, header);
            }
            if let Created::New(header) = &created
                && is_owned
            {
                state.owns(process.number, header.key, 0);
            }
            Ok(created)
        })
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        self.commit(move |process| {
            let appended = at_once(process.disk.0.store.append(batch.clone()));
            let mut state = process.disk.state();
            let rests = batch.header.status.is_some_and(|(status, _)| status.is_suspended());
            let is_done = appended == Ok(Appended::Done);
            match (is_done, batch.header.owner) {
                (true, Some(Some(_))) => state.owns(process.number, batch.run, batch.at),
                (true, Some(None)) if batch.records.iter().any(is_request) => {
                    state.look_at_append(process.number, &batch);
                    state.is_free(batch.run, batch.at);
                }
                (true, _) => state.look_at_append(process.number, &batch),
                (false, _) => state.is_refused(process.number, batch.run),
            }
            if let Some(track) = state.tracks.of(batch.run) {
                track.rests = rests && is_done;
            }
            appended
        })
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        self.commit(move |process| {
            let store = &*process.disk.0.store;
            let started = at_once(store.start_over(end.clone(), next))?;
            let mut state = process.disk.state();
            match &started {
                StartedOver::Done(header) => {
                    state.look_at_append(process.number, &end);
                    state.tracks.plays_next(store, header);
                    state.owns(process.number, header.key, 0);
                }
                _ => state.is_refused(process.number, end.run),
            }
            Ok(started)
        })
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.look(|store| store.read(run, from, limit))
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        self.look(|store| store.header(id))
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        self.look(|store| store.list(query))
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.look(|store| store.count(query))
    }

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        self.look(|store| store.overview(query))
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        self.look(|store| store.open_questions(query))
    }

    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        self.look(|store| store.delete(delete))
    }

    fn reserve_task(&self, task: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.look(|store| store.reserve_task(task))
    }

    /// A commit if it is meant to take runs over. The periodic looks do not count, or the run would never rest.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        if claim.own {
            return self.commit(|process| process.claims(claim));
        }
        let claimed = self.look(|_| ready(self.claims(claim)).boxed());
        self.disk.refresh();
        claimed
    }

    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.look(|store| store.is_alive(owner))
    }

    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.look(|store| store.is_served(workflow))
    }

    fn is_shared(&self) -> bool {
        self.disk.0.is_shared
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.look(|store| store.feed(query))
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        self.look(|store| store.feed_end())
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Json>, StoreError>> {
        self.look(|store| store.graph(hash))
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }

    /// No commit at which a process dies: a run is the same with a snapshot and without it.
    fn put_snapshot(&self, run: RunKey, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        self.look(|_| {
            self.disk.put_snapshot(run, snapshot);
            ready(Ok(())).boxed()
        })
    }

    fn snapshot(&self, run: RunKey) -> BoxFuture<'_, Result<Option<Snapshot>, StoreError>> {
        self.look(|_| ready(Ok(self.disk.state().snapshots.get(&run).cloned())).boxed())
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        self.disk.0.store.logs()?;
        Some(Arc::new(self.clone()))
    }
}

/// The logs of the disk, which are there as long as it works.
fn logs_of(store: &dyn Store) -> Result<Arc<dyn LogStore>, StoreError> {
    store.logs().ok_or_else(|| StoreError::Other { message: "the store keeps no logs".to_owned() })
}

impl LogStore for Process {
    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        self.commit(|process| at_once(logs_of(&*process.disk.0.store)?.append(entry)))
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        self.look(|store| ready(logs_of(store).and_then(|logs| at_once(logs.read(log, after, until)))).boxed())
    }

    fn list(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.look(|store| ready(logs_of(store).and_then(|logs| at_once(logs.list(prefix)))).boxed())
    }

    fn trim(&self, trim: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.commit(|process| at_once(logs_of(&*process.disk.0.store)?.trim(trim)))
    }

    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.look(|store| ready(logs_of(store).and_then(|logs| at_once(logs.delete(log)))).boxed())
    }
}
