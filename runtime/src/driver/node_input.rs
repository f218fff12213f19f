//! The inputs of nodes, as they were when the nodes started.

use std::sync::Arc;

use serde_json::Value;

use super::fold::Fold;
use super::job::Job;
use super::lazy_value::{begins, copy_of};
use super::run::Driver;
use crate::catch::caught;
use crate::fault::Fault;
use crate::field::Unreadable;
use crate::halt::Halt;
use crate::store::Stored;
use crate::table::ScopeKind;

/// A run, or a child workflow, that is folded for the inputs of its nodes. Runs no node and records nothing; the conversions of the
/// edges that lead to a node are called.
pub(crate) struct InputFold {
    /// Without a run: that is in the fold.
    driver: Box<Driver>,
    fold: Option<Fold>,
}

impl InputFold {
    /// Begins with the recorded input of a job without a history.
    ///
    /// # Errors
    /// If this program cannot read the input.
    pub(crate) fn begin(job: Job, input: &Arc<Value>) -> Result<Self, Halt> {
        let limit = job.limit;
        let mut driver = Box::new(job.driver());
        driver.has_recorded_values = true;
        let (executable, definition) = (Arc::clone(&driver.executable), Arc::clone(&driver.definition));
        let started = begins(&executable, &definition, input)?;
        let mut fold = Fold::begin(driver.take_run(), &executable, &definition, started, limit)?;
        fold.facts.values.keep_all = true;
        Ok(InputFold { driver, fold: Some(fold) })
    }

    /// Folds the next record.
    ///
    /// # Errors
    /// If it does not fit the graph, or those before it.
    pub(crate) fn take(&mut self, stored: Stored) -> Result<(), Halt> {
        #[cfg(test)]
        FOLDED.with(|folded| folded.set(folded.get() + 1));
        let InputFold { driver, fold } = self;
        let Some(fold) = fold else { return Ok(()) };
        checked(driver, || fold.take(stored, Some(driver), None))
    }

    /// The input of the node at `path`, which is about to start. `None` if there is no such node, or if it has started before.
    ///
    /// # Errors
    /// If this program cannot read the records.
    pub(crate) fn input_of(&self, path: &str) -> Result<Option<Value>, Halt> {
        checked(&self.driver, || self.input_at(path))
    }

    fn input_at(&self, path: &str) -> Result<Option<Value>, Halt> {
        let InputFold { driver, fold: Some(fold) } = self else { return Ok(None) };
        let run = &fold.replay.run;
        let task = fold.replay.task_at(path).filter(|task| run.is_live(*task));
        let Some((task, place)) = task.and_then(|task| Some((task, run.place_of(task)?))) else { return Ok(None) };
        let Some(arrived) = run.input(task).and_then(copy_of) else { return Ok(None) };
        let arrived = driver.read(arrived)?;
        let max = driver.shared.env.max_value_size;
        let broken =
            |what: &str| Halt::broken(&driver.definition.name, &Fault::Context { message: format!("`{path}` {what}") });
        let Some(entry) = driver.executable.entry(&driver.definition, &place) else {
            return Err(broken("has no body"));
        };
        let shown = match (&entry.scope, &entry.node) {
            (Some(scope), _) if place.is_scope() => scope.enter(arrived).and_then(|inputs| {
                let mut items = inputs.iter().map(|input| scope.show(input, max)).collect::<Result<Vec<_>, Fault>>()?;
                let is_one = scope.kind() == ScopeKind::Nested && items.len() == 1;
                Ok(if is_one { items.remove(0) } else { Value::Array(items) })
            }),
            (_, Some(node)) => node.prepare(arrived).and_then(|input| node.show(&input, max)),
            _ => return Err(broken("is no node")),
        };
        let message = |fault: Fault| Unreadable::whole(fault.to_string());
        shown.map(Some).map_err(|fault| super::event_codec::unreadable(&place, message(fault)))
    }
}

/// The values of the user may panic when they are read, and when they are dropped.
impl Drop for InputFold {
    fn drop(&mut self) {
        let fold = self.fold.take();
        let _read_already = caught(|| drop(fold));
    }
}

fn checked<T>(driver: &Driver, fold: impl FnOnce() -> Result<T, Halt>) -> Result<T, Halt> {
    caught(fold).unwrap_or_else(|fault| Err(Halt::broken(&driver.definition.name, &fault)))
}

#[cfg(test)]
thread_local! {
    /// How many records were folded by this thread.
    pub(crate) static FOLDED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
