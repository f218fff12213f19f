//! Adding runs and records.

use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};

use super::codec::EncodedRow;
use super::delete::deleted_until;
use super::ends::Ends;
use super::questions::EncodedQuestions;
use super::read::header_by_id;
use super::row::RunRow;
use super::schema::rows_of;
use super::seal;
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::{Appended, Created, HeaderChange, RunHeader, RunKey};

/// A run that is to be added, encoded.
pub(super) struct EncodedRun {
    /// Its header, but for its number.
    pub(super) header: RunHeader,
    pub(super) graph: EncodedGraph,
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
    pub(super) change: HeaderChange,
    pub(super) graph: Option<EncodedGraph>,
    pub(super) questions: Option<EncodedQuestions>,
}

impl EncodedAppend {
    /// How many there are.
    fn records(&self) -> u64 {
        self.rows.iter().map(|row| row.records).sum()
    }

    fn changes_header(&self) -> bool {
        let HeaderChange { status, graph, owner, nudge, questions: _ } = &self.change;
        status.is_some() || graph.is_some() || owner.is_some() || *nudge
    }

    /// Whether it is records and nothing else.
    fn is_plain(&self) -> bool {
        !self.changes_header() && self.questions.is_none()
    }
}

pub(super) fn create(transaction: &Connection, run: &EncodedRun) -> Result<Created, Trouble> {
    let EncodedRun { header, graph, rows } = run;
    if let Some(header) = header_by_id(transaction, &header.id)? {
        return Ok(Created::Existing(header));
    }
    if let Some(until) = deleted_until(transaction, &header.id, header.created)? {
        return Ok(Created::Deleted { until });
    }
    let next = "SELECT max(coalesce((SELECT max(key) FROM runs), 0),
                    coalesce((SELECT number FROM numbers WHERE name = 'run'), 0)) + 1";
    let key: i64 = transaction.prepare_cached(next)?.query_row([], |row| row.get(0))?;
    let new = RunHeader { key: RunKey(from_integer(key)), ..header.clone() };
    RunRow::of(&new, false)?.insert(transaction)?;
    for (tag, value) in &new.tags {
        let mut insert = transaction.prepare_cached("INSERT INTO tags (tag, value, run) VALUES (?1, ?2, ?3)")?;
        is_written(insert.execute(params![tag, value, key])?, "tags")?;
    }
    insert_rows(transaction, rows_of(new.key).start, header.created, rows)?;
    insert_graph(transaction, graph)?;
    let header = header_by_id(transaction, &header.id)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
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
    if let Some(questions) = &batch.questions {
        questions.write(transaction, batch.run)?;
    }
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
    if batch.at == 0 || !batch.is_plain() {
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
                 (SELECT id + records FROM journal WHERE id >= ?6 AND id < ?7 ORDER BY id DESC LIMIT 1) = ?1
                 AND EXISTS (SELECT 1 FROM runs WHERE key = ?1 >> 31), ?5, NULL
             ))",
        )?
        .execute(params![at, time, row.body, checksum, records, ids.start, ids.end])?;
    if added == 0 && length(connection, batch.run)? == Some(batch.at) {
        return Err(Trouble::NotWritten("journal"));
    }
    Ok(added == 1)
}

/// Adds a row, if there is none of that number. Returns whether there was none.
// Rows of a deleted run stay for as long as an engine may believe to own it, and refuse what that engine adds.
fn insert_if_free(connection: &Connection, at: i64, time: SystemTime, row: &EncodedRow) -> Result<bool, Trouble> {
    let insert = "INSERT OR IGNORE INTO journal (id, time, records, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)";
    let added = insert_row(connection, insert, at, time, row)?;
    if added == 0 && !connection.prepare_cached("SELECT 1 FROM journal WHERE id = ?1")?.exists([at])? {
        return Err(Trouble::NotWritten("journal"));
    }
    Ok(added == 1)
}

fn is_there(connection: &Connection, key: i64) -> Result<bool, Trouble> {
    Ok(connection.prepare_cached("SELECT 1 FROM runs WHERE key = ?1")?.exists([key])?)
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

/// How many records a run has; `None` if there is no such run, or no more.
// Looking and then adding is cheaper than one statement that does both: SQLite would keep a copy of every page it
// touches, in order to undo that statement alone.
fn length(transaction: &Connection, run: RunKey) -> Result<Option<u64>, Trouble> {
    let ids = rows_of(run);
    if !is_there(transaction, to_integer(run.0))? {
        return Ok(None);
    }
    let end = transaction
        .prepare_cached("SELECT id + records FROM journal WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1")?
        .query_row([ids.start, ids.end], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(Some(end.map_or(0, |end| from_integer(end - ids.start))))
}

fn change_header(transaction: &Connection, batch: &EncodedAppend) -> Result<(), Trouble> {
    if !batch.changes_header() {
        return Ok(());
    }
    let row = RunRow::expect(transaction, to_integer(batch.run.0))?;
    let is_nudged = row.nudged == 1 || batch.change.nudge;
    let mut header = row.header()?;
    header.records = batch.at;
    header.apply(&batch.change, batch.records(), batch.time);
    if let Some(graph) = &batch.graph {
        insert_graph(transaction, graph)?;
    }
    if header.status.is_over() {
        EncodedQuestions::none().write(transaction, batch.run)?;
    }
    RunRow::of(&header, is_nudged)?.update(transaction)
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
