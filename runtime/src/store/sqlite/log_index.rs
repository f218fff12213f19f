//! What the commit log has, in memory.
//!
//! The commit log has no index in the file: each row of it would dirty a page of that index. So a connection keeps one
//! itself, and before it uses it, it reads what has been added to the log since. Positions only grow, and a move empties
//! the log up to a position that is recorded with it. With these two a connection also notices what others have done.

use std::ops::Range;

use foldhash::HashMap;
use rusqlite::Connection;

use super::batches::{Batch, Batches, RecordRow};
use super::schema::{rows_of, run_of};
use super::times::{from_integer, to_integer};
use super::trouble::Trouble;
use super::unmoved::Unmoved;
use crate::store::RunKey;

/// A batch in the commit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    pub(super) position: i64,
    /// What its id is in the journal: the run, and the number of its first record.
    pub(super) id: i64,
    pub(super) records: i64,
    /// The length of its body; 0 if it is large, and in the journal already.
    pub(super) bytes: i64,
}

impl From<&Batch<'_>> for Logged {
    fn from(batch: &Batch<'_>) -> Self {
        let Batch { id, position, records, body, .. } = *batch;
        Logged { position, id, records, bytes: to_integer(body.len() as u64) }
    }
}

impl Logged {
    pub(super) fn is_large(&self) -> bool {
        self.bytes == 0
    }
}

/// The batches of the commit log, for each run in the order in which they were added.
#[derive(Default)]
pub(super) struct LogIndex {
    /// The last position that was given.
    last: i64,
    /// The last position of the batches that have been moved to the journal.
    moved: i64,
    runs: HashMap<i64, Vec<Logged>>,
    batches: usize,
    bytes: i64,
    /// What a move writes. Only the writer moves them.
    unmoved: Option<Unmoved>,
}

/// What a connection did not know before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Runs to which others have added batches, once for each batch.
    pub(super) runs: Vec<i64>,
    /// Whether batches have been added and moved meanwhile, to which no run is known.
    pub(super) has_missed_some: bool,
}

impl LogIndex {
    /// That of a connection that moves the log.
    pub(super) fn of_writer() -> Self {
        LogIndex { unmoved: Some(Unmoved::default()), ..LogIndex::default() }
    }

    /// One that knows nothing yet, of the same connection.
    fn anew(&self) -> Self {
        LogIndex { unmoved: self.unmoved.as_ref().map(|_| Unmoved::default()), ..LogIndex::default() }
    }

    /// Reads what has changed in the log. Needs a transaction, to which the index belongs afterwards.
    pub(super) fn refresh(&mut self, transaction: &Connection) -> Result<News, Trouble> {
        let refreshed = self.try_to_refresh(transaction);
        if refreshed.is_err() {
            *self = self.anew();
        }
        refreshed
    }

    fn try_to_refresh(&mut self, transaction: &Connection) -> Result<News, Trouble> {
        let (in_log, moved) = ends(transaction)?;
        let last = in_log.max(moved);
        if last < self.last || moved < self.moved {
            // Neither gets smaller, unless another program changes the file.
            *self = self.anew();
        }
        let mut news = News { runs: Vec::new(), has_missed_some: moved > self.last };
        if moved > self.moved {
            if moved < self.last && self.unmoved.is_some() {
                // Some of what it has sorted was moved by another connection, and some was not.
                *self = LogIndex { last: moved, ..self.anew() };
            }
            self.moved_up_to(moved);
        }
        if last > self.last {
            let mut select = transaction.prepare_cached(
                "SELECT id, pos, time, records, checksum, body FROM commit_log WHERE pos > ?1 ORDER BY pos",
            )?;
            let mut rows = select.query([self.last])?;
            while let Some(row) = rows.next()? {
                for batch in batches_of(RecordRow::read(row)?)? {
                    news.runs.push(run_of(batch.id));
                    self.add(&batch);
                }
                self.add_row();
            }
            self.last = last;
        }
        Ok(news)
    }

    /// The next position.
    pub(super) fn next(&self) -> i64 {
        self.last + 1
    }

    pub(super) fn add(&mut self, batch: &Batch<'_>) {
        if let Some(unmoved) = &mut self.unmoved {
            unmoved.add(batch);
        }
        let batch = Logged::from(batch);
        self.last = batch.position;
        self.batches += 1;
        self.bytes = self.bytes.saturating_add(batch.bytes);
        self.runs.entry(run_of(batch.id)).or_default().push(batch);
    }

    /// The log has another row, with batches that were added.
    pub(super) fn add_row(&mut self) {
        if let Some(unmoved) = &mut self.unmoved {
            unmoved.add_row();
        }
    }

    /// What a move writes, of which nothing is known from here on: after it, the log is empty.
    pub(super) fn take_unmoved(&mut self) -> Unmoved {
        self.unmoved.replace(Unmoved::default()).unwrap_or_default()
    }

    /// The batches up to this position are in the journal, and no longer in the log.
    pub(super) fn moved_up_to(&mut self, position: i64) {
        self.moved = position;
        if self.last <= position {
            self.last = position;
            self.runs.clear();
            (self.batches, self.bytes) = (0, 0);
            self.unmoved = self.unmoved.take().map(|_| Unmoved::default());
            return;
        }
        let (mut batches, mut bytes) = (0, 0_i64);
        self.runs.retain(|_, of_run| {
            of_run.retain(|batch| batch.position > position);
            batches += of_run.len();
            bytes = of_run.iter().fold(bytes, |bytes, batch| bytes.saturating_add(batch.bytes));
            !of_run.is_empty()
        });
        (self.batches, self.bytes) = (batches, bytes);
    }

    /// How many batches the log has.
    pub(super) fn batches(&self) -> usize {
        self.batches
    }

    /// How long their bodies are together.
    pub(super) fn bytes(&self) -> i64 {
        self.bytes
    }

    /// The batches of a run.
    pub(super) fn of_run(&self, run: RunKey) -> &[Logged] {
        self.runs.get(&to_integer(run.0)).map_or(&[], Vec::as_slice)
    }

    /// All batches, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Logged> {
        self.runs.values().flatten()
    }

    /// How many records a run has, if the last of them is in the log.
    pub(super) fn length_of(&self, run: RunKey) -> Option<u64> {
        let last = self.of_run(run).last()?;
        Some(from_integer(last.id.saturating_add(last.records) - rows_of(run).start))
    }
}

/// The batches of a row. If it cannot be known which they are, they may be of any run, to which nothing can be added then.
pub(super) fn batches_of(row: RecordRow<'_>) -> Result<Batches<'_>, Trouble> {
    let position = row.whole().position;
    row.batches()
        .ok_or_else(|| Trouble::Damaged(format!("a row of records at position {position} does not match its checksum")))
}

/// The last position in the log, and the last of those that have been moved; 0 if there is none.
fn ends(transaction: &Connection) -> Result<(i64, i64), Trouble> {
    let mut select = transaction.prepare_cached(
        "SELECT coalesce((SELECT max(pos) FROM commit_log), 0),
             coalesce((SELECT max(last) FROM moves), 0)",
    )?;
    Ok(select.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// The positions that batches in the log can have as of a transaction.
pub(super) fn positions(transaction: &Connection) -> Result<Range<i64>, Trouble> {
    let (in_log, moved) = ends(transaction)?;
    Ok(moved + 1..in_log.max(moved) + 1)
}
