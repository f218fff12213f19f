//! Checks that a file is whole.
//!
//! A row is checked against its checksum whenever it is read. The pages and the indexes around the rows have no
//! checksums: damage there could hide rows without an error. SQLite finds it by reading everything, which takes some
//! milliseconds for each megabyte. So a small file is checked when it is opened, and a large one only by
//! [`check`](super::SqliteStore::check).

use std::collections::HashSet;

use rusqlite::Connection;

use super::owners::OwnerRow;
use super::read::graph;
use super::row::{COLUMNS, RunRow};
use super::schema::{self, rows_of};
use super::seal;
use super::times::from_integer;
use super::trouble::Trouble;
use super::{delete, questions};
use crate::store::RunKey;

/// Files up to this length are checked when they are opened and when their log was copied back, in bytes.
pub(super) const SMALL: u64 = 1 << 20;

/// The check that is made whenever a file is opened.
pub(super) fn on_opening(connection: &Connection) -> Result<(), Trouble> {
    if wanted_length(connection)? <= SMALL { whole(connection) } else { schema_is_ours(connection) }
}

/// The length of the file once its log is copied back. The log may be longer than that: it has each version of a page.
pub(super) fn wanted_length(connection: &Connection) -> Result<u64, Trouble> {
    let number = |pragma| connection.query_row(pragma, [], |row| row.get(0).map(from_integer));
    Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
}

/// Checks everything: the structure of the file, and every row.
pub(super) fn whole(connection: &Connection) -> Result<(), Trouble> {
    // One transaction, so that all reads see the same moment: other processes may write meanwhile.
    let moment = connection.unchecked_transaction()?;
    schema_is_ours(&moment)?;
    structure(&moment)?;
    rows(&moment)
}

/// Checks the schema: a changed letter in a statement could give a table another meaning.
fn schema_is_ours(connection: &Connection) -> Result<(), Trouble> {
    let mut select = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let found = select.query_map([], |row| row.get(0))?.collect::<Result<HashSet<String>, _>>()?;
    match schema::statements().find(|statement| !found.contains(*statement)) {
        Some(statement) => {
            let name = statement.split(" (").next().unwrap_or(statement);
            Err(Trouble::Damaged(format!("its schema is not as it was written, at `{name}`")))
        }
        None => Ok(()),
    }
}

pub(super) fn structure(connection: &Connection) -> Result<(), Trouble> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(Trouble::Damaged(found.replace('\n', ", "))) }
}

/// Checks that every row is as it was written, and that every record belongs to a run.
fn rows(connection: &Connection) -> Result<(), Trouble> {
    let mut select = connection.prepare(&format!("SELECT {COLUMNS} FROM runs ORDER BY key"))?;
    let mut runs = select.query([])?;
    let mut graphs = HashSet::new();
    let mut seen = 0;
    while let Some(row) = runs.next()? {
        let run = RunRow::read(row)?;
        seen += records(connection, &run)?;
        if graphs.insert(run.graph) {
            graph(connection, run.graph.cast_unsigned())?;
        }
    }
    questions::check(connection)?;
    OwnerRow::all(connection)?;
    seen += delete::rows_left(connection)?;
    let all: u64 = connection.query_row("SELECT count(*) FROM journal", [], |row| row.get(0).map(from_integer))?;
    if all == seen {
        return Ok(());
    }
    Err(Trouble::Damaged(format!("of its {all} rows of records, {} are those of no run", all.saturating_sub(seen))))
}

/// Checks that the records of a run follow each other, and are as they were written. Returns the number of their rows.
fn records(connection: &Connection, run: &RunRow) -> Result<u64, Trouble> {
    let ids = rows_of(RunKey(from_integer(run.key)));
    let mut select = connection.prepare_cached(
        "SELECT id, time, records, body, checksum FROM journal WHERE id >= ?1 AND id < ?2 ORDER BY id",
    )?;
    let mut rows = select.query([ids.start, ids.end])?;
    let mut next = ids.start;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        let (id, time, records): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let body = row.get_ref(3)?.as_bytes().map_err(rusqlite::Error::from)?;
        if row.get::<_, i64>(4)? != seal::of_records(id, time, records, body) {
            let (seq, run) = (id - ids.start, &run.id);
            return Err(Trouble::Damaged(format!("record {seq} of run `{run}` does not match its checksum")));
        }
        if id != next {
            return Err(missing(run, next - ids.start));
        }
        next += records;
        seen += 1;
    }
    if next - ids.start < run.records { Err(missing(run, next - ids.start)) } else { Ok(seen) }
}

fn missing(run: &RunRow, seq: i64) -> Trouble {
    Trouble::Damaged(format!("record {seq} of run `{}` is not there", run.id))
}
