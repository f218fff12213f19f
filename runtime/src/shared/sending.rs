//! Signals to a run that is driven here, and their delivery to its waits.

use std::sync::Arc;

use super::journal::Journal;
use crate::halt::Halt;
use crate::signal::{Sent, Signalled};

impl Journal {
    /// Records a signal. `None` if the run has had its last record.
    ///
    /// # Errors
    /// If the run leaves this process. The signal is not recorded then, unless the store has failed.
    pub(crate) async fn signal(self: &Arc<Self>, sent: Sent) -> Result<Option<Signalled>, Halt> {
        let of = sent.id.as_ref().map(|id| (sent.name.clone(), id.clone()));
        let is_known = {
            let mut inner = self.inner();
            let is_known =
                of.as_ref().is_some_and(|of| inner.sent.contains(of) || self.desk.knows_signal(&of.0, &of.1));
            if inner.ended && !is_known {
                return Ok(None);
            }
            if !is_known {
                inner.sent.extend(of.clone());
                self.push_to(&mut inner, sent.into_record(&self.workflow, self.clock.now()));
            }
            is_known
        };
        // One that is known may still be on its way to the store.
        self.flush().await?;
        let Some(of) = of.filter(|_| !is_known) else {
            return Ok(Some(if is_known { Signalled::Duplicate } else { Signalled::New }));
        };
        let mut inner = self.inner();
        let is_late = inner.late_signals.remove(&of);
        Ok(Some(if is_late { Signalled::Duplicate } else { Signalled::New }))
    }

    /// Delivers signals to waits, after one was made again that is recorded as open.
    pub(crate) fn deliver_signals(&self) {
        self.push_following(&mut self.inner(), Vec::new());
    }
}
