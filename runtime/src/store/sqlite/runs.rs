//! Adding runs and records.

use std::time::SystemTime;

use rusqlite::{Connection, params};

use super::codec::EncodedRow;
use super::delete::deleted_until;
use super::kept_read;
use super::questions::EncodedQuestions;
use super::read::header_by_id;
use super::row::RunRow;
use super::schema::LAST_RUN;
use super::seal;
use super::times::{from_integer, to_integer};
use super::trouble::{Trouble, is_written};
use super::write_transaction::{Journals, WriteTransaction, add_row_alone};
use crate::store::{Appended, Created, HeaderChange, RunHeader, RunKey, StartedOver, StoreError};

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
    /// The new graph of the run, and those of children.
    pub(super) graphs: Vec<EncodedGraph>,
    pub(super) questions: Option<EncodedQuestions>,
}

impl EncodedAppend {
    /// How many there are.
    fn records(&self) -> u64 {
        self.rows.iter().map(|row| row.records).sum()
    }

    fn changes_header(&self) -> bool {
        let HeaderChange { status, graph, child_graphs: _, owner, nudge, questions: _, next } = &self.change;
        status.is_some() || graph.is_some() || owner.is_some() || *nudge || next.is_some()
    }

    /// Whether it is a single row for an existing journal, and nothing else.
    pub(super) fn is_one_row(&self) -> bool {
        self.rows.len() == 1
            && self.at > 0
            && !self.changes_header()
            && self.questions.is_none()
            && self.graphs.is_empty()
    }
}

/// Adds a run. The inner error refuses only this one: what else is in the transaction is not undone.
pub(super) fn create(
    transaction: &mut WriteTransaction<'_>,
    run: &EncodedRun,
) -> Result<Result<Created, StoreError>, Trouble> {
    if let Some(header) = header_by_id(transaction, transaction.log(), &run.header.id)? {
        return Ok(Ok(Created::Existing(header)));
    }
    if let Some(until) = deleted_until(transaction, &run.header.id, run.header.created)? {
        return Ok(Ok(Created::Deleted { until }));
    }
    match next_run(transaction, &run.header.id)? {
        Ok(key) => add(transaction, run, key).map(|header| Ok(Created::New(header))),
        Err(error) => Ok(Err(error)),
    }
}

/// Adds records that end a run, and the run that follows it. A refusal, and the inner error, change nothing: what else is
/// in the transaction is not undone.
pub(super) fn start_over(
    transaction: &mut WriteTransaction<'_>,
    end: &EncodedAppend,
    next: &EncodedRun,
) -> Result<Result<StartedOver, StoreError>, Trouble> {
    if transaction.length(end.run)? != Some(end.at) {
        return Ok(Ok(StartedOver::Conflict));
    }
    if header_by_id(transaction, transaction.log(), &next.header.id)?.is_some() {
        return Ok(Ok(StartedOver::Existing));
    }
    if let Some(until) = deleted_until(transaction, &next.header.id, next.header.created)? {
        return Ok(Ok(StartedOver::Deleted { until }));
    }
    let key = match next_run(transaction, &next.header.id)? {
        Ok(key) => key,
        Err(error) => return Ok(Err(error)),
    };
    append(transaction, end)?;
    add(transaction, next, key).map(|header| Ok(StartedOver::Done(Box::new(header))))
}

/// The number of the next run, which has this id. The inner error: the file can give no more.
fn next_run(transaction: &Connection, id: &str) -> Result<Result<i64, StoreError>, Trouble> {
    let next = "SELECT max(coalesce((SELECT max(key) FROM runs), 0),
                    coalesce((SELECT number FROM numbers WHERE name = 'run'), 0)) + 1";
    let key: i64 = transaction.prepare_cached(next)?.query_row([], |row| row.get(0))?;
    if key > LAST_RUN {
        let message = format!(
            "run `{id}` was not added: the file has given all {LAST_RUN} numbers of runs that it can give; start new runs in \
             another file"
        );
        return Ok(Err(StoreError::Other { message }));
    }
    Ok(Ok(key))
}

/// Adds a run whose id is free.
fn add(transaction: &mut WriteTransaction<'_>, run: &EncodedRun, key: i64) -> Result<RunHeader, Trouble> {
    let EncodedRun { header, graph, rows } = run;
    let new = RunHeader { key: RunKey(from_integer(key)), ..header.clone() };
    let row = RunRow::of(&new, false)?;
    row.insert(transaction)?;
    for (tag, value) in &new.tags {
        let mut insert = transaction.prepare_cached("INSERT INTO tags (tag, value, run) VALUES (?1, ?2, ?3)")?;
        is_written(insert.execute(params![tag, value, key])?, "tags")?;
    }
    transaction.add_rows(new.key, 0, header.created, rows)?;
    insert_graph(transaction, graph)?;
    // As it is in the file.
    row.header()
}

pub(super) fn append(transaction: &mut WriteTransaction<'_>, batch: &EncodedAppend) -> Result<Appended, Trouble> {
    if transaction.length(batch.run)? != Some(batch.at) {
        return Ok(Appended::Conflict);
    }
    transaction.add_rows(batch.run, batch.at, batch.time, &batch.rows)?;
    change_header(transaction, batch)?;
    if let Some(questions) = &batch.questions {
        questions.write(transaction, batch.run)?;
    }
    Ok(Appended::Done)
}

/// Adds a single row to an existing journal, if the batch is one row without a change of the header. The statement is a
/// transaction by itself, and so much cheaper than one that has to be begun and ended. `None` if it is not enough.
pub(super) fn append_in_one_statement(
    connection: &Connection,
    journals: &mut Journals,
    batch: &EncodedAppend,
    kept: kept_read::State,
) -> Option<Result<Appended, Trouble>> {
    let row = batch.rows.first().filter(|_| batch.is_one_row())?;
    match add_row_alone(connection, journals, batch.run, batch.at, batch.time, row, kept) {
        Ok(true) => Some(Ok(Appended::Done)),
        Ok(false) => None,
        Err(trouble) => Some(Err(trouble)),
    }
}

fn change_header(transaction: &Connection, batch: &EncodedAppend) -> Result<(), Trouble> {
    for graph in &batch.graphs {
        insert_graph(transaction, graph)?;
    }
    if !batch.changes_header() {
        return Ok(());
    }
    let row = RunRow::expect(transaction, to_integer(batch.run.0))?;
    let is_nudged = row.nudged == 1 || batch.change.nudge;
    let mut header = row.header()?;
    header.records = batch.at;
    header.apply(&batch.change, batch.records(), batch.time);
    if header.status.is_over() {
        EncodedQuestions::none().write(transaction, batch.run)?;
    }
    RunRow::of(&header, is_nudged)?.update(transaction)
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
