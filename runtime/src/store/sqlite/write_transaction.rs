//! Adding rows to the commit log, and moving them to the journal.
//!
//! ```text
//!   append ──> commit_log, in the order of the commits          all runs share a page
//!                  │
//!                  │ when it is full, all of it in one transaction
//!                  v
//!              journal, in the order of runs and records        a run is read by one range
//! ```
//!
//! A row in the journal for each append would dirty a page for each of the runs that record at the same time, and a
//! commit would write them all. Here it writes the last page of the log, and a move sorts some thousand rows at once, so
//! that a page of the journal takes many rows. It is what LSM trees do with their memtable (O'Neil and others, "The
//! log-structured merge-tree", 1996).
//!
//! A large body takes pages of its own, and is added to the journal at once, so that it is written once. Its row in the log
//! has none: it holds the position, and says that the row in the journal counts.
//!
//! The log does not prevent two rows with the same number, as the key of the journal does. So the writer knows how long
//! each journal is: from its own appends, from the index of the log if others have appended, or from the file.

use std::ops::Deref;
use std::time::SystemTime;

use foldhash::HashMap;
use rusqlite::{Connection, OptionalExtension, params};

use super::codec::EncodedRow;
use super::log_index::{LogIndex, Logged};
use super::schema::rows_of;
use super::seal;
use super::settings::LARGE;
use super::times::{from_integer, to_integer, to_millis};
use super::trouble::{Trouble, is_written};
use crate::store::RunKey;

/// The maximum number of journals whose length is remembered when the log is empty.
const REMEMBERED: usize = 4096;

/// What the writer knows of the journals, from one transaction to the next.
#[derive(Default)]
pub(super) struct Journals {
    log: LogIndex,
    /// How long journals are to which this process was the last to add.
    lengths: HashMap<RunKey, u64>,
}

impl Journals {
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

    fn added(&mut self, run: RunKey, row: Logged) {
        self.log.add(row);
        let length = from_integer(row.id.saturating_add(row.records) - rows_of(run).start);
        self.lengths.insert(run, length);
    }
}

/// A transaction that may write. It holds SQLite's write lock, so what it knows of the journals is so until its end.
pub(super) struct WriteTransaction<'a> {
    connection: &'a Connection,
    journals: &'a mut Journals,
}

impl Deref for WriteTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl<'a> WriteTransaction<'a> {
    /// Of a connection on which a transaction has begun.
    pub(super) fn begun(connection: &'a Connection, journals: &'a mut Journals) -> Result<Self, Trouble> {
        journals.refresh(connection)?;
        Ok(WriteTransaction { connection, journals })
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
            let mut new = NewRow::of(run, at, time, &row.body, row.records, self.log().next());
            if row.body.len() >= LARGE {
                new.insert(self.connection, "journal", JOURNAL, &row.body)?;
                new = NewRow::of(run, at, time, "", row.records, self.log().next());
                new.insert(self.connection, "commit_log", LOG, "")?;
            } else {
                new.insert(self.connection, "commit_log", LOG, &row.body)?;
            }
            self.journals.added(run, new.logged);
            at += row.records;
        }
        Ok(())
    }

    /// The run is deleted.
    pub(super) fn forget_length(&mut self, run: RunKey) {
        self.journals.lengths.remove(&run);
    }

    /// Moves all rows of the log to where the records of their runs are.
    pub(super) fn move_log(&mut self) -> Result<(), Trouble> {
        let log = &mut self.journals.log;
        let rows = log.in_order();
        // By the order that is known: SQLite would sort whole bodies, and write large ones to a file. Rows that follow one
        // another in both orders are moved together; if one run records at a time, that is all of them.
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO journal (id, pos, time, records, checksum, body)
             SELECT id, pos, time, records, checksum, body FROM commit_log
             WHERE pos BETWEEN ?1 AND ?2 AND body <> '' ORDER BY pos",
        )?;
        for together in rows.chunk_by(|row, next| row.position + 1 == next.position) {
            let [first, ..] = together else { continue };
            let last = first.position + to_integer(together.len() as u64) - 1;
            let wanted = together.iter().filter(|row| !row.is_large()).count();
            if insert.execute([first.position, last])? != wanted {
                return Err(Trouble::NotWritten("journal"));
            }
        }
        let last = log.next() - 1;
        // Without a condition, so that whole pages are freed.
        let removed = self.connection.prepare_cached("DELETE FROM commit_log")?.execute([])?;
        if removed != rows.len() {
            return Err(Trouble::Damaged(format!(
                "{removed} rows were removed from its log, and {} moved",
                rows.len()
            )));
        }
        let mut moved = self.connection.prepare_cached(
            "INSERT INTO numbers (name, number) VALUES ('moved', ?1)
             ON CONFLICT (name) DO UPDATE SET number = max(number, excluded.number)",
        )?;
        is_written(moved.execute([last])?, "numbers")?;
        log.moved_up_to(last);
        if self.journals.lengths.len() > REMEMBERED {
            self.journals.lengths.clear();
        }
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
) -> Result<bool, Trouble> {
    if journals.lengths.get(&run) != Some(&at) || row.body.len() >= LARGE {
        return Ok(false);
    }
    let new = NewRow::of(run, at, time, &row.body, row.records, journals.log.next());
    let NewRow { logged: Logged { position, id, records, .. }, time, checksum } = new;
    // If the log ends elsewhere, `records` is NULL, which the table forbids, and the row is ignored.
    let mut insert = connection.prepare_cached(
        "INSERT OR IGNORE INTO commit_log (pos, id, time, body, checksum, records) VALUES (?1, ?2, ?3, ?4, ?5, iif(
             coalesce((SELECT max(pos) FROM commit_log), (SELECT number FROM numbers WHERE name = 'moved'), 0) = ?1 - 1,
             ?6, NULL
         ))",
    )?;
    let added = insert.execute(params![position, id, time, row.body, checksum, records])? == 1;
    if added {
        journals.added(run, new.logged);
    }
    Ok(added)
}

const LOG: &str = "INSERT INTO commit_log (pos, id, time, records, checksum, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const JOURNAL: &str = "INSERT INTO journal (pos, id, time, records, checksum, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// A row that is to be added.
struct NewRow {
    logged: Logged,
    time: i64,
    checksum: i64,
}

impl NewRow {
    fn of(run: RunKey, at: u64, time: SystemTime, body: &str, records: u64, position: i64) -> NewRow {
        let id = rows_of(run).start.saturating_add(to_integer(at));
        let (time, records) = (to_millis(time), to_integer(records));
        let checksum = seal::of_records(id, position, time, records, body.as_bytes());
        let bytes = to_integer(body.len() as u64);
        NewRow { logged: Logged { position, id, records, bytes }, time, checksum }
    }

    fn insert(&self, connection: &Connection, table: &'static str, insert: &str, body: &str) -> Result<(), Trouble> {
        let NewRow { logged: Logged { position, id, records, .. }, time, checksum } = self;
        let mut insert = connection.prepare_cached(insert)?;
        is_written(insert.execute(params![position, id, time, records, checksum, body])?, table)
    }
}
