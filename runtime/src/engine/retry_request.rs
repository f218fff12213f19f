//! Retries of runs whose workflow the engine does not know.
//!
//! Which records a retry voids depends on the graph of the workflow, and on its types. An engine without them voids the
//! end of the run only, which makes it a run that any engine with the workflow resumes. That one records the rest first:
//!
//! ```text
//!   0 .. 7         8 RunFailed   9 RunRetried          10 RunResumed   11 RunRetried
//!                                  requested, voids 8                     voids 6..9
//! ```
//!
//! What it voids follows from the records before the request. Those behind it, an answer or a signal, count.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::inner::Engine;
use super::requests::child_workflow_around;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::store::{Append, Appended, HeaderChange, Record, Records, RunHeader, RunStatus, StoreError, Stored};
use crate::table::Definition;

/// The nodes that run again, as they are recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct RetriedNodes {
    pub(super) from_nodes: Vec<String>,
    pub(super) rerun: Vec<String>,
}

impl RetriedNodes {
    pub(super) fn record(self, workflow: &str, voids: Vec<Range<u64>>, requested: bool) -> Record {
        let RetriedNodes { from_nodes, rerun } = self;
        Record { path: workflow.to_owned(), kind: EventKind::RunRetried { voids, from_nodes, rerun, requested } }
    }
}

/// The path of the child workflow around a recorded path, by the recorded names.
pub(super) fn recorded_child_around(history: &[Stored], path: &str) -> Option<String> {
    child_workflow_around(history, path).map(|number| history[number].record.path.clone())
}

/// The number of a request that is not carried out, with its nodes.
fn requested(history: &[Stored]) -> Option<(usize, RetriedNodes)> {
    let is_last = |stored: &Stored| {
        stored.record.kind.is_terminal() || matches!(stored.record.kind, EventKind::RunRetried { .. })
    };
    let at = history.iter().rposition(is_last)?;
    match &history[at].record.kind {
        EventKind::RunRetried { requested: true, from_nodes, rerun, .. } => {
            Some((at, RetriedNodes { from_nodes: from_nodes.clone(), rerun: rerun.clone() }))
        }
        _ => None,
    }
}

impl Engine {
    /// The record of the retry of a run with these records.
    ///
    /// # Errors
    /// If they do not fit the current graph.
    pub(super) async fn retry_of(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        history: Vec<Stored>,
        nodes: RetriedNodes,
    ) -> Result<Record, Halt> {
        let until = history.len() as u64;
        let voids = self.voids(header, definition, history, until, (&nodes.from_nodes, &nodes.rerun)).await?;
        Ok(nodes.record(&header.workflow, voids, false))
    }

    /// Records the request for a retry of a run that has failed or was cancelled. `false` if another engine was faster.
    pub(super) async fn request_retry(
        &self,
        header: &RunHeader,
        history: &[Stored],
        nodes: RetriedNodes,
    ) -> Result<bool, StoreError> {
        let end = history.iter().rfind(|stored| stored.record.kind.is_terminal());
        let voids = end.map(|end| end.seq..end.seq + 1).into_iter().collect();
        let append = Append {
            run: header.key,
            at: header.records,
            time: self.0.env.clock.now(),
            records: Records::from(vec![nodes.record(&header.workflow, voids, true)]),
            header: HeaderChange {
                status: Some((RunStatus::Running, None)),
                owner: Some(None),
                ..HeaderChange::default()
            },
        };
        Ok(self.0.append(append).await? == Appended::Done)
    }

    /// The record of the retry that was requested of a run, and is not carried out.
    ///
    /// # Errors
    /// If the records do not fit the current graph.
    pub(super) async fn requested_retry(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        history: &[Stored],
    ) -> Result<Option<Record>, Halt> {
        let Some((at, nodes)) = requested(history) else { return Ok(None) };
        let before = &history[..at];
        if header.forked_from.as_ref().is_some_and(|(_, forked_at)| *forked_at == at as u64) {
            return self.requested_fork(header, definition, before).await.map(Some);
        }
        for path in nodes.from_nodes.iter().chain(&nodes.rerun) {
            // The engine with the request knew the recorded names only, and a node around it may have been renamed.
            if let Some(child) = self.child_workflow_around(header, definition, before, path).await? {
                return Err(Halt::Unreadable {
                    path: path.clone(),
                    field: ".".to_owned(),
                    message: format!(
                        "its retry was requested, but it is inside the child workflow `{child}`; cancel the run, and \
                         retry it from `{child}`"
                    ),
                });
            }
        }
        self.retry_of(header, definition, before.to_vec(), nodes).await.map(Some)
    }

    /// Adds the retry that was requested of a run, and is not carried out, to its records. Returns it to be recorded.
    ///
    /// # Errors
    /// See [`requested_retry`](Self::requested_retry).
    pub(super) async fn add_requested_retry(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        history: &mut Vec<Stored>,
    ) -> Result<Option<Record>, Halt> {
        let retried = self.requested_retry(header, definition, history).await?;
        if let Some(record) = &retried {
            let (seq, time) = (history.len() as u64, self.0.env.clock.now());
            history.push(Stored { seq, time, record: record.clone() });
        }
        Ok(retried)
    }

    /// The record with which a fork begins that copies these records, if a retry was requested there: the fork carries it out.
    /// A cancellation since does not count in it, as none does in any fork.
    ///
    /// # Errors
    /// See [`requested_retry`](Self::requested_retry).
    pub(super) async fn retry_in_fork(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        copied: &[Stored],
    ) -> Result<Option<Record>, Halt> {
        let Some(mut retried) = self.requested_retry(header, definition, copied).await? else { return Ok(None) };
        let retry = |stored: &&Stored| matches!(stored.record.kind, EventKind::RunRetried { .. });
        let since = copied.iter().rev().take_while(|stored| !retry(stored));
        let cancelled = since.filter(|stored| matches!(stored.record.kind, EventKind::CancelRequested));
        if let EventKind::RunRetried { voids, .. } = &mut retried.kind {
            voids.extend(cancelled.map(|stored| stored.seq..stored.seq + 1));
        }
        Ok(Some(retried))
    }

    /// Records a retry that was requested of a run that this engine has claimed.
    ///
    /// # Errors
    /// If the store cannot be written, or another engine has added a record: then the run is claimed again.
    pub(super) async fn record_requested_retry(&self, header: &RunHeader, retried: Record) -> Result<(), Halt> {
        let append = Append {
            run: header.key,
            at: header.records,
            time: self.0.env.clock.now(),
            records: Records::from(vec![retried]),
            header: HeaderChange::default(),
        };
        match self.0.append(append).await.map_err(Halt::Store)? {
            Appended::Done => Ok(()),
            _ => {
                self.0.lost_claim.store(true, Ordering::Release);
                self.keep();
                Err(Halt::Fenced)
            }
        }
    }
}
