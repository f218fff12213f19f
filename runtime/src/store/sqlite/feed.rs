//! The records of all runs in the order of their commits.
//!
//! A row gets its position in the transaction that adds it, under SQLite's write lock, so the order of the positions is
//! that of the commits: who reads sees the rows up to one position, and later ones only get greater positions. A move
//! takes the position along, so a page has rows of the journal first, by an index, and then rows of the log.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, params};

use super::codec::decode;
use super::row::RunRow;
use super::run_rows::RecordRow;
use super::schema::{rows_of, run_of};
use super::times::{from_integer, from_millis, to_integer};
use super::trouble::Trouble;
use crate::store::{FeedPage, FeedPlace, FeedQuery, FeedRecord, RunHeader, RunKey, StoreError};

/// How many records are in a page, if the query does not say.
const PAGE: usize = 256;

/// A page ends with the row that makes its bodies longer than this.
const BYTES: usize = 1 << 20;

/// How many rows are looked at for a page, whether they are wanted or not: other reads wait meanwhile.
const LOOKED_AT: usize = 4096;

/// The place behind all rows.
pub(super) fn end(moment: &Connection) -> Result<FeedPlace, Trouble> {
    let position = super::log_index::positions(moment)?.end;
    Ok(FeedPlace { position: from_integer(position), record: 0 })
}

pub(super) fn page(moment: &Connection, database: &Path, query: &FeedQuery) -> Result<FeedPage, Trouble> {
    let limit = if query.limit == 0 { PAGE } else { query.limit };
    let page = FeedPage { records: Vec::new(), place: query.after };
    let mut reading = Reading { moment, database, query, limit, page, runs: HashMap::new(), looked_at: 0, bytes: 0 };
    let tables = [
        "SELECT id, pos, time, records, checksum, body FROM journal INDEXED BY journal_places
         WHERE pos >= ?1 AND pos <= (SELECT number FROM numbers WHERE name = 'moved') ORDER BY pos LIMIT ?2",
        // Large rows are in the journal already.
        "SELECT log.id, log.pos, coalesce(large.time, log.time), coalesce(large.records, log.records),
             coalesce(large.checksum, log.checksum), coalesce(large.body, log.body)
         FROM commit_log AS log LEFT JOIN journal AS large ON log.body = '' AND large.id = log.id
         WHERE log.pos >= ?1 ORDER BY log.pos LIMIT ?2",
    ];
    for table in tables {
        let mut select = moment.prepare_cached(table)?;
        let mut rows = select.query(params![to_integer(query.after.position), LOOKED_AT as i64])?;
        while !reading.is_full() {
            let Some(row) = rows.next()? else { break };
            reading.take(&RecordRow::read(row)?)?;
        }
        if reading.is_full() {
            break;
        }
    }
    Ok(reading.page)
}

struct Reading<'a> {
    moment: &'a Connection,
    database: &'a Path,
    query: &'a FeedQuery,
    limit: usize,
    page: FeedPage,
    /// The runs of the rows so far: none if a run was deleted.
    runs: HashMap<i64, Option<Result<RunHeader, StoreError>>>,
    looked_at: usize,
    bytes: usize,
}

impl Reading<'_> {
    fn is_full(&self) -> bool {
        self.page.records.len() >= self.limit || self.looked_at >= LOOKED_AT || self.bytes >= BYTES
    }

    fn take(&mut self, row: &RecordRow<'_>) -> Result<(), Trouble> {
        self.looked_at += 1;
        let position = from_integer(row.position);
        self.page.place = FeedPlace { position: position + 1, record: 0 };
        let key = run_of(row.id);
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
        self.bytes += row.body.len();
        let first = from_integer(row.id - rows_of(run).start);
        let mut stored = Vec::new();
        let mut error = damaged;
        if error.is_none() && !row.is_sound() {
            let message = format!("record {first} of run `{id}` does not match its checksum");
            error = Some(Trouble::Damaged(message).at(self.database));
        } else if error.is_none()
            && let Err(undecodable) = decode(row.body, first, from_millis(row.time), &mut stored)
        {
            let message = format!("{undecodable}; it is of a newer version of graphweft");
            error = Some(StoreError::BadRecord { run: id.clone(), seq: first + stored.len() as u64, message });
        }
        let records = (stored.len() + usize::from(error.is_some())) as u64;
        let skip = if position == self.query.after.position { self.query.after.record } else { 0 };
        for (number, stored) in (0..).zip(stored.into_iter().map(Ok).chain(error.map(Err))).skip(skip as usize) {
            if self.page.records.len() >= self.limit {
                return Ok(());
            }
            let place = FeedPlace::behind(position, number, records);
            let (id, workflow) = (id.clone(), workflow.clone());
            self.page.records.push(FeedRecord { place, run, id, workflow, stored });
            self.page.place = place;
        }
        Ok(())
    }
}
