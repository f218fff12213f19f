//! A store that is lost at a commit, as if the process had died there.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::outside::RUN;
use crate::event::EventKind;
use crate::store::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, LogAppended,
    LogEntry, LogStore, LogTrim, MemoryStore, NewLogEntry, NewRun, Owner, QuestionQuery, Record, ReserveTask,
    RunHeader, RunKey, RunOverview, RunQuery, Snapshot, StartedOver, Store, StoreError, Stored,
};

/// The store of one process: what is committed is in the [`MemoryStore`] behind it, which the next process gets.
#[derive(Clone)]
pub(super) struct CrashStore {
    inner: MemoryStore,
    process: Arc<Process>,
}

struct Process {
    commits: Mutex<Commits>,
    crashed: CancellationToken,
}

#[derive(Default)]
struct Commits {
    done: usize,
    /// What the last one was.
    last: String,
    /// The commit that is lost, with everything after it; from 1.
    loses: Option<usize>,
    /// What the lost one was.
    lost: String,
}

impl CrashStore {
    /// One that loses nothing.
    pub(super) fn new(inner: MemoryStore) -> Self {
        CrashStore::of(inner, None)
    }

    /// One that loses the commit of this number, from 1, and everything after it.
    pub(super) fn losing(inner: MemoryStore, commit: usize) -> Self {
        CrashStore::of(inner, Some(commit))
    }

    fn of(inner: MemoryStore, loses: Option<usize>) -> Self {
        let commits = Mutex::new(Commits { loses, ..Commits::default() });
        CrashStore { inner, process: Arc::new(Process { commits, crashed: CancellationToken::new() }) }
    }

    /// What is stored.
    pub(super) fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.process.crashed.is_cancelled()
    }

    /// Resolves when it has lost a commit.
    pub(super) fn crashed(&self) -> impl Future<Output = ()> + use<> {
        self.process.crashed.clone().cancelled_owned()
    }

    /// What the last commit was that is stored, and the one that is lost.
    pub(super) fn crash_site(&self) -> (String, String) {
        let commits = self.process.commits.lock().unwrap_or_else(PoisonError::into_inner);
        (commits.last.clone(), commits.lost.clone())
    }

    /// How many commits were made.
    pub(super) fn commits_done(&self) -> usize {
        self.process.commits.lock().unwrap_or_else(PoisonError::into_inner).done
    }

    fn commit<'r>(&self, what: impl IntoIterator<Item = &'r Record>) -> Result<(), StoreError> {
        self.commits(|| described(what))
    }

    fn commits(&self, what: impl FnOnce() -> String) -> Result<(), StoreError> {
        let mut commits = self.process.commits.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        let what = what();
        if commits.loses == Some(commits.done + 1) {
            commits.lost = what;
            self.process.crashed.cancel();
            return self.check();
        }
        commits.done += 1;
        commits.last = what;
        Ok(())
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.has_crashed() {
            true => Err(StoreError::Other { message: "the lab has crashed this process".to_owned() }),
            false => Ok(()),
        }
    }

    /// Reads, unless the process has crashed.
    fn read_from<'s, T: Send + 's>(
        &'s self,
        read: impl FnOnce(&'s MemoryStore) -> BoxFuture<'s, Result<T, StoreError>>,
    ) -> BoxFuture<'s, Result<T, StoreError>> {
        unless(self.check(), || read(&self.inner))
    }
}

/// Does this, unless the process has crashed.
fn unless<'s, T: Send + 's>(
    crashed: Result<(), StoreError>,
    then: impl FnOnce() -> BoxFuture<'s, Result<T, StoreError>>,
) -> BoxFuture<'s, Result<T, StoreError>> {
    match crashed {
        Ok(()) => then(),
        Err(error) => ready(Err(error)).boxed(),
    }
}

/// The records of a commit, as text.
fn described<'r>(records: impl IntoIterator<Item = &'r Record>) -> String {
    let each: Vec<String> =
        records.into_iter().map(|record| format!("{} `{}`", record.kind.name(), record.path)).collect();
    match each.len() {
        0 => "a change of the header only".to_owned(),
        1..=4 => each.join(", "),
        more => format!("{} and {} more", each[..3].join(", "), more - 3),
    }
}

