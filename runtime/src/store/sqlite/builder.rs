//! How a store is opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::settings::{Access, Durability, LONGEST_WAIT, Settings};
use super::{Handle, SqliteStore};
use crate::store::StoreError;

/// How to open a [`SqliteStore`].
///
/// ```
/// use std::time::Duration;
///
/// use graphweft::store::{Durability, SqliteStore};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("runs.db");
/// # graphweft::block_on(async {
/// let store = SqliteStore::builder()
///     .durability(Durability::Relaxed)
///     .busy_timeout(Duration::from_secs(30))
///     .open(&path)
///     .await?;
/// # drop(store);
/// # Ok::<(), graphweft::store::StoreError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct SqliteStoreBuilder(pub(super) Settings);

impl SqliteStoreBuilder {
    /// Which failures recorded events survive. The default is [`Durability::Full`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.0.durability = durability;
        self
    }

    /// After how long without a heartbeat an engine of another machine, or of this one before its restart, is
    /// considered dead. The default is 15 s. A death on this machine is detected at once.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.0.lease = lease;
        self
    }

    /// How long to wait while another process writes, before [`StoreError::Busy`]. The default is 5 s; SQLite waits for at
    /// most 24 days.
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.0.busy_timeout = busy_timeout.min(LONGEST_WAIT);
        self
    }

    /// Opens the file for reading only: for a file or a directory that this user cannot write to, and to look at runs while
    /// another program has the file locked for writing.
    ///
    /// Nothing is written to the file, and no file is made or removed beside it. Every method of [`Store`](crate::store::Store)
    /// that writes fails with [`StoreError::ReadOnly`], so an engine over such a store lists, shows and follows runs, and does
    /// not execute any. Other processes may write to the file at the same time, and what they record is read.
    ///
    /// These are not possible, and have an error that says so:
    /// - to create the file, or to convert one of an [older format](StoreError::OlderFormat);
    /// - to read a log without its shared memory, `runs.db-wal` without `runs.db-shm` ([`StoreError::Open`]): as in an incomplete
    ///   copy, which can be opened for writing;
    /// - to read while a program has the file for itself, by `PRAGMA locking_mode = EXCLUSIVE` ([`StoreError::Open`] or
    ///   [`Busy`](StoreError::Busy)).
    ///
    /// Opening takes up to two seconds if the file has been changed just before, and no process has it open: then it is read
    /// without locks, and only the time of its last change shows whether it was changed meanwhile. A read during which others
    /// open, change and close the file takes as long again, a few times, and other reads of this store wait for it. A process that
    /// reads the log of another one should close this store before it opens the same file for writing.
    ///
    /// ```
    /// use graphweft::store::{RunQuery, SqliteStore, Store, StoreError};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("runs.db");
    /// # graphweft::block_on(async {
    /// let writes = SqliteStore::open(&path).await?;
    /// let reads = SqliteStore::builder().read_only().open(&path).await?;
    ///
    /// assert!(reads.list(RunQuery::default()).await?.is_empty());
    /// assert!(matches!(reads.join(vec![]).await, Err(StoreError::ReadOnly { .. })));
    /// # drop(writes);
    /// # Ok::<(), StoreError>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_only(mut self) -> Self {
        self.0.access = Access::Read;
        self
    }

    /// Opens the file only if it is a store of the present format: it is neither created nor converted. For tools beside the
    /// program that owns the file, which may be of an older version: it could not open a converted one any more. One of an
    /// older format has the error [`OlderFormat`](StoreError::OlderFormat).
    ///
    /// ```
    /// use graphweft::store::{SqliteStore, StoreError};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("runs.db");
    /// # graphweft::block_on(async {
    /// let existing = SqliteStore::builder().existing();
    /// assert!(matches!(existing.clone().open(&path).await, Err(StoreError::Open { .. })));
    /// SqliteStore::open(&path).await?;
    /// existing.open(&path).await?;
    /// # Ok::<(), StoreError>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn existing(mut self) -> Self {
        self.0.is_existing = true;
        self
    }

    /// After how many appends their rows are moved from the commit log to the journals of their runs. For tests, which
    /// want it to happen often.
    #[doc(hidden)]
    pub fn log_rows(mut self, rows: usize) -> Self {
        self.0.log_rows = rows;
        self
    }

    /// Opens the file, and creates it if it does not exist, unless it is opened [for reading only](Self::read_only); its
    /// directory must exist. Needs no tokio runtime.
    ///
    /// Symbolic links are resolved: all processes that open the same file know of each other. A file with several hard
    /// links is refused, since SQLite looks for the log of a file by its name.
    ///
    /// # Errors
    /// See [`SqliteStore`].
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let (path, settings) = (path.as_ref().to_owned(), self.0);
        let (opened, result) = oneshot::channel();
        let failed = StoreError::Open { path: path.clone(), message: "the system gives no thread".to_owned() };
        let thread = std::thread::Builder::new().name("graphweft-write".to_owned());
        let spawned = thread.spawn(move || match Handle::open(path, settings) {
            Ok((handle, reader_is_closed)) => {
                let shared = handle.writing.as_ref().map(|writing| Arc::clone(&writing.shared)).ok();
                // If the caller is gone, the handle is dropped and the thread ends.
                drop(opened.send(Ok(SqliteStore(Arc::new(handle)))));
                let Some(shared) = shared else { return };
                shared.work();
                // The connection that is closed last removes the log. If two are closed at once, each considers the
                // other one still open. So the reader's is closed first.
                let _ = reader_is_closed.recv();
            }
            Err(error) => drop(opened.send(Err(error))),
        });
        spawned.map_err(|_| failed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }
}
