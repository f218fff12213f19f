//! Snapshots of long runs: what the first records of a run come to, kept in the store, so that the run is resumed without
//! reading them.
//!
//! A snapshot is a cache. It is made of records behind the driver, by the fold that resumes runs, and it is used if the
//! records behind it change nothing of what it covers. Otherwise, and after any error, all records are read and
//! folded.

use std::sync::{Arc, Weak};
use std::time::SystemTime;

use super::inner::{Engine, Inner};
use super::resumable::Past;
use super::set_back::by_the_clock_of;
use crate::catch::caught;
use crate::compile::{check_resources, executable_in, fingerprint};
use crate::driver::{RunSnapshot, Shadow, SnapshotHead, print_of};
use crate::event::EventKind;
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::shared::{Journal, Snapshots};
use crate::store::{RunHeader, RunKey, Snapshot, Stored};
use crate::table::{Definition, Executable};
use futures_util::FutureExt;

/// How many records are read and folded at once.
const PAGE: usize = 512;

/// How large a snapshot may be, in bytes.
const MOST: usize = 16 << 20;

/// How large it may be for each record that it covers: with more, reading it takes longer than folding the records.
const MOST_OF_RECORD: u64 = 256;

/// How many bytes of snapshots are written for each record at most: a large one is followed by the next later.
const WRITTEN_FOR_RECORD: u64 = 128;

/// The engine, as its runs tell it that a snapshot is due.
struct Due(Weak<Inner>);

impl Snapshots for Due {
    fn due(&self, run: RunKey) {
        let Some(inner) = self.0.upgrade() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if inner.snapshots.push(run) {
            runtime.spawn(make_all(Worker { inner: Weak::clone(&self.0), is_done: false }).boxed());
        }
    }
}

/// Alive while the task works.
struct Worker {
    inner: Weak<Inner>,
    is_done: bool,
}

/// The runtime may drop the task.
impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.upgrade().filter(|_| !self.is_done) {
            inner.snapshots.is_left();
        }
    }
}

async fn make_all(mut worker: Worker) {
    while let Some(inner) = worker.inner.upgrade() {
        let Some(run) = inner.snapshots.next() else {
            worker.is_done = true;
            return;
        };
        if let Some(journal) = inner.runs.by_key(run).map(|live| Arc::clone(&live.journal)) {
            Engine::behind(inner).make_snapshot(&journal).await;
        }
    }
}

/// A run as it is read to be resumed: from its snapshot.
pub(super) struct Thawed {
    pub(super) past: Past,
    /// How many records the run has.
    pub(super) records: u64,
    pub(super) is_over: bool,
    /// The engine that has taken it over last.
    pub(super) owner: Option<u64>,
}

/// Follows the records behind a snapshot, one page after the other.
struct Behind {
    latest: SystemTime,
    owner: Option<u64>,
}

impl Behind {
    /// Whether the snapshot is what the records before these come to, now that there are these.
    fn follows(&mut self, records: &[Stored]) -> bool {
        let before = self.latest;
        records.iter().all(|stored| {
            self.latest = self.latest.max(stored.time);
            match stored.record.kind {
                EventKind::RunResumed { owner } => self.owner = Some(owner),
                // It voids records before it, or is the first that was made under another graph.
                EventKind::RunRetried { .. } | EventKind::GraphChanged { .. } => return false,
                _ => {}
            }
            // Otherwise the clock was set back, and delays in the records before end earlier.
            stored.time >= before
        })
    }

    /// That of a snapshot of the records so far, which are so many.
    fn head_of(&self, print: u64, at: u64) -> SnapshotHead {
        SnapshotHead { print, at, latest: self.latest, owner: self.owner }
    }
}

impl Engine {
    /// Whether runs of this engine get snapshots.
    fn has_snapshots(&self) -> bool {
        self.0.env.snapshot_every > 0 && self.0.store.keeps_snapshots()
    }

