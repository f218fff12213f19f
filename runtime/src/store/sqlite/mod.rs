//! Runs in a file, by SQLite.

mod batches;
mod builder;
mod check;
mod claim;
mod codec;
mod conditions;
mod delete;
mod feed;
mod file;
mod kept_read;
mod log_index;
mod logs;
mod open;
mod origin;
mod owners;
mod questions;
mod queue;
mod read;
mod reader;
mod records;
mod row;
mod run_rows;
mod runs;
mod schema;
mod seal;
mod settings;
mod snapshots;
mod source;
mod tasks;
#[cfg(test)]
mod tests;
mod times;
mod transaction;
mod trouble;
mod unmoved;
mod write_transaction;
mod writer;

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::Connection;
use serde_json::Value;

pub use self::builder::SqliteStoreBuilder;
use self::claim::Plan;
use self::file::OpenFile;
use self::log_index::LogIndex;
use self::questions::EncodedQuestions;
use self::queue::Appends;
use self::reader::Reader;
use self::runs::{EncodedAppend, EncodedGraph, EncodedRun};
use self::schema::MOST_RECORDS;
pub use self::settings::Durability;
use self::settings::{Access, LOG_ROWS, Settings};
use self::source::Source;
use self::trouble::Trouble;
use self::write_transaction::WriteTransaction;
use self::writer::Shared;
use super::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, LogAppended,
    LogEntry, LogStore, LogTrim, NewLogEntry, NewRun, Owner, QuestionQuery, ReserveTask, RunHeader, RunKey,
    RunOverview, RunQuery, Snapshot, StartedOver, Store, StoreError, Stored,
};

/// Keeps runs in a file, an SQLite database.
///
/// It syncs to disk before it reports a record as written: completed nodes survive a killed process and a power
/// failure. [`Durability::Relaxed`] is faster and can lose the last moments in a power failure. Many runs that record
/// at the same time share one sync.
///
/// Several processes on one machine may use the same file at the same time: each run is executed by one of them, and
/// the others detect its death at once. The file needs a local file system, as SQLite's write-ahead log does.
/// `runs.db-wal` and `runs.db-shm` belong to `runs.db` (copy all three, or none while it is open); an empty file
/// `runs.db-owner-1` exists for each running engine.
///
/// The file is not encrypted. It holds inputs and outputs of nodes, errors, questions and answers, the state of runs,
/// and messages in clear: everything that a value contains, passwords and keys among it. On Unix a new file gets the
/// mode 0600, so that only its user can open it; a file that exists keeps its mode. The files beside it have the mode
/// of the file. A backup has the mode that the program gives it which makes it.
///
/// Every row has a checksum. A row that does not match it is reported as [`Corrupt`](StoreError::Corrupt), and never
/// read as another value; [`check`](SqliteStore::check) looks for other damage.
///
/// A clone is another handle to the same store. The file is closed shortly after the last handle is dropped, when all
/// operations are done.
///
/// Reads and long writes run on the store's own threads; a write that takes less than a millisecond may run where the
/// future is polled.
///
/// A file that cannot be written to is opened with [`read_only`](SqliteStoreBuilder::read_only).
///
/// # Errors
/// Opening fails with [`StoreError::Open`], [`NotADatabase`](StoreError::NotADatabase),
/// [`NewerFormat`](StoreError::NewerFormat), [`OlderFormat`](StoreError::OlderFormat),
/// [`ReadOnly`](StoreError::ReadOnly), [`Busy`](StoreError::Busy) or [`Corrupt`](StoreError::Corrupt), and does not change
/// the file. Other operations can fail with [`Full`](StoreError::Full), [`Busy`](StoreError::Busy),
/// [`Corrupt`](StoreError::Corrupt), [`BadRecord`](StoreError::BadRecord) and [`Io`](StoreError::Io), and then add
/// nothing, not even in part. If the file is removed, renamed, replaced, emptied or cut off while it is open, that is
/// noticed within a third of the [lease](SqliteStoreBuilder::lease): from then on every operation fails with
/// [`Gone`](StoreError::Gone), and the runs of this process stop.
///
/// # Cancel safety
/// A future that is dropped before its first poll has done nothing. The operation of one that is dropped later may
/// still happen.
///
/// ```
/// use graphweft::store::{RunQuery, SqliteStore, Store};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("runs.db");
/// # graphweft::block_on(async {
/// let store = SqliteStore::open(&path).await?; // created if it does not exist
/// let runs = store.list(RunQuery::default()).await?;
/// assert!(runs.is_empty());
/// # Ok::<(), graphweft::store::StoreError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Handle>);

struct Handle {
    file: Arc<OpenFile>,
    settings: Settings,
    reader: Reader,
    /// If it is opened for reading only, the error of every method that writes.
    writing: Result<Writing, StoreError>,
}

