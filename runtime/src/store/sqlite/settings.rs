//! The settings of a store's file.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The log is copied back to the database when it is longer than this, in bytes. SQLite cuts it to this length when it
/// begins anew, so its length shows how much of it is in use.
pub(super) const LOG: u64 = 8 << 20;

/// The commit log is moved to the journals when it has so many batches, or when their bodies have so many bytes.
pub(super) const LOG_ROWS: usize = 2048;
pub(super) const LOG_BYTES: i64 = 1 << 20;

/// Bodies from this length on, in bytes, are added to the journal at once: they take pages of their own anyway, and would
/// be written twice.
pub(super) const LARGE: usize = 4 << 10;

/// A row that has so many bytes gets no further batch. A batch that is read is read with its row.
pub(super) const ROW_BYTES: usize = 32 << 10;

/// SQLite counts milliseconds in 31 bits.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(i32::MAX as u64);

/// The stack of a thread in bytes, of which only the used part takes memory. Values may nest deeply.
pub(super) const STACK: usize = 16 << 20;

/// Which failures recorded events survive.
///
/// For runs that can be started again after a power failure, such as those of a cache:
///
/// ```
/// use graphweft::store::{Durability, SqliteStore};
///
/// # let directory = tempfile::tempdir()?;
/// # graphweft::block_on(async {
/// let store = SqliteStore::builder().durability(Durability::Relaxed).open(directory.path().join("cache.db")).await?;
/// assert_eq!(Durability::default(), Durability::Full); // that of `SqliteStore::open`
/// # drop(store);
/// # Ok::<(), graphweft::store::StoreError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Recorded events are on disk. They survive a power failure.
    #[default]
    Full,
    /// Recorded events survive the death of the process. A power failure or a crash of the operating system can lose
    /// the last moments; the file is then consistent, as it was at some earlier time.
    Relaxed,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) access: Access,
    pub(super) durability: Durability,
    pub(super) lease: Duration,
    pub(super) busy_timeout: Duration,
    pub(super) log_rows: usize,
    /// Whether a file has to be a store of the present format.
    pub(super) is_existing: bool,
}

/// The path of a file beside the database.
pub(super) fn beside(path: &Path, name: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push("-");
    beside.push(name);
    beside.into()
}