    /// The journal of a run, of which snapshots are made from time to time. `from`: the last one that there is.
    pub(super) fn with_snapshots(&self, journal: Journal, from: Option<&RunSnapshot>) -> Journal {
        if !self.has_snapshots() {
            return journal;
        }
        let next = from.map_or(0, |snapshot| snapshot.head.at) + self.0.env.snapshot_every;
        let due = self.0.snapshots.due.get_or_init(|| Arc::new(Due(Arc::downgrade(&self.0))));
        journal.with_snapshots(next, Arc::clone(due))
    }

    /// A hash of the program, and of the workflows that its nodes are known to call: the records of such children are
    /// translated to the present names of their nodes, or refused, which a snapshot would hide.
    fn print_of(&self, executable: &Executable, definition: &Arc<Definition>) -> u64 {
        let mut called: Vec<u64> = self.called_by(definition).iter().map(|called| fingerprint(called).hash).collect();
        called.sort_unstable();
        called.iter().fold(print_of(executable, definition), |print, called| print.rotate_left(1) ^ called)
    }

    async fn snapshot_that_fits(
        &self,
        header: &RunHeader,
        executable: &Executable,
        definition: &Arc<Definition>,
    ) -> Option<RunSnapshot> {
        let kept = match self.0.store.snapshot(header.key).await {
            Ok(kept) => kept?,
            Err(error) => {
                tracing::warn!(run = header.id, %error, "the snapshot of a run cannot be read; all its records are");
                return None;
            }
        };
        let snapshot = RunSnapshot::of_bytes(&kept.state)?;
        let head = snapshot.head;
        let fits =
            head.print == self.print_of(executable, definition) && head.at == kept.at && head.at <= header.records;
        fits.then_some(snapshot)
    }

    /// A run from its snapshot and the records behind that. `None` if there is no snapshot that fits, and after any error:
    /// then all records are to be read.
    pub(super) async fn thawed(&self, header: &RunHeader, definition: &Arc<Definition>) -> Option<Thawed> {
        let is_long = self.has_snapshots() && header.records >= self.0.env.snapshot_every;
        if !is_long || header.graph != self.graph_of(definition).0 {
            return None;
        }
        check_resources(&self.0.env, definition).ok()?;
        let executable = executable_in(&self.0.env, definition);
        let snapshot = self.snapshot_that_fits(header, &executable, definition).await?;
        let head = snapshot.head;
        let first = self.0.store.read(header.key, 0, 1).await.ok()?.pop()?;
        let mut behind = self.0.store.read(header.key, head.at, usize::MAX).await.ok()?;
        let mut after = Behind { latest: head.latest, owner: head.owner };
        let now = self.0.env.clock.now();
        if !after.follows(&behind) || now < head.latest {
            return None;
        }
        by_the_clock_of(now, &mut behind);
        let is_over = behind.last().is_some_and(|last| last.record.kind.is_terminal());
        let records = head.at + behind.len() as u64;
        if records < header.records {
            return None;
        }
        let past = Past::thawed(first, Arc::new(snapshot), behind)?;
        Some(Thawed { past, records, is_over, owner: after.owner })
    }

    /// Makes a snapshot of a run that is driven here, and another one if so much was recorded meanwhile.
    async fn make_snapshot(&self, journal: &Journal) {
        let every = self.0.env.snapshot_every;
        loop {
            let next = match self.snapshot_of(journal).await {
                Ok(Made::Kept { at, bytes, folded }) => at + every.max(bytes / WRITTEN_FOR_RECORD).max(folded / 4),
                // When there are twice as many, so that trying takes no larger part of the time of a run that is longer.
                Ok(Made::Nothing { at }) => at.max(every) * 2,
                Ok(Made::Never) => return,
                Err(halt) => {
                    let error = RunError::from(halt);
                    tracing::debug!(run = journal.run_id, %error, "no snapshot can be made of a run");
                    journal.length() + every
                }
            };
            if journal.snapshot_at(next) {
                return;
            }
        }
    }