/// What has become of an append.
enum Begun {
    Done(Appended),
    Queued(Appends),
}

struct Writing {
    shared: Arc<Shared>,
    /// Graphs that are in the file, so that they need not be encoded again for every run.
    graphs: Mutex<HashSet<u64>>,
}

impl SqliteStore {
    /// Opens a file with [`Durability::Full`], and creates it if it does not exist.
    ///
    /// # Errors
    /// See [`SqliteStore`].
    pub async fn open(path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        Self::builder().open(path).await
    }

    /// Reads the whole file and looks for damage. It takes some milliseconds for each megabyte, and other operations
    /// continue.
    ///
    /// Every read verifies checksums anyway, so a record is never read as another one. This also finds damage that
    /// hides records or runs. A file of less than a megabyte is checked whenever it is opened, a larger one only by
    /// this.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] and [`StoreError::BadRecord`] for the first damage found; other errors if the file
    /// cannot be read.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.0.reader.read(check::whole).await
    }

    /// Configures how a file is opened.
    pub fn builder() -> SqliteStoreBuilder {
        SqliteStoreBuilder(Settings {
            access: Access::Write,
            durability: Durability::Full,
            lease: Duration::from_secs(15),
            busy_timeout: Duration::from_secs(5),
            log_rows: LOG_ROWS,
            is_existing: false,
        })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.0.file.path).field("settings", &self.0.settings).finish()
    }
}

impl Handle {
    fn open(path: PathBuf, settings: Settings) -> Result<(Handle, Receiver<()>), StoreError> {
        match settings.access {
            Access::Write if settings.is_existing => Handle::for_writing(&file::find(&path)?, settings),
            Access::Write => Handle::for_writing(&file::find_or_make(&path)?, settings),
            Access::Read => Handle::for_reading(&file::find(&path)?, settings),
        }
    }

    fn for_writing(path: &Path, settings: Settings) -> Result<(Handle, Receiver<()>), StoreError> {
        let connection = open::writer(path, &settings)?;
        let source = Source::beside_writer(open::reader(path, &settings)?);
        let file = OpenFile::of(path.to_owned()).map_err(|error| Trouble::from(error).at(path))?;
        Handle::start(file, settings, source, |file| {
            Ok(Writing { shared: Arc::new(Shared::new(file, settings, connection)), graphs: Mutex::default() })
        })
    }

    fn for_reading(path: &Path, settings: Settings) -> Result<(Handle, Receiver<()>), StoreError> {
        let source = Source::read_only(path, &settings).map_err(|trouble| trouble.at(path))?;
        let file = OpenFile::read_only(path.to_owned()).map_err(|error| Trouble::from(error).at(path))?;
        let message = "it is opened for reading only".to_owned();
        Handle::start(file, settings, source, |file| Err(StoreError::ReadOnly { path: file.path.clone(), message }))
    }

    fn start(
        file: OpenFile,
        settings: Settings,
        source: Source,
        writing: impl FnOnce(Arc<OpenFile>) -> Result<Writing, StoreError>,
    ) -> Result<(Handle, Receiver<()>), StoreError> {
        let file = Arc::new(file);
        let (reader, reader_is_closed) =
            Reader::start(Arc::clone(&file), source).map_err(|error| Trouble::from(error).at(&file.path))?;
        let writing = writing(Arc::clone(&file));
        Ok((Handle { file, settings, reader, writing }, reader_is_closed))
    }

    fn writing(&self) -> Result<&Writing, StoreError> {
        self.writing.as_ref().map_err(Clone::clone)
    }

