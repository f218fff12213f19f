//! The row of a run: read whole, checked against its checksum, changed, and written back.

use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, params};

use super::seal::Seal;
use super::trouble::{Trouble, is_written};

/// A row of `runs`.
#[derive(Clone, Debug)]
pub(super) struct RunRow {
    pub(super) key: i64,
    pub(super) id: String,
    pub(super) workflow: String,
    pub(super) status: i64,
    pub(super) created: i64,
    pub(super) updated: i64,
    pub(super) owner: Option<i64>,
    /// When it is ready to resume.
    pub(super) ready: Option<i64>,
    pub(super) graph: i64,
    pub(super) nudged: i64,
    pub(super) forked_from: Option<String>,
    pub(super) forked_at: Option<i64>,
    /// How many records there were when this was written. There may be more, and never fewer.
    pub(super) records: i64,
}

/// The columns, in the order in which [`RunRow::read`] reads them.
pub(super) const COLUMNS: &str = "key, id, workflow, status, created, updated, owner, ready, graph, nudged, forked_from, \
                                  forked_at, records, checksum";

/// Each looks a run up in its index, and finds nothing else: in `runs_unfinished`, `runs_ready`, `runs_suspended`,
/// `runs_owner` and `runs_nudged`.
pub(super) const IS_IN: [&str; 5] = [
    "SELECT 1 FROM runs INDEXED BY runs_unfinished
     WHERE status IN (0, 1, 2) AND workflow = ?1 AND graph = ?2 AND key = ?3",
    "SELECT 1 FROM runs INDEXED BY runs_ready WHERE owner IS ?1 AND workflow = ?2 AND ready = ?3 AND key = ?4",
    "SELECT 1 FROM runs INDEXED BY runs_suspended
     WHERE owner IS ?1 AND workflow = ?2 AND updated = ?3 AND ready = ?4 AND ready > 0 AND key = ?5",
    "SELECT 1 FROM runs INDEXED BY runs_owner WHERE owner = ?1 AND key = ?2",
    "SELECT 1 FROM runs INDEXED BY runs_nudged WHERE nudged = 1 AND owner = ?1 AND key = ?2",
];

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

    /// As [`find`](Self::find), for a run that an index has. If it is missing, the index is damaged.
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

    /// Writes the columns that may have changed.
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

    /// Checks that an unfinished run is in the indexes by which it is found when it is ready: indexes have no
    /// checksums.
    pub(super) fn is_indexed(&self, connection: &Connection) -> Result<(), Trouble> {
        let RunRow { key, workflow, updated, owner, ready, graph, .. } = self;
        let [unfinished, at, suspended, owned, nudged] = IS_IN;
        let is_in = |query: &str, params: &[&dyn ToSql]| connection.prepare_cached(query)?.exists(params);
        let is_missing = !is_in(unfinished, &[workflow, graph, key])?
            || (ready.is_some() && !is_in(at, &[owner, workflow, ready, key])?)
            || (ready.is_some_and(|ready| ready > 0) && !is_in(suspended, &[owner, workflow, updated, ready, key])?)
            || (owner.is_some() && !is_in(owned, &[owner, key])?)
            || (owner.is_some() && self.nudged == 1 && !is_in(nudged, &[owner, key])?);
        match is_missing {
            true => Err(Trouble::Damaged(format!("run `{}` is missing from an index", self.id))),
            false => Ok(()),
        }
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