impl Store for CrashStore {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        self.read_from(|inner| inner.join(workflows))
    }

    // Also after a crash: the system notices that the process is dead.
    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        self.inner.leave(owner)
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        async move {
            self.commit(&run.records)?;
            self.inner.create(run).await
        }
        .boxed()
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let store = self.clone();
        async move {
            store.commit(batch.records.iter())?;
            store.inner.append(batch).await
        }
        .boxed()
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        let store = self.clone();
        async move {
            store.commit(end.records.iter().chain(&next.records))?;
            store.inner.start_over(end, next).await
        }
        .boxed()
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        self.read_from(|inner| inner.claim(claim))
    }

    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        self.read_from(|inner| inner.delete(delete))
    }

    fn reserve_task(&self, task: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.read_from(|inner| inner.reserve_task(task))
    }

    fn put_snapshot(&self, run: RunKey, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        self.read_from(|inner| inner.put_snapshot(run, snapshot))
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read_from(|inner| inner.read(run, from, limit))
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        unless(self.check(), || self.inner.header(id))
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        self.read_from(|inner| inner.list(query))
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.read_from(|inner| inner.count(query))
    }

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        self.read_from(|inner| inner.overview(query))
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        self.read_from(|inner| inner.open_questions(query))
    }

    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.read_from(|inner| inner.is_alive(owner))
    }

    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        unless(self.check(), || self.inner.is_served(workflow))
    }

    /// One process at a time has it. So no task looks for the records of others, four times in each second of a paused clock.
    fn is_shared(&self) -> bool {
        false
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.read_from(|inner| inner.feed(query))
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        self.read_from(MemoryStore::feed_end)
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Json>, StoreError>> {
        self.read_from(|inner| inner.graph(hash))
    }

    fn keeps_snapshots(&self) -> bool {
        self.inner.keeps_snapshots()
    }

    fn snapshot(&self, run: RunKey) -> BoxFuture<'_, Result<Option<Snapshot>, StoreError>> {
        self.read_from(|inner| inner.snapshot(run))
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        let inner = self.inner.logs()?;
        Some(Arc::new(CrashLogs { inner, store: self.clone() }))
    }
}

/// Logs that are lost with the process: what is added to one is a commit too.
struct CrashLogs {
    inner: Arc<dyn LogStore>,
    store: CrashStore,
}

impl LogStore for CrashLogs {
    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        unless(self.store.commits(|| format!("an entry of log `{}`", entry.log)), || self.inner.append(entry))
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        unless(self.store.check(), || self.inner.read(log, after, until))
    }

    fn list(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        unless(self.store.check(), || self.inner.list(prefix))
    }

    fn trim(&self, trim: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>> {
        unless(self.store.commits(|| format!("the trimming of log `{}`", trim.log)), || self.inner.trim(trim))
    }

    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        unless(self.store.commits(|| format!("the deletion of log `{log}`")), || self.inner.delete(log))
    }
}

/// The run of the lab, or the last one that follows it by starting over.
///
/// # Errors
/// Those of the store.
pub(super) async fn last_run(store: &MemoryStore) -> Result<Option<RunHeader>, StoreError> {
    let mut last = store.header(RUN).await?;
    while let Some(next) = last.as_ref().and_then(|header| header.next.as_ref()) {
        last = store.header(next).await?;
    }
    Ok(last)
}

/// The records of a run and of those that follow it.
///
/// # Errors
/// Those of the store.
pub(super) async fn records_of(store: &MemoryStore, run: &str) -> Result<Vec<(String, EventKind)>, StoreError> {
    let (mut records, mut next) = (Vec::new(), Some(run.to_owned()));
    while let Some(id) = next {
        let Some(header) = store.header(&id).await? else { break };
        let stored = store.read(header.key, 0, usize::MAX).await?;
        records.extend(stored.into_iter().map(|stored| (stored.record.path.to_string(), stored.record.kind)));
        next = header.next;
    }
    Ok(records)
}
