//! The row of a run, read whole and held against its checksum, changed, and written back.

use rusqlite::{Connection, Row, params};

use super::seal::Seal;
use super::trouble::{Trouble, is_written};

/// A row of `runs`, as it stands there.
#[derive(Clone, Debug)]
pub(super) struct RunRow {
    pub(super) key: i64,
    pub(super) id: String,
    pub(super) workflow: String,
    pub(super) status: i64,
    pub(super) created: i64,
    pub(super) updated: i64,
    pub(super) owner: Option<i64>,
    /// When it can go on.
    pub(super) ready: Option<i64>,
    pub(super) graph: i64,
    pub(super) nudged: i64,
    pub(super) forked_from: Option<String>,
    pub(super) forked_at: Option<i64>,
    /// How many records there were when this was written. There may be more, and never fewer.
    pub(super) records: i64,
}

/// In the order in which [`RunRow::read`] takes them.
pub(super) const COLUMNS: &str = "key, id, workflow, status, created, updated, owner, ready, graph, nudged, forked_from, \
                                  forked_at, records, checksum";

impl RunRow {
    /// The first columns of a row that holds [`COLUMNS`].
    pub(super) fn read(row: &Row<'_>) -> Result<RunRow, Trouble> {
        let read = RunRow {
            key: row.get(0)?,
            id: row.get(1)?,
            workflow: row.get(2)?,
            status: row.get(3)?,
            created: row.get(4)?,
            updated: row.get(5)?,
            owner: row.get(6)?,
            ready: row.get(7)?,
            graph: row.get(8)?,
            nudged: row.get(9)?,
            forked_from: row.get(10)?,
            forked_at: row.get(11)?,
            records: row.get(12)?,
        };
        if row.get::<_, i64>(13)? == read.checksum() {
            return Ok(read);
        }
        Err(Trouble::Damaged(format!("the header of run `{}` does not match its checksum", read.id)))
    }

    pub(super) fn find(connection: &Connection, key: i64) -> Result<Option<RunRow>, Trouble> {
        let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE key = ?1"))?;
        let mut rows = select.query([key])?;
        rows.next()?.map(RunRow::read).transpose()
    }

    /// As [`find`](Self::find), where an index says that it is there.
    pub(super) fn expect(connection: &Connection, key: i64) -> Result<RunRow, Trouble> {
        Self::find(connection, key)?
            .ok_or_else(|| Trouble::Damaged(format!("an index holds run number {key}, which is not there")))
    }

    /// Adds it.
    pub(super) fn insert(&self, transaction: &Connection) -> Result<(), Trouble> {
        let written = transaction
            .prepare_cached(&format!(
                "INSERT INTO runs ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
            ))?
            .execute(params![
                self.key,
                self.id,
                self.workflow,
                self.status,
                self.created,
                self.updated,
                self.owner,
                self.ready,
                self.graph,
                self.nudged,
                self.forked_from,
                self.forked_at,
                self.records,
                self.checksum(),
            ])?;
        is_written(written, "runs")
    }

    /// Writes what may have changed.
    pub(super) fn update(&self, transaction: &Connection) -> Result<(), Trouble> {
        let written = transaction
            .prepare_cached(
                "UPDATE runs SET status = ?2, updated = ?3, owner = ?4, ready = ?5, graph = ?6, nudged = ?7, records = ?8,
                     checksum = ?9
                 WHERE key = ?1",
            )?
            .execute(params![
                self.key,
                self.status,
                self.updated,
                self.owner,
                self.ready,
                self.graph,
                self.nudged,
                self.records,
                self.checksum(),
            ])?;
        is_written(written, "runs")
    }

    fn checksum(&self) -> i64 {
        Seal::of(b'r')
            .number(self.key)
            .text(self.id.as_bytes())
            .text(self.workflow.as_bytes())
            .number(self.status)
            .number(self.created)
            .number(self.updated)
            .perhaps(self.owner, Seal::number)
            .perhaps(self.ready, Seal::number)
            .number(self.graph)
            .number(self.nudged)
            .perhaps(self.forked_from.as_ref(), |seal, id| seal.text(id.as_bytes()))
            .perhaps(self.forked_at, Seal::number)
            .number(self.records)
            .finish()
    }
}
