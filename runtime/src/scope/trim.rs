//! Puts one entry in the place of the beginning of the log of a scope.
//!
//! ```text
//!   before   u u u k u k u u u c │ u u u u u     u  update      c  the cut
//!   after        k   k         s │ u u u u u     k  kept        s  summary
//! ```
//!
//! It is one commit, by which the log ends where it did, and a summary is a function of what it sums up: of two that trim it at once, the
//! one further behind wins, and one that finds no entry at its cut changes nothing.
//!
//! An update is kept if it may be sent again, so that it is found to be there: if its run can be resumed or retried, or if a program has given it
//! a key lately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::error::{ScopeError, WrittenBy};
use super::log::{KEYED, ScopeLog, not_json};
use super::summary::{Logged, Summary};
use crate::sorted::SortedSet;
use crate::store::{LogEntry, LogTrim, RunStatus, Store};

/// For how long the keys that a program gives its updates are kept.
const KEYS_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many runs the store is asked about at once.
const AT_ONCE: usize = 32;

/// While it lives, no other reader trims the log.
struct Alone {
    /// The logs that the engine is trimming.
    trims: Arc<Mutex<SortedSet<String>>>,
    log: String,
}

impl Alone {
    fn of(trims: &Arc<Mutex<SortedSet<String>>>, log: &str) -> Option<Self> {
        let is_first = trims.lock().unwrap_or_else(PoisonError::into_inner).insert(log.to_owned());
        is_first.then(|| Alone { trims: Arc::clone(trims), log: log.to_owned() })
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.trims.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.log);
    }
}

impl ScopeLog {
    /// Whether so much is behind the last summary that another one pays, which reads what was kept before it as well.
    pub(super) fn is_long(&self, updates: usize, kept: usize) -> bool {
        updates >= self.updates.saturating_add(self.updates.max(kept).max(1))
    }

    /// Trims the log, if it is as long as it seems, and no other reader in this engine is at it.
    pub(super) async fn trim(&self) -> Result<(), ScopeError> {
        let Some(_alone) = Alone::of(&self.trims, &self.log) else { return Ok(()) };
        let entries = self.logs.read(&self.log, 0, u64::MAX).await?;
        let logged: Vec<Logged> = entries.iter().map(|entry| self.logged(entry)).collect::<Result<_, _>>()?;
        let summary = logged.iter().rposition(|logged| matches!(logged, Logged::Summary(_)));
        let (before, behind) = summary.map_or((0, logged.len()), |at| (at, logged.len() - at - 1));
        let beginning = logged.len().saturating_sub(self.updates);
        if self.is_long(behind, before) && beginning > 0 {
            let keep = self.kept(entries.iter().zip(&logged).take(beginning)).await?;
            // One that is not kept anyway, if there is one behind the summary before.
            let cut = keep.iter().rposition(|keep| !keep).filter(|cut| summary.is_none_or(|before| *cut > before));
            let cut = cut.unwrap_or(beginning - 1);
            let until = entries[cut].position;
            let positions = entries.iter().map(|entry| entry.position);
            let keep: Vec<u64> =
                positions.clone().zip(keep).take(cut).filter_map(|(at, keep)| keep.then_some(at)).collect();
            let from = summary.filter(|summary| *summary <= cut).unwrap_or(0);
            let folded = positions.zip(logged).take(cut + 1).skip(from);
            if let Some(summary) = Summary::of(folded, keep.len()) {
                let summary = serde_json::to_value(summary).map_err(not_json)?;
                self.logs.trim(LogTrim::new(self.log.as_str(), until, summary).keep(keep)).await?;
            }
        }
        // The snapshots know nothing of it: readers that begin with one would try again and again.
        self.logs.delete(&self.snapshots()).await?;
        Ok(())
    }

    /// Which of these updates may be sent again.
    async fn kept<'e>(
        &self,
        entries: impl Iterator<Item = (&'e LogEntry, &'e Logged)>,
    ) -> Result<Vec<bool>, ScopeError> {
        let entries: Vec<_> = entries.collect();
        let runs: SortedSet<String> = entries
            .iter()
            .filter_map(|(_, logged)| match logged.by() {
                WrittenBy::InRun { run, .. } => Some(run.clone()),
                WrittenBy::Program => None,
            })
            .collect();
        // The node that reads waits for this.
        let asked: Vec<_> = runs.into_iter().map(|run| can_be_resumed(Arc::clone(&self.store), run)).collect();
        let runs: HashMap<String, bool> = stream::iter(asked).buffer_unordered(AT_ONCE).try_collect().await?;
        let now = SystemTime::now();
        let keep = entries.iter().map(|(entry, logged)| match logged.by() {
            WrittenBy::Program => {
                let age = now.duration_since(entry.time).unwrap_or_default();
                entry.key.starts_with(KEYED) && age < KEYS_FOR
            }
            WrittenBy::InRun { run, .. } => runs.get(run.as_str()).copied().unwrap_or(true),
        });
        Ok(keep.collect())
    }
}

/// A run, and whether it can be resumed. One that has failed or was cancelled can be retried.
async fn can_be_resumed(store: Arc<dyn Store>, run: String) -> Result<(String, bool), ScopeError> {
    let status = store.header(&run).await?.map(|header| header.status);
    Ok((run, !matches!(status, None | Some(RunStatus::Completed | RunStatus::StartedOver))))
}
