//! The file of a store: finds or makes it, and monitors it while it is open.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::settings::beside;
use super::trouble::Trouble;
use crate::store::StoreError;

/// The canonical path of a file that is there.
pub(super) fn find(path: &Path) -> Result<PathBuf, StoreError> {
    is_a_path(path)?;
    let found = fs::canonicalize(path).map_err(|error| cannot_open(error, path))?;
    has_one_name(&found)?;
    Ok(found)
}

/// The canonical path of the file, which is the same for all processes, whatever links they use: the log and the lock
/// files of owners are beside it. A file that does not exist is made.
pub(super) fn find_or_make(path: &Path) -> Result<PathBuf, StoreError> {
    // A file that is made here is closed before this process opens it by SQLite: closing it later would take SQLite's
    // locks away, which belong to the process.
    static MAKING: Mutex<()> = Mutex::new(());
    is_a_path(path)?;
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(path)?,
        found => found.map_err(|error| cannot_open(error, path))?,
    };
    has_one_name(&found)?;
    Ok(found)
}

/// Rejects names for which SQLite opens a database in memory, or a temporary one, and no file of that name.
fn is_a_path(path: &Path) -> Result<(), StoreError> {
    let name = path.to_string_lossy();
    let is_in_memory = name.is_empty()
        || name == ":memory:"
        || name.starts_with("file:") && (name.contains(":memory:") || name.contains("mode=memory"));
    if !is_in_memory {
        return Ok(());
    }
    let message = "it names no file; for runs in memory leave out `.store(..)`".to_owned();
    Err(StoreError::Open { path: path.to_owned(), message })
}

fn make(path: &Path) -> Result<PathBuf, StoreError> {
    is_not_cut_off(path).map_err(|trouble| trouble.at(path))?;
    let made = for_owner_only(OpenOptions::new().write(true).create(true).truncate(false)).open(path);
    made.and_then(|_| fs::canonicalize(path)).map_err(|error| cannot_open(error, path))
}

/// The contents of a database are not for every user of the machine. SQLite makes the log and the shared memory with
/// the mode of the database.
fn for_owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        options.mode(0o600);
    }
    options
}

