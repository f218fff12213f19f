//! The engine: starts, finds and resumes the runs of one process.

mod answer;
mod build;
mod changed;
mod error;
mod events;
mod history;
mod keeper;
mod list;
mod live;
mod recover;
mod requests;
mod resumable;
mod retry;
mod run;
mod run_to_end;
mod shutdown;
mod start;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;
use tokio::sync::OnceCell;

pub use build::EngineBuilder;
pub use error::{BuildError, StartError};
pub use events::Events;
#[cfg(test)]
pub(crate) use history::effective;
pub use list::{RunFilter, RunInfo};
pub use recover::Recovery;
pub use retry::{Fork, ForkError, Retry, RetryError};
pub use run::{Outcome, Run};
pub use run_to_end::RunToEndError;
pub use start::Start;

pub(crate) use crate::halt::Halt;
use crate::node::Payload;
use crate::shared::Env;
use crate::store::{Owner, RunKey, Store, StoreError};
use crate::table::Definition;
use crate::workflow::{Flow, Workflow};
use live::Runs;

/// Runs workflows: provides their resources and limits, records them, and finds them by id.
///
/// Cheap to clone. Dropping every handle of an engine does not stop its runs; they stop with the tokio runtime.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

pub(crate) struct Inner {
    env: Arc<Env>,
    workflows: BTreeMap<String, Arc<Definition>>,
    /// Workflows of which runs were started here, whether they are registered or not.
    started: Mutex<BTreeMap<String, Arc<Definition>>>,
    store: Arc<dyn Store>,
    /// As which the store knows this engine, once it has something to drive.
    owner: OnceCell<Owner>,
    runs: Runs,
    /// Whether somebody looks after runs that wait outside of the memory.
    is_kept: AtomicBool,
    /// Whether runs of processes that have died are taken over.
    recovers: AtomicBool,
    /// Whether a claim has failed, and may have been carried out all the same: then runs are this engine's, and nobody
    /// knows which.
    lost_claim: AtomicBool,
    /// Runs that were under way here, or were to be, and are not, and why: the store has failed, the runtime is gone, or this
    /// program cannot resume them. They are not claimed before [`Engine::recover`].
    halted: Mutex<BTreeMap<RunKey, Halt>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.get() {
            drop(self.store.leave(*owner));
        }
    }
}

impl Engine {
    /// Configures a new engine.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// A new run of a workflow. It starts when the result is awaited:
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn charge(cents: u64) -> Result<String, std::io::Error> { Ok(format!("{cents}")) }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// # let engine = Engine::builder().build()?;
    /// let run = engine.start::<pay>(4000).id("order-42").await?;
    /// assert_eq!(run.result().await?, "4000");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn start<W: Workflow>(&self, input: W::Input) -> Start<W::Output> {
        Start::new(self, W::definition(), Ok(Box::new(input)))
    }

    /// A new run of a workflow in expression position.
    pub fn start_flow<I: Payload, O: Payload>(&self, flow: &Flow<I, O>, input: I) -> Start<O> {
        Start::new(self, flow.definition(), Ok(Box::new(input)))
    }

    /// A new run of a registered workflow, from JSON: for command lines and servers. The input is validated against the
    /// workflow's input type before anything runs.
    ///
    /// Awaiting it returns [`StartError::UnknownWorkflow`] with the registered names, or [`StartError::InvalidInput`]
    /// with the invalid field.
    pub fn start_json(&self, workflow: &str, input: Json) -> Start<Json> {
        match self.0.workflows.get(workflow) {
            Some(definition) => {
                let read = (definition.door.read_input)(&input).map_err(|error| StartError::InvalidInput {
                    workflow: workflow.to_owned(),
                    field: error.path().to_string(),
                    message: error.inner().to_string(),
                });
                Start::new(self, definition, read)
            }
            None => Start::refused(
                self,
                StartError::UnknownWorkflow {
                    name: workflow.to_owned(),
                    registered: self.workflows().map(str::to_owned).collect(),
                },
            ),
        }
    }

    /// A run by its id, in any process and any state; `None` if there is no such run. Its output is JSON.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get_run(&self, id: &str) -> Result<Option<Run<Json>>, StoreError> {
        if let Some(live) = self.0.runs.get(id) {
            return Ok(Some(Run::of_live(self, live)));
        }
        Ok(self.0.store.header(id).await?.map(|header| Run::of_header(self, &header)))
    }

    /// The names of the registered workflows, in alphabetical order.
    pub fn workflows(&self) -> impl Iterator<Item = &str> {
        self.0.workflows.keys().map(String::as_str)
    }

    fn halted(&self) -> MutexGuard<'_, BTreeMap<RunKey, Halt>> {
        self.0.halted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workflow that this engine has met.
    fn definition_of(&self, name: &str) -> Option<Arc<Definition>> {
        let started = || self.0.started.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        self.0.workflows.get(name).cloned().or_else(started)
    }

    /// As which the store knows this engine.
    async fn owner(&self) -> Result<Owner, StoreError> {
        self.0.owner.get_or_try_init(|| self.0.store.join()).await.copied()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("workflows", &self.workflows().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
