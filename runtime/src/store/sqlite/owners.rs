//! Who is alive.
//!
//! An owner holds a lock on a file beside the database, which the operating system takes away the moment its process
//! ends: on one machine its death is known at once and for certain. Elsewhere, and after the machine was restarted, its
//! row tells: an owner that has not renewed it for the length of a lease is dead. It may still believe that it is alive;
//! what it then tries to append is refused. So it is as well with an owner of this machine whose file is missing: that may
//! have been removed under it.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, params};

use super::file;
use super::row::RunRow;
use super::settings::beside;
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::Owner;

/// What tells this start of this machine from all others; nothing where that is not known.
static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
});

/// The file that an owner holds locked while it is alive.
pub(super) struct OwnerLock {
    owner: Owner,
    path: PathBuf,
    /// Whose runs it can resume: JSON.
    workflows: String,
    /// Closing it gives the lock up.
    file: Option<File>,
    /// Whether its row is gone: then nobody looks for the file any more. Otherwise it shows that the owner is dead, and is
    /// removed by who finds that.
    has_left: bool,
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        self.file = None;
        if self.has_left {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// The owners of this handle of the store.
#[derive(Default)]
pub(super) struct Owners {
    locks: Mutex<Vec<OwnerLock>>,
    /// Those that others may have believed to be dead, and that have not looked for what they have lost.
    lapsed: Mutex<Vec<Owner>>,
}

impl Owners {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn add(&self, lock: OwnerLock) -> Owner {
        let owner = lock.owner;
        self.lock().push(lock);
        owner
    }

    pub(super) fn remove(&self, owner: Owner) -> Option<OwnerLock> {
        let mut locks = self.lock();
        let at = locks.iter().position(|lock| lock.owner == owner)?;
        Some(locks.swap_remove(at))
    }

    /// Says of all that they are alive, also of one that was believed to be dead.
    pub(super) fn renew(&self, transaction: &Connection, lease: Duration) -> Result<(), Trouble> {
        let now = to_millis(SystemTime::now());
        let mut select = transaction.prepare_cached("SELECT expires FROM owners WHERE id = ?1")?;
        let mut renew = transaction.prepare_cached(
            "INSERT INTO owners (id, expires, boot, workflows) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
        )?;
        for lock in self.lock().iter() {
            let id = to_integer(lock.owner.0);
            let expires: Option<i64> = select.query_row([id], |row| row.get(0)).optional()?;
            if expires.is_none_or(|expires| expires <= now) {
                self.lapses(lock.owner);
            }
            is_written(renew.execute(params![id, expiry(lease), lock.boot(), lock.workflows])?, "owners")?;
        }
        Ok(())
    }

    /// Others may have believed an owner to be dead, and have taken its runs over.
    pub(super) fn lapses(&self, owner: Owner) {
        self.lapsed.lock().unwrap_or_else(PoisonError::into_inner).push(owner);
    }

    /// Whether that is so since this was asked last.
    pub(super) fn take_lapsed(&self, owner: Owner) -> bool {
        let mut lapsed = self.lapsed.lock().unwrap_or_else(PoisonError::into_inner);
        let before = lapsed.len();
        lapsed.retain(|other| *other != owner);
        lapsed.len() < before
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OwnerLock>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnerLock {
    /// Gives the lock up, since the owner's row is gone for good.
    pub(super) fn has_left(mut self) {
        self.has_left = true;
    }

    /// Where its lock may be trusted: nowhere, if the file system has none.
    fn boot(&self) -> Option<&'static str> {
        self.file.as_ref().and(BOOT.as_deref())
    }
}

/// Adds an owner that can resume runs of these workflows: names as JSON.
pub(super) fn join(
    transaction: &Connection,
    database: &Path,
    lease: Duration,
    workflows: String,
) -> Result<OwnerLock, Trouble> {
    let mut insert = transaction.prepare_cached("INSERT INTO owners (expires, workflows) VALUES (?1, ?2)")?;
    is_written(insert.execute(params![expiry(lease), workflows])?, "owners")?;
    let id = transaction.last_insert_rowid();
    let path = lock_path(database, id);
    let file = match hold(&path, database) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => None,
        held => Some(held?),
    };
    let lock = OwnerLock { owner: Owner(from_integer(id)), path, workflows, file, has_left: false };
    transaction.prepare_cached("UPDATE owners SET boot = ?2 WHERE id = ?1")?.execute(params![id, lock.boot()])?;
    Ok(lock)
}

/// Removes an owner and frees its runs.
pub(super) fn leave(transaction: &Connection, owner: Owner) -> Result<(), Trouble> {
    let owner = to_integer(owner.0);
    let mut select = transaction.prepare_cached("SELECT key FROM runs WHERE owner = ?1")?;
    let runs = select.query_map([owner], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for key in runs {
        RunRow { owner: None, ..RunRow::expect(transaction, key)? }.update(transaction)?;
    }
    transaction.prepare_cached("DELETE FROM owners WHERE id = ?1")?.execute([owner])?;
    Ok(())
}

fn hold(path: &Path, database: &Path) -> io::Result<File> {
    let file = file::make_beside(path, database)?;
    file.try_lock()?;
    Ok(file)
}

/// Which of the known owners are alive and which are dead.
pub(super) struct Census {
    pub(super) alive: HashSet<i64>,
    pub(super) dead: Vec<i64>,
}

pub(super) fn census(connection: &Connection, database: &Path) -> Result<Census, Trouble> {
    let now = to_millis(SystemTime::now());
    let mut census = Census { alive: HashSet::new(), dead: Vec::new() };
    let mut owners = connection.prepare_cached("SELECT id, expires, boot FROM owners")?;
    let mut rows = owners.query([])?;
    while let Some(row) = rows.next()? {
        let (id, expires, boot): (i64, i64, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if has_life(database, id, (expires, boot), now)? {
            census.alive.insert(id);
        } else {
            census.dead.push(id);
        }
    }
    Ok(census)
}

pub(super) fn is_alive(connection: &Connection, database: &Path, owner: Owner) -> Result<bool, Trouble> {
    let id = to_integer(owner.0);
    let mut select = connection.prepare_cached("SELECT expires, boot FROM owners WHERE id = ?1")?;
    let row = select.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(match row {
        Some(row) => has_life(database, id, row, to_millis(SystemTime::now()))?,
        None => false,
    })
}

/// Whether an owner that can resume runs of a workflow is alive.
pub(super) fn is_served(connection: &Connection, database: &Path, workflow: &str) -> Result<bool, Trouble> {
    let now = to_millis(SystemTime::now());
    let mut owners = connection.prepare_cached(
        "SELECT id, expires, boot FROM owners WHERE EXISTS (SELECT 1 FROM json_each(workflows) WHERE value = ?1)",
    )?;
    let mut rows = owners.query([workflow])?;
    while let Some(row) = rows.next()? {
        if has_life(database, row.get(0)?, (row.get(1)?, row.get(2)?), now)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an owner is alive, by its row and its file.
fn has_life(database: &Path, id: i64, (expires, boot): (i64, Option<String>), now: i64) -> io::Result<bool> {
    let is_of_this_boot = boot.is_some() && boot == *BOOT;
    let held = if is_of_this_boot { is_held(&lock_path(database, id))? } else { None };
    Ok(held.unwrap_or(now < expires))
}

/// Removes a dead owner.
pub(super) fn bury(transaction: &Connection, dead: i64) -> Result<(), Trouble> {
    transaction.prepare_cached("DELETE FROM owners WHERE id = ?1")?.execute([dead])?;
    Ok(())
}

/// Removes the file of an owner that was removed, once that is committed: without its file, an owner that is still there
/// counts as alive to the end of its lease. One that was only believed to be dead keeps its file.
pub(super) fn remove_file(database: &Path, dead: i64) {
    let path = lock_path(database, dead);
    if matches!(is_held(&path), Ok(Some(false))) {
        drop(fs::remove_file(path));
    }
}

/// Whether a living process has the lock. `None` if the file is missing, which says nothing of its process.
fn is_held(path: &Path) -> io::Result<Option<bool>> {
    let file = match OpenOptions::new().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(false)),
        Err(TryLockError::WouldBlock) => Ok(Some(true)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn lock_path(database: &Path, owner: i64) -> PathBuf {
    beside(database, &format!("owner-{owner}"))
}

fn expiry(lease: Duration) -> i64 {
    to_millis(SystemTime::now()).saturating_add(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX))
}
