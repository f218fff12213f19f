//! The records of all runs in the order of their commits.
//!
//! A batch gets its position in the transaction that adds it, under SQLite's write lock, so the order of the positions is
//! that of the commits: who reads sees the batches up to one position, and later ones only get greater positions. A move
//! takes the positions along. It makes rows of one run each, so its batches are put in order again here: all of them are
//! before those of the next move. Large ones have rows of their own, at their positions.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use rusqlite::Connection;

use super::batches::{Batch, RecordRow};
use super::codec::decode;
use super::log_index::batches_of;
use super::row::RunRow;
use super::schema::{rows_of, run_of};
use super::times::{from_integer, from_millis, to_integer};
use super::trouble::Trouble;
use crate::store::{FeedPage, FeedPlace, FeedQuery, FeedRecord, RunHeader, RunKey, StoreError, Stored};

/// How many records are in a page, if the query does not say.
const PAGE: usize = 256;

/// A page ends with the batch that makes its bodies longer than this.
const BYTES: usize = 1 << 20;

/// How many batches are looked at for a page, whether they are wanted or not: other reads wait meanwhile.
const LOOKED_AT: usize = 4096;

/// The place behind all batches.
pub(super) fn end(moment: &Connection) -> Result<FeedPlace, Trouble> {
    let position = super::log_index::positions(moment)?.end;
    Ok(FeedPlace { position: from_integer(position), record: 0 })
}

pub(super) fn page(moment: &Connection, database: &Path, query: &FeedQuery) -> Result<FeedPage, Trouble> {
    let limit = if query.limit == 0 { PAGE } else { query.limit };
    let page = FeedPage { records: Vec::new(), place: query.after };
    let (runs, from) = (HashMap::new(), to_integer(query.after.position));
    let mut reading = Reading { moment, database, query, limit, page, from, runs, looked_at: 0, bytes: 0 };
    reading.moves()?;
    if !reading.is_full() {
        reading.log()?;
    }
    Ok(reading.page)
}

struct Reading<'a> {
    moment: &'a Connection,
    database: &'a Path,
    query: &'a FeedQuery,
    limit: usize,
    page: FeedPage,
    /// The first position that is wanted.
    from: i64,
    /// The runs of the batches so far: none if a run was deleted.
    runs: HashMap<i64, Option<Result<RunHeader, StoreError>>>,
    looked_at: usize,
    bytes: usize,
}

