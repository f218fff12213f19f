//! Reading the records of a run.
//!
//! Most of the time goes into decoding them, and so a long journal is decoded by a thread of its own while SQLite reads
//! on.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rusqlite::Connection;

use super::codec::decode;
use super::log_index::LogIndex;
use super::row::RunRow;
use super::run_rows::{self, RunRows};
use super::schema::rows_of;
use super::settings::STACK;
use super::times::{from_integer, from_millis, to_integer};
use super::trouble::Trouble;
use crate::store::{RunKey, StoreError, Stored};

/// How many rows are read before they are decoded, and of how many bytes, not counting the last of them.
const BATCH: usize = 512;
const BYTES: usize = 256 << 10;

/// How many batches may wait to be decoded.
const WAITING: usize = 4;

/// Rows as they are in the file.
#[derive(Default)]
struct Batch {
    rows: Vec<RawRow>,
    bodies: Vec<u8>,
}

struct RawRow {
    /// The number of its first record.
    first: u64,
    time: i64,
    records: i64,
    /// Where its body is.
    body: Range<usize>,
}

/// A record that cannot be decoded.
struct Undecodable {
    seq: u64,
    message: String,
}

/// Which records are wanted.
#[derive(Clone, Copy)]
struct Wanted {
    from: u64,
    limit: usize,
}

/// Records `from` and following, at most `limit` of them.
pub(super) fn read(
    connection: &Connection,
    log: &LogIndex,
    run: RunKey,
    from: u64,
    limit: usize,
) -> Result<Vec<Stored>, Trouble> {
    let Some(row) = RunRow::find(connection, to_integer(run.0))? else {
        // There may be rows of a run that was deleted.
        return Ok(Vec::new());
    };
    let known = from_integer(row.records);
    let mut select = run_rows::select(connection)?;
    let rows = RunRows::from(connection, &mut select, log, run, from)?;
    let wanted = Wanted { from, limit };
    let mut journal =
        Journal { connection, run, start: rows_of(run).start, known, wanted, rows, next: None, is_over: false };
    let mut read = journal.batch();
    thread::scope(|scope| {
        let (send, batches) = mpsc::sync_channel(WAITING);
        let decoder = (!journal.is_over).then(|| {
            let decoder = thread::Builder::new().name("graphweft-decode".to_owned()).stack_size(STACK);
            decoder.spawn_scoped(scope, move || decode_all(&batches, wanted))
        });
        // If there is little to do, or the system gives no thread, it is done here.
        let Some(Ok(decoder)) = decoder else { return journal.decode_here(read) };
        let trouble = loop {
            let Read { batch, trouble } = read;
            // If the decoder has stopped, it returns the reason.
            let goes_on = send.send(batch).is_ok() && trouble.is_none() && !journal.is_over;
            if !goes_on {
                break trouble;
            }
            read = journal.batch();
        };
        drop(send);
        let decoded = decoder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // An invalid record is reported before damage in the rows behind it.
        let stored = decoded.map_err(|bad| journal.bad_record(&bad))?;
        trouble.map_or(Ok(stored), Err)
    })
}

/// The rows of a run that are yet to be read.
struct Journal<'c> {
    connection: &'c Connection,
    run: RunKey,
    start: i64,
    /// The minimum number of records that must exist.
    known: u64,
    wanted: Wanted,
    rows: RunRows<'c>,
    /// The number of the next record.
    next: Option<u64>,
    is_over: bool,
}

/// Rows, and the problem with the row behind them.
struct Read {
    batch: Batch,
    trouble: Option<Trouble>,
}

