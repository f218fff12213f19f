//! Logs in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use crate::sorted::{SortedMap, SortedSet};
use crate::store::logs::{LogAppended, LogEntry, LogStore, LogTrim, NewLogEntry};
use crate::store::{StoreError, to_the_millisecond};

/// The logs of a store. A clone is another handle to the same logs.
#[derive(Clone, Default)]
pub(super) struct MemoryLogs(Arc<Mutex<Logs>>);

#[derive(Default)]
struct Logs {
    /// None of them empty.
    logs: SortedMap<String, Log>,
    /// The last position that was given, in any log.
    last: u64,
}

#[derive(Default)]
struct Log {
    /// In the order of their positions.
    entries: Vec<LogEntry>,
    positions: HashMap<String, u64>,
}

impl Logs {
    fn append(&mut self, new: NewLogEntry) -> LogAppended {
        let NewLogEntry { log, key, value, time, behind } = new;
        let there = self.logs.get(&log);
        if let Some(&position) = there.and_then(|log| log.positions.get(&key)) {
            return LogAppended::Existing { position };
        }
        let end = there.and_then(|log| log.entries.last()).map_or(0, |entry| entry.position);
        if behind.is_some_and(|behind| behind != end) {
            return LogAppended::Conflict { end };
        }
        self.last += 1;
        let log = self.logs.get_or_insert_with(log, Log::default);
        log.positions.insert(key.clone(), self.last);
        log.entries.push(LogEntry { position: self.last, key, value, time: to_the_millisecond(time) });
        LogAppended::Added { position: self.last }
    }

    fn trim(&mut self, trim: LogTrim) -> bool {
        let LogTrim { log, until, value, keep } = trim;
        let Some(Log { entries, positions }) = self.logs.get_mut(&log) else { return false };
        let Ok(at) = entries.binary_search_by_key(&until, |entry| entry.position) else { return false };
        entries[at].value = value;
        let keep: SortedSet<u64> = keep.into_iter().collect();
        entries.retain(|entry| {
            let stays = entry.position >= until || keep.contains(&entry.position);
            if !stays {
                positions.remove(&entry.key);
            }
            stays
        });
        true
    }

    fn read(&self, log: &str, after: u64, until: u64) -> Vec<LogEntry> {
        let entries = self.logs.get(log).map_or(&[][..], |log| &log.entries);
        let from = entries.partition_point(|entry| entry.position <= after);
        entries[from..].iter().take_while(|entry| entry.position <= until).cloned().collect()
    }
}

impl MemoryLogs {
    /// No user code runs under this lock, so its data is consistent even after a panic.
    fn lock(&self) -> MutexGuard<'_, Logs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn done<T: Send + 'static>(value: T) -> BoxFuture<'static, Result<T, StoreError>> {
    ready(Ok(value)).boxed()
}

impl LogStore for MemoryLogs {
    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        done(self.lock().append(entry))
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        done(self.lock().read(log, after, until))
    }

    fn list(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        let logs = self.lock();
        done(logs.logs.keys().filter(|log| log.starts_with(prefix)).cloned().collect())
    }

    fn trim(&self, trim: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>> {
        done(self.lock().trim(trim))
    }

    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        done(self.lock().logs.remove(log).is_some())
    }
}
