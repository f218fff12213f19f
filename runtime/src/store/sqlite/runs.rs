//! Adding runs and records.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};

use super::codec::EncodedRow;
use super::ends::Ends;
use super::read::{header_by_id, status_number, status_of};
use super::row::RunRow;
use super::schema::rows_of;
use super::seal;
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::{Appended, Created, Owner, RunKey, RunStatus};

/// A run that is to be added, encoded.
pub(super) struct EncodedRun {
    pub(super) id: String,
    pub(super) workflow: String,
    pub(super) owner: Option<Owner>,
    pub(super) graph: EncodedGraph,
    pub(super) forked_from: Option<(String, u64)>,
    pub(super) time: SystemTime,
    pub(super) rows: Vec<EncodedRow>,
}

/// A graph; without a body where the database is known to have it.
pub(super) struct EncodedGraph {
    pub(super) hash: u64,
    pub(super) body: Option<String>,
}

/// Records and changes to be added to a run, encoded.
pub(super) struct EncodedAppend {
    pub(super) run: RunKey,
    pub(super) at: u64,
    pub(super) time: SystemTime,
    pub(super) rows: Vec<EncodedRow>,
    pub(super) status: Option<(RunStatus, Option<SystemTime>)>,
    pub(super) graph: Option<EncodedGraph>,
    pub(super) owner: Option<Option<Owner>>,
    pub(super) nudge: bool,
}

impl EncodedAppend {
    /// How many there are.
    fn records(&self) -> u64 {
        self.rows.iter().map(|row| row.records).sum()
    }

    fn changes_header(&self) -> bool {
        self.status.is_some() || self.graph.is_some() || self.owner.is_some() || self.nudge
    }
}

pub(super) fn create(transaction: &Connection, run: &EncodedRun) -> Result<Created, Trouble> {
    if let Some(header) = header_by_id(transaction, &run.id)? {
        return Ok(Created::Existing(header));
    }
    let next = "SELECT coalesce(max(key), 0) + 1 FROM runs";
    let key: i64 = transaction.prepare_cached(next)?.query_row([], |row| row.get(0))?;
    let (forked_from, forked_at) = run.forked_from.clone().map(|(id, at)| (id, to_integer(at))).unzip();
    RunRow {
        key,
        id: run.id.clone(),
        workflow: run.workflow.clone(),
        status: status_number(RunStatus::Running),
        created: to_millis(run.time),
        updated: to_millis(run.time),
        owner: run.owner.map(|owner| to_integer(owner.0)),
        ready: ready(RunStatus::Running, None),
        graph: run.graph.hash.cast_signed(),
        nudged: 0,
        forked_from,
        forked_at,
        records: count(&run.rows),
    }
    .insert(transaction)?;
    insert_rows(transaction, rows_of(RunKey(from_integer(key))).start, run.time, &run.rows)?;
    insert_graph(transaction, &run.graph)?;
    let header = header_by_id(transaction, &run.id)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    Ok(Created::New(header))
}

pub(super) fn append(transaction: &Connection, batch: &EncodedAppend, ends: &mut Ends) -> Result<Appended, Trouble> {
    let mut at = rows_of(batch.run).start.saturating_add(to_integer(batch.at));
    let mut rows = &batch.rows[..];
    match rows.split_first() {
        Some((row, others)) if ends.have_been(batch.run, batch.at) => {
            if !insert_if_free(transaction, at, batch.time, row)? {
                return Ok(Appended::Conflict);
            }
            at += to_integer(row.records);
            rows = others;
        }
        _ if length(transaction, batch.run)? != Some(batch.at) => return Ok(Appended::Conflict),
        _ => {}
    }
    insert_rows(transaction, at, batch.time, rows)?;
    change_header(transaction, batch)?;
    ends.move_to(batch.run, batch.at + batch.records());
    Ok(Appended::Done)
}

/// Adds a single row to an existing journal, if the batch is one row without a change of the header. The statement is a
/// transaction by itself, and so much cheaper than one that has to be begun and ended.
pub(super) fn append_in_one_statement(
    connection: &Connection,
    batch: &EncodedAppend,
    ends: &mut Ends,
) -> Option<Result<Appended, Trouble>> {
    let [row] = &batch.rows[..] else { return None };
    if batch.at == 0 || batch.changes_header() {
        return None;
    }
    let added = if ends.have_been(batch.run, batch.at) {
        let first = rows_of(batch.run).start.saturating_add(to_integer(batch.at));
        insert_if_free(connection, first, batch.time, row)
    } else {
        insert_at_end(connection, batch, row)
    };
    Some(added.map(|added| {
        if !added {
            return Appended::Conflict;
        }
        ends.move_to(batch.run, batch.at + batch.records());
        Appended::Done
    }))
}

