//! A run as its caller holds it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Events, RunError};
use crate::driver::Log;
use crate::event::EventKind;
use crate::fault::Failure;
use crate::table::BoxValue;

/// A handle to a run. Cheap to clone; dropping it leaves the run going.
pub struct Run<T> {
    state: Arc<RunState>,
    gives: PhantomData<fn() -> T>,
}

pub(super) struct RunState {
    pub(super) workflow: String,
    pub(super) input: Json,
    pub(super) log: Arc<Log>,
    pub(super) cancel: CancellationToken,
    /// Becomes true with the last record, and closes without it if the runtime goes away first.
    pub(super) over: watch::Receiver<bool>,
    /// The output as it left the last node, until someone takes it.
    pub(super) output: Mutex<Option<BoxValue>>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome<T> {
    /// With its output.
    Completed(T),
    /// By a node that failed and that nothing routed.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
}

impl<T> Run<T> {
    pub(super) fn new(state: Arc<RunState>) -> Self {
        Run { state, gives: PhantomData }
    }

    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.state.log.run_id
    }

    /// The name of its workflow.
    pub fn workflow(&self) -> &str {
        &self.state.workflow
    }

    /// What happens in the run, from its beginning; ends with the run.
    pub fn events(&self) -> Events {
        self.events_from(0)
    }

    /// What happens in the run, from the record of number `seq` on, whether it is already there or comes later.
    pub fn events_from(&self, seq: u64) -> Events {
        Events::new(self.state.log.watch(seq), seq)
    }

    /// Asks the run to end. Every node that is under way is cancelled; the run has ended, `Cancelled`, when they have
    /// stopped, which [`outcome`](Self::outcome) waits for. A run that has ended stays as it is, and so does one that is
    /// failing.
    pub fn cancel(&self) {
        self.state.cancel.cancel();
    }
}

impl<T: DeserializeOwned + 'static> Run<T> {
    /// Waits for the end of the run. Cancel safe, and may be called again: the first call is given the output itself,
    /// the others read it from its record.
    ///
    /// # Errors
    /// [`RunError::ShutDown`] where the tokio runtime is shut down first, [`RunError::Unreadable`] where the recorded
    /// output is not a `T`: where its type does not read back what it writes.
    pub async fn outcome(&self) -> Result<Outcome<T>, RunError> {
        let mut over = self.state.over.clone();
        over.wait_for(|over| *over).await.map_err(|_| RunError::ShutDown)?;
        let ending = self.state.log.ending().ok_or(RunError::ShutDown)?;
        match &ending.kind {
            EventKind::RunCompleted { output } => self.output(output).map(Outcome::Completed),
            EventKind::RunFailed { failure } => Ok(Outcome::Failed(failure.clone())),
            _ => Ok(Outcome::Cancelled),
        }
    }

    fn output(&self, recorded: &Json) -> Result<T, RunError> {
        let mut kept = self.state.output.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.take().map(BoxValue::downcast::<T>) {
            Some(Ok(output)) => return Ok(*output),
            Some(Err(of_another_type)) => *kept = Some(of_another_type),
            None => {}
        }
        drop(kept);
        serde_path_to_error::deserialize(recorded).map_err(|error| RunError::Unreadable { message: error.to_string() })
    }

    /// Waits for the output.
    ///
    /// # Errors
    /// [`RunError`] where there is none, and where [`outcome`](Self::outcome) gives one.
    pub async fn result(&self) -> Result<T, RunError> {
        match self.outcome().await? {
            Outcome::Completed(output) => Ok(output),
            Outcome::Failed(failure) => Err(RunError::Failed(failure)),
            Outcome::Cancelled => Err(RunError::Cancelled),
        }
    }
}

impl<T> Clone for Run<T> {
    fn clone(&self) -> Self {
        Run::new(Arc::clone(&self.state))
    }
}

impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("id", &self.id()).field("workflow", &self.workflow()).finish_non_exhaustive()
    }
}
