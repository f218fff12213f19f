//! Resuming a run: its records are folded, and attempts that were under way at the last record begin again.

use std::sync::Arc;

use serde_json::Map;

use super::event_codec::{OfRequests, Replay, Taken, no_output};
use super::inputs::RetainedInput;
use super::lazy_value::{DriverValues, RecordedValues};
use super::run::Driver;
use crate::core::{Derived, Event, Resumption, Run, TimeLimit};
use crate::event::EventKind;
use crate::halt::Halt;
use crate::store::{Record, Stored};
use crate::table::Emitted;

impl Driver {
    /// Folds the records of the run, beginning with the emission of START. No code of a node runs.
    pub(super) fn replay(
        &mut self,
        started: Emitted,
        limit: Option<TimeLimit>,
        history: Vec<Stored>,
    ) -> Result<RecordedValues, Halt> {
        self.has_recorded_values = true;
        let (executable, definition) = (self.executable.clone(), self.definition.clone());
        let nothing = Run::new(Arc::clone(&executable.program), 0, false, Map::new(), None);
        let run = std::mem::replace(&mut self.run, nothing);
        let mut replay = Replay::new(run, &executable, &definition, started, limit)?;
        let mut values = DriverValues { driver: self, values: RecordedValues::default() };
        let mut wants_cancel = false;
        let was_retried = history.iter().any(|stored| matches!(stored.record.kind, EventKind::RunRetried { .. }));
        for stored in history {
            wants_cancel |= matches!(stored.record.kind, EventKind::CancelRequested);
            let driver = values.driver;
            driver.follow_signals(&stored);
            if let EventKind::Note { .. } = stored.record.kind {
                let task = replay.task_at(&stored.record.path);
                // A note of an attempt that is over, or was voided by a retry, is not looked for.
                match task.filter(|task| replay.run.is_live(*task)) {
                    Some(task) if !replay.run.is_running(task) => {}
                    at => driver.restore_note(stored, at.is_some()),
                }
                continue;
            }
            match replay.take(stored, &mut values)? {
                Taken::Request { node, stored, .. } => driver.restore_request(node, *stored, was_retried)?,
                Taken::Applied(Some((path, Some(of_requests)))) => driver.settle_requests(&path, of_requests),
                Taken::Applied(_) | Taken::Nothing => {}
            }
            while let Some((place, what)) = replay.run.next_derived() {
                if what == Derived::Cancelled {
                    driver.settle_requests(&place.path(), OfRequests::Forgotten);
                }
            }
        }
        let values = values.values;
        self.run = replay.run;
        self.run.stop_indexing();
        self.wants_cancel = wants_cancel && (!self.run.is_ending() || self.run.is_starting_over());
        Ok(values)
    }

    fn follow_signals(&self, stored: &Stored) {
        if let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) {
            journal.desk.follow_signals(stored);
        }
    }

    fn restore_note(&self, stored: Stored, is_node: bool) {
        let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) else { return };
        if let Record { path, kind: EventKind::Note { name, payload } } = stored.record {
            journal.desk.restore_note(&path, (name, payload), is_node);
        }
    }

    fn settle_requests(&self, path: &str, what: OfRequests) {
        let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) else { return };
        what.settle(&journal.desk, path);
    }

    /// Begins the attempts again that were under way, except those of nodes that may run only once.
    pub(super) fn resume(&mut self, values: RecordedValues) {
        self.run.resume();
        for (task, inputs) in values.inputs {
            if self.run.is_live(task) {
                self.retained.insert(task, RetainedInput::Recorded(inputs));
            }
        }
        if self.wants_cancel {
            self.commit(Event::Cancelling, None);
        }
        for task in self.run.tasks() {
            if let (Some(Resumption::Fail { fault, .. }), Some(place)) =
                (self.run.resumption(task), self.run.place_of(task))
            {
                self.fails(task, &place, fault, false);
            }
        }
    }

    /// Decodes the recorded values that tasks under way need. If one cannot be read, that is an error here, before any
    /// node has run.
    pub(super) fn read_values(&mut self) -> Result<(), Halt> {
        let nothing = Run::new(Arc::clone(&self.executable.program), 0, false, Map::new(), None);
        let mut run = std::mem::replace(&mut self.run, nothing);
        let read = run.replace_values(|token| self.read_token(token));
        self.run = run;
        read
    }

    /// `was_retried`: what a retry begins anew has no begin in these records, and what it has requested is reused.
    fn restore_request(&self, node: usize, stored: Stored, was_retried: bool) -> Result<(), Halt> {
        let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) else { return Ok(()) };
        if !was_retried && !journal.desk.can_restore(&stored.record, &stored.record.path[..node]) {
            let changes = vec![format!("`{}` has run, and nothing around it had begun", stored.record.path)];
            return Err(Halt::GraphChanged { workflow: self.definition.name.clone(), changes });
        }
        // The values of a child workflow are decoded by its own types, when its node asks for it. No type can decode
        // this one.
        if let EventKind::NodeCompleted { output: None, .. } = &stored.record.kind {
            return Err(no_output(&stored.record.path));
        }
        let path = stored.record.path.clone();
        journal.desk.restore(stored).map_err(|impossible| {
            let changes = vec![format!("the record of `{path}` does not fit those before it: {impossible}")];
            Halt::GraphChanged { workflow: self.definition.name.clone(), changes }
        })
    }
}
