//! The fold of a run that is driven, made of its records behind the driver: the values in it are those of the records,
//! so that it can be written. The driver holds decoded values.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fold::{Fold, is_retry};
use super::lazy_value::begins;
use super::run_snapshot::{RunSnapshot, SnapshotHead};
use crate::core::{Run, TimeLimit, freeze};
use crate::halt::Halt;
use crate::shared::Desk;
use crate::store::Stored;
use crate::table::{Definition, Executable, Token};

pub(crate) struct Shadow {
    fold: Fold,
    desk: Desk,
}

impl Shadow {
    /// Begins with the first record of a run: its input, its state and its time limit.
    ///
    /// # Errors
    /// If this program cannot read the input.
    pub(crate) fn begin(
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
        (input, state, limit): (Arc<Value>, Map<String, Value>, Option<TimeLimit>),
    ) -> Result<Self, Halt> {
        let started_as = begins(executable, definition, &input)?;
        let run = Run::new(Arc::clone(&executable.program), 0, true, state, None);
        let fold = Fold::begin(run, executable, definition, started_as, limit)?;
        Ok(Shadow { fold, desk: Desk::default() })
    }

    /// Continues from a snapshot.
    ///
    /// # Errors
    /// If it does not fit.
    pub(crate) fn thaw(
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
        snapshot: &RunSnapshot,
    ) -> Result<Self, Halt> {
        let run: Run<Token> = Run::new(Arc::clone(&executable.program), 0, true, Map::new(), None);
        let desk = Desk::default();
        let fold = Fold::thaw(snapshot, run, executable, definition, Some(&desk))?;
        Ok(Shadow { fold, desk })
    }

    /// Folds the next records, which are those that count.
    ///
    /// # Errors
    /// If they do not fit the graph, or those before them.
    pub(crate) fn take(&mut self, records: Vec<Stored>) -> Result<(), Halt> {
        self.fold.facts.was_retried |= records.iter().any(is_retry);
        records.into_iter().try_for_each(|stored| self.fold.take(stored, None, Some(&self.desk)))
    }

    /// What the records so far come to.
    ///
    /// # Errors
    /// If a value cannot be written.
    pub(crate) fn freeze(&mut self, head: SnapshotHead) -> serde_json::Result<RunSnapshot> {
        self.fold.forget_gone();
        let text = freeze(&(&self.fold.replay.run, &self.desk, &self.fold.facts))?;
        Ok(RunSnapshot::new(head, text))
    }
}
