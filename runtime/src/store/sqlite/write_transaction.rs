//! Adding batches to the commit log, and moving them to the journal.
//!
//! ```text
//!   append ──> commit_log: a row for each commit, with the batches of all runs in it; more if they are many
//!                  │
//!                  │ when it is full, all of it in one transaction
//!                  v
//!              journal: rows of one run each, in the order of runs and records, and so a run is read by one range
//! ```
//!
//! A row in the journal for each append would dirty a page for each of the runs that record at the same time, and a
//! commit would write them all. Here it writes the last page of the log, and a move sorts some thousand batches at once, so
//! that a row of the journal takes many. It is what LSM trees do with their memtable (O'Neil and others, "The
//! log-structured merge-tree", 1996).
//!
//! A large body takes pages of its own, and is added to the journal at once, so that it is written once. Its batch in the log
//! has none: it holds the position, and says that the row in the journal counts.
//!
//! The log does not prevent two batches with the same number, as the key of the journal does. So the writer knows how long
//! each journal is: from its own appends, from the index of the log if others have appended, or from the file.

use std::ops::Deref;
use std::time::SystemTime;

use foldhash::HashMap;
use rusqlite::{Connection, OptionalExtension, params};

use super::batches::{Batch, NewRow, RecordRow, Text};
use super::codec::EncodedRow;
use super::kept_read;
use super::log_index::LogIndex;
use super::schema::rows_of;
use super::seal;
use super::settings::{LARGE, ROW_BYTES};
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::RunKey;

/// The maximum number of journals whose length is remembered when the log is empty.
const REMEMBERED: usize = 4096;

/// What the writer knows of the journals, from one transaction to the next.
pub(super) struct Journals {
    log: LogIndex,
    /// How long journals are to which this process was the last to add.
    lengths: HashMap<RunKey, u64>,
}

impl Default for Journals {
    fn default() -> Self {
        Journals { log: LogIndex::of_writer(), lengths: HashMap::default() }
    }
}

impl Journals {
    /// Those of a transaction that moves nothing.
    pub(super) fn without_moves() -> Self {
        Journals { log: LogIndex::default(), lengths: HashMap::default() }
    }

    /// The transaction is undone, and what is known with it: all is read again.
    pub(super) fn forget(&mut self) {
        *self = Journals::default();
    }

    pub(super) fn log(&self) -> &LogIndex {
        &self.log
    }

    fn refresh(&mut self, transaction: &Connection) -> Result<(), Trouble> {
        let news = self.log.refresh(transaction)?;
        if news.has_missed_some {
            self.lengths.clear();
        }
        for run in news.runs {
            self.lengths.remove(&RunKey(from_integer(run)));
        }
        Ok(())
    }

    fn added(&mut self, run: RunKey, batch: &Batch<'_>) {
        self.log.add(batch);
        self.lengths.insert(run, from_integer(batch.end() - rows_of(run).start));
    }
}

/// A transaction that may write. It holds SQLite's write lock, so what it knows of the journals is so until its end.
pub(super) struct WriteTransaction<'a> {
    connection: &'a Connection,
    journals: &'a mut Journals,
    /// The row of the log for the batches that were added, which are in the index already.
    row: NewRow,
}

impl Deref for WriteTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl<'a> WriteTransaction<'a> {
    /// Does something on a connection on which a transaction has begun. All that it adds is in the file at the end.
    pub(super) fn within<T>(
        connection: &'a Connection,
        journals: &'a mut Journals,
        work: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        journals.refresh(connection)?;
        let mut transaction = WriteTransaction { connection, journals, row: NewRow::of_commit() };
        let done = work(&mut transaction)?;
        transaction.write_row()?;
        Ok(done)
    }

    pub(super) fn log(&self) -> &LogIndex {
        &self.journals.log
    }

    /// How many records a run has; `None` if there is no such run, or no more.
    pub(super) fn length(&self, run: RunKey) -> Result<Option<u64>, Trouble> {
        if let Some(length) = self.journals.lengths.get(&run) {
            return Ok(Some(*length));
        }
        if !self.prepare_cached("SELECT 1 FROM runs WHERE key = ?1")?.exists([to_integer(run.0)])? {
            return Ok(None);
        }
        if let Some(length) = self.log().length_of(run) {
            return Ok(Some(length));
        }
        let ids = rows_of(run);
        let end = self
            .prepare_cached("SELECT id + records FROM journal WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1")?
            .query_row([ids.start, ids.end], |row| row.get::<_, i64>(0))
            .optional()?;
        Ok(Some(end.map_or(0, |end| from_integer(end - ids.start))))
    }

    /// Adds rows to a run that has so many records.
    pub(super) fn add_rows(
        &mut self,
        run: RunKey,
        mut at: u64,
        time: SystemTime,
        rows: &[EncodedRow],
    ) -> Result<(), Trouble> {
        for row in rows {
            let mut batch = new_batch(run, at, time, &row.body, row.records, self.log().next());
            if row.body.len() >= LARGE {
                insert(self.connection, "journal", JOURNAL, batch.row())?;
                batch = new_batch(run, at, time, "", row.records, self.log().next());
            }
            self.row.push(&batch);
            self.journals.added(run, &batch);
            if self.row.bytes() >= ROW_BYTES {
                self.write_row()?;
            }
            at += row.records;
        }
        Ok(())
    }

