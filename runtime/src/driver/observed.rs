//! The state of a run as a test sees it while the run is driven.

use std::any::TypeId;
use std::sync::Arc;

use super::run::Driver;
use crate::core::Run;
use crate::table::Token;

/// A test's callback, called with the state of a run or of the graph of a child.
pub(crate) type Observer = dyn Fn(Observed<'_>) + Send + Sync;

/// A run all of whose events are recorded.
pub(crate) struct Observed<'c> {
    pub(crate) run: &'c Run<Token>,
    pub(crate) run_id: &'c str,
    /// How many records there are.
    pub(crate) records: u64,
    /// Whether the run waits.
    pub(crate) waits: bool,
    /// The requests of nodes, if all of them are recorded.
    pub(crate) requests: Option<Vec<(String, String)>>,
}

impl Driver {
    pub(super) fn is_observed(&self) {
        let observer =
            self.shared.env.resource(TypeId::of::<Arc<Observer>>()).and_then(|of| of.downcast_ref::<Arc<Observer>>());
        if let (Some(observer), Some(journal)) = (observer, &self.shared.journal) {
            let waits = self.still_at == Some(self.shared.pulse.generation());
            let requests = (self.is_whole && journal.is_quiet()).then(|| journal.desk.snapshot());
            observer(Observed { run: &self.run, run_id: &journal.run_id, records: journal.length(), waits, requests });
        }
    }
}