    async fn snapshot_of(&self, journal: &Journal) -> Result<Made, Halt> {
        let header = self.0.store.header(&journal.run_id).await.map_err(Halt::Store)?;
        let Some(header) = header else { return Ok(Made::Never) };
        let at = header.records;
        if header.key != journal.key || header.status.is_over() {
            return Ok(Made::Never);
        }
        let Some(definition) = self.definition_of_graph(&header) else { return Ok(Made::Nothing { at }) };
        let executable = executable_in(&self.0.env, &definition);
        let (snapshot, folded) = match self.fold_on(&header, &executable, &definition).await? {
            Some(snapshot) => (snapshot, 0),
            None => match self.fold_all_of(&header, &executable, &definition).await? {
                Some(snapshot) => (snapshot, at),
                None => return Ok(Made::Nothing { at }),
            },
        };
        let Ok(state) = snapshot.to_bytes() else { return Ok(Made::Nothing { at }) };
        let bytes = state.len() as u64;
        if state.len() > MOST || bytes / MOST_OF_RECORD > at.max(self.0.env.snapshot_every) {
            return Ok(Made::Nothing { at });
        }
        self.0.store.put_snapshot(header.key, Snapshot { at, state }).await.map_err(Halt::Store)?;
        Ok(Made::Kept { at, bytes, folded })
    }

    /// From the last snapshot on. `None` if there is none, or the records behind it do not follow it.
    async fn fold_on(
        &self,
        header: &RunHeader,
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
    ) -> Result<Option<RunSnapshot>, Halt> {
        let Some(before) = self.snapshot_that_fits(header, executable, definition).await else { return Ok(None) };
        let (print, mut at) = (before.head.print, before.head.at);
        let mut behind = Behind { latest: before.head.latest, owner: before.head.owner };
        let Ok(Ok(mut shadow)) = caught(|| Shadow::thaw(executable, definition, &before)) else { return Ok(None) };
        drop(before);
        while at < header.records {
            let most = usize::try_from(header.records - at).unwrap_or(PAGE).min(PAGE);
            let mut page = self.0.store.read(header.key, at, most).await.map_err(Halt::Store)?;
            if page.is_empty() || !behind.follows(&page) {
                return Ok(None);
            }
            at += page.len() as u64;
            by_the_clock_of(behind.latest, &mut page);
            let Ok(Ok(())) = caught(|| shadow.take(page)) else { return Ok(None) };
            tokio::task::yield_now().await;
        }
        Ok(frozen(shadow, behind.head_of(print, at)))
    }

    /// From the first record on. `None` if they do not come to a state now that later records leave as it is.
    async fn fold_all_of(
        &self,
        header: &RunHeader,
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
    ) -> Result<Option<RunSnapshot>, Halt> {
        let most = usize::try_from(header.records).unwrap_or(usize::MAX);
        let history = self.0.store.read(header.key, 0, most).await.map_err(Halt::Store)?;
        let latest = history.iter().map(|stored| stored.time).max();
        let Some(latest) = latest.filter(|latest| *latest <= self.0.env.clock.now()) else { return Ok(None) };
        let mut behind = Behind { latest, owner: None };
        behind.owner = history.iter().rev().find_map(|stored| match stored.record.kind {
            EventKind::RunResumed { owner } => Some(owner),
            _ => None,
        });
        let past = self.past(header, definition, history).await?;
        let Some((begins, history)) = past.into_fold() else { return Ok(None) };
        let mut shadow = caught(|| Shadow::begin(executable, definition, begins))
            .unwrap_or_else(|fault| Err(Halt::broken(&definition.name, &fault)))?;
        let print = self.print_of(executable, definition);
        let mut history = history.into_iter();
        loop {
            let page: Vec<Stored> = history.by_ref().take(PAGE).collect();
            if page.is_empty() {
                break;
            }
            caught(|| shadow.take(page)).unwrap_or_else(|fault| Err(Halt::broken(&definition.name, &fault)))?;
            tokio::task::yield_now().await;
        }
        Ok(frozen(shadow, behind.head_of(print, header.records)))
    }
}

/// Whether a snapshot was kept of a run with so many records.
enum Made {
    /// `folded`: how many records were folded besides those behind the snapshot before.
    Kept {
        at: u64,
        bytes: u64,
        folded: u64,
    },
    Nothing {
        at: u64,
    },
    /// It is over, or not known here.
    Never,
}

fn frozen(mut shadow: Shadow, head: SnapshotHead) -> Option<RunSnapshot> {
    caught(|| shadow.freeze(head)).ok()?.ok()
}