    /// Writes the row of the log for the batches that were added.
    fn write_row(&mut self) -> Result<(), Trouble> {
        let mut row = std::mem::replace(&mut self.row, NewRow::of_commit());
        let position = row.last_position();
        let Some(row) = row.row_at(position) else { return Ok(()) };
        insert(self.connection, "commit_log", LOG, row)?;
        self.journals.log.add_row();
        Ok(())
    }

    /// The run is deleted.
    pub(super) fn forget_length(&mut self, run: RunKey) {
        self.journals.lengths.remove(&run);
    }

    /// Moves all batches of the log to where the records of their runs are.
    pub(super) fn move_log(&mut self) -> Result<(), Trouble> {
        self.write_row()?;
        let last = self.log().next() - 1;
        let unmoved = self.journals.log.take_unmoved();
        let rows_of_log = unmoved.rows_of_log();
        for row in &mut unmoved.into_rows()? {
            if let Some(row) = row.row_at(last) {
                insert(self.connection, "journal", JOURNAL, row)?;
            }
        }
        // Without a condition, so that whole pages are freed.
        let removed = self.connection.prepare_cached("DELETE FROM commit_log")?.execute([])?;
        if removed != rows_of_log {
            return Err(Trouble::Damaged(format!("{removed} rows were removed from its log, and {rows_of_log} moved")));
        }
        if rows_of_log > 0 {
            self.add_move(last)?;
        }
        if self.journals.lengths.len() > REMEMBERED {
            self.journals.lengths.clear();
        }
        Ok(())
    }

    /// Gives no position up to this one any more, nor the next one. The log has to be moved before.
    pub(super) fn leave_out(&mut self, position: i64) -> Result<(), Trouble> {
        self.add_move(self.log().next().max(position))
    }

    fn add_move(&mut self, last: i64) -> Result<(), Trouble> {
        let mut moved = self.connection.prepare_cached("INSERT INTO moves (last) VALUES (?1)")?;
        is_written(moved.execute([last])?, "moves")?;
        self.journals.log.moved_up_to(last);
        Ok(())
    }
}

/// Adds a single row to a journal of which this process believes to know the length, without a transaction around it.
/// Returns whether it was added; if not, others may have added something since.
pub(super) fn add_row_alone(
    connection: &Connection,
    journals: &mut Journals,
    run: RunKey,
    at: u64,
    time: SystemTime,
    row: &EncodedRow,
    kept: kept_read::State,
) -> Result<bool, Trouble> {
    if journals.lengths.get(&run) != Some(&at) || row.body.len() >= LARGE {
        return Ok(false);
    }
    let batch = new_batch(run, at, time, &row.body, row.records, journals.log.next());
    let Batch { id, position, time, records, checksum, body } = batch;
    // If the log ends elsewhere, `records` is NULL, which the table forbids, and the row is ignored. The text is copied and
    // hashed for each row, so it has no indentation.
    let mut insert = connection.prepare_cached(match kept {
        kept_read::State::Checked => {
            "INSERT OR IGNORE INTO commit_log (pos, id, time, body, checksum, records) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        }
        kept_read::State::None | kept_read::State::Begun => {
            "INSERT OR IGNORE INTO commit_log (pos, id, time, body, checksum, records) VALUES (?1, ?2, ?3, ?4, ?5, \
             iif(coalesce((SELECT max(pos) FROM commit_log), (SELECT max(last) FROM moves), 0) = ?1 - 1, ?6, NULL))"
        }
    })?;
    let added = insert.execute(params![position, id, time, Text(body), checksum, records])? == 1;
    if added {
        journals.added(run, &batch);
        journals.log.add_row();
    }
    Ok(added)
}

const LOG: &str = "INSERT INTO commit_log (id, pos, time, records, checksum, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const JOURNAL: &str = "INSERT INTO journal (id, pos, time, records, checksum, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// A batch that is to be added to a run that has so many records.
fn new_batch(run: RunKey, at: u64, time: SystemTime, body: &str, records: u64, position: i64) -> Batch<'_> {
    let id = rows_of(run).start.saturating_add(to_integer(at));
    let (time, records, body) = (to_millis(time), to_integer(records), body.as_bytes());
    Batch { id, position, time, records, checksum: seal::of_records(id, position, time, records, body), body }
}

fn insert(connection: &Connection, table: &'static str, insert: &str, row: RecordRow<'_>) -> Result<(), Trouble> {
    let Batch { id, position, time, records, checksum, body } = row.whole();
    let mut insert = connection.prepare_cached(insert)?;
    is_written(insert.execute(params![id, position, time, records, checksum, Text(body)])?, table)
}
