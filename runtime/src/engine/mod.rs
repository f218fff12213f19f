//! The engine: what runs of one process share, and the way to start and find them.

mod build;
mod error;
mod events;
mod run;
mod start;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;

pub use build::EngineBuilder;
pub use error::{BuildError, MissingResource, MissingResources, RunError, StartError};
pub use events::Events;
pub use run::{Outcome, Run};
pub use start::Start;

use crate::driver::Env;
use crate::node::Travels;
use crate::table::Definition;
use crate::workflow::{Flow, Workflow};
use run::RunState;

/// Runs workflows: gives them resources and limits, keeps their records, finds them by id.
///
/// Cheap to clone. Dropping every handle of an engine leaves its runs going; they end with the tokio runtime.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    env: Arc<Env>,
    workflows: BTreeMap<String, Arc<Definition>>,
    keep_finished: usize,
    runs: Mutex<Runs>,
}

#[derive(Default)]
struct Runs {
    by_id: HashMap<String, Arc<RunState>>,
    /// The ids of those that have ended, the one that ended first at the front.
    finished: VecDeque<String>,
}

impl Engine {
    /// What to build an engine with.
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
    pub fn start_flow<I: Travels, O: Travels>(&self, flow: &Flow<I, O>, input: I) -> Start<O> {
        Start::new(self, flow.definition(), Ok(Box::new(input)))
    }

    /// A new run of a registered workflow, from JSON: the door for command lines and servers. The input is checked
    /// against the workflow's input type before anything runs.
    ///
    /// Awaiting it gives [`StartError::UnknownWorkflow`] with the registered names, or [`StartError::InvalidInput`] with
    /// the field, where they do not fit.
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

    /// A run by its id: one that goes on, or one of those that ended last (`EngineBuilder::keep_finished`). Its output
    /// is read as JSON.
    pub fn run(&self, id: &str) -> Option<Run<Json>> {
        self.runs().by_id.get(id).cloned().map(Run::new)
    }

    /// The names of the registered workflows, in alphabetical order.
    pub fn workflows(&self) -> impl Iterator<Item = &str> {
        self.0.workflows.keys().map(String::as_str)
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets runs that ended longest ago, so that no more than `keep_finished` of them stay.
    fn has_ended(&self, id: &str) {
        let mut runs = self.runs();
        runs.finished.push_back(id.to_owned());
        while runs.finished.len() > self.0.keep_finished {
            if let Some(oldest) = runs.finished.pop_front() {
                runs.by_id.remove(&oldest);
            }
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("workflows", &self.workflows().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
