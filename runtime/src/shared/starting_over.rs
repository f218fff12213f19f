//! The end of a run that starts over: it is recorded in one commit with the beginning of the next run.

use std::sync::Arc;

use super::journal::Journal;
use super::succession::Over;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::store::{NewRun, Record};

impl Journal {
    /// The id of the run that follows this one: `chat~1` follows `chat`, and `chat~2` that.
    pub(crate) fn next_id(&self) -> String {
        let id = &self.run_id;
        let numbered = id.rsplit_once('~').filter(|_| self.is_next);
        let next = numbered.and_then(|(first, number)| Some((first, number.parse::<u64>().ok()?.checked_add(1)?)));
        next.map_or_else(|| format!("{id}~1"), |(first, number)| format!("{first}~{number}"))
    }

    /// Records the end of the run, with the beginning of the next one. If a cancellation is recorded before that, the run
    /// ends as cancelled. Cancel safe: it is recorded all the same.
    ///
    /// # Errors
    /// If the run leaves this process before its end is recorded.
    pub(crate) async fn start_over(self: &Arc<Self>, mut next: Box<NewRun>) -> Result<Over, Halt> {
        while let Err(again) = self.push_end(next) {
            next = again;
            self.flush().await?;
        }
        self.flush().await?;
        self.inner().over.as_deref().cloned().ok_or(Halt::Fenced)
    }

    /// Adds the records with which the run ends. Returns the next run if what a step has written in a transaction is to be
    /// committed before, since that is not of the commit that begins the next run.
    fn push_end(&self, next: Box<NewRun>) -> Result<(), Box<NewRun>> {
        let record = |kind| Record { path: self.workflow.clone(), kind };
        let mut inner = self.inner();
        if inner.transaction.is_some() {
            return Err(next);
        }
        if inner.cancelled {
            // Without a `RunCancelling`: nothing is under way any more that it could stop.
            self.push_to(&mut inner, record(EventKind::RunCancelled));
            inner.over = Some(Box::new(Over::Cancelled));
        } else {
            self.push_to(&mut inner, record(EventKind::RunStartedOver { next: next.id.clone() }));
            inner.next = Some(next);
        }
        Ok(())
    }

    /// The run that has begun with the end of this one.
    pub(crate) fn next(&self) -> Option<String> {
        match self.inner().over.as_deref() {
            Some(Over::Begun(header, _)) => Some(header.id.clone()),
            _ => None,
        }
    }
}
