//! Which owners are alive.
//!
//! An owner holds a lock on a file beside the database, which the operating system releases the moment its process
//! ends: on one machine its death is detected at once and for certain. On another machine, and after a restart of the
//! machine, its row decides: an owner that has not renewed it for the length of a lease is dead. If it is still
//! running, its later appends are refused. The row also decides for an owner of this machine whose file is missing: the
//! file may have been removed while the owner lives.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, Row, params};

use super::file;
use super::row::RunRow;
use super::seal;
use super::settings::beside;
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::Owner;

/// Identifies this boot of this machine; `None` if that is not known.
static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
});

/// The file that an owner holds locked while it is alive.
pub(super) struct OwnerLock {
    owner: Owner,
    path: PathBuf,
    /// The workflows whose runs it can resume, as JSON.
    workflows: String,
    /// Closing it releases the lock.
    file: Option<File>,
    /// Whether its row is gone: then the file is not needed any more. Otherwise the file shows that the owner is dead,
    /// and is removed by the process that detects that.
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
    /// Owners that other processes may have considered dead, and that have not looked yet which runs they have lost.
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

    /// Renews the leases of all owners, also of one that was considered dead.
    pub(super) fn renew(&self, transaction: &Connection, lease: Duration) -> Result<(), Trouble> {
        let now = to_millis(SystemTime::now());
        for lock in self.lock().iter() {
            let found = match OwnerRow::find(transaction, to_integer(lock.owner.0)) {
                // The damaged row is replaced by a correct one.
                Err(Trouble::Damaged(_)) => None,
                found => found?,
            };
            if found.as_ref().is_none_or(|found| found.expires <= now) {
                self.lapses(lock.owner);
            }
            let row = found.unwrap_or_else(|| lock.row());
            OwnerRow { expires: expiry(lease), ..row }.write(transaction)?;
        }
        Ok(())
    }

    /// Marks an owner that other processes may have considered dead, and whose runs they may have taken over.
    pub(super) fn lapses(&self, owner: Owner) {
        self.lapsed.lock().unwrap_or_else(PoisonError::into_inner).push(owner);
    }

    /// Whether an owner was marked so since the last call.
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
    /// Releases the lock, since the owner's row is gone for good.
    pub(super) fn has_left(mut self) {
        self.has_left = true;
    }

