//! Snapshots of runs, the newest of each. A damaged one is an error for its reader, which does without it; so they are
//! no part of the check of a file.

use rusqlite::{OptionalExtension, params};

use super::seal::Seal;
use super::times::{from_integer, to_integer};
use super::trouble::{Trouble, is_written};
use super::write_transaction::WriteTransaction;
use crate::store::{RunKey, Snapshot};

pub(super) fn put(transaction: &WriteTransaction<'_>, run: RunKey, snapshot: &Snapshot) -> Result<(), Trouble> {
    if transaction.length(run)?.is_none_or(|length| length < snapshot.at) {
        return Ok(());
    }
    let (key, at) = (to_integer(run.0), to_integer(snapshot.at));
    let mut newer = transaction.prepare_cached("SELECT 1 FROM snapshots WHERE run = ?1 AND records > ?2")?;
    if newer.exists([key, at])? {
        return Ok(());
    }
    let mut put = transaction
        .prepare_cached("INSERT OR REPLACE INTO snapshots (run, records, state, checksum) VALUES (?1, ?2, ?3, ?4)")?;
    let checksum = of_snapshot(key, at, &snapshot.state);
    is_written(put.execute(params![key, at, snapshot.state, checksum])?, "snapshots")
}

pub(super) fn get(connection: &rusqlite::Connection, run: RunKey) -> Result<Option<Snapshot>, Trouble> {
    let key = to_integer(run.0);
    let mut select = connection.prepare_cached("SELECT records, state, checksum FROM snapshots WHERE run = ?1")?;
    let found =
        select.query_row([key], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, i64>(2)?)));
    let Some((at, state, checksum)) = found.optional()? else { return Ok(None) };
    if of_snapshot(key, at, &state) != checksum {
        return Err(Trouble::Damaged(format!("the snapshot of run number {key} does not match its checksum")));
    }
    Ok(Some(Snapshot { at: from_integer(at), state }))
}

/// The run is deleted.
pub(super) fn remove(transaction: &WriteTransaction<'_>, run: RunKey) -> Result<(), Trouble> {
    transaction.prepare_cached("DELETE FROM snapshots WHERE run = ?1")?.execute([to_integer(run.0)])?;
    Ok(())
}

fn of_snapshot(run: i64, at: i64, state: &[u8]) -> i64 {
    Seal::of(b's').number(run).number(at).text(state).finish()
}
