//! The row of a run: read whole, checked against its checksum, changed, and written back.

use std::time::SystemTime;

use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, params};

use super::seal::Seal;
use super::times::{from_integer, from_millis, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::{OnClose, Owner, RunHeader, RunKey, RunStatus, StartedBy, Tags};

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
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
    /// The run of the node that has started it.
    pub(super) started_by: Option<String>,
    /// The path of the request.
    pub(super) started_at: Option<String>,
    pub(super) on_close: Option<i64>,
    /// As JSON; none if there are none.
    pub(super) tags: Option<String>,
    /// How many records there were when this was written. There may be more, and never fewer.
    pub(super) records: i64,
}

/// The columns, in the order in which [`RunRow::read`] reads them.
pub(super) const COLUMNS: &str = "key, id, workflow, status, created, updated, owner, ready, graph, nudged, forked_from, \
                                  forked_at, previous, next, started_by, started_at, on_close, tags, records, checksum";

/// How many columns those are.
pub(super) const COLUMNS_COUNT: usize = 20;

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
            previous: row.get(12)?,
            next: row.get(13)?,
            started_by: row.get(14)?,
            started_at: row.get(15)?,
            on_close: row.get(16)?,
            tags: row.get(17)?,
            records: row.get(18)?,
        };
        if row.get::<_, i64>(19)? == read.checksum() {
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
                "INSERT INTO runs ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
                     ?16, ?17, ?18, ?19, ?20)"
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
                self.previous,
                self.next,
                self.started_by,
                self.started_at,
                self.on_close,
                self.tags,
                self.records,
                self.checksum(),
            ])?;
        is_written(written, "runs")
    }

    /// Writes the columns that may have changed.
    pub(super) fn update(&self, transaction: &Connection) -> Result<(), Trouble> {
        let written = transaction
            .prepare_cached(
                "UPDATE runs SET status = ?2, updated = ?3, owner = ?4, ready = ?5, graph = ?6, nudged = ?7, next = ?8,
                     records = ?9, checksum = ?10
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
                self.next,
                self.records,
                self.checksum(),
            ])?;
        is_written(written, "runs")
    }

    /// The header, with as many records as there were when this was written.
    pub(super) fn header(self) -> Result<RunHeader, Trouble> {
        let damaged = |what: String| Trouble::Damaged(format!("run `{}` {what}", self.id));
        let status =
            status_of(self.status).ok_or_else(|| damaged(format!("has the unknown status {}", self.status)))?;
        let tags = self.tags.as_deref().map_or(Ok(Tags::new()), serde_json::from_str);
        let tags = tags.map_err(|error| damaged(format!("has tags that cannot be read: {error}")))?;
        let forked_at = from_integer(self.forked_at.unwrap_or(0));
        let started_by = match (&self.started_by, &self.started_at, self.on_close) {
            (Some(run), Some(path), Some(number)) => {
                let on_close = on_close_of(number);
                let on_close = on_close.ok_or_else(|| damaged(format!("has the unknown end of a link {number}")))?;
                Some(StartedBy::new(run, path, on_close))
            }
            _ => None,
        };
        Ok(RunHeader {
            key: RunKey(from_integer(self.key)),
            id: self.id,
            workflow: self.workflow,
            status,
            created: from_millis(self.created),
            updated: from_millis(self.updated),
            owner: self.owner.map(|owner| Owner(from_integer(owner))),
            wake_at: self.ready.filter(|_| status.is_suspended()).map(from_millis),
            graph: self.graph.cast_unsigned(),
            forked_from: self.forked_from.map(|id| (id, forked_at)),
            previous: self.previous,
            next: self.next,
            started_by,
            tags,
            records: from_integer(self.records),
        })
    }

    /// The row of a header.
    pub(super) fn of(header: &RunHeader, nudged: bool) -> Result<RunRow, Trouble> {
        let tags = if header.tags.is_empty() { None } else { Some(serde_json::to_string(&header.tags)) };
        let (forked_from, forked_at) = header.forked_from.clone().map(|(id, at)| (id, to_integer(at))).unzip();
        Ok(RunRow {
            key: to_integer(header.key.0),
            id: header.id.clone(),
            workflow: header.workflow.clone(),
            status: status_number(header.status),
            created: to_millis(header.created),
            updated: to_millis(header.updated),
            owner: header.owner.map(|owner| to_integer(owner.0)),
            ready: ready(header.status, header.wake_at),
            graph: header.graph.cast_signed(),
            nudged: i64::from(nudged),
            forked_from,
            forked_at,
            previous: header.previous.clone(),
            next: header.next.clone(),
            started_by: header.started_by.as_ref().map(|by| by.run.clone()),
            started_at: header.started_by.as_ref().map(|by| by.path.clone()),
            on_close: header.started_by.as_ref().map(|by| on_close_number(by.on_close)),
            tags: tags.transpose().map_err(std::io::Error::from)?,
            records: to_integer(header.records),
        })
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
            .perhaps(self.previous.as_ref(), |seal, id| seal.text(id.as_bytes()))
            .perhaps(self.next.as_ref(), |seal, id| seal.text(id.as_bytes()))
            .perhaps(self.started_by.as_ref(), |seal, id| seal.text(id.as_bytes()))
            .perhaps(self.started_at.as_ref(), |seal, path| seal.text(path.as_bytes()))
            .perhaps(self.on_close, Seal::number)
            .perhaps(self.tags.as_ref(), |seal, tags| seal.text(tags.as_bytes()))
            .number(self.records)
            .finish()
    }
}

/// When a run is ready: at once if it runs, at a time or only after an answer if it waits, never if it is over. Only a
/// run that runs has the time 0.
fn ready(status: RunStatus, wake_at: Option<SystemTime>) -> Option<i64> {
    match status {
        RunStatus::Running => Some(0),
        RunStatus::Waiting | RunStatus::Sleeping => wake_at.map(|at| to_millis(at).max(1)),
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled | RunStatus::StartedOver => None,
    }
}

/// The number of a status in the file; a number never gets another meaning.
pub(super) fn status_number(status: RunStatus) -> i64 {
    match status {
        RunStatus::Running => 0,
        RunStatus::Waiting => 1,
        RunStatus::Sleeping => 2,
        RunStatus::Completed => 3,
        RunStatus::Failed => 4,
        RunStatus::Cancelled => 5,
        RunStatus::StartedOver => 6,
    }
}

/// The status of a number; `None` for a number that this version does not know.
pub(super) fn status_of(number: i64) -> Option<RunStatus> {
    let all = [
        RunStatus::Running,
        RunStatus::Waiting,
        RunStatus::Sleeping,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Cancelled,
        RunStatus::StartedOver,
    ];
    all.into_iter().find(|status| status_number(*status) == number)
}

/// The number of what becomes of a run in the file; a number never gets another meaning.
fn on_close_number(on_close: OnClose) -> i64 {
    match on_close {
        OnClose::Leave => 0,
        OnClose::Cancel => 1,
        OnClose::Wait => 2,
    }
}

/// What a number means; `None` for one that this version does not know.
fn on_close_of(number: i64) -> Option<OnClose> {
    [OnClose::Leave, OnClose::Cancel, OnClose::Wait].into_iter().find(|on_close| on_close_number(*on_close) == number)
}