    /// Its row in the database, without an expiry. The lock is trusted nowhere if the file system has no locks.
    fn row(&self) -> OwnerRow {
        let boot = self.file.as_ref().and(BOOT.clone());
        OwnerRow { id: to_integer(self.owner.0), expires: 0, boot, workflows: self.workflows.clone() }
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
    OwnerRow { expires: expiry(lease), ..lock.row() }.write(transaction)?;
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
    bury(transaction, owner)
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
    for owner in OwnerRow::all(connection)? {
        if owner.is_alive(database, now)? {
            census.alive.insert(owner.id);
        } else {
            census.dead.push(owner.id);
        }
    }
    Ok(census)
}

pub(super) fn is_alive(connection: &Connection, database: &Path, owner: Owner) -> Result<bool, Trouble> {
    let owner = OwnerRow::find(connection, to_integer(owner.0))?;
    Ok(owner.map(|owner| owner.is_alive(database, to_millis(SystemTime::now()))).transpose()?.unwrap_or(false))
}

/// Whether an owner that can resume runs of a workflow is alive.
pub(super) fn is_served(connection: &Connection, database: &Path, workflow: &str) -> Result<bool, Trouble> {
    let now = to_millis(SystemTime::now());
    for owner in OwnerRow::all(connection)? {
        if owner.serves(workflow)? && owner.is_alive(database, now)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A row of `owners`. Without a checksum, a changed byte could make a dead owner count as alive for years, and its runs
/// would wait that long.
pub(super) struct OwnerRow {
    id: i64,
    expires: i64,
    boot: Option<String>,
    workflows: String,
}

const OWNERS: &str =
    "SELECT id, expires, boot, workflows, checksum FROM owners LEFT JOIN owner_checksums ON owner = id";

impl OwnerRow {
    /// Every owner.
    pub(super) fn all(connection: &Connection) -> Result<Vec<OwnerRow>, Trouble> {
        let mut owners = connection.prepare_cached(OWNERS)?;
        let mut rows = owners.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(OwnerRow::read(row)?);
        }
        Ok(all)
    }

    fn find(connection: &Connection, id: i64) -> Result<Option<OwnerRow>, Trouble> {
        let mut owners = connection.prepare_cached(&format!("{OWNERS} WHERE id = ?1"))?;
        let mut rows = owners.query([id])?;
        rows.next()?.map(OwnerRow::read).transpose()
    }

    fn read(row: &Row<'_>) -> Result<OwnerRow, Trouble> {
        let owner = OwnerRow { id: row.get(0)?, expires: row.get(1)?, boot: row.get(2)?, workflows: row.get(3)? };
        // One of an earlier format has none.
        match row.get::<_, Option<i64>>(4)? {
            Some(checksum) if checksum != owner.checksum() => Err(owner.damaged()),
            _ => Ok(owner),
        }
    }

    /// Adds or replaces it.
    fn write(&self, transaction: &Connection) -> Result<(), Trouble> {
        let written = transaction
            .prepare_cached(
                "INSERT INTO owners (id, expires, boot, workflows) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE
                 SET expires = excluded.expires, boot = excluded.boot, workflows = excluded.workflows",
            )?
            .execute(params![self.id, self.expires, self.boot, self.workflows])?;
        is_written(written, "owners")?;
        let written = transaction
            .prepare_cached(
                "INSERT INTO owner_checksums (owner, checksum) VALUES (?1, ?2)
                 ON CONFLICT (owner) DO UPDATE SET checksum = excluded.checksum",
            )?
            .execute([self.id, self.checksum()])?;
        is_written(written, "owner_checksums")
    }

    /// Whether it is alive, by its row and its file.
    fn is_alive(&self, database: &Path, now: i64) -> io::Result<bool> {
        let is_of_this_boot = self.boot.is_some() && self.boot == *BOOT;
        let held = if is_of_this_boot { is_held(&lock_path(database, self.id))? } else { None };
        Ok(held.unwrap_or(now < self.expires))
    }

    fn serves(&self, workflow: &str) -> Result<bool, Trouble> {
        let workflows: Vec<String> = serde_json::from_str(&self.workflows).map_err(|_| self.damaged())?;
        Ok(workflows.iter().any(|served| served == workflow))
    }

    fn checksum(&self) -> i64 {
        seal::of_owner(self.id, self.expires, self.boot.as_deref(), &self.workflows)
    }

    fn damaged(&self) -> Trouble {
        let id = self.id;
        Trouble::Damaged(format!(
            "owner {id} does not match its checksum; if its process has ended, remove it: `DELETE FROM owners WHERE id = {id}`"
        ))
    }
}

/// Removes a dead owner.
pub(super) fn bury(transaction: &Connection, dead: i64) -> Result<(), Trouble> {
    transaction.prepare_cached("DELETE FROM owners WHERE id = ?1")?.execute([dead])?;
    transaction.prepare_cached("DELETE FROM owner_checksums WHERE owner = ?1")?.execute([dead])?;
    Ok(())
}

/// Removes the file of an owner that was removed, once that is committed: an owner whose row exists and whose file does
/// not counts as alive until its lease expires. An owner that was only considered dead keeps its file.
pub(super) fn remove_file(database: &Path, dead: i64) {
    let path = lock_path(database, dead);
    if matches!(is_held(&path), Ok(Some(false))) {
        drop(fs::remove_file(path));
    }
}

/// Whether a living process has the lock. `None` if the file is missing or cannot be read, from which nothing follows for
/// its process.
fn is_held(path: &Path) -> io::Result<Option<bool>> {
    // For reading if it belongs to another user: it can be locked all the same.
    let opened = OpenOptions::new().write(true).open(path).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => File::open(path),
        _ => Err(error),
    });
    let file = match opened {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(None);
        }
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
