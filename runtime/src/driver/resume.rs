//! Resuming a run: its records are folded, and attempts that were under way at the last record begin again.

use std::sync::Arc;

use serde_json::Map;

use super::fold::{Fold, is_retry};
use super::inputs::RetainedInput;
use super::lazy_value::{RecordedValues, SharedInputs};
use super::run::Driver;
use super::run_snapshot::RunSnapshot;
use crate::core::{Event, Place, Resumption, Run, TimeLimit};
use crate::event::{SENT_TO_POOL, is_sent_by};
use crate::fault::Fault;
use crate::halt::Halt;
use crate::store::Stored;
use crate::table::{Emitted, Token};

impl Driver {
    /// Folds the records of the run, beginning with the emission of START. No code of a node runs.
    pub(super) fn replay(
        &mut self,
        started: Emitted,
        limit: Option<TimeLimit>,
        history: Vec<Stored>,
    ) -> Result<RecordedValues, Halt> {
        let (executable, definition) = (self.executable.clone(), self.definition.clone());
        let mut fold = Fold::begin(self.take_run(), &executable, &definition, started, limit)?;
        fold.replay.former = self.shared.former_names().cloned();
        self.replay_in(fold, history)
    }

    /// Folds the records of the run that come behind a snapshot of it.
    pub(super) fn replay_behind(
        &mut self,
        snapshot: &RunSnapshot,
        history: Vec<Stored>,
    ) -> Result<RecordedValues, Halt> {
        let (executable, definition) = (self.executable.clone(), self.definition.clone());
        let journal = self.shared.journal.clone();
        let desk = journal.as_ref().map(|journal| &journal.desk);
        let fold = Fold::thaw(snapshot, self.take_run(), &executable, &definition, desk)?;
        #[cfg(test)]
        super::THAWED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.replay_in(fold, history)
    }

    /// After the records: begins what is to begin again, and reads the values for it.
    pub(super) fn begin_replayed(&mut self, values: RecordedValues) -> Result<(), Halt> {
        self.resume(values);
        self.watch_the_time();
        self.read_values()
    }

    pub(super) fn take_run(&mut self) -> Run<Token> {
        let nothing = Run::new(Arc::clone(&self.executable.program), 0, false, Map::new(), None);
        std::mem::replace(&mut self.run, nothing)
    }

    fn replay_in(&mut self, mut fold: Fold, history: Vec<Stored>) -> Result<RecordedValues, Halt> {
        self.has_recorded_values = true;
        let journal = self.shared.journal.clone().filter(|_| self.is_whole);
        let desk = journal.as_ref().map(|journal| &journal.desk);
        fold.facts.was_retried |= history.iter().any(is_retry);
        for stored in history {
            fold.take(stored, Some(self), desk)?;
        }
        let Fold { replay, facts, .. } = fold;
        *self.run = replay.run;
        self.run.stop_indexing();
        self.wants_cancel = facts.wants_cancel && (!self.run.is_ending() || self.run.is_starting_over());
        self.past_questions = Some(Box::new((facts.questions, facts.was_retried)));
        Ok(facts.values)
    }

    /// Begins the attempts again that were under way, except those of nodes that may run only once. What was sent to a pool is asked for
    /// again: the end of this process has not interrupted it.
    pub(super) fn resume(&mut self, values: RecordedValues) {
        self.run.resume();
        for (task, SharedInputs(inputs)) in values.inputs {
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
                && !(fault == Fault::Interrupted && self.was_sent_to_pool(&place))
            {
                self.fails(task, &place, fault, false);
            }
        }
    }

    /// Whether the attempt at this place has a task in a pool, whose executor knows what has become of it.
    fn was_sent_to_pool(&self, place: &Place) -> bool {
        let definition = self.executable.definition(&self.definition, place.scope.layout.index);
        let desk = self.shared.known_desk();
        self.executor_of(definition, place).is_some_and(|executor| executor.keeps_tasks())
            && desk
                .and_then(|desk| desk.peek_note(&place.path(), SENT_TO_POOL))
                .is_some_and(|note| is_sent_by(&note, self.shared.id()))
    }

    /// Decodes the recorded values that tasks under way need. If one cannot be read, that is an error here, before any
    /// node has run.
    pub(super) fn read_values(&mut self) -> Result<(), Halt> {
        let mut run = self.take_run();
        let read = run.replace_values(|token| self.read_token(token));
        *self.run = run;
        read
    }
}
