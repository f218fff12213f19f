//! Errors between a statement and its caller, and how they are reported.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::store::StoreError;

/// Why a piece of work on the database failed.
#[derive(Debug)]
pub(super) enum Trouble {
    Sql(rusqlite::Error),
    /// An error of a file beside the database.
    Io(io::Error),
    /// The file differs from what was written to it: a description of the difference.
    Damaged(String),
    /// SQLite has reported no error, and a row of this table was not written.
    NotWritten(&'static str),
    /// An error that is already in its final form.
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

    /// The error that users of a store get.
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

/// Neither graphweft nor SQLite ignores a row without an error, so another program has caused this.
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
        None => match error {
            // A column holds a value of a type that is never written to it.
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::QueryReturnedNoRows => StoreError::Corrupt { path, message },
            _ => StoreError::Io { path, message },
        },
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
