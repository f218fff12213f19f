//! Checks that a file is whole.
//!
//! A row is checked against its checksum whenever it is read. The pages and the indexes around the rows have no
//! checksums: damage there could hide rows without an error. SQLite finds it by reading everything, which takes some
//! milliseconds for each megabyte. So a small file is checked when it is opened, and a large one only by
//! [`check`](super::SqliteStore::check).

use std::collections::HashSet;

use rusqlite::{Connection, params_from_iter};

use super::batches::{Batch, RecordRow};
use super::log_index::{self, LogIndex};
use super::owners::OwnerRow;
use super::read::graph;
use super::row::{COLUMNS, RunRow};
use super::run_rows::{self, RunRows};
use super::schema::{self, rows_of};
use super::times::from_integer;
use super::trouble::Trouble;
use super::{delete, logs, questions};
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
    let mut log = LogIndex::default();
    log.refresh(connection)?;
    let mut select = connection.prepare(&format!("SELECT {COLUMNS} FROM runs ORDER BY key"))?;
    let mut runs = select.query([])?;
    let mut graphs = HashSet::new();
    let mut seen = 0;
    while let Some(row) = runs.next()? {
        let run = RunRow::read(row)?;
        seen += records(connection, &log, &run)?;
        if graphs.insert(run.graph) {
            graph(connection, run.graph.cast_unsigned())?;
        }
    }
    questions::check(connection)?;
    logs::check(connection)?;
    OwnerRow::all(connection)?;
    seen += delete::batches_left(connection, &log)?;
    places(connection, &log)?;
    let all = batches(connection)?;
    if all == seen {
        return Ok(());
    }
    Err(Trouble::Damaged(format!("of its {all} batches of records, {} are those of no run", all.saturating_sub(seen))))
}

/// How many batches there are, of whatever runs.
fn batches(connection: &Connection) -> Result<u64, Trouble> {
    let tables = [
        "SELECT id, pos, time, records, checksum, body FROM journal",
        "SELECT id, pos, time, records, checksum, body FROM commit_log",
    ];
    let mut count = 0;
    for table in tables {
        let mut select = connection.prepare(table)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let batches = log_index::batches_of(RecordRow::read(row)?)?;
            // Large ones are in the journal already.
            count += batches.filter(|batch| !batch.is_large()).count() as u64;
        }
    }
    Ok(count)
}

/// Checks that batches which have been moved are before all others: a place that is given again would be passed over by
/// those who have read so far.
fn places(connection: &Connection, log: &LogIndex) -> Result<(), Trouble> {
    let positions = |query, params: &[i64]| {
        let mut select = connection.prepare(query)?;
        let found = select.query_map(params_from_iter(params), |row| row.get(0))?;
        found.collect::<Result<HashSet<i64>, _>>()
    };
    let in_log = log_index::positions(connection)?.start;
    let unmoved = positions("SELECT pos FROM journal WHERE pos >= ?1", &[in_log])?;
    let large: HashSet<i64> = log.all().filter(|batch| batch.is_large()).map(|batch| batch.position).collect();
    // A row with an index was made by a move, and is read by its end.
    let by_moves = positions("SELECT pos FROM journal WHERE substr(body, 1, 1) = '*'", &[])?;
    let moves = positions("SELECT last FROM moves", &[])?;
    // The index has only what is behind the moves.
    let unread = positions("SELECT pos FROM commit_log WHERE pos < ?1", &[in_log])?;
    let is_before = !unread.is_empty() || log.all().any(|batch| batch.position < in_log);
    match !unmoved.is_subset(&large) || !by_moves.is_subset(&moves) || is_before {
        true => Err(Trouble::Damaged("its commit log and its journal disagree on what was moved".to_owned())),
        false => Ok(()),
    }
}

/// Checks that the records of a run follow each other, and are as they were written. Returns the number of their batches.
fn records(connection: &Connection, log: &LogIndex, run: &RunRow) -> Result<u64, Trouble> {
    let key = RunKey(from_integer(run.key));
    let ids = rows_of(key);
    let mut select = run_rows::select(connection)?;
    let mut rows = RunRows::from(connection, &mut select, log, key, 0)?;
    let mut next = ids.start;
    let mut seen = 0;
    let mut check = |batch: Batch<'_>| {
        if !batch.is_sound() {
            let (seq, run) = (batch.id - ids.start, &run.id);
            return Err(Trouble::Damaged(format!("record {seq} of run `{run}` does not match its checksum")));
        }
        if batch.id != next {
            return Err(missing(run, next - ids.start));
        }
        next = batch.end();
        seen += 1;
        Ok(())
    };
    while rows.next(&mut check)? {}
    if next - ids.start < run.records { Err(missing(run, next - ids.start)) } else { Ok(seen) }
}

fn missing(run: &RunRow, seq: i64) -> Trouble {
    Trouble::Damaged(format!("record {seq} of run `{}` is not there", run.id))
}
