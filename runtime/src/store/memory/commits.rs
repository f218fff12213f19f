//! The order in which batches of all runs were added.

use std::collections::{BTreeMap, VecDeque};

use super::{Run, Runs};
use crate::store::feed::{FeedPage, FeedPlace, FeedQuery, FeedRecord};
use crate::store::{RunKey, Stored};

/// How many records are in a page, if the query does not say.
const PAGE: usize = 256;

/// Where the batches are, in the order in which they were added. Those of runs that were removed stay until they are
/// half of all.
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

    /// So many batches belong to a run that is not among these any more.
    pub(super) fn removed(&mut self, batches: usize, runs: &BTreeMap<RunKey, Run>) {
        self.removed += batches;
        if 2 * self.removed > self.batches.len() {
            self.batches.retain(|commit| runs.contains_key(&commit.run));
            self.removed = 0;
        }
    }

    pub(super) fn end(&self) -> FeedPlace {
        FeedPlace { position: self.last + 1, record: 0 }
    }
}

impl Runs {
    pub(super) fn feed(&self, query: &FeedQuery) -> FeedPage {
        let limit = if query.limit == 0 { PAGE } else { query.limit };
        let Commits { batches, .. } = &self.commits;
        let mut page = FeedPage { records: Vec::new(), place: query.after };
        let begin = batches.partition_point(|commit| commit.position < query.after.position);
        for commit in batches.range(begin..) {
            if page.records.len() >= limit {
                return page;
            }
            let behind = FeedPlace { position: commit.position + 1, record: 0 };
            if let Some(run) = self.runs.get(&commit.run)
                && query.wants(&run.header.workflow, &run.header.tags)
            {
                let skip = if commit.position == query.after.position { query.after.record } else { 0 };
                run.feed(commit, skip, limit, &mut page.records);
            }
            page.place = match page.records.last() {
                Some(last) if last.place.position == commit.position => last.place,
                _ => behind,
            };
        }
        page
    }
}

impl Run {
    /// Adds the records of a batch, without the first ones, as long as there are fewer than `limit`.
    fn feed(&self, commit: &Commit, skip: u32, limit: usize, into: &mut Vec<FeedRecord>) {
        let Ok(batch) = self.journal.binary_search_by_key(&commit.first, |batch| batch.first) else { return };
        let batch = &self.journal[batch];
        let records = batch.records.len() as u64;
        for (number, record) in (0..).zip(batch.records.iter()).skip(skip as usize) {
            if into.len() >= limit {
                return;
            }
            let seq = batch.first + u64::from(number);
            into.push(FeedRecord {
                place: FeedPlace::behind(commit.position, number, records),
                run: self.header.key,
                id: self.header.id.clone(),
                workflow: self.header.workflow.clone(),
                stored: Ok(Stored { seq, time: batch.time, record: record.clone() }),
            });
        }
    }
}
