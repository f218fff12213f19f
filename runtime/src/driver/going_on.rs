//! Beginning again what was under way when the last record was made.

use std::sync::Arc;

use super::catch::caught;
use super::fold::{Fold, Known, Pending, Stage};
use super::recorded::unreadable;
use super::run::Driver;
use crate::core::{Arrived, Ended, Event, Place, Sees, TaskId, Writes};
use crate::engine::Halt;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::table::{BoxValue, Unreadable};

impl Driver {
    /// What the first record alone leads to may not have been recorded with it. Nor was what is in an item that has not
    /// begun, and that never will where its graph was given up.
    fn record_skips(&self, fold: &Fold) {
        for (path, place) in &fold.skips {
            let counts = place.scope.around.is_none() || self.core.is_open(place);
            if counts && !fold.recorded_skips.contains(path) {
                self.shared.record(|| path.clone(), || EventKind::NodeSkipped);
            }
        }
    }

    /// What waited for something was cancelled as soon as the run was, and whoever would have recorded that may not have
    /// been there.
    fn record_cancels(&self, fold: &mut Fold) {
        let Some(cancels) = fold.cancels.take() else { return };
        for path in cancels.all.into_iter().filter(|path| !cancels.recorded.contains(path)) {
            self.shared.record(|| path, || EventKind::NodeCancelled);
        }
    }

    /// No record is left.
    pub(super) fn go_on(&mut self, mut fold: Fold) -> Result<(), Halt> {
        self.record_skips(&fold);
        self.record_cancels(&mut fold);
        if let Some(end) = fold.end.take() {
            self.ended = Some(end);
            return Ok(());
        }
        let nodes = std::mem::take(&mut fold.nodes).into_iter();
        let left = nodes.filter(|known| !matches!(known.stage, Stage::Over));
        let mut left: Vec<(String, Known)> = left.map(|known| (known.place.path(), known)).collect();
        left.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.keep_inputs(&mut fold, &left)?;
        self.core.apply(Event::Replayed);
        for (path, known) in left {
            let Known { task, place, stage, .. } = known;
            match stage {
                Stage::Runs(_) if self.core.is_stopping(task) => self.tell(task, Ended::Stopped, Writes::default()),
                Stage::Runs(pending) => self.run_again(task, place, pending),
                Stage::Enters(pending) => {
                    let Pending { attempt, may_repeat, arrived, .. } = pending;
                    self.begin_inside(task, &place, attempt, may_repeat, arrived);
                }
                Stage::Leaves(ends) => self.leave_inside(task, &place, ends),
                Stage::Waits | Stage::Inside | Stage::Over => drop(path),
            }
            if let Some(halt) = self.halt.take() {
                return Err(halt);
            }
        }
        Ok(())
    }

    /// An attempt was under way when the process died: it begins again, unless it may not.
    fn run_again(&mut self, task: TaskId, place: Place, pending: Pending) {
        let Pending { attempt, may_repeat, arrived, sees } = pending;
        let once_only = self.executable.entry(&self.definition, &place).is_some_and(|entry| entry.options.at_most_once);
        if once_only {
            return self.tell(task, Ended::Fault(Box::new(Fault::Interrupted)), Writes::default());
        }
        self.core.apply(Event::Started { task });
        // It sees all that is on record by now, and not what it saw before.
        let sees = Sees { state: Arc::clone(self.core.state()), local: sees.and_then(|sees| sees.local) };
        self.run(task, place, attempt, may_repeat, arrived, sees);
    }

    /// What the next attempts at nodes will run on that have failed before.
    fn keep_inputs(&mut self, fold: &mut Fold, left: &[(String, Known)]) -> Result<(), Halt> {
        for (_, known) in left {
            let (task, place) = (known.task, &known.place);
            if let Some(inside) = fold.entered.remove(&task) {
                let inputs = self.inputs_of(&inside)?;
                self.kept.insert(task, inputs);
            } else if let Some(arrived) = fold.kept.remove(&task) {
                let arrived = self.read(arrived)?;
                let inputs = self.prepared(place, arrived)?;
                self.kept.insert(task, inputs);
            }
        }
        Ok(())
    }

    fn prepared(&self, place: &Place, arrived: Arrived) -> Result<Vec<BoxValue>, Halt> {
        let fault = |fault: Fault| unreadable(place, Unreadable::whole(fault.to_string()));
        let entry = self.executable.entry(&self.definition, place);
        let missing = || unreadable(place, Unreadable::whole("there is no such node"));
        let entry = entry.ok_or_else(missing)?;
        match (&entry.scope, &entry.node) {
            (Some(scope), _) if place.is_scope() => {
                caught(|| scope.enter(arrived)).and_then(|inputs| inputs).map_err(fault)
            }
            (_, Some(node)) => {
                let input = caught(|| node.prepare(arrived)).and_then(|input| input).map_err(fault)?;
                Ok(vec![input])
            }
            _ => Err(missing()),
        }
    }
}
