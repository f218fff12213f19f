//! What goes wrong between a statement and its caller, and how it is told.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::store::StoreError;

/// What stops a piece of work on the database.
#[derive(Debug)]
pub(super) enum Trouble {
    Sql(rusqlite::Error),
    /// With a file beside the database.
    Io(io::Error),
    /// The file does not say what was written to it; what does not fit.
    Damaged(String),
    /// SQLite has reported no error, and a row of this table was not written.
    NotWritten(&'static str),
    /// Known for what it is already.
    Store(StoreError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Trouble::Sql(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Trouble::Store(error)
    }
}

impl Trouble {
    /// Whether another connection is writing at the moment.
    pub(super) fn is_busy(&self) -> bool {
        let Trouble::Sql(error) = self else { return false };
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Whether the file is not as it was written.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Trouble::Sql(error) => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
            }
            Trouble::Damaged(_) | Trouble::Store(StoreError::Corrupt { .. } | StoreError::NotADatabase { .. }) => true,
            Trouble::Io(_) | Trouble::NotWritten(_) | Trouble::Store(_) => false,
        }
    }

    /// As the users of a store see it.
    pub(super) fn at(self, path: &Path) -> StoreError {
        match self {
            Trouble::Sql(error) => from_sql(error, path),
            Trouble::Io(error) => from_io(&error, path),
            Trouble::Damaged(message) => StoreError::Corrupt { path: path.to_owned(), message },
            Trouble::NotWritten(table) => StoreError::Io { path: path.to_owned(), message: not_written(table) },
            Trouble::Store(error) => error,
        }
    }
}

/// Checks that a statement has written the one row that it is for.
pub(super) fn is_written(rows: usize, table: &'static str) -> Result<(), Trouble> {
    if rows == 1 { Ok(()) } else { Err(Trouble::NotWritten(table)) }
}

/// Nothing of graphweft or SQLite passes a row over without a word, so this is another program's doing.
fn not_written(table: &str) -> String {
    format!(
        "a row of `{table}` was not written, as if by a trigger that another program has added; \
         `SELECT sql FROM sqlite_schema WHERE type = 'trigger'` lists the triggers of the file, and graphweft has none"
    )
}

fn from_sql(error: rusqlite::Error, path: &Path) -> StoreError {
    let (path, message) = (path.to_owned(), error.to_string());
    if matches!(error, rusqlite::Error::NulError(_) | rusqlite::Error::InvalidPath(_)) {
        return StoreError::Open { path, message };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => StoreError::Open { path, message },
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path, message },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { path, message },
        Some(ErrorCode::DiskFull) => StoreError::Full { path, message },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, message },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path, message },
        Some(_) => StoreError::Io { path, message },
        // A column holds something of another type than was ever written to it.
        None => StoreError::Corrupt { path, message },
    }
}

fn from_io(error: &io::Error, path: &Path) -> StoreError {
    let (path, message) = (path.to_owned(), error.to_string());
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path, message },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path, message },
        _ => StoreError::Io { path, message },
    }
}
