//! Reading the records of a run.
//!
//! Most of the time goes into decoding them, and so a long journal is decoded by a thread of its own while SQLite reads
//! on.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rusqlite::Connection;

use super::batches::Batch;
use super::codec::decode;
use super::log_index::LogIndex;
use super::row::RunRow;
use super::run_rows::{self, RunRows};
use super::schema::rows_of;
use super::settings::STACK;
use super::times::{from_integer, from_millis, to_integer};
use super::trouble::Trouble;
use crate::store::{RunKey, StoreError, Stored};

/// How many batches are read before they are decoded, and of how many bytes, not counting the last row of them.
const BATCHES: usize = 512;
const BYTES: usize = 256 << 10;

/// How many chunks of them may wait to be decoded.
const WAITING: usize = 4;

/// Batches as they are in the file.
#[derive(Default)]
struct Chunk {
    batches: Vec<RawBatch>,
    bodies: Vec<u8>,
}

struct RawBatch {
    /// The number of its first record.
    first: u64,
    time: i64,
    records: i64,
    /// Where its body is.
    body: Range<usize>,
}

impl Chunk {
    fn push(&mut self, batch: &Batch<'_>, first: u64) {
        let begins = self.bodies.len();
        self.bodies.extend_from_slice(batch.body);
        let body = begins..self.bodies.len();
        self.batches.push(RawBatch { first, time: batch.time, records: batch.records, body });
    }
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
    let known = from_integer(row.records).max(log.length_of(run).unwrap_or_default());
    let mut select = run_rows::select(connection)?;
    let rows = RunRows::from(connection, &mut select, log, run, from)?;
    let wanted = Wanted { from, limit };
    let mut journal =
        Journal { connection, run, start: rows_of(run).start, known, wanted, rows, next: None, is_over: false };
    let mut read = journal.chunk();
    thread::scope(|scope| {
        let (send, chunks) = mpsc::sync_channel(WAITING);
        let decoder = (!journal.is_over).then(|| {
            let decoder = thread::Builder::new().name("graphweft-decode".to_owned()).stack_size(STACK);
            decoder.spawn_scoped(scope, move || decode_all(&chunks, wanted))
        });
        // If there is little to do, or the system gives no thread, it is done here.
        let Some(Ok(decoder)) = decoder else { return journal.decode_here(read) };
        let trouble = loop {
            let Read { chunk, trouble } = read;
            // If the decoder has stopped, it returns the reason.
            let goes_on = send.send(chunk).is_ok() && trouble.is_none() && !journal.is_over;
            if !goes_on {
                break trouble;
            }
            read = journal.chunk();
        };
        drop(send);
        let decoded = decoder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // An invalid record is reported before damage in the rows behind it.
        let stored = decoded.map_err(|bad| journal.bad_record(&bad))?;
        trouble.map_or(Ok(stored), Err)
    })
}

/// The journal of a run that is yet to be read.
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

/// What was read, and the problem with what is behind it.
struct Read {
    chunk: Chunk,
    trouble: Option<Trouble>,
}

impl Journal<'_> {
    fn chunk(&mut self) -> Read {
        let mut chunk = Chunk::default();
        while chunk.batches.len() < BATCHES && chunk.bodies.len() < BYTES && !self.is_over {
            if let Err(trouble) = self.row(&mut chunk) {
                self.is_over = true;
                return Read { chunk, trouble: Some(trouble) };
            }
        }
        Read { chunk, trouble: None }
    }

    fn row(&mut self, read: &mut Chunk) -> Result<(), Trouble> {
        let Journal { connection, run, start, known, wanted, rows, next, is_over } = self;
        let Wanted { from, limit } = *wanted;
        let damaged = |what: &dyn Fn(&str) -> String| Trouble::Damaged(what(&name_of(connection, *run)));
        let is_enough = |next: &Option<u64>| {
            let read = next.map_or(0, |next| next.saturating_sub(from));
            usize::try_from(read).is_ok_and(|read| read >= limit)
        };
        if is_enough(next) {
            *is_over = true;
            return Ok(());
        }
        let is_there = rows.next(|batch| {
            let first = from_integer(batch.id - *start);
            if is_enough(next) {
                return Ok(());
            }
            // The first row that is there holds number `from` or one before it, or is that of number 0.
            let expected = next.unwrap_or_else(|| first.min(from));
            if !batch.is_sound() {
                return Err(damaged(&|run| format!("record {first} of {run} does not match its checksum")));
            }
            if first != expected {
                return Err(damaged(&|run| format!("record {expected} of {run} is not there")));
            }
            let end = first + from_integer(batch.records);
            *next = Some(end);
            if end > from {
                read.push(&batch, first);
            }
            Ok(())
        })?;
        if !is_there {
            *is_over = true;
            let there = next.unwrap_or_default();
            if there < *known {
                return Err(damaged(&|run| format!("record {there} of {run} is not there")));
            }
        }
        Ok(())
    }

    /// Decodes the batch that was read last, and then all others.
    fn decode_here(&mut self, mut read: Read) -> Result<Vec<Stored>, Trouble> {
        let mut stored = Vec::new();
        loop {
            let Read { chunk, trouble } = read;
            decode_chunk(&chunk, self.wanted, &mut stored).map_err(|bad| self.bad_record(&bad))?;
            match trouble {
                Some(trouble) => return Err(trouble),
                None if self.is_over => return Ok(stored),
                None => read = self.chunk(),
            }
        }
    }

    fn bad_record(&self, bad: &Undecodable) -> Trouble {
        let Undecodable { seq, message } = bad;
        let run = id_of(self.connection, self.run).unwrap_or_else(|| format!("number {}", self.run.0));
        let message = format!("{message}; it is of a newer version of graphweft");
        StoreError::BadRecord { run, seq: *seq, message }.into()
    }
}

// A function of its own in profiles: a bench counts its instructions by its name.
#[inline(never)]
fn decode_all(chunks: &Receiver<Chunk>, wanted: Wanted) -> Result<Vec<Stored>, Undecodable> {
    let mut stored = Vec::new();
    for chunk in chunks {
        decode_chunk(&chunk, wanted, &mut stored)?;
    }
    Ok(stored)
}

fn decode_chunk(chunk: &Chunk, wanted: Wanted, into: &mut Vec<Stored>) -> Result<(), Undecodable> {
    for RawBatch { first, time, records, body } in &chunk.batches {
        let before = into.len();
        let sound = decode(&chunk.bodies[body.clone()], *first, from_millis(*time), into);
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
    (found as u64 != from_integer(counted)).then(|| format!("its batch has {found} records and says {counted}"))
}

fn name_of(connection: &Connection, run: RunKey) -> String {
    id_of(connection, run).map_or_else(|| format!("run number {}", run.0), |id| format!("run `{id}`"))
}

/// The id of a run, if its row can still be read.
fn id_of(connection: &Connection, run: RunKey) -> Option<String> {
    RunRow::find(connection, to_integer(run.0)).ok().flatten().map(|row| row.id)
}
