//! The order in which batches of all runs were added.

use std::collections::VecDeque;
use std::time::SystemTime;

use crate::store::feed::{FeedPage, FeedPlace, FeedQuery, FeedRecord};
use crate::store::{Records, RunHeader, RunKey, Stored};

/// How many records are in a page, if the query does not say.
const PAGE: usize = 256;

/// Where the batches are, in the order in which they were added. Those of runs that were removed go when no
/// other is before them, or when they are half of all.
#[derive(Default)]
pub(super) struct Commits {
    batches: VecDeque<Commit>,
    last: u64,
    removed: usize,
}

#[derive(Clone, Copy)]
struct Commit {
    position: u64,
    run: RunKey,
    /// The number of its first record.
    first: u64,
}

impl Commits {
    pub(super) fn add(&mut self, run: RunKey, first: u64) {
        self.last += 1;
        self.batches.push_back(Commit { position: self.last, run, first });
    }

    /// A run with so many batches was removed.
    pub(super) fn removed(&mut self, batches: usize, is_there: impl Fn(RunKey) -> bool) {
        self.removed += batches;
        // In most cases it is the run that began first.
        while self.batches.front().is_some_and(|first| !is_there(first.run)) {
            self.batches.pop_front();
            self.removed -= 1;
        }
        if 2 * self.removed > self.batches.len() {
            self.batches.retain(|commit| is_there(commit.run));
            self.removed = 0;
        }
    }

    pub(super) fn end(&self) -> FeedPlace {
        FeedPlace { position: self.last + 1, record: 0 }
    }
}

/// A batch of a run that is there.
pub(super) struct Committed<'r> {
    pub(super) header: &'r RunHeader,
    pub(super) first: u64,
    pub(super) time: SystemTime,
    pub(super) records: &'r Records,
}

impl Commits {
    /// A page of the feed. `batch` finds a batch by its run and its first record.
    pub(super) fn page<'r>(&self, query: &FeedQuery, batch: impl Fn(RunKey, u64) -> Option<Committed<'r>>) -> FeedPage {
        let limit = if query.limit == 0 { PAGE } else { query.limit };
        let mut page = FeedPage { records: Vec::new(), place: query.after };
        let begin = self.batches.partition_point(|commit| commit.position < query.after.position);
        for commit in self.batches.range(begin..) {
            if page.records.len() >= limit {
                return page;
            }
            page.place = FeedPlace { position: commit.position + 1, record: 0 };
            let found = batch(commit.run, commit.first);
            let Some(batch) = found.filter(|batch| query.wants(&batch.header.workflow, &batch.header.tags)) else {
                continue;
            };
            let skip = if commit.position == query.after.position { query.after.record } else { 0 };
            for record in batch.records_behind(commit.position, skip).take(limit - page.records.len()) {
                page.place = record.place;
                page.records.push(record);
            }
        }
        page
    }
}

impl Committed<'_> {
    /// Its records without the first ones.
    fn records_behind(&self, position: u64, skip: u32) -> impl Iterator<Item = FeedRecord> {
        let count = self.records.len() as u64;
        (0..).zip(self.records.iter()).skip(skip as usize).map(move |(number, record)| {
            let stored = Stored::new(self.first + u64::from(number), self.time, record.clone());
            FeedRecord::new(FeedPlace::behind(position, number, count), self.header, Ok(stored))
        })
    }
}
