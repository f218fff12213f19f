//! What a store reads from.
//!
//! A store that writes has a connection for it. One that is opened for reading only must not make anything: SQLite would
//! make the log and the shared memory if they are missing, and then they would belong to the reader, and the next process
//! that writes could not write to them. Which of them are there says how to read:
//!
//! | `-wal` and `-shm` | why | how it is read |
//! | --- | --- | --- |
//! | both | a process has the file open, or was killed | with both, by SQLite's locks, without writing to them |
//! | neither | no process has it open | the file alone, without locks, for as long as nothing changes it |
//! | one, or a rollback journal | it is being opened or closed, is in exclusive use, or was copied without the other one | not at all |
//!
//! Without locks a process may open the file and write to it at any time. Before it changes the file it makes the log. So
//! what was read counts only if afterwards there is still no log, and the file is as it was before. Otherwise the file is
//! opened again, with its log, and is read again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags};

use super::file::{Identity, identity, is_not_cut_off};
use super::log_index::LogIndex;
use super::settings::{Settings, beside};
use super::trouble::Trouble;
use super::{check, open, schema};
use crate::store::StoreError;

/// Two changes that are further apart than this have different times, whatever the file system: FAT counts in steps of 2 s.
const STEP_OF_TIMES: Duration = Duration::from_secs(2);

/// How often a file is looked at that others open and close meanwhile, and how long to wait in between.
const LOOKS: usize = 25;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// How often something is read whose file changes meanwhile. From the second time on it is read with its log.
const READS: usize = 5;

/// What a thread reads from.
pub(super) struct Source {
    connection: Connection,
    /// If it reads the file alone.
    alone: Option<Alone>,
}

/// A file that is read without locks.
struct Alone {
    path: PathBuf,
    settings: Settings,
    stamp: Stamp,
}

/// How a file looks after it was changed last.
#[derive(Clone, PartialEq)]
struct Stamp {
    file: Identity,
    length: u64,
    modified: SystemTime,
    changed: (i64, i64),
}

/// Which files are beside a database.
#[derive(PartialEq)]
enum Parts {
    Log,
    None,
    /// What is there that cannot be used.
    Some(PathBuf),
}

impl Source {
    /// A connection beside the one of this store that writes.
    pub(super) fn beside_writer(connection: Connection) -> Source {
        Source { connection, alone: None }
    }

    /// A file that is not written to. May block for some seconds.
    pub(super) fn read_only(path: &Path, settings: &Settings) -> Result<Source, Trouble> {
        let mut unusable = None;
        for _ in 0..LOOKS {
            is_not_cut_off(path)?;
            match Parts::of(path)? {
                Parts::Log => {
                    let opened = connect(path, "readonly_shm=1", settings);
                    // It may have been closed before it was opened here.
                    if opened.is_ok() || Parts::of(path)? == Parts::Log {
                        return Ok(Source { connection: opened?, alone: None });
                    }
                }
                Parts::None => {
                    let Some(stamp) = Stamp::settled(path)? else { continue };
                    let alone = Alone { path: path.to_owned(), settings: *settings, stamp };
                    let opened = connect(path, "immutable=1", settings);
                    if alone.is_unchanged() {
                        return Ok(Source { connection: opened?, alone: Some(alone) });
                    }
                }
                Parts::Some(part) => {
                    unusable = Some(part);
                    thread::sleep(BETWEEN_LOOKS);
                }
            }
        }
        Err(unusable.map_or_else(|| changes(path), |part| incomplete(path, &part)))
    }

    /// Reads. What is read again was read from a file that has changed meanwhile.
    pub(super) fn read<T>(
        &mut self,
        log: &mut LogIndex,
        read: impl Fn(&Connection, &mut LogIndex) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut reads = 0;
        loop {
            let found = read(&self.connection, log);
            let Some(alone) = self.alone.as_ref().filter(|alone| !alone.is_unchanged()) else { return found };
            reads += 1;
            if reads == READS {
                return Err(changes(&alone.path));
            }
            *log = LogIndex::default();
            *self = Source::read_only(&alone.path, &alone.settings)?;
        }
    }
}

impl Alone {
    /// Whether all that was read until now was read from one state of the file, which is the current one.
    fn is_unchanged(&self) -> bool {
        matches!(Parts::of(&self.path), Ok(Parts::None)) && Stamp::of(&self.path).is_ok_and(|stamp| stamp == self.stamp)
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Stamp> {
        let file = fs::metadata(path)?;
        Ok(Stamp { file: identity(&file), length: file.len(), modified: file.modified()?, changed: changed(&file) })
    }

    /// The stamp of a file whose next change gives it another one. `None` if another program has opened it meanwhile.
    fn settled(path: &Path) -> io::Result<Option<Stamp>> {
        let mut stamp = Stamp::of(path)?;
        loop {
            // After the clock was set back, the file is of the future.
            let age = SystemTime::now().duration_since(stamp.modified).unwrap_or_default();
            let Some(rest) = STEP_OF_TIMES.checked_sub(age).filter(|rest| !rest.is_zero()) else {
                return Ok(Some(stamp));
            };
            thread::sleep(rest);
            if !matches!(Parts::of(path)?, Parts::None) {
                return Ok(None);
            }
            let now = Stamp::of(path)?;
            if now == stamp {
                return Ok(Some(stamp));
            }
            stamp = now;
        }
    }
}

/// When the file was changed last by the clock of the system, which programs cannot set.
#[cfg(unix)]
fn changed(file: &fs::Metadata) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt;

    (file.ctime(), file.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_file: &fs::Metadata) -> (i64, i64) {
    (0, 0)
}

impl Parts {
    fn of(path: &Path) -> io::Result<Parts> {
        let [log, memory, journal] = ["wal", "shm", "journal"].map(|part| beside(path, part));
        let [has_log, has_memory, has_journal] = [log.try_exists()?, memory.try_exists()?, journal.try_exists()?];
        Ok(match (has_log, has_memory, has_journal) {
            (true, true, false) => Parts::Log,
            (false, false, false) => Parts::None,
            (_, _, true) => Parts::Some(journal),
            (true, ..) => Parts::Some(log),
            _ => Parts::Some(memory),
        })
    }
}

fn connect(path: &Path, how: &str, settings: &Settings) -> Result<Connection, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = open::prepared(Connection::open_with_flags(address(path, how), flags)?, settings.busy_timeout)?;
    connection.pragma_update(None, "query_only", true)?;
    schema::is_current(&connection, path)?;
    check::on_opening(&connection)?;
    Ok(connection)
}

/// The address by which SQLite takes options: any other character than these could mean something in it.
fn address(path: &Path, how: &str) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => address.push(char::from(*byte)),
            _ => address.push_str(&format!("%{byte:02x}")),
        }
    }
    format!("{address}?{how}")
}

fn incomplete(path: &Path, part: &Path) -> Trouble {
    let message = format!(
        "`{}` is there without what belongs to it, and a store that is opened for reading only makes no files; it may be in \
         the use of a program that has it for itself; if it is a copy, copy the files beside it too, or open it for writing",
        part.display()
    );
    StoreError::Open { path: path.to_owned(), message }.into()
}

fn changes(path: &Path) -> Trouble {
    let message = "others open it, change it and close it all the time".to_owned();
    StoreError::Busy { path: path.to_owned(), message }.into()
}
