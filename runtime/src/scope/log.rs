//! The log of a scope, in the store of an engine.
//!
//! `%state/user/ada` has an entry for each update, behind one that sums up those of long ago (`trim.rs`). `%state-at/user/ada` has one or two snapshots, each the fold of the entries up to a
//! position: a cache, which may be missing, and counts only if the entry at its position is there. So one that
//! outlives the deletion of the log, since it was written at that time, says nothing: positions are never given again.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use serde::Deserialize;

use super::error::ScopeError;
use super::fold::{Entry, Fold};
use super::summary::Logged;
use crate::core::Totals;
use crate::engine::Engine;
use crate::shared::MAX_ID;
use crate::sorted::SortedSet;
use crate::state_write::StateOp;
use crate::store::{LogAppended, LogEntry, LogStore, NewLogEntry, Store};

/// After how many entries the next reader writes a snapshot.
const SNAPSHOT_AFTER: usize = 256;

/// How the key of an entry begins if a program has given it.
pub(super) const KEYED: &str = "program \"";

#[derive(Clone)]
pub(super) struct ScopeLog {
    /// Those of a run stop it while the store is away.
    pub(super) logs: Arc<dyn LogStore>,
    /// It knows which runs are over.
    pub(super) store: Arc<dyn Store>,
    /// How many updates are kept one by one at least.
    pub(super) updates: usize,
    /// The logs that the engine is trimming.
    pub(super) trims: Arc<Mutex<SortedSet<String>>>,
    pub(super) scope: &'static str,
    pub(super) id: String,
    pub(super) log: String,
}

impl ScopeLog {
    pub(super) fn new(engine: &Engine, scope: &'static str, id: String) -> Result<Self, ScopeError> {
        if id.len() > MAX_ID {
            return Err(ScopeError::IdTooLong { scope: scope.to_owned(), length: id.len() });
        }
        let (logs, store, updates) = (engine.logs()?, engine.store(), engine.scope_updates());
        let log = format!("{}{}", prefix_of(scope), escaped(&id));
        Ok(ScopeLog { logs, store, updates, trims: engine.scope_trims(), scope, id, log })
    }

    /// The state up to a position; with `u64::MAX`, as it is now.
    ///
    /// If the entry at that position has become a part of a summary, it is that of the summary: the oldest state that is left.
    pub(super) async fn read(&self, until: u64) -> Result<Fold, ScopeError> {
        let (fold, news) = self.fold_up_to(until).await?;
        if until == u64::MAX {
            // Without it, more is read the next time.
            if let Err(error) = self.shorten(&fold, news).await {
                tracing::debug!(log = self.log, %error, "the log of a scope was not shortened");
            }
        }
        Ok(fold)
    }

    /// The same, and how many entries were read behind a snapshot or a summary.
    async fn fold_up_to(&self, until: u64) -> Result<(Fold, usize), ScopeError> {
        let (mut fold, entries) = self.snapshot_and_news(until).await?;
        let mut news = &entries[..];
        // Of what is before the last summary, something may be missing.
        if let Some(at) = news.iter().rposition(|entry| entry.value.get("summary").is_some())
            && let Logged::Summary(summary) = self.logged(&news[at])?
        {
            fold = summary.into_fold();
            news = &news[at + 1..];
        }
        if fold.end > until {
            tracing::debug!(
                log = self.log,
                until,
                read = fold.end,
                "the state of a scope is read as of a later update"
            );
        }
        for entry in news.iter().take_while(|entry| entry.position <= until) {
            if let Logged::Update(update) = self.logged(entry)? {
                fold.apply(entry.position, &update.writes);
            }
        }
        Ok((fold, news.len()))
    }

    /// The state up to a position, from what was read of it before.
    async fn read_on_from(&self, mut fold: Fold, until: u64) -> Result<Fold, ScopeError> {
        let entries = self.logs.read(&self.log, fold.end.saturating_sub(1), until).await?;
        // It has become a part of a summary, or was deleted.
        if fold.end > 0 && entries.first().is_none_or(|entry| entry.position != fold.end) {
            return Ok(self.fold_up_to(until).await?.0);
        }
        let end = fold.end;
        for entry in entries.iter().skip_while(|entry| entry.position <= end) {
            match self.logged(entry)? {
                Logged::Update(update) => fold.apply(entry.position, &update.writes),
                Logged::Summary(summary) => fold = summary.into_fold(),
            }
        }
        Ok(fold)
    }

    /// Sees to it that the next reader reads less than this one.
    async fn shorten(&self, fold: &Fold, news: usize) -> Result<(), ScopeError> {
        let is_long = self.is_long(fold.updates, fold.kept);
        if !is_long && news < SNAPSHOT_AFTER {
            return Ok(());
        }
        // Not as the run that reads: it can do without.
        let logs = self.store.logs().unwrap_or_else(|| Arc::clone(&self.logs));
        let log = ScopeLog { logs, ..self.clone() };
        if is_long { log.trim().await } else { log.put_snapshot(fold).await }
    }

    /// The last snapshot up to a position, and the entries behind it, up to the end of the log.
    async fn snapshot_and_news(&self, until: u64) -> Result<(Fold, Vec<LogEntry>), ScopeError> {
        let snapshots = self.logs.read(&self.snapshots(), 0, u64::MAX).await?;
        let snapshots = snapshots.into_iter().filter_map(|snapshot| Fold::deserialize(&snapshot.value).ok());
        let last = snapshots.filter(|fold| 0 < fold.end && fold.end <= until).max_by_key(|fold| fold.end);
        if let Some(fold) = last {
            let mut entries = self.logs.read(&self.log, fold.end - 1, u64::MAX).await?;
            if entries.first().is_some_and(|entry| entry.position == fold.end) {
                entries.remove(0);
                return Ok((fold, entries));
            }
        }
        Ok((Fold::default(), self.logs.read(&self.log, 0, u64::MAX).await?))
    }

