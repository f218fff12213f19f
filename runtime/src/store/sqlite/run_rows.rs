//! The rows of one run: those in the journal, and behind them those that are still in the commit log.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, Rows};

use super::log_index::{LogIndex, Logged};
use super::schema::rows_of;
use super::seal;
use super::times::to_integer;
use super::trouble::Trouble;
use crate::store::RunKey;

/// A row of records as it is in the file.
pub(super) struct RecordRow<'r> {
    pub(super) id: i64,
    pub(super) position: i64,
    pub(super) time: i64,
    pub(super) records: i64,
    pub(super) body: &'r [u8],
    checksum: i64,
}

impl<'r> RecordRow<'r> {
    /// Of columns in the order of its fields, the checksum before the body.
    pub(super) fn read(row: &'r Row<'_>) -> Result<Self, Trouble> {
        let ValueRef::Text(body) = row.get_ref(5)? else {
            return Err(rusqlite::Error::InvalidColumnType(5, "body".to_owned(), Type::Text).into());
        };
        Ok(RecordRow {
            id: row.get(0)?,
            position: row.get(1)?,
            time: row.get(2)?,
            records: row.get(3)?,
            checksum: row.get(4)?,
            body,
        })
    }

    /// Whether it matches its checksum.
    pub(super) fn is_sound(&self) -> bool {
        self.checksum == seal::of_records(self.id, self.position, self.time, self.records, self.body)
    }
}

/// The statement of [`RunRows`].
pub(super) fn select(connection: &Connection) -> Result<CachedStatement<'_>, Trouble> {
    // Begins with the row that holds the record, which may hold others before it.
    Ok(connection.prepare_cached(
        "SELECT id, pos, time, records, checksum, body FROM journal
         WHERE id >= coalesce((SELECT id FROM journal WHERE id >= ?1 AND id <= ?2 ORDER BY id DESC LIMIT 1), ?1)
         AND id < ?3 ORDER BY id",
    )?)
}

/// The rows of one run, as of a transaction, from the row that holds a record on.
pub(super) struct RunRows<'c> {
    connection: &'c Connection,
    /// Those in the journal, until they have been read.
    journal: Option<Rows<'c>>,
    logged: std::slice::Iter<'c, Logged>,
}

impl<'c> RunRows<'c> {
    /// By the statement of [`select`].
    pub(super) fn from(
        connection: &'c Connection,
        statement: &'c mut CachedStatement<'_>,
        log: &'c LogIndex,
        run: RunKey,
        from: u64,
    ) -> Result<Self, Trouble> {
        let ids = rows_of(run);
        let first = ids.start.saturating_add(to_integer(from)).min(ids.end - 1);
        let logged = log.of_run(run);
        // Behind the first row in the log, those in the journal are large ones, which the log has in their order.
        let end = logged.first().map_or(ids.end, |row| row.id.min(ids.end));
        let begins = logged.partition_point(|row| row.id <= first);
        // All that are wanted may be in the log.
        let journal = if begins == 0 { Some(statement.query([ids.start, first, end])?) } else { None };
        let logged = logged[begins.saturating_sub(1)..].iter();
        Ok(RunRows { connection, journal, logged })
    }

    /// Reads the next row; `None` after the last one.
    pub(super) fn next<T>(
        &mut self,
        read: impl FnOnce(RecordRow<'_>) -> Result<T, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        if let Some(journal) = &mut self.journal {
            if let Some(row) = journal.next()? {
                return RecordRow::read(row).and_then(read).map(Some);
            }
            self.journal = None;
        }
        for logged in self.logged.by_ref() {
            let (select, key) = match logged.is_large() {
                false => {
                    ("SELECT id, pos, time, records, checksum, body FROM commit_log WHERE pos = ?1", logged.position)
                }
                true => ("SELECT id, pos, time, records, checksum, body FROM journal WHERE id = ?1", logged.id),
            };
            // One that damage has removed leaves a gap, as one in the journal does.
            if let Some(row) = self.connection.prepare_cached(select)?.query([key])?.next()? {
                return RecordRow::read(row).and_then(read).map(Some);
            }
        }
        Ok(None)
    }
}