    /// Does a write in the caller or on the thread, whichever is quicker, in one transaction with other queued work.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteTransaction<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = &self.writing()?.shared;
        let result = shared.queue.push(work);
        shared.help();
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Does a write on the thread, which may block.
    async fn write_on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteTransaction<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queue = &self.writing()?.shared.queue;
        let result = queue.push(work);
        queue.wake();
        result.await.map_err(|_| StoreError::Closed)?
    }

    fn encode_graph(&self, graph: &(u64, Value)) -> Result<EncodedGraph, StoreError> {
        let (hash, body) = graph;
        let is_known = self.known_graphs(|graphs| graphs.contains(hash))?;
        let body = (!is_known).then(|| serde_json::to_string(body)).transpose().map_err(unwritable)?;
        Ok(EncodedGraph { hash: *hash, body })
    }

    fn known_graphs<T>(&self, with: impl FnOnce(&mut HashSet<u64>) -> T) -> Result<T, StoreError> {
        Ok(with(&mut self.writing()?.graphs.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn encode_run(&self, run: &NewRun) -> Result<EncodedRun, StoreError> {
        Ok(EncodedRun {
            // Its number is given in the transaction.
            header: run.header(RunKey(0)),
            graph: self.encode_graph(&run.graph)?,
            rows: codec::encode(&run.records).map_err(unwritable)?,
        })
    }

    async fn create(&self, run: NewRun) -> Result<Created, StoreError> {
        let (hash, run) = (run.graph.0, self.encode_run(&run)?);
        let created = self.write(move |transaction| runs::create(transaction, &run)).await??;
        if matches!(created, Created::New(_)) {
            self.known_graphs(|graphs| graphs.insert(hash))?;
        }
        Ok(created)
    }

    fn encode_append(&self, batch: Append) -> Result<EncodedAppend, StoreError> {
        let Append { run, at, time, records, header: change } = batch;
        // A number above that of any run is a conflict, as any that is too high.
        let most = MOST_RECORDS.cast_unsigned();
        if at < most && at + records.len() as u64 >= most {
            let message = format!(
                "{} records were not added to a run that has {at}: a run can have fewer than {MOST_RECORDS} of them; let it \
                 end, and start another one",
                records.len()
            );
            return Err(StoreError::Other { message });
        }
        Ok(EncodedAppend {
            run,
            at,
            time,
            rows: codec::encode_all(&records).map_err(unwritable)?,
            graphs: change.graphs().map(|graph| self.encode_graph(graph)).collect::<Result<_, _>>()?,
            questions: EncodedQuestions::of(&change.questions).map_err(unwritable)?,
            change,
        })
    }

    /// Appends what can be appended at once, and leaves all else to the queue.
    fn begin_append(&self, batch: Append) -> Result<Begun, StoreError> {
        let batch = self.encode_append(batch)?;
        let shared = &self.writing()?.shared;
        if let Some(appended) = shared.append_at_once(&batch) {
            return appended.map(Begun::Done);
        }
        let queued = shared.queue.push_append(batch);
        shared.help();
        Ok(Begun::Queued(queued))
    }

    async fn start_over(&self, end: Append, next: NewRun) -> Result<StartedOver, StoreError> {
        let (end, next) = (self.encode_append(end)?, self.encode_run(&next)?);
        self.write(move |transaction| runs::start_over(transaction, &end, &next)).await?
    }

    async fn delete(&self, delete: Delete) -> Result<Vec<RunKey>, StoreError> {
        let (now, lease) = (delete.now, self.settings.lease);
        let deleted = self.write_on_thread(move |transaction| delete::runs(transaction, &delete, lease)).await?;
        while self.write_on_thread(move |transaction| delete::sweep(transaction, now)).await? {}
        while self.write_on_thread(|transaction| delete::return_pages(transaction)).await? {}
        Ok(deleted)
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        let owners = &self.writing()?.shared.owners;
        let claim = Arc::new(claim);
        let mut claimed = self.take_over(Arc::clone(&claim)).await?;
        let owner = claim.owner;
        if owners.take_lapsed(owner) {
            match self.reader.read(move |connection| claim::lost(connection, &claim)).await {
                Ok(lost) => claimed.nudged.extend(lost),
                // The runs that were claimed must not be lost by this error: the next claim looks again.
                Err(_) => owners.lapses(owner),
            }
        }
        Ok(claimed)
    }

    async fn take_over(&self, claim: Arc<Claim>) -> Result<Claimed, StoreError> {
        let (path, wanted) = (self.file.path.clone(), Arc::clone(&claim));
        let plan = self.reader.read(move |connection| Plan::make(connection, &path, &wanted)).await?;
        if let Some(claimed) = plan.nothing_to_do() {
            return Ok(claimed);
        }
        let path = self.file.path.clone();
        let carry_out = move |transaction: &mut WriteTransaction<'_>| {
            let plan = Plan::make(transaction, &path, &claim)?;
            let dead = plan.dead().to_vec();
            Ok((plan.carry_out(transaction, &path, &claim)?, dead))
        };
        let (claimed, dead) = self.write_on_thread(carry_out).await?;
        for owner in dead {
            owners::remove_file(&self.file.path, owner);
        }
        Ok(claimed)
    }

    async fn join(&self, workflows: Vec<String>) -> Result<Owner, StoreError> {
        let (path, lease) = (self.file.path.clone(), self.settings.lease);
        let workflows = serde_json::to_string(&workflows).map_err(unwritable)?;
        let join = move |transaction: &mut WriteTransaction<'_>| owners::join(transaction, &path, lease, workflows);
        let lock = self.write_on_thread(join).await?;
        let shared = &self.writing()?.shared;
        let owner = shared.owners.add(lock);
        // From now on the thread has a lease to renew.
        shared.queue.call();
        Ok(owner)
    }
}

#[cfg(test)]
impl SqliteStore {
    /// Has the store treat an owner as dead from here on, whatever the owner does. Its runs stay as they are.
    pub(crate) fn believe_dead(&self, owner: Owner) {
        let owners = &self.0.writing().expect("it is opened for writing").shared.owners;
        drop(owners.remove(owner));
        owners.lapses(owner);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Ok(writing) = &self.writing {
            writing.shared.queue.finish();
        }
    }
}

/// Only a user's own types can fail to serialize, and their values were turned into JSON before.
fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::Other { message: format!("a record cannot be written as JSON: {error}") }
}