/// Adds a row at the end of the journal. Returns whether the journal ends there.
fn insert_at_end(connection: &Connection, batch: &EncodedAppend, row: &EncodedRow) -> Result<bool, Trouble> {
    let ids = rows_of(batch.run);
    let at = ids.start.saturating_add(to_integer(batch.at));
    let (time, records) = (to_millis(batch.time), to_integer(row.records));
    let checksum = seal::of_records(at, time, records, row.body.as_bytes());
    // If the journal ends elsewhere, `records` is NULL, which the table forbids, and the row is ignored.
    let added = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO journal (id, time, body, checksum, records) VALUES (?1, ?2, ?3, ?4, iif(
                 (SELECT id + records FROM journal WHERE id >= ?6 AND id < ?7 ORDER BY id DESC LIMIT 1) = ?1, ?5, NULL
             ))",
        )?
        .execute(params![at, time, row.body, checksum, records, ids.start, ids.end])?;
    if added == 0 && length(connection, batch.run)? == Some(batch.at) {
        return Err(Trouble::NotWritten("journal"));
    }
    Ok(added == 1)
}

/// Adds a row, if there is none of that number. Returns whether there was none.
fn insert_if_free(connection: &Connection, at: i64, time: SystemTime, row: &EncodedRow) -> Result<bool, Trouble> {
    let insert = "INSERT OR IGNORE INTO journal (id, time, records, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)";
    let added = insert_row(connection, insert, at, time, row)?;
    if added == 0 && !connection.prepare_cached("SELECT 1 FROM journal WHERE id = ?1")?.exists([at])? {
        return Err(Trouble::NotWritten("journal"));
    }
    Ok(added == 1)
}

fn insert_row(
    connection: &Connection,
    insert: &str,
    at: i64,
    time: SystemTime,
    row: &EncodedRow,
) -> Result<usize, Trouble> {
    let (time, records) = (to_millis(time), to_integer(row.records));
    let checksum = seal::of_records(at, time, records, row.body.as_bytes());
    Ok(connection.prepare_cached(insert)?.execute(params![at, time, records, row.body, checksum])?)
}

/// How many records a run has; `None` if there is no such run.
// Looking and then adding is cheaper than one statement that does both: SQLite would keep a copy of every page it
// touches, in order to undo that statement alone.
fn length(transaction: &Connection, run: RunKey) -> Result<Option<u64>, Trouble> {
    let ids = rows_of(run);
    let end = transaction
        .prepare_cached("SELECT id + records FROM journal WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1")?
        .query_row([ids.start, ids.end], |row| row.get::<_, i64>(0))
        .optional()?;
    if let Some(end) = end {
        return Ok(Some(from_integer(end - ids.start)));
    }
    let is_there = transaction.prepare_cached("SELECT 1 FROM runs WHERE key = ?1")?.exists([to_integer(run.0)])?;
    Ok(is_there.then_some(0))
}

fn change_header(transaction: &Connection, batch: &EncodedAppend) -> Result<(), Trouble> {
    if !batch.changes_header() {
        return Ok(());
    }
    let mut row = RunRow::expect(transaction, to_integer(batch.run.0))?;
    row.records = to_integer(batch.at).saturating_add(count(&batch.rows));
    if let Some((status, wake_at)) = batch.status {
        if row.status != status_number(status) {
            row.updated = to_millis(batch.time);
        }
        row.status = status_number(status);
        row.ready = ready(status, wake_at);
        // A run that is over has no owner.
        row.owner = row.owner.filter(|_| !status.is_over());
    }
    if let Some(graph) = &batch.graph {
        insert_graph(transaction, graph)?;
        row.graph = graph.hash.cast_signed();
    }
    if let Some(owner) = batch.owner {
        row.owner = owner.map(|owner| to_integer(owner.0));
    }
    if batch.nudge {
        row.nudged = 1;
        if status_of(row.status).is_some_and(RunStatus::is_suspended) {
            row.ready = ready(RunStatus::Sleeping, Some(batch.time));
        }
    }
    row.update(transaction)
}

fn count(rows: &[EncodedRow]) -> i64 {
    rows.iter().map(|row| to_integer(row.records)).sum()
}

pub(super) fn insert_rows(
    transaction: &Connection,
    mut at: i64,
    time: SystemTime,
    rows: &[EncodedRow],
) -> Result<(), Trouble> {
    let insert = "INSERT INTO journal (id, time, records, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)";
    for row in rows {
        is_written(insert_row(transaction, insert, at, time, row)?, "journal")?;
        at += to_integer(row.records);
    }
    Ok(())
}

fn insert_graph(transaction: &Connection, graph: &EncodedGraph) -> Result<(), Trouble> {
    let hash = graph.hash.cast_signed();
    let Some(body) = &graph.body else { return Ok(()) };
    let added = transaction
        .prepare_cached("INSERT INTO graphs (hash, body, checksum) VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING")?
        .execute(params![hash, body, seal::of_graph(hash, body.as_bytes())])?;
    if added == 0 && !transaction.prepare_cached("SELECT 1 FROM graphs WHERE hash = ?1")?.exists([hash])? {
        return Err(Trouble::NotWritten("graphs"));
    }
    Ok(())
}

/// When a run is ready: at once if it runs, at a time or only after an answer if it waits, never if it is over. Only a
/// run that runs has the time 0.
fn ready(status: RunStatus, wake_at: Option<SystemTime>) -> Option<i64> {
    match status {
        RunStatus::Running => Some(0),
        RunStatus::Waiting | RunStatus::Sleeping => wake_at.map(|at| to_millis(at).max(1)),
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => None,
    }
}
