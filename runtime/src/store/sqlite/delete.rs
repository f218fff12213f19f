//! Deleting runs that are over.
//!
//! The row of a run goes at once, and with it everything by which the run is found. Its records go after that, a few
//! rows at a time, so that no other write waits for long. They stay for one lease after the end of the run: an engine that
//! was believed dead meanwhile, and so has lost the run, may not have noticed yet. What it adds is refused, since its writer
//! sees that others have added to the run, and that the run is gone.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, params};

use super::batches::RecordRow;
use super::log_index::{LogIndex, batches_of};
use super::row::RunRow;
use super::schema::rows_of;
use super::snapshots;
use super::times::{from_integer, from_millis, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use super::write_transaction::WriteTransaction;
use crate::core;
use crate::store::{Delete, RunKey};

/// How many rows of records are removed in one transaction. A row has many batches.
const ROWS: u32 = 100;

/// How many pages are returned to the file system in one transaction.
const PAGES: u32 = 1000;

/// A file keeps one page in this many free, for what comes next.
const KEPT_FREE: i64 = 8;

/// Deletes runs, but for their records, and frees the ids that were kept until now. Returns those that were there, and
/// over.
pub(super) fn runs(
    transaction: &mut WriteTransaction<'_>,
    delete: &Delete,
    lease: Duration,
) -> Result<Vec<RunKey>, Trouble> {
    let mut deleted = Vec::new();
    for key in &delete.runs {
        if run(transaction, *key, delete, lease)? {
            deleted.push(*key);
        }
    }
    free_ids(transaction, delete.now)?;
    Ok(deleted)
}

fn run(transaction: &mut WriteTransaction<'_>, run: RunKey, delete: &Delete, lease: Duration) -> Result<bool, Trouble> {
    let key = to_integer(run.0);
    let header = RunRow::find(transaction, key)?.map(RunRow::header).transpose()?;
    let Some(header) = header.filter(|header| header.status.is_over()) else { return Ok(false) };
    for (tag, value) in &header.tags {
        let mut remove = transaction.prepare_cached("DELETE FROM tags WHERE tag = ?1 AND value = ?2 AND run = ?3")?;
        remove.execute(params![tag, value, key])?;
    }
    let mut remove = transaction.prepare_cached("DELETE FROM runs WHERE key = ?1")?;
    is_written(remove.execute([key])?, "runs")?;
    drop(remove);
    transaction.forget_length(run);
    snapshots::remove(transaction, run)?;
    let mut left = transaction.prepare_cached("INSERT INTO leftovers (run, after) VALUES (?1, ?2)")?;
    is_written(left.execute([key, to_millis(core::after(header.updated, lease))])?, "leftovers")?;
    let mut number = transaction.prepare_cached(
        "INSERT INTO numbers (name, number) VALUES ('run', ?1)
         ON CONFLICT (name) DO UPDATE SET number = max(number, excluded.number)",
    )?;
    is_written(number.execute([key])?, "numbers")?;
    if let Some(until) = delete.ids_until {
        let mut keep = transaction.prepare_cached("INSERT OR REPLACE INTO deleted (id, until) VALUES (?1, ?2)")?;
        is_written(keep.execute(params![header.id, to_millis(until)])?, "deleted")?;
    }
    Ok(true)
}

fn free_ids(transaction: &Connection, now: SystemTime) -> Result<(), Trouble> {
    let mut free = transaction.prepare_cached("DELETE FROM deleted WHERE until <= ?1")?;
    free.execute([to_millis(now)])?;
    Ok(())
}

/// Until when the id of a deleted run is kept; `None` if it is free.
pub(super) fn deleted_until(
    transaction: &Connection,
    id: &str,
    now: SystemTime,
) -> Result<Option<SystemTime>, Trouble> {
    let mut kept = transaction.prepare_cached("SELECT until FROM deleted WHERE id = ?1 AND until > ?2")?;
    Ok(kept.query_row(params![id, to_millis(now)], |row| row.get(0)).optional()?.map(from_millis))
}

/// Whether records of deleted runs are left that may go now.
pub(super) fn are_left(connection: &Connection, now: SystemTime) -> Result<bool, Trouble> {
    let mut left = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM leftovers WHERE after <= ?1)")?;
    Ok(left.query_row([to_millis(now)], |row| row.get(0))?)
}

/// Removes some rows of records of deleted runs. Returns whether there may be more.
pub(super) fn sweep(transaction: &mut WriteTransaction<'_>, now: SystemTime) -> Result<bool, Trouble> {
    let mut next = transaction.prepare_cached("SELECT run FROM leftovers WHERE after <= ?1 LIMIT 1")?;
    let found = next.query_row([to_millis(now)], |row| row.get::<_, i64>(0)).optional()?;
    drop(next);
    let Some(run) = found else { return Ok(false) };
    let key = RunKey(from_integer(run));
    if !transaction.log().of_run(key).is_empty() {
        transaction.move_log()?;
    }
    let ids = rows_of(key);
    let mut remove = transaction.prepare_cached(
        "DELETE FROM journal WHERE id IN (SELECT id FROM journal WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3)",
    )?;
    let removed = remove.execute(params![ids.start, ids.end, ROWS])?;
    if removed < ROWS as usize {
        transaction.prepare_cached("DELETE FROM leftovers WHERE run = ?1")?.execute([run])?;
    }
    Ok(true)
}

/// How many batches of records are left of deleted runs.
pub(super) fn batches_left(connection: &Connection, log: &LogIndex) -> Result<u64, Trouble> {
    let mut runs = connection.prepare("SELECT run FROM leftovers")?;
    let runs = runs.query_map([], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    let mut select =
        connection.prepare("SELECT id, pos, time, records, checksum, body FROM journal WHERE id >= ?1 AND id < ?2")?;
    let mut left = 0;
    for run in runs {
        let key = RunKey(from_integer(run));
        let ids = rows_of(key);
        // Large ones are in the journal as well.
        left += log.of_run(key).iter().filter(|batch| !batch.is_large()).count();
        let mut rows = select.query([ids.start, ids.end])?;
        while let Some(row) = rows.next()? {
            left += batches_of(RecordRow::read(row)?)?.count();
        }
    }
    Ok(left as u64)
}

/// Returns some free pages to the file system. Returns whether there are more.
pub(super) fn return_pages(transaction: &Connection) -> Result<bool, Trouble> {
    let number = |pragma| transaction.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let (free, all) = (number("PRAGMA freelist_count")?, number("PRAGMA page_count")?);
    let spare = free - all / KEPT_FREE;
    if spare <= 0 {
        return Ok(false);
    }
    let mut vacuum = transaction.prepare(&format!("PRAGMA incremental_vacuum({})", spare.min(i64::from(PAGES))))?;
    let mut steps = vacuum.query([])?;
    while steps.next()?.is_some() {}
    Ok(spare > i64::from(PAGES) && number("PRAGMA freelist_count")? < free)
}
