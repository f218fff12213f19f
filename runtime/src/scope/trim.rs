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
use std::time::{Duration, SystemTime};

use super::error::{ScopeError, WrittenBy};
use super::log::{KEYED, ScopeLog, not_json};
use super::summary::{Logged, Summary};
use crate::store::{LogEntry, LogTrim, RunStatus};

/// For how long the keys that a program gives its updates are kept.
const KEYS_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl ScopeLog {
    /// Whether so much is behind the last summary that another one pays, which reads what was kept before it as well.
    pub(super) fn is_long(&self, updates: usize, kept: usize) -> bool {
        updates >= self.updates + self.updates.max(kept).max(1)
    }

    /// Trims the log, if it is as long as it seems.
    pub(super) async fn trim(&self) -> Result<(), ScopeError> {
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
        let mut runs: HashMap<&str, bool> = HashMap::new();
        let now = SystemTime::now();
        let mut keep = Vec::new();
        for (entry, logged) in entries {
            keep.push(match logged.by() {
                WrittenBy::Program => {
                    let age = now.duration_since(entry.time).unwrap_or_default();
                    entry.key.starts_with(KEYED) && age < KEYS_FOR
                }
                WrittenBy::InRun { run, .. } => match runs.get(run.as_str()) {
                    Some(known) => *known,
                    None => *runs.entry(run).or_insert(self.can_be_resumed(run).await?),
                },
            });
        }
        Ok(keep)
    }

    /// A run that has failed or was cancelled can be retried.
    async fn can_be_resumed(&self, run: &str) -> Result<bool, ScopeError> {
        let status = self.store.header(run).await?.map(|header| header.status);
        Ok(!matches!(status, None | Some(RunStatus::Completed | RunStatus::StartedOver)))
    }
}