impl Reading<'_> {
    fn is_full(&self) -> bool {
        self.page.records.len() >= self.limit || self.looked_at >= LOOKED_AT || self.bytes >= BYTES
    }

    /// Reads the batches that have been moved.
    fn moves(&mut self) -> Result<(), Trouble> {
        let mut select = self.moment.prepare_cached("SELECT last FROM moves WHERE last >= ?1 ORDER BY last")?;
        let mut moves = select.query([self.from])?;
        while let Some(row) = moves.next()? {
            self.moved_at(row.get(0)?)?;
            if self.is_full() {
                break;
            }
        }
        Ok(())
    }

    /// Reads those of one move.
    fn moved_at(&mut self, last: i64) -> Result<(), Trouble> {
        let moment = self.moment;
        let mut select = moment.prepare_cached(
            "SELECT id, pos, time, records, checksum, body FROM journal INDEXED BY journal_places WHERE pos = ?1",
        )?;
        let mut rows = select.query([last])?;
        let mut moved = InOrder::default();
        while let Some(row) = rows.next()? {
            moved.add(RecordRow::read(row)?, self.from);
        }
        moved.sort();
        let mut select = moment.prepare_cached(
            "SELECT id, pos, time, records, checksum, body FROM journal INDEXED BY journal_places
             WHERE pos >= ?1 AND pos < ?2 ORDER BY pos",
        )?;
        let mut large = select.query([self.from, last])?;
        while !self.is_full()
            && let Some(row) = large.next()?
        {
            let batch = RecordRow::read(row)?.whole();
            self.take_all(&moved.before(batch.position))?;
            if !self.is_full() {
                self.take(batch.position, &[batch])?;
            }
        }
        self.take_all(&moved.before(i64::MAX))?;
        self.from = last + 1;
        Ok(())
    }

    fn take_all(&mut self, mut batches: &[Batch<'_>]) -> Result<(), Trouble> {
        while let [first, ..] = batches
            && !self.is_full()
        {
            // Only damaged rows are at the position of another batch.
            let here = batches.partition_point(|batch| batch.position == first.position);
            self.take(first.position, &batches[..here])?;
            batches = &batches[here..];
        }
        Ok(())
    }

    /// Reads the batches that are in the log.
    fn log(&mut self) -> Result<(), Trouble> {
        let moment = self.moment;
        let mut select = moment.prepare_cached(
            "SELECT id, pos, time, records, checksum, body FROM commit_log WHERE pos >= ?1 ORDER BY pos",
        )?;
        let mut large =
            moment.prepare_cached("SELECT id, pos, time, records, checksum, body FROM journal WHERE id = ?1")?;
        let mut rows = select.query([self.from])?;
        while let Some(row) = rows.next()? {
            for batch in batches_of(RecordRow::read(row)?)? {
                if self.is_full() {
                    return Ok(());
                }
                if batch.position < self.from {
                    continue;
                }
                if batch.is_large()
                    && let Some(row) = large.query([batch.id])?.next()?
                {
                    // At the position in the log: the one in the journal may be damaged.
                    self.take(batch.position, &[RecordRow::read(row)?.whole()])?;
                } else {
                    self.take(batch.position, &[batch])?;
                }
            }
        }
        Ok(())
    }

    /// Takes what is at one position.
    fn take(&mut self, position: i64, batches: &[Batch<'_>]) -> Result<(), Trouble> {
        let position = from_integer(position);
        self.looked_at += batches.len();
        self.page.place = FeedPlace { position: position + 1, record: 0 };
        let mut found = Vec::new();
        for batch in batches {
            self.add_records(batch, &mut found)?;
        }
        let records = found.len() as u64;
        let skip = if position == self.query.after.position { self.query.after.record } else { 0 };
        for (number, (run, id, workflow, stored)) in (0..).zip(found).skip(skip as usize) {
            if self.page.records.len() >= self.limit {
                return Ok(());
            }
            let place = FeedPlace::behind(position, number, records);
            self.page.records.push(FeedRecord { place, run, id, workflow, stored });
            self.page.place = place;
        }
        Ok(())
    }

    /// Adds the records of a batch if they are wanted, and an error in the place of those that cannot be read.
    fn add_records(&mut self, batch: &Batch<'_>, to: &mut Vec<Found>) -> Result<(), Trouble> {
        let key = run_of(batch.id);
        if !self.runs.contains_key(&key) {
            let found = match RunRow::find(self.moment, key).and_then(|row| row.map(RunRow::header).transpose()) {
                Err(trouble @ Trouble::Damaged(_)) => Some(Err(trouble.at(self.database))),
                found => found?.map(Ok),
            };
            self.runs.insert(key, found);
        }
        let run = RunKey(from_integer(key));
        let (id, workflow, damaged) = match self.runs.get(&key) {
            Some(Some(Ok(header))) if self.query.wants(&header.workflow, &header.tags) => {
                (header.id.clone(), header.workflow.clone(), None)
            }
            // Of a run that is damaged it is not known whether it is wanted.
            Some(Some(Err(error))) => (format!("run number {key}"), String::new(), Some(error.clone())),
            _ => return Ok(()),
        };
        self.bytes += batch.body.len();
        let first = from_integer(batch.id - rows_of(run).start);
        let mut stored = Vec::new();
        let mut error = damaged;
        if error.is_none() && !batch.is_sound() {
            let message = format!("record {first} of run `{id}` does not match its checksum");
            error = Some(Trouble::Damaged(message).at(self.database));
        } else if error.is_none()
            && let Err(undecodable) = decode(batch.body, first, from_millis(batch.time), &mut stored)
        {
            let message = format!("{undecodable}; it is of a newer version of graphweft");
            error = Some(StoreError::BadRecord { run: id.clone(), seq: first + stored.len() as u64, message });
        }
        let records = stored.into_iter().map(Ok).chain(error.map(Err));
        to.extend(records.map(|stored| (run, id.clone(), workflow.clone(), stored)));
        Ok(())
    }
}

/// A record of a run, with the id of that and the name of its workflow.
type Found = (RunKey, String, String, Result<Stored, StoreError>);

/// Batches that are read by runs, and wanted by positions.
#[derive(Default)]
struct InOrder {
    batches: Vec<(Batch<'static>, Range<usize>)>,
    bodies: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
}

impl InOrder {
    /// Adds the batches of a row from a position on.
    fn add(&mut self, row: RecordRow<'_>, from: i64) {
        match row.batches() {
            Some(batches) => batches.filter(|batch| batch.position >= from).for_each(|batch| self.push(batch)),
            // An error in the place of all of its batches.
            None => self.push(row.whole()),
        }
    }

    fn push(&mut self, batch: Batch<'_>) {
        let begins = self.bodies.len();
        self.bodies.extend_from_slice(batch.body);
        self.batches.push((Batch { body: &[], ..batch }, begins..self.bodies.len()));
    }

    fn sort(&mut self) {
        self.batches.sort_by_key(|(batch, _)| batch.position);
    }

    /// Takes those before a position.
    fn before(&mut self, position: i64) -> Vec<Batch<'_>> {
        let left = &self.batches[self.taken..];
        let before = left.partition_point(|(batch, _)| batch.position < position);
        self.taken += before;
        left[..before].iter().map(|(batch, body)| Batch { body: &self.bodies[body.clone()], ..*batch }).collect()
    }
}