    async fn put_snapshot(&self, fold: &Fold) -> Result<(), ScopeError> {
        let log = self.snapshots();
        let snapshot = serde_json::to_value(fold).map_err(not_json)?;
        // Between the two there is none, and more is read.
        if self.logs.read(&log, 0, u64::MAX).await?.len() > 1 {
            self.logs.delete(&log).await?;
        }
        self.logs.append(NewLogEntry::new(log.as_str(), fold.end.to_string(), snapshot, SystemTime::now())).await?;
        // It was deleted meanwhile: what was deleted must not stay.
        if self.logs.read(&self.log, fold.end - 1, fold.end).await?.is_empty() {
            self.logs.delete(&log).await?;
        }
        Ok(())
    }

    /// Adds an entry, once for each key, unless one behind what was read has written a key that it overwrites, or has left less room in
    /// a sum than it takes.
    pub(super) async fn append(
        &self,
        key: &str,
        entry: &Entry,
        fold: &Fold,
        totals: &Totals,
    ) -> Result<(), ScopeError> {
        let value = serde_json::to_value(entry).map_err(not_json)?;
        let new = NewLogEntry::new(self.log.as_str(), key, value, SystemTime::now());
        let sets = entry.writes.iter().filter(|write| matches!(write.op, StateOp::Set(_)));
        let overwritten: Vec<&str> = sets.map(|write| write.key.as_str()).collect();
        let has_sums = totals.check_some_of(&entry.writes);
        if overwritten.is_empty() && !has_sums {
            self.logs.append(new).await?;
            return Ok(());
        }
        let (mut end, mut seen) = (entry.read, None);
        loop {
            match self.logs.append(new.clone().behind(end)).await? {
                LogAppended::Conflict { end: now } => {
                    let news = self.logs.read(&self.log, end, now).await?;
                    for other in &news {
                        if let Some((key, by)) = self.logged(other)?.writer_of(&overwritten, entry.read) {
                            let (scope, id) = (self.scope.to_owned(), self.id.clone());
                            return Err(ScopeError::Conflict { scope, id, key, by });
                        }
                    }
                    if has_sums {
                        let before = seen.take().unwrap_or_else(|| fold.clone());
                        let now = seen.insert(self.read_on_from(before, now).await?);
                        if let Some((key, why)) = now.refuses(&entry.writes, totals) {
                            return Err(self.refuse(key, why));
                        }
                    }
                    // Less than was read, if the log was deleted meanwhile.
                    end = now;
                }
                LogAppended::Added { .. } | LogAppended::Existing { .. } => return Ok(()),
            }
        }
    }

    pub(super) fn refuse(&self, key: String, message: String) -> ScopeError {
        ScopeError::Refused { scope: self.scope.to_owned(), id: self.id.clone(), key, message }
    }

    /// The position up to which another attempt reads: now, or if this key is there already, as who has written it.
    pub(super) async fn position_of(&self, key: &str, after: u64) -> Result<u64, ScopeError> {
        let entries = self.logs.read(&self.log, after, u64::MAX).await?;
        match entries.iter().find(|entry| entry.key == key) {
            Some(own) => Ok(self.logged(own)?.read_up_to()),
            None => Ok(entries.last().map_or(after, |last| last.position)),
        }
    }

    /// Deletes it. Returns whether there was something.
    pub(super) async fn delete(&self) -> Result<bool, ScopeError> {
        // The snapshots first: without the log they would not be found again. And once more, since one may have been written
        // before the log was deleted; a reader that writes one later finds no log, and deletes it itself.
        let before = self.logs.delete(&self.snapshots()).await?;
        let log = self.logs.delete(&self.log).await?;
        let after = self.logs.delete(&self.snapshots()).await?;
        Ok(before || log || after)
    }

    pub(super) fn snapshots(&self) -> String {
        format!("%state-at/{}/{}", self.scope, escaped(&self.id))
    }

    pub(super) fn logged(&self, entry: &LogEntry) -> Result<Logged, ScopeError> {
        Logged::read(&entry.value).map_err(|error| ScopeError::Unreadable {
            log: self.log.clone(),
            position: entry.position,
            message: error.to_string(),
        })
    }
}

/// The ids that have state in a scope, sorted.
pub(super) async fn ids(logs: &dyn LogStore, scope: &'static str) -> Result<Vec<String>, ScopeError> {
    let prefix = prefix_of(scope);
    let logs = logs.list(&prefix).await?;
    let mut ids: Vec<String> = logs.iter().filter_map(|log| log.strip_prefix(&prefix)).map(unescaped).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// No session of an agent has a log that begins like this: the percent sign of its name would be followed by a number.
fn prefix_of(scope: &str) -> String {
    format!("%state/{scope}/")
}

/// An id without the character that ends a text for some stores.
fn escaped(id: &str) -> String {
    id.replace('%', "%25").replace('\0', "%00")
}

fn unescaped(id: &str) -> String {
    id.replace("%00", "\0").replace("%25", "%")
}

pub(super) fn not_json(error: serde_json::Error) -> ScopeError {
    ScopeError::Store { message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_same_after_it_was_escaped() {
        for id in ["", "/", "%", "%25", "%00", "\0", "%\0%2500", "ada/../bob", "ä\u{10ffff}"] {
            assert_eq!(unescaped(&escaped(id)), id);
        }
    }
}
