//! The rows of one run: those in the journal, and behind them those that are still in the commit log.

use rusqlite::{CachedStatement, Connection, Rows};

use super::batches::{Batch, RecordRow};
use super::log_index::{LogIndex, Logged};
use super::schema::rows_of;
use super::times::to_integer;
use super::trouble::Trouble;
use crate::store::RunKey;

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
        // Behind the first batch in the log, those in the journal are large ones, which the log has in their order.
        let end = logged.first().map_or(ids.end, |batch| batch.id.min(ids.end));
        let begins = logged.partition_point(|batch| batch.id <= first);
        // All that are wanted may be in the log.
        let journal = if begins == 0 { Some(statement.query([ids.start, first, end])?) } else { None };
        let logged = logged[begins.saturating_sub(1)..].iter();
        Ok(RunRows { connection, journal, logged })
    }

    /// Reads the batches of the next row that are of the run. Returns `false` behind the last row.
    pub(super) fn next(&mut self, mut read: impl FnMut(Batch<'_>) -> Result<(), Trouble>) -> Result<bool, Trouble> {
        if let Some(journal) = &mut self.journal {
            if let Some(row) = journal.next()? {
                let row = RecordRow::read(row)?;
                match row.batches() {
                    Some(mut batches) => batches.try_for_each(read)?,
                    None => read(row.whole())?,
                }
                return Ok(true);
            }
            self.journal = None;
        }
        while let Some(logged) = self.logged.as_slice().first() {
            let has_read = match logged.is_large() {
                true => self.read_large(logged, &mut read)?,
                false => self.read_log(logged.position, &mut read)?,
            };
            if has_read {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next batch, which is in the journal. Returns whether it is there: one that damage has removed leaves a gap.
    fn read_large(
        &mut self,
        logged: &Logged,
        read: &mut impl FnMut(Batch<'_>) -> Result<(), Trouble>,
    ) -> Result<bool, Trouble> {
        self.logged.next();
        let mut select = self
            .connection
            .prepare_cached("SELECT id, pos, time, records, checksum, body FROM journal WHERE id = ?1")?;
        let mut rows = select.query([logged.id])?;
        let Some(row) = rows.next()?.map(RecordRow::read).transpose()? else { return Ok(false) };
        Self::read_batch(&row, logged, read)
    }

    /// Reads the next batches, of which the first one is in the log at this position, as long as there are few rows of others between them. Returns whether
    /// there was one.
    fn read_log(
        &mut self,
        position: i64,
        read: &mut impl FnMut(Batch<'_>) -> Result<(), Trouble>,
    ) -> Result<bool, Trouble> {
        let mut select = self.connection.prepare_cached(IN_LOG)?;
        let mut rows = select.query([position])?;
        let (mut batches, mut of_others) = (0, 0);
        while let Some(row) = rows.next()?.map(RecordRow::read).transpose()? {
            let last = row.whole().position;
            let mut is_of_others = true;
            while let Some(logged) = self.logged.as_slice().first().filter(|logged| logged.position <= last) {
                if logged.is_large() {
                    return Ok(batches > 0);
                }
                self.logged.next();
                batches += usize::from(Self::read_batch(&row, logged, read)?);
                is_of_others = false;
            }
            of_others += usize::from(is_of_others);
            if batches >= MANY || of_others >= FEW || self.logged.as_slice().is_empty() {
                return Ok(batches > 0);
            }
        }
        // Those behind the last row were removed by damage.
        while self.logged.as_slice().first().is_some_and(|logged| !logged.is_large()) {
            self.logged.next();
        }
        Ok(batches > 0)
    }

    /// Reads a batch from the row that holds it. Returns whether it does.
    fn read_batch(
        row: &RecordRow<'_>,
        logged: &Logged,
        read: &mut impl FnMut(Batch<'_>) -> Result<(), Trouble>,
    ) -> Result<bool, Trouble> {
        let found = match row.batches() {
            Some(mut batches) => batches.find(|batch| batch.position == logged.position),
            None => Some(Batch { id: logged.id, records: logged.records, ..row.whole() }),
        };
        found.map_or(Ok(false), |batch| read(batch).map(|()| true))
    }
}

/// How many batches of the log are read by one statement.
const MANY: usize = 64;

/// After how many rows of others the next one is looked up.
const FEW: usize = 4;

/// The row that holds the batch at a position, and those behind it: a row has the position of its last batch.
const IN_LOG: &str = "SELECT id, pos, time, records, checksum, body FROM commit_log WHERE pos >= ?1 ORDER BY pos";
