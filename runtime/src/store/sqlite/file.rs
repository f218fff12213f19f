//! Finding the file of a store, or making it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::check;
use super::trouble::Trouble;
use crate::store::StoreError;

/// The path of the file under the one name that all processes have for it, whatever links lead there: the log and the files
/// that show who is alive are beside it. A file that is not there is made.
pub(super) fn find_or_make(path: &Path) -> Result<PathBuf, StoreError> {
    // A file that is made here is closed before this process opens it by SQLite: closing it later would take SQLite's locks
    // away, which belong to the process.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(path)?,
        found => found.map_err(|error| cannot_open(error, path))?,
    };
    has_one_name(&found)?;
    Ok(found)
}

fn make(path: &Path) -> Result<PathBuf, StoreError> {
    check::is_not_cut_off(path).map_err(|trouble| trouble.at(path))?;
    let made = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    made.and_then(|_| fs::canonicalize(path)).map_err(|error| cannot_open(error, path))
}

fn cannot_open(error: io::Error, path: &Path) -> StoreError {
    match Trouble::from(error).at(path) {
        StoreError::Io { path, message } => StoreError::Open { path, message },
        error => error,
    }
}

/// The log of a file is found by the name of the file: a process that opens it by another name sees a file without its log.
#[cfg(unix)]
fn has_one_name(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt;

    let file = fs::metadata(path).map_err(|error| cannot_open(error, path))?;
    if file.is_dir() || file.nlink() <= 1 {
        return Ok(());
    }
    let message = format!(
        "it has {} names (hard links), and a process that opens it by one does not see what a process records that has \
         opened it by another; remove the other names, or make them symbolic links",
        file.nlink()
    );
    Err(StoreError::Open { path: path.to_owned(), message })
}

#[cfg(not(unix))]
fn has_one_name(_path: &Path) -> Result<(), StoreError> {
    Ok(())
}
