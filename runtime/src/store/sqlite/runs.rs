//! Adding runs and records.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};

use super::codec::EncodedRow;
use super::read::header_by_id;
use super::schema::rows_of;
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::Trouble;
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

/// What is to be added to a run, encoded.
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

pub(super) fn create(transaction: &Connection, run: &EncodedRun) -> Result<Created, Trouble> {
    let (forked_from, forked_at) = run.forked_from.as_ref().map(|(id, at)| (id, to_integer(*at))).unzip();
    let added = transaction
        .prepare_cached(
            "INSERT INTO runs (id, workflow, status, created, updated, owner, ready, graph, nudged, forked_from, forked_at)
             VALUES (?1, ?2, ?3, ?4, ?4, ?5, 0, ?6, 0, ?7, ?8)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            run.id,
            run.workflow,
            status_number(RunStatus::Running),
            to_millis(run.time),
            run.owner.map(|owner| to_integer(owner.0)),
            run.graph.hash.cast_signed(),
            forked_from,
            forked_at,
        ])?;
    if added == 1 {
        let key = RunKey(from_integer(transaction.last_insert_rowid()));
        insert_rows(transaction, rows_of(key).start, run.time, &run.rows)?;
        insert_graph(transaction, &run.graph)?;
    }
    let header = header_by_id(transaction, &run.id)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    Ok(if added == 1 { Created::New(header) } else { Created::Existing(header) })
}

pub(super) fn append(transaction: &Connection, batch: &EncodedAppend) -> Result<Appended, Trouble> {
    if length(transaction, batch.run)? != Some(batch.at) {
        return Ok(Appended::Conflict);
    }
    let first = rows_of(batch.run).start.saturating_add(to_integer(batch.at));
    insert_rows(transaction, first, batch.time, &batch.rows)?;
    change_header(transaction, batch)?;
    Ok(Appended::Done)
}

/// Adds a single row to a journal that is there, without a change of the header, where that is what is wanted: a transaction
/// by itself, and so a good deal cheaper than one that has to be begun and ended.
pub(super) fn append_in_one_statement(
    connection: &Connection,
    batch: &EncodedAppend,
) -> Option<Result<Appended, Trouble>> {
    let [row] = &batch.rows[..] else { return None };
    if batch.at == 0 || batch.status.is_some() || batch.graph.is_some() || batch.owner.is_some() || batch.nudge {
        return None;
    }
    let ids = rows_of(batch.run);
    let at = ids.start.saturating_add(to_integer(batch.at));
    let add = || {
        // Where the journal ends elsewhere, `records` is nothing, which it must not be, and the row is passed over.
        let added = connection
            .prepare_cached(
                "INSERT OR IGNORE INTO journal (id, time, body, records) VALUES (?1, ?2, ?3, iif(
                     (SELECT id + records FROM journal WHERE id >= ?5 AND id < ?6 ORDER BY id DESC LIMIT 1) = ?1, ?4, NULL
                 ))",
            )?
            .execute(params![at, to_millis(batch.time), row.body, to_integer(row.records), ids.start, ids.end])?;
        Ok(if added == 1 { Appended::Done } else { Appended::Conflict })
    };
    Some(add())
}

/// How many records a run has; none where there is no such run.
// Looking and then adding is cheaper than one statement that does both: SQLite would keep a copy of every page it touches,
// in order to undo that statement alone.
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
    let key = to_integer(batch.run.0);
    if let Some((status, wake_at)) = batch.status {
        // A run that is over belongs to nobody.
        transaction
            .prepare_cached(
                "UPDATE runs SET
                     updated = iif(status = ?2, updated, ?4), status = ?2, ready = ?3, owner = iif(?5, NULL, owner)
                 WHERE key = ?1",
            )?
            .execute(params![
                key,
                status_number(status),
                ready(status, wake_at),
                to_millis(batch.time),
                status.is_over()
            ])?;
    }
    if let Some(graph) = &batch.graph {
        insert_graph(transaction, graph)?;
        transaction
            .prepare_cached("UPDATE runs SET graph = ?2 WHERE key = ?1")?
            .execute(params![key, graph.hash.cast_signed()])?;
    }
    if let Some(owner) = batch.owner {
        let owner = owner.map(|owner| to_integer(owner.0));
        transaction.prepare_cached("UPDATE runs SET owner = ?2 WHERE key = ?1")?.execute(params![key, owner])?;
    }
    if batch.nudge {
        transaction
            .prepare_cached("UPDATE runs SET nudged = 1, ready = iif(status = ?2, ?3, ready) WHERE key = ?1")?
            .execute(params![key, status_number(RunStatus::Waiting), to_millis(batch.time)])?;
    }
    Ok(())
}

pub(super) fn insert_rows(
    transaction: &Connection,
    mut at: i64,
    time: SystemTime,
    rows: &[EncodedRow],
) -> Result<(), Trouble> {
    for row in rows {
        transaction
            .prepare_cached("INSERT INTO journal (id, time, records, body) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![at, to_millis(time), to_integer(row.records), row.body])?;
        at += to_integer(row.records);
    }
    Ok(())
}

fn insert_graph(transaction: &Connection, graph: &EncodedGraph) -> Result<(), Trouble> {
    if let Some(body) = &graph.body {
        transaction
            .prepare_cached("INSERT INTO graphs (hash, body) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING")?
            .execute(params![graph.hash.cast_signed(), body])?;
    }
    Ok(())
}

/// When a run can go on: always where it runs, at a time or not by itself where it waits, never when it is over.
fn ready(status: RunStatus, wake_at: Option<SystemTime>) -> Option<i64> {
    match status {
        RunStatus::Running => Some(0),
        RunStatus::Waiting => wake_at.map(to_millis),
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => None,
    }
}

/// As it stands in the file; a number is never given another meaning.
pub(super) fn status_number(status: RunStatus) -> i64 {
    match status {
        RunStatus::Running => 0,
        RunStatus::Waiting => 1,
        RunStatus::Completed => 2,
        RunStatus::Failed => 3,
        RunStatus::Cancelled => 4,
    }
}

/// The other way; nothing for a number that this version does not know.
pub(super) fn status_of(number: i64) -> Option<RunStatus> {
    [RunStatus::Running, RunStatus::Waiting, RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled]
        .into_iter()
        .find(|status| status_number(*status) == number)
}
