//! Logs beside the runs. A position is the number of a row, which SQLite never gives again.

use rusqlite::{Connection, OptionalExtension, params};

use super::seal::Seal;
use super::times::{from_integer, from_millis, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::{LogAppended, LogEntry, LogTrim, NewLogEntry};

pub(super) fn append(transaction: &Connection, new: &NewLogEntry, body: &str) -> Result<LogAppended, Trouble> {
    let NewLogEntry { log, key, time, behind, .. } = new;
    let mut there = transaction.prepare_cached("SELECT pos FROM logs WHERE log = ?1 AND key = ?2")?;
    if let Some(position) = there.query_row([log, key], |row| row.get(0).map(from_integer)).optional()? {
        return Ok(LogAppended::Existing { position });
    }
    if let Some(behind) = behind {
        let mut end = transaction.prepare_cached("SELECT coalesce(max(pos), 0) FROM logs WHERE log = ?1")?;
        let end = end.query_row([log], |row| row.get(0).map(from_integer))?;
        if *behind != end {
            return Ok(LogAppended::Conflict { end });
        }
    }
    let time = to_millis(*time);
    let mut insert =
        transaction.prepare_cached("INSERT INTO logs (log, key, time, body, checksum) VALUES (?1, ?2, ?3, ?4, 0)")?;
    is_written(insert.execute(params![log, key, time, body])?, "logs")?;
    let position = transaction.last_insert_rowid();
    // The checksum is over the position too, which is known only now.
    let mut seal = transaction.prepare_cached("UPDATE logs SET checksum = ?2 WHERE pos = ?1")?;
    is_written(seal.execute([position, checksum(position, log, key, time, body)])?, "logs")?;
    Ok(LogAppended::Added { position: from_integer(position) })
}

pub(super) fn read(connection: &Connection, log: &str, after: u64, until: u64) -> Result<Vec<LogEntry>, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT pos, key, time, body, checksum FROM logs WHERE log = ?1 AND pos > ?2 AND pos <= ?3 ORDER BY pos",
    )?;
    let mut rows = select.query(params![log, to_integer(after), to_integer(until)])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let (position, key, time, body): (i64, String, i64, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let damaged = |what: String| Trouble::Damaged(format!("entry {position} of log `{log}` {what}"));
        if row.get::<_, i64>(4)? != checksum(position, log, &key, time, &body) {
            return Err(damaged("does not match its checksum".to_owned()));
        }
        let value = serde_json::from_str(&body).map_err(|error| damaged(format!("cannot be read: {error}")))?;
        entries.push(LogEntry { position: from_integer(position), key, value, time: from_millis(time) });
    }
    Ok(entries)
}

pub(super) fn list(connection: &Connection, prefix: &str) -> Result<Vec<String>, Trouble> {
    let mut select = connection.prepare_cached(
        "SELECT DISTINCT log FROM logs WHERE log >= ?1 AND substr(log, 1, length(?1)) = ?1 ORDER BY log",
    )?;
    Ok(select.query_map([prefix], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

pub(super) fn trim(transaction: &Connection, trim: &LogTrim, body: &str) -> Result<bool, Trouble> {
    let LogTrim { log, until, keep, .. } = trim;
    let until = to_integer(*until);
    let mut there = transaction.prepare_cached("SELECT key, time FROM logs WHERE log = ?1 AND pos = ?2")?;
    let there = there.query_row(params![log, until], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
    let Some((key, time)) = there.optional()? else { return Ok(false) };
    let mut replace = transaction.prepare_cached("UPDATE logs SET body = ?2, checksum = ?3 WHERE pos = ?1")?;
    is_written(replace.execute(params![until, body, checksum(until, log, &key, time, body)])?, "logs")?;
    let mut keep: Vec<i64> = keep.iter().map(|position| to_integer(*position)).filter(|kept| *kept < until).collect();
    keep.sort_unstable();
    let mut remove = transaction.prepare_cached("DELETE FROM logs WHERE log = ?1 AND pos > ?2 AND pos < ?3")?;
    let mut after = 0;
    for before in keep.into_iter().chain([until]) {
        remove.execute(params![log, after, before])?;
        after = before;
    }
    Ok(true)
}

pub(super) fn delete(transaction: &Connection, log: &str) -> Result<bool, Trouble> {
    Ok(transaction.prepare_cached("DELETE FROM logs WHERE log = ?1")?.execute([log])? > 0)
}

/// Checks every entry.
pub(super) fn check(connection: &Connection) -> Result<(), Trouble> {
    for log in list(connection, "")? {
        read(connection, &log, 0, u64::MAX)?;
    }
    Ok(())
}

fn checksum(position: i64, log: &str, key: &str, time: i64, body: &str) -> i64 {
    let seal = Seal::of(b'l').number(position).text(log.as_bytes()).text(key.as_bytes());
    seal.number(time).text(body.as_bytes()).finish()
}
