//! Files for the libraries that take a pool of connections to SQLite.

use std::path::{Path, PathBuf};

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

/// Where a library has its file.
pub(super) fn file(directory: &Path, library: &str, synchronous: &SqliteSynchronous) -> PathBuf {
    directory.join(format!("{library}-{synchronous:?}.db"))
}

/// Connections to a file with a write-ahead log.
pub(super) async fn pool(file: &Path, synchronous: SqliteSynchronous) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous);
    SqlitePool::connect_with(options).await.expect("a new file")
}
