//! Errors of a store.

use std::path::PathBuf;

/// A store operation failed. Recorded events are not lost, unless the file was [taken away](StoreError::Gone), and
/// `engine.recover()` resumes the runs that this stopped when the store works again.
///
/// A program that starts says what to do about its file:
///
/// ```
/// use graphweft::store::{SqliteStore, StoreError};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("notes.txt");
/// std::fs::write(&path, "a poem, and not a database of runs")?;
/// # graphweft::block_on(async {
/// match SqliteStore::open(&path).await {
///     Err(error @ StoreError::NotADatabase { .. }) => assert!(error.to_string().ends_with("choose another path")),
///     other => panic!("{other:?}"),
/// }
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened or created.
    #[error("`{}` cannot be opened: {message}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The file is not a database of runs.
    #[error("`{}` is not a database of runs: {message}; choose another path", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What was found.
        message: String,
    },
    /// The file, or the schema of a database, was written by a newer version of graphweft.
    #[error(
        "`{}` has a newer format, {found}, and this version of graphweft knows formats up to {known}; use the version that \
         wrote it, or a newer one", path.display()
    )]
    NewerFormat {
        /// The file, or the name of the schema.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// The file was written by an older version of graphweft, and is opened for reading only: it cannot be converted.
    #[error(
        "`{}` has format {found}, and is read as format {known}; open it once for writing, which converts it, or open a copy",
        path.display()
    )]
    OlderFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The format that this version reads.
        known: u32,
    },
    /// The file, or the directory that it is in, cannot be written to; or it is opened for reading only.
    #[error("`{}` cannot be written to: {message}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The disk is full. There may be room later: an engine resumes the runs that this has stopped, at first after a second and then in
    /// longer pauses, up to half a minute.
    #[error("no space is left for `{}`: {message}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        message: String,
    },
    /// The file is damaged: a page, or a row that does not match its checksum.
    #[error("`{}` is damaged: {message}; restore it from a backup", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        message: String,
    },
    /// A record cannot be read.
    #[error("record {seq} of run `{run}` cannot be read: {message}")]
    BadRecord {
        /// The run.
        run: String,
        /// The number of the record.
        seq: u64,
        /// Why.
        message: String,
    },
    /// Another process has locked the file for too long. An engine resumes the runs that this has stopped when the file is free.
    #[error("`{}` was locked by another process for too long: {message}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// The message of the database.
        message: String,
    },
    /// The file was removed, renamed, replaced, emptied or cut off while it was open. Records made since then are lost,
    /// and nothing more is recorded: this store does not recover.
    #[error(
        "`{}` {message} while this process had it open, so nothing more is recorded; put it back or choose another path, \
         and restart the process", path.display()
    )]
    Gone {
        /// The file.
        path: PathBuf,
        /// What happened to it.
        message: String,
    },
    /// Reading or writing failed in another way.
    #[error("`{}` failed: {message}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The server of the database cannot be reached, takes no connections at present, or the connection to it was lost. Nothing was done,
    /// unless the message says that it may be. It may be back later: an engine resumes the runs that this has stopped.
    #[error("{server} cannot be reached: {message}")]
    Unreachable {
        /// The server and the database.
        server: String,
        /// Why.
        message: String,
    },
    /// The server of the database does not do its work at present: its disk is full, it lacks memory, it takes no writes, a statement took
    /// longer than it allows, or was in the way of another. It may be over later: an engine resumes the runs that this has stopped, at
    /// first after a second and then in longer pauses, up to half a minute.
    #[error("{server} cannot do its work at present: {message}")]
    Unavailable {
        /// The server and the database.
        server: String,
        /// Why.
        message: String,
    },
    /// The database, or the way to it, is none that the store can work with: a certificate that is not trusted, a wrong
    /// password, a pooler in another mode. Nothing was done. It is the same when it is tried again.
    #[error("{server} cannot be used: {message}")]
    Unusable {
        /// The server and the database.
        server: String,
        /// Why, and what to do.
        message: String,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// Any other error, for implementations of [`Store`](super::Store).
    #[error("{message}")]
    Other {
        /// What failed, where, and what to do.
        message: String,
    },
}

impl StoreError {
    /// Whether it may be over by itself.
    pub(crate) fn is_of_outage(&self) -> bool {
        matches!(
            self,
            StoreError::Unreachable { .. }
                | StoreError::Unavailable { .. }
                | StoreError::Busy { .. }
                | StoreError::Full { .. }
        )
    }
}