/// SQLite would remove a log without its database, with all records in it. It also treats a file of one byte as an
/// empty one.
pub(super) fn is_not_cut_off(path: &Path) -> Result<(), Trouble> {
    if length(path) == 1 {
        let message = "it is one byte long".to_owned();
        return Err(StoreError::NotADatabase { path: path.to_owned(), message }.into());
    }
    let log = beside(path, "wal");
    // The log is read first: a new file is not empty any more when it gets a log.
    if length(&log) == 0 || length(path) > 0 {
        return Ok(());
    }
    let log = log.display();
    Err(Trouble::Damaged(format!("its log `{log}` is there and it is not itself; for a new one remove the log")))
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// Makes a file beside a database, with the permissions of the database, or opens the one that exists.
pub(super) fn make_beside(path: &Path, database: &Path) -> io::Result<fs::File> {
    let new = for_owner_only(OpenOptions::new().write(true).create_new(true)).open(path);
    match new {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => OpenOptions::new().write(true).open(path),
        new => {
            let new = new?;
            // If they cannot be set, only this user can see that the owner is alive.
            drop(fs::metadata(database).and_then(|database| new.set_permissions(database.permissions())));
            Ok(new)
        }
    }
}

fn cannot_open(error: io::Error, path: &Path) -> StoreError {
    match Trouble::from(error).at(path) {
        StoreError::Io { path, message } => StoreError::Open { path, message },
        error => error,
    }
}

/// The log of a file is found by the name of the file: a process that opens it by another name sees a file without its
/// log.
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

/// A file that is open, with its log and its shared memory. A process that has files open does not notice when they are
/// removed or replaced: what it writes then is in files without a name, and gone when it ends.
pub(super) struct OpenFile {
    pub(super) path: PathBuf,
    /// The identities of the files when they were opened, the database first. As long as one connection is open, SQLite
    /// makes no others.
    parts: Vec<(PathBuf, Identity)>,
    /// The length of the database at the last look.
    length: AtomicU64,
    opened: Instant,
    /// When it was last looked for, in milliseconds since it was opened.
    looked: AtomicU64,
    gone: OnceLock<StoreError>,
}

/// How long a file that was there is taken to be there.
const FRESH: u64 = 10;

impl OpenFile {
    /// The files of an open database, by a connection that has read from it.
    pub(super) fn of(path: PathBuf) -> io::Result<OpenFile> {
        let parts = [path.clone(), beside(&path, "wal"), beside(&path, "shm")];
        OpenFile::with(path, parts.into())
    }

    /// The database alone, to which nothing is written: others may make the files beside it, and remove them.
    pub(super) fn read_only(path: PathBuf) -> io::Result<OpenFile> {
        OpenFile::with(path.clone(), vec![path])
    }

    fn with(path: PathBuf, parts: Vec<PathBuf>) -> io::Result<OpenFile> {
        let identified = |part: PathBuf| fs::metadata(&part).map(|found| (part, identity(&found)));
        let parts = parts.into_iter().map(identified).collect::<io::Result<_>>()?;
        let length = fs::metadata(&path)?.len().into();
        Ok(OpenFile { path, parts, length, opened: Instant::now(), looked: AtomicU64::new(0), gone: OnceLock::new() })
    }

    /// Checks before each read and commit that the database is the one that was opened, unless that was checked a moment
    /// ago. The files beside it are left to [`look`](Self::look): once the times of the log were read, Linux updates them
    /// with the next write, and the next sync has to write them as well.
    ///
    /// # Errors
    /// [`StoreError::Gone`], from then on.
    pub(super) fn is_there(&self) -> Result<(), StoreError> {
        self.is_there_at(Instant::now())
    }

    /// As [`is_there`](Self::is_there), for a caller that has read the clock.
    ///
    /// # Errors
    /// [`StoreError::Gone`], from then on.
    pub(super) fn is_there_at(&self, now: Instant) -> Result<(), StoreError> {
        self.is_not_gone()?;
        let since = now.saturating_duration_since(self.opened);
        let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        if now < self.looked.load(Ordering::Relaxed).saturating_add(FRESH) {
            return Ok(());
        }
        self.looked.store(now, Ordering::Relaxed);
        let change = self.parts.first().and_then(|(database, opened)| self.change_of(database, *opened));
        change.map_or(Ok(()), |message| Err(self.is_gone(message)))
    }

    fn is_not_gone(&self) -> Result<(), StoreError> {
        self.gone.get().map_or(Ok(()), |gone| Err(gone.clone()))
    }

    /// Checks that the files are those that were opened. By their names only: opening and closing one would release
    /// SQLite's locks, which belong to the process.
    pub(super) fn look(&self) -> Result<(), StoreError> {
        self.is_not_gone()?;
        let Some(message) = self.parts.iter().find_map(|(part, opened)| self.change_of(part, *opened)) else {
            return Ok(());
        };
        Err(self.is_gone(message))
    }

    /// Marks the file as gone: nothing more is recorded in it.
    pub(super) fn is_gone(&self, message: String) -> StoreError {
        let gone = StoreError::Gone { path: self.path.clone(), message };
        tracing::error!(error = %gone, "the file of a store is gone, and its runs stop");
        self.gone.get_or_init(|| gone).clone()
    }

    /// Reads the length of the database. Returns the length before and now, if it is shorter than at the last look.
    pub(super) fn look_at_length(&self) -> Option<(u64, u64)> {
        let now = fs::metadata(&self.path).ok()?.len();
        let before = self.length.swap(now, Ordering::Relaxed);
        (now < before).then_some((before, now))
    }

    /// Restores the length before, since it is still not known why the file is shorter.
    pub(super) fn was_longer(&self, before: u64) {
        self.length.store(before, Ordering::Relaxed);
    }

    /// How a part has changed, if it is not the one that was opened.
    fn change_of(&self, part: &Path, opened: Identity) -> Option<String> {
        let is_database = part == self.path;
        let what = match fs::metadata(part) {
            Ok(found) if identity(&found) != opened => "was replaced by another file",
            // A database has at least one page. A log may be empty.
            Ok(found) if is_database && found.len() == 0 => "was emptied",
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                "was removed or renamed"
            }
            // A file that cannot be examined may still be there.
            Ok(_) | Err(_) => return None,
        };
        Some(if is_database { what.to_owned() } else { format!("lost `{}`, which {what}", part.display()) })
    }
}

/// Distinguishes a file from every other that exists at the same time: its device and its number there. Elsewhere than
/// on Unix an open file cannot be removed.
pub(super) type Identity = (u64, u64);

#[cfg(unix)]
pub(super) fn identity(file: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;

    (file.dev(), file.ino())
}

#[cfg(not(unix))]
pub(super) fn identity(_file: &fs::Metadata) -> Identity {
    (0, 0)
}
