//! Periodic tasks, each of which one owner has.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::owners;
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::{Owner, ReserveTask};

pub(super) fn reserve(transaction: &Connection, database: &Path, wanted: &ReserveTask) -> Result<bool, Trouble> {
    let ReserveTask { task, owner, until, now } = wanted;
    let mut select = transaction.prepare_cached("SELECT owner, until FROM tasks WHERE task = ?1")?;
    let found = select.query_row([task], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).optional()?;
    if let Some((by, until)) = found
        && by != to_integer(owner.0)
        && until > to_millis(*now)
        && owners::is_alive(transaction, database, Owner(from_integer(by)))?
    {
        return Ok(false);
    }
    let written = transaction
        .prepare_cached("INSERT OR REPLACE INTO tasks (task, owner, until) VALUES (?1, ?2, ?3)")?
        .execute(params![task, to_integer(owner.0), to_millis(*until)])?;
    is_written(written, "tasks")?;
    Ok(true)
}
