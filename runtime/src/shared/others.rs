//! Records that other processes add to the journal of a run that is driven here.

use std::sync::Arc;

use super::journal::Journal;
use super::pending::{Inner, retain};
use super::progress::Progress;
use super::sent::Derived;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::store::{Record, Stored};
use crate::sync::MutexGuard;

impl Journal {
    /// Reads and applies the records that other processes have added.
    pub(crate) async fn catch_up(self: &Arc<Self>) {
        loop {
            let (from, before) = {
                let inner = self.inner();
                (inner.length, inner.in_flight.as_ref().map(|in_flight| self.wait_for(in_flight)))
            };
            // Records of this process that are being appended could be mistaken for foreign ones.
            if let Some(before) = before {
                before.await;
                continue;
            }
            let Ok(news) = self.store.read(self.key, from, usize::MAX).await else { return };
            let inner = self.inner();
            if inner.in_flight.is_none() && inner.length == from {
                return self.absorb(inner, news, &mut Vec::new(), &mut Vec::new());
            }
        }
    }

    /// Before something is reported: applies what is in the store by now, records of this process whose append has not been
    /// acknowledged yet, and those of other processes, if the store is shared with them.
    pub(crate) async fn catch_up_with_store(self: &Arc<Self>) {
        if self.store.is_shared() {
            return self.catch_up().await;
        }
        self.until_acknowledged().await;
    }

    /// Applies records that another process has added. `batch`: the records of this process that were to go in their
    /// place.
    pub(super) fn absorb(
        &self,
        mut inner: MutexGuard<'_, Inner>,
        news: Vec<Stored>,
        batch: &mut Vec<Record>,
        derived: &mut [Derived],
    ) {
        let mut applied = Vec::new();
        for stored in news {
            if stored.seq != inner.length || inner.halted.is_some() {
                continue;
            }
            inner.length += 1;
            match &stored.record.kind {
                EventKind::RunResumed { owner } if *owner != self.owner.0 => {
                    inner.halted = Some(Box::new(Halt::Fenced))
                }
                EventKind::CancelRequested => {
                    inner.cancelled = true;
                    // As in `push_cancel`: a caller that waits for the end of the run gets no report that it waits.
                    self.progress.report(Progress::Running);
                    self.cancel();
                }
                EventKind::Answered { .. } => {
                    let path = stored.record.path.clone();
                    let is_other =
                        |record: &Record| !(record.path == path && matches!(record.kind, EventKind::Answered { .. }));
                    let before = inner.pending.len() + batch.len();
                    let Inner { pending, derived: pending_derived, .. } = &mut *inner;
                    retain(pending.whole(), pending_derived, is_other);
                    retain(batch, derived, is_other);
                    if inner.pending.len() + batch.len() < before {
                        inner.late_answers.insert(path);
                    }
                }
                EventKind::SignalReceived { name, id: Some(id), .. } => {
                    let of = (name.clone(), id.clone());
                    let is_other = |record: &Record| !is_signal(record, &of);
                    let before = inner.pending.len() + batch.len();
                    let Inner { pending, derived: pending_derived, .. } = &mut *inner;
                    retain(pending.whole(), pending_derived, is_other);
                    retain(batch, derived, is_other);
                    if inner.pending.len() + batch.len() < before {
                        inner.late_signals.insert(of);
                    }
                }
                _ => {}
            }
            applied.push(stored);
        }
        // The run may have to move again. Its driver reports when it is at rest again.
        if !applied.is_empty() && inner.leave_rest() {
            self.wake_driver();
        }
        let is_halted = inner.halted.is_some();
        let mut accepted = Vec::new();
        for stored in &applied {
            inner.questions.follow(&stored.record);
            self.publish(&mut inner, stored.seq, stored.time, &stored.record, false);
            accepted.extend(self.heed(&mut inner, &stored.record, stored.seq));
        }
        self.push_following(&mut inner, accepted);
        drop(inner);
        if is_halted {
            self.stop_driver();
        }
    }
}

/// Whether a record is a signal with this name and id.
fn is_signal(record: &Record, of: &(String, String)) -> bool {
    matches!(&record.kind, EventKind::SignalReceived { name, id: Some(id), .. } if (name, id) == (&of.0, &of.1))
}
