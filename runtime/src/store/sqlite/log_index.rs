//! What the commit log has, in memory.
//!
//! The commit log has no index in the file: each row of it would dirty a page of that index. So a connection keeps one
//! itself, and before it uses it, it reads what has been added to the log since. Positions only grow, and a move empties
//! the log up to a position that is recorded with it. With these two a connection also notices what others have done.

use std::ops::Range;

use foldhash::HashMap;
use rusqlite::Connection;

use super::schema::{rows_of, run_of};
use super::times::{from_integer, to_integer};
use super::trouble::Trouble;
use crate::store::RunKey;

/// A row of the commit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    pub(super) position: i64,
    /// What its id is in the journal: the run, and the number of its first record.
    pub(super) id: i64,
    pub(super) records: i64,
    /// The length of its body; 0 if it is large, and in the journal already.
    pub(super) bytes: i64,
}

impl Logged {
    pub(super) fn is_large(&self) -> bool {
        self.bytes == 0
    }
}

/// The rows of the commit log, for each run in the order in which they were added.
#[derive(Default)]
pub(super) struct LogIndex {
    /// The last position that was given.
    last: i64,
    /// The last position of the rows that have been moved to the journal.
    moved: i64,
    runs: HashMap<i64, Vec<Logged>>,
    rows: usize,
    bytes: i64,
}

/// What a connection did not know before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Runs to which others have added rows, once for each row.
    pub(super) runs: Vec<i64>,
    /// Whether rows have been added and moved meanwhile, to which no run is known.
    pub(super) has_missed_some: bool,
}

impl LogIndex {
    /// Reads what has changed in the log. Needs a transaction, to which the index belongs afterwards.
    pub(super) fn refresh(&mut self, transaction: &Connection) -> Result<News, Trouble> {
        let refreshed = self.try_to_refresh(transaction);
        if refreshed.is_err() {
            *self = LogIndex::default();
        }
        refreshed
    }

    fn try_to_refresh(&mut self, transaction: &Connection) -> Result<News, Trouble> {
        let (in_log, moved) = ends(transaction)?;
        let last = in_log.max(moved);
        if last < self.last || moved < self.moved {
            // Neither gets smaller, unless another program changes the file.
            *self = LogIndex::default();
        }
        let mut news = News { runs: Vec::new(), has_missed_some: moved > self.last };
        if moved > self.moved {
            self.moved_up_to(moved);
        }
        if last > self.last {
            let mut select = transaction.prepare_cached(
                "SELECT pos, id, records, octet_length(body) FROM commit_log WHERE pos > ?1 ORDER BY pos",
            )?;
            let mut rows = select.query([self.last])?;
            while let Some(row) = rows.next()? {
                let row = Logged { position: row.get(0)?, id: row.get(1)?, records: row.get(2)?, bytes: row.get(3)? };
                news.runs.push(run_of(row.id));
                self.add(row);
            }
            self.last = last;
        }
        Ok(news)
    }

    /// The next position.
    pub(super) fn next(&self) -> i64 {
        self.last + 1
    }

    pub(super) fn add(&mut self, row: Logged) {
        self.last = row.position;
        self.rows += 1;
        self.bytes = self.bytes.saturating_add(row.bytes);
        self.runs.entry(run_of(row.id)).or_default().push(row);
    }

    /// The rows up to this position are in the journal, and no longer in the log.
    pub(super) fn moved_up_to(&mut self, position: i64) {
        self.moved = position;
        if self.last <= position {
            self.last = position;
            self.runs.clear();
            (self.rows, self.bytes) = (0, 0);
            return;
        }
        let (mut rows, mut bytes) = (0, 0_i64);
        self.runs.retain(|_, of_run| {
            of_run.retain(|row| row.position > position);
            rows += of_run.len();
            bytes = of_run.iter().fold(bytes, |bytes, row| bytes.saturating_add(row.bytes));
            !of_run.is_empty()
        });
        (self.rows, self.bytes) = (rows, bytes);
    }

    /// How many rows the log has.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// How long their bodies are together.
    pub(super) fn bytes(&self) -> i64 {
        self.bytes
    }

    /// The rows of a run.
    pub(super) fn of_run(&self, run: RunKey) -> &[Logged] {
        self.runs.get(&to_integer(run.0)).map_or(&[], Vec::as_slice)
    }

    /// How many records a run has, if the last of them is in the log.
    pub(super) fn length_of(&self, run: RunKey) -> Option<u64> {
        let last = self.of_run(run).last()?;
        Some(from_integer(last.id.saturating_add(last.records) - rows_of(run).start))
    }

    /// All rows, in the order in which they are in the journal.
    pub(super) fn in_order(&self) -> Vec<Logged> {
        let mut rows: Vec<_> = self.runs.values().flatten().copied().collect();
        rows.sort_unstable_by_key(|row| row.id);
        rows
    }
}

/// The last position in the log, and the last of those that have been moved; 0 if there is none.
fn ends(transaction: &Connection) -> Result<(i64, i64), Trouble> {
    let mut select = transaction.prepare_cached(
        "SELECT coalesce((SELECT max(pos) FROM commit_log), 0),
             coalesce((SELECT number FROM numbers WHERE name = 'moved'), 0)",
    )?;
    Ok(select.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// The positions that rows of the log can have as of a transaction.
pub(super) fn positions(transaction: &Connection) -> Result<Range<i64>, Trouble> {
    let (in_log, moved) = ends(transaction)?;
    Ok(moved + 1..in_log.max(moved) + 1)
}