impl Store for SqliteStore {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        self.0.join(workflows).boxed()
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        // No owner has joined a store that is only read.
        let Ok(Writing { shared, .. }) = &self.0.writing else { return std::future::ready(()).boxed() };
        let left = shared.queue.push_leave(owner, shared.owners.remove(owner));
        shared.queue.wake();
        left.map(drop).boxed()
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        self.0.create(run).boxed()
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let handle = Arc::clone(&self.0);
        let hashes: Vec<u64> = batch.header.graphs().map(|graph| graph.0).collect();
        // It has room for the batch once, and is small: every commit makes one.
        async move {
            let appended = match handle.begin_append(batch)? {
                Begun::Done(appended) => appended,
                Begun::Queued(queued) => queued.result().await?,
            };
            if appended == Appended::Done && !hashes.is_empty() {
                handle.known_graphs(|graphs| graphs.extend(hashes))?;
            }
            Ok(appended)
        }
        .boxed()
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        let handle = Arc::clone(&self.0);
        async move { handle.start_over(end, next).await }.boxed()
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.0.reader.read_journal(move |moment, log| records::read(moment, log, run, from, limit)).boxed()
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        let id = id.to_owned();
        self.0.reader.read_journal(move |moment, log| read::indexed_header(moment, log, &id)).boxed()
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        self.0.reader.read_journal(move |moment, log| read::list(moment, log, &query)).boxed()
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.0.reader.read(move |connection| read::count(connection, &query)).boxed()
    }

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        let path = self.0.file.path.clone();
        self.0.reader.read_journal(move |moment, log| read::overview(moment, log, &path, &query)).boxed()
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        self.0.reader.read(move |connection| questions::list(connection, &query)).boxed()
    }

    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        self.0.delete(delete).boxed()
    }

    fn reserve_task(&self, task: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        let path = self.0.file.path.clone();
        self.0.write_on_thread(move |transaction| tasks::reserve(transaction, &path, &task)).boxed()
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        self.0.claim(claim).boxed()
    }

    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        let path = self.0.file.path.clone();
        self.0.reader.read(move |connection| owners::is_alive(connection, &path, owner)).boxed()
    }

    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (path, workflow) = (self.0.file.path.clone(), workflow.to_owned());
        self.0.reader.read(move |connection| owners::is_served(connection, &path, &workflow)).boxed()
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        let path = self.0.file.path.clone();
        let read = move |moment: &Connection, _log: &LogIndex| feed::page(moment, &path, &query);
        self.0.reader.read_journal(read).boxed()
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        self.0.reader.read(feed::end).boxed()
    }

    fn transactional(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(self)
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        self.0.reader.read(move |connection| read::graph(connection, hash)).boxed()
    }

    fn keeps_snapshots(&self) -> bool {
        self.0.writing.is_ok()
    }

    fn put_snapshot(&self, run: RunKey, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.write_on_thread(move |transaction| snapshots::put(transaction, run, &snapshot)).boxed()
    }

    fn snapshot(&self, run: RunKey) -> BoxFuture<'_, Result<Option<Snapshot>, StoreError>> {
        self.0.reader.read(move |connection| snapshots::get(connection, run)).boxed()
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        Some(Arc::new(SqliteLogs(Arc::clone(&self.0))))
    }
}

/// The logs of a store. A type of its own, so that no name of `Store` is one of `LogStore` as well.
struct SqliteLogs(Arc<Handle>);

impl LogStore for SqliteLogs {
    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        async move {
            let body = serde_json::to_string(&entry.value).map_err(unwritable)?;
            self.0.write(move |transaction| logs::append(transaction, &entry, &body)).await
        }
        .boxed()
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        let log = log.to_owned();
        self.0.reader.read(move |connection| logs::read(connection, &log, after, until)).boxed()
    }

    fn list(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        let prefix = prefix.to_owned();
        self.0.reader.read(move |connection| logs::list(connection, &prefix)).boxed()
    }

    fn trim(&self, trim: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move {
            let body = serde_json::to_string(&trim.value).map_err(unwritable)?;
            self.0.write_on_thread(move |transaction| logs::trim(transaction, &trim, &body)).await
        }
        .boxed()
    }

    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let log = log.to_owned();
        self.0.write_on_thread(move |transaction| logs::delete(transaction, &log)).boxed()
    }
}
