//! Opening the file.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::check;
use super::file::is_not_cut_off;
use super::schema;
use super::settings::{Durability, LOG, Settings, beside};
use super::times::to_integer;
use super::trouble::Trouble;
use crate::store::StoreError;

/// Every commit writes whole pages: the last ones of the commit log, and those of the headers that it changes. With
/// SQLite's 4096 bytes that is twice as much; with 1024 a value of 100 kB is in twice as many.
const PAGE: u32 = 2048;

/// Opens the connection that writes. Afterwards the file exists and has the current format.
pub(super) fn writer(path: &Path, settings: &Settings) -> Result<Connection, StoreError> {
    let open = || {
        is_not_cut_off(path)?;
        let create = if settings.is_existing { OpenFlags::empty() } else { OpenFlags::SQLITE_OPEN_CREATE };
        let mut connection = connect(path, create, settings.busy_timeout)?;
        if connection.is_readonly("main")? {
            let message = "the file is read-only".to_owned();
            return Err(StoreError::ReadOnly { path: path.to_owned(), message }.into());
        }
        if settings.is_existing {
            schema::is_current(&connection, path)?;
        }
        // This has no effect on a file that exists.
        connection.pragma_update(None, "page_size", PAGE)?;
        if connection.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0))? == 0 {
            // Pages of deleted runs are returned on demand.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        } else {
            // Only a transaction that may write finds out that the log of another process cannot be written to.
            connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
        }
        schema::migrate(&mut connection, path)?;
        check::on_opening(&connection)?;
        use_write_ahead_log(&connection, settings.busy_timeout)?;
        connection.pragma_update(
            None,
            "synchronous",
            match settings.durability {
                Durability::Full => "FULL",
                Durability::Relaxed => "NORMAL",
            },
        )?;
        // The thread copies the log back, when no caller waits for it.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        connection.pragma_update(None, "journal_size_limit", to_integer(LOG))?;
        open_log(&connection)?;
        Ok(connection)
    };
    open().map_err(|trouble| explain(trouble, path))
}

/// Opens a connection that only reads committed data.
pub(super) fn reader(path: &Path, settings: &Settings) -> Result<Connection, StoreError> {
    let open = || {
        let connection = connect(path, OpenFlags::empty(), settings.busy_timeout)?;
        connection.pragma_update(None, "query_only", true)?;
        open_log(&connection)?;
        Ok(connection)
    };
    open().map_err(|trouble: Trouble| trouble.at(path))
}

/// A connection opens the log and the shared memory when it first reads, by their names: all do it now, so that all
/// have the same.
fn open_log(connection: &Connection) -> Result<(), Trouble> {
    Ok(connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?)
}

fn connect(path: &Path, how: OpenFlags, busy_timeout: Duration) -> Result<Connection, Trouble> {
    // The path is absolute, so that SQLite takes none for a `file:` address.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | how;
    prepared(Connection::open_with_flags(path, flags)?, busy_timeout)
}

/// A connection with what all have in common.
pub(super) fn prepared(connection: Connection, busy_timeout: Duration) -> Result<Connection, Trouble> {
    connection.busy_timeout(busy_timeout)?;
    // SQLite verifies the cell sizes of a page, so that a damaged page is detected.
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// SQLite does not wait where two connections switch a new file at once, so this does.
fn use_write_ahead_log(connection: &Connection, patience: Duration) -> Result<(), Trouble> {
    let until = Instant::now() + patience;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                let message = format!("the file system has no shared memory for a write-ahead log (mode `{mode}`)");
                return Err(io::Error::new(io::ErrorKind::Unsupported, message).into());
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes the error exact: SQLite reports "unable to open" for very different problems.
fn explain(trouble: Trouble, path: &Path) -> StoreError {
    let error = trouble.at(path);
    let StoreError::Open { path, message } = error else { return error };
    if path.is_dir() {
        return StoreError::Open { path, message: "it is a directory".to_owned() };
    }
    match try_to_write_beside(&path) {
        Err(cause) if matches!(cause.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            StoreError::ReadOnly { path, message: cause.to_string() }
        }
        Err(cause) => StoreError::Open { path, message: cause.to_string() },
        Ok(()) => StoreError::Open { path, message },
    }
}

/// Not to the file itself: closing it would release the locks of every other connection that this process has to it.
fn try_to_write_beside(path: &Path) -> io::Result<()> {
    let probe = beside(path, "probe");
    fs::OpenOptions::new().write(true).create(true).truncate(false).open(&probe)?;
    fs::remove_file(probe)
}