impl Journal<'_> {
    fn batch(&mut self) -> Read {
        let mut batch = Batch::default();
        while batch.rows.len() < BATCH && batch.bodies.len() < BYTES && !self.is_over {
            if let Err(trouble) = self.row(&mut batch) {
                self.is_over = true;
                return Read { batch, trouble: Some(trouble) };
            }
        }
        Read { batch, trouble: None }
    }

    fn row(&mut self, batch: &mut Batch) -> Result<(), Trouble> {
        let Wanted { from, limit } = self.wanted;
        let read = self.next.map_or(0, |next| next.saturating_sub(from));
        if usize::try_from(read).is_ok_and(|read| read >= limit) {
            self.is_over = true;
            return Ok(());
        }
        let start = self.start;
        let next = self.rows.next(|row| {
            let (is_sound, begins) = (row.is_sound(), batch.bodies.len());
            batch.bodies.extend_from_slice(row.body);
            let (first, body) = (from_integer(row.id - start), begins..batch.bodies.len());
            Ok((RawRow { first, time: row.time, records: row.records, body }, is_sound))
        })?;
        let Some((row, is_sound)) = next else {
            self.is_over = true;
            let there = self.next.unwrap_or_default();
            if there < self.known {
                return Err(self.damaged(|run| format!("record {there} of {run} is not there")));
            }
            return Ok(());
        };
        let first = row.first;
        if !is_sound {
            return Err(self.damaged(|run| format!("record {first} of {run} does not match its checksum")));
        }
        // The first row that is there holds number `from` or one before it, or is that of number 0.
        let expected = self.next.unwrap_or_else(|| first.min(from));
        if first != expected {
            return Err(self.damaged(|run| format!("record {expected} of {run} is not there")));
        }
        self.next = Some(first + from_integer(row.records));
        batch.rows.push(row);
        Ok(())
    }

    /// Decodes the batch that was read last, and then all others.
    fn decode_here(&mut self, mut read: Read) -> Result<Vec<Stored>, Trouble> {
        let mut stored = Vec::new();
        loop {
            let Read { batch, trouble } = read;
            decode_batch(&batch, self.wanted, &mut stored).map_err(|bad| self.bad_record(&bad))?;
            match trouble {
                Some(trouble) => return Err(trouble),
                None if self.is_over => return Ok(stored),
                None => read = self.batch(),
            }
        }
    }

    fn bad_record(&self, bad: &Undecodable) -> Trouble {
        let Undecodable { seq, message } = bad;
        let run = id_of(self.connection, self.run).unwrap_or_else(|| format!("number {}", self.run.0));
        let message = format!("{message}; it is of a newer version of graphweft");
        StoreError::BadRecord { run, seq: *seq, message }.into()
    }

    fn damaged(&self, message: impl FnOnce(&str) -> String) -> Trouble {
        let id = id_of(self.connection, self.run);
        let run = id.map_or_else(|| format!("run number {}", self.run.0), |id| format!("run `{id}`"));
        Trouble::Damaged(message(&run))
    }
}

// A function of its own in profiles: a bench counts its instructions by its name.
#[inline(never)]
fn decode_all(batches: &Receiver<Batch>, wanted: Wanted) -> Result<Vec<Stored>, Undecodable> {
    let mut stored = Vec::new();
    for batch in batches {
        decode_batch(&batch, wanted, &mut stored)?;
    }
    Ok(stored)
}

fn decode_batch(batch: &Batch, wanted: Wanted, into: &mut Vec<Stored>) -> Result<(), Undecodable> {
    for RawRow { first, time, records, body } in &batch.rows {
        let before = into.len();
        let sound = decode(&batch.bodies[body.clone()], *first, from_millis(*time), into);
        let decoded = into.len() - before;
        if let Some(message) = sound.map_err(|error| error.to_string()).err().or_else(|| miscounted(decoded, *records))
        {
            return Err(Undecodable { seq: first + decoded as u64, message });
        }
        if *first < wanted.from {
            into.retain(|stored| stored.seq >= wanted.from);
        }
    }
    into.truncate(wanted.limit);
    Ok(())
}

fn miscounted(found: usize, counted: i64) -> Option<String> {
    (found as u64 != from_integer(counted)).then(|| format!("its row holds {found} records and says {counted}"))
}

/// The id of a run, if its row can still be read.
fn id_of(connection: &Connection, run: RunKey) -> Option<String> {
    RunRow::find(connection, to_integer(run.0)).ok().flatten().map(|row| row.id)
}
