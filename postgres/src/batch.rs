//! Records as rows of the journal.

use std::time::SystemTime;

use graphweft::EventKind;
use graphweft::store::{NewRun, Record, RunKey, StoreError, Stored};
use tokio_postgres::Row;

use crate::numbers::{from_integer, from_millis, of_run, to_integer, to_millis};
use crate::trouble::Trouble;

/// How many records a row has at most, and of how many bytes, if it has several.
const MOST_RECORDS: usize = 256;
const MOST_BYTES: usize = 1 << 18;

/// Rows that are to be added, column by column.
#[derive(Debug, Default)]
pub(crate) struct NewRows {
    pub(crate) runs: Vec<i64>,
    pub(crate) seqs: Vec<i64>,
    pub(crate) records: Vec<i32>,
    pub(crate) times: Vec<i64>,
    pub(crate) checksums: Vec<i64>,
    pub(crate) bodies: Vec<String>,
}

/// Adds these columns, as `$1` to `$6`, behind `$7` rows that the transaction has added before.
pub(crate) const INSERT: &str = "
    insert into journal (run, seq, records, place, time, checksum, body)
    select run, seq, records, place($7 + number - 1), time, checksum, body
    from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::text[])
        with ordinality as new (run, seq, records, time, checksum, body, number)";

/// The same at places from `$7` on.
pub(crate) const INSERT_AT: &str = "
    insert into journal (run, seq, records, place, time, checksum, body)
    select run, seq, records, $7 + number - 1, time, checksum, body
    from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::text[])
        with ordinality as new (run, seq, records, time, checksum, body, number)";

impl NewRows {
    /// Records of a run, from this number on.
    pub(crate) fn of(run: RunKey, at: u64, time: SystemTime, records: &[Record]) -> Result<Self, Trouble> {
        let mut rows = NewRows::default();
        rows.add(of_run(run), at, time, records)?;
        Ok(rows)
    }

    /// The first records of a run that has no key yet.
    pub(crate) fn of_new(run: &NewRun) -> Result<Self, Trouble> {
        NewRows::of(RunKey::new(0), 0, run.time, &run.records)
    }

    /// The same with the key that the run got.
    pub(crate) fn belong_to(&mut self, run: RunKey) {
        self.runs.fill(of_run(run));
    }

    pub(crate) fn add(&mut self, run: i64, mut at: u64, time: SystemTime, records: &[Record]) -> Result<(), Trouble> {
        let mut body = String::new();
        let mut count = 0;
        for record in records {
            let written = serde_json::to_string(&(&record.path, &record.kind))?;
            if count > 0 && (count == MOST_RECORDS || body.len() + written.len() > MOST_BYTES) {
                self.push(run, at, time, &mut count, &mut body);
                at = to_next(self, at);
            }
            body.push(if count == 0 { '[' } else { ',' });
            body.push_str(&written);
            count += 1;
        }
        if count > 0 {
            self.push(run, at, time, &mut count, &mut body);
        }
        Ok(())
    }

    fn push(&mut self, run: i64, at: u64, time: SystemTime, count: &mut usize, body: &mut String) {
        let mut body = std::mem::take(body);
        body.push(']');
        let (seq, records, time) =
            (to_integer(at), i32::try_from(std::mem::take(count)).unwrap_or(i32::MAX), to_millis(time));
        self.checksums.push(checksum(seq, records, time, &body));
        self.runs.push(run);
        self.seqs.push(seq);
        self.records.push(records);
        self.times.push(time);
        self.bodies.push(body);
    }

    pub(crate) fn is_single(&self) -> bool {
        self.bodies.len() == 1
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bodies.iter().map(String::len).sum()
    }

    /// Adds the rows of others.
    pub(crate) fn extend(&mut self, other: &NewRows) {
        self.runs.extend(&other.runs);
        self.seqs.extend(&other.seqs);
        self.records.extend(&other.records);
        self.times.extend(&other.times);
        self.checksums.extend(&other.checksums);
        self.bodies.extend_from_slice(&other.bodies);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }
}

/// The number behind the row that was pushed last.
fn to_next(rows: &NewRows, at: u64) -> u64 {
    at + rows.records.last().map_or(0, |records| from_integer(i64::from(*records)))
}

/// Over all that a row says of its records. Which run they belong to is the index's matter.
fn checksum(seq: i64, records: i32, time: i64, body: &str) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&seq.to_le_bytes());
    hasher.update(&records.to_le_bytes());
    hasher.update(&time.to_le_bytes());
    hasher.update(body.as_bytes());
    i64::from(hasher.finalize())
}

/// The columns that [`JournalRow::read`] reads.
pub(crate) const COLUMNS: &str = "j.run, j.seq, j.records, j.place, j.time, j.checksum, j.body";

/// A row of the journal.
#[derive(Debug)]
pub(crate) struct JournalRow {
    pub(crate) run: i64,
    seq: i64,
    records: i32,
    pub(crate) place: i64,
    time: i64,
    checksum: i64,
    body: String,
}

impl JournalRow {
    /// Of columns from this one on.
    pub(crate) fn read(row: &Row, from: usize) -> Result<Self, tokio_postgres::Error> {
        Ok(JournalRow {
            run: row.try_get(from)?,
            seq: row.try_get(from + 1)?,
            records: row.try_get(from + 2)?,
            place: row.try_get(from + 3)?,
            time: row.try_get(from + 4)?,
            checksum: row.try_get(from + 5)?,
            body: row.try_get(from + 6)?,
        })
    }

    /// The number of its first record.
    pub(crate) fn first(&self) -> u64 {
        from_integer(self.seq)
    }

    pub(crate) fn count(&self) -> u64 {
        from_integer(i64::from(self.records))
    }

    /// Its records.
    ///
    /// # Errors
    /// If it is damaged, or was written by a newer version. `run` is the id of the run, for the message.
    pub(crate) fn stored(&self, run: &str) -> Result<Vec<Stored>, StoreError> {
        let bad = |message: String| StoreError::BadRecord { run: run.to_owned(), seq: self.first(), message };
        if checksum(self.seq, self.records, self.time, &self.body) != self.checksum {
            return Err(bad("its row does not match its checksum; restore the database from a backup".to_owned()));
        }
        let records: Vec<(String, EventKind)> =
            serde_json::from_str(&self.body).map_err(|error| bad(error.to_string()))?;
        if records.len() as u64 != self.count() {
            return Err(bad(format!("its row has {} records and should have {}", records.len(), self.count())));
        }
        let time = from_millis(self.time);
        let numbered = (self.first()..).zip(records);
        Ok(numbered.map(|(seq, (path, kind))| Stored::new(seq, time, Record::new(path, kind))).collect())
    }
}
