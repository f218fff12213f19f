//! The signals of runs that are not driven here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::voided::effective;
use crate::event::EventKind;
use crate::shared::Signals;
use crate::store::{RunKey, Stored};

/// Of how many runs that are not driven here the signals are kept, so that not all of their records are read for each.
const KEPT: usize = 64;

/// The signals of runs that are not driven here, by their records up to a number.
#[derive(Default)]
pub(super) struct SignalLogs(Mutex<HashMap<RunKey, Arc<Mutex<Log>>>>);

#[derive(Default)]
pub(super) struct Log {
    pub(super) signals: Signals,
    /// The number of the next record.
    pub(super) next: u64,
}

impl SignalLogs {
    /// What is known of a run. If there is no room for it, what is known of the others is dropped.
    pub(super) fn of(&self, run: RunKey) -> Arc<Mutex<Log>> {
        let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() >= KEPT && !logs.contains_key(&run) {
            logs.clear();
        }
        Arc::clone(logs.entry(run).or_default())
    }
}

impl Log {
    /// Applies new records; `false` if all have to be read again, since a retry has voided some.
    pub(super) fn follow(&mut self, news: Vec<Stored>) -> bool {
        let from = self.next;
        let is_retry = |stored: &Stored| matches!(stored.record.kind, EventKind::RunRetried { .. });
        let is_retried = news.iter().any(is_retry);
        if is_retried && from > 0 {
            *self = Log::default();
            return false;
        }
        let end = news.last().map(|last| last.seq + 1);
        for Stored { seq, record, .. } in if is_retried { effective(news) } else { news } {
            if seq >= from {
                self.signals.follow(seq, &record);
            }
        }
        self.next = end.unwrap_or(from).max(from);
        true
    }
}
