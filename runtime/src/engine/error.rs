//! Errors outside of nodes.

use std::sync::Arc;

use crate::driver::Env;
use crate::fault::Failure;
use crate::halt::{Halt, MissingResource, MissingResources};
use crate::question::at_field;
use crate::store::StoreError;
use crate::table::Definition;

/// An engine could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two workflows have the same name.
    #[error("two workflows are called `{name}`; rename one of them")]
    DuplicateWorkflow {
        /// The name.
        name: String,
    },
    /// Two resources have the same type.
    #[error("two resources are of type `{type_name}`; wrap one of them in a type of its own")]
    DuplicateResource {
        /// The type.
        type_name: &'static str,
    },
    /// [`EngineBuilder::max_concurrency`](crate::EngineBuilder::max_concurrency) was called with 0.
    #[error("`max_concurrency(0)` would let no node run; leave it out for no limit")]
    ZeroConcurrency,
}

/// A run could not be started. Nothing of it has run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nodes need resources that the engine does not have.
    #[error(transparent)]
    MissingResources(#[from] MissingResources),
    /// No workflow is registered under this name.
    #[error("workflow `{name}` is not registered; {}", listed(registered))]
    UnknownWorkflow {
        /// The requested name.
        name: String,
        /// The names of the registered workflows.
        registered: Vec<String>,
    },
    /// The JSON is not an input of the workflow.
    #[error("invalid input of `{workflow}`: {}{message}", at_field(field))]
    InvalidInput {
        /// The workflow.
        workflow: String,
        /// Where in the input: `lines[2].price`; `.` for the whole.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// The id belongs to a run of another workflow.
    #[error("run `{id}` is a run of `{existing}`, not of `{requested}`; choose another id")]
    OtherWorkflow {
        /// The id.
        id: String,
        /// The workflow of the run that has it.
        existing: String,
        /// The workflow that was to be started.
        requested: String,
    },
    /// The id belongs to a run of the same workflow with another input.
    #[error("run `{id}` of `{workflow}` was started with another input; choose another id")]
    OtherInput {
        /// The id.
        id: String,
        /// The workflow.
        workflow: String,
    },
    /// A value cannot be written as JSON, and so cannot be recorded.
    #[error("{what} cannot be written as JSON: {message}")]
    NotJson {
        /// The input, or a key of the state.
        what: String,
        /// Why.
        message: String,
    },
    /// A run with this id exists and cannot be resumed in this process.
    #[error(transparent)]
    Run(RunError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The call was made outside of a tokio runtime.
    #[error("a run must be started inside a tokio runtime")]
    NoRuntime,
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "no workflow is: add it with `Engine::builder().register::<..>()`".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("registered: {}", names.join(", "))
}

fn quoted(ids: &[String]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

impl From<Halt> for StartError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Store(error) => StartError::Store(error),
            halt => StartError::Run(halt.into()),
        }
    }
}

impl MissingResources {
    pub(crate) fn check(env: &Env, definition: &Arc<Definition>) -> Result<(), MissingResources> {
        let mut missing: Vec<MissingResource> = Vec::new();
        for (need, node) in &env.executable(definition).needs {
            if env.resource(need.type_id).is_some() {
                continue;
            }
            match missing.iter_mut().find(|resource| resource.type_name == need.type_name) {
                Some(resource) => resource.nodes.push(node.clone()),
                None => missing.push(MissingResource { type_name: need.type_name, nodes: vec![node.clone()] }),
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(MissingResources(missing)) }
    }
}

/// A run returned no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A node failed, and its error was not routed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// Nodes need resources, which need an engine. Nothing has run.
    #[error(transparent)]
    MissingResources(#[from] MissingResources),
    /// The recorded output does not have the requested type.
    #[error("the recorded output does not have the requested type: {message}")]
    OutputMismatch {
        /// Why.
        message: String,
    },
    /// The run waits for answers.
    #[error("the run waits for an answer to {}", quoted(questions))]
    Waiting {
        /// The ids of the open questions.
        questions: Vec<String>,
    },
    /// The store failed, so the run stopped in this process. The run is not lost: `engine.recover()` resumes it when
    /// the store works again.
    #[error("the run stopped because the store failed: {0}")]
    Store(#[from] StoreError),
    /// Another process executes the run now.
    #[error("another process has taken the run over")]
    TakenOver,
    /// A record does not have the type that this version of the program expects. The run is not lost: a program that
    /// can read it resumes it.
    #[error("the run cannot be resumed: the record of `{path}` cannot be read: {}{message}", at_field(field))]
    RecordMismatch {
        /// The node.
        path: String,
        /// Where in the value: `lines[2].price`; `.` for the whole.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// The workflow has changed since the run was recorded, so that its records no longer apply. The run is not lost: a
    /// program with a matching workflow resumes it.
    #[error(
        "the run cannot be resumed: workflow `{workflow}` has changed since it was recorded: {}", changes.join("; ")
    )]
    GraphChanged {
        /// The workflow.
        workflow: String,
        /// Each changed node, and its change.
        changes: Vec<String>,
    },
    /// The run's workflow is not registered with this engine. The run is not lost: a program that registers it resumes it.
    #[error(
        "the run cannot be resumed: workflow `{workflow}` is not registered; add `.register::<{workflow}>()` to \
         `Engine::builder()`"
    )]
    NotRegistered {
        /// The workflow.
        workflow: String,
    },
    /// The store does not contain the run.
    #[error("the store does not contain the run")]
    NotFound,
    /// The engine, or the tokio runtime, was shut down before the run ended. The run is not lost: `engine.recover()`
    /// resumes it in the next process.
    #[error("the engine was shut down before the run ended")]
    ShutDown,
}

impl From<Halt> for RunError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Store(error) => RunError::Store(error),
            Halt::Fenced => RunError::TakenOver,
            Halt::Parked | Halt::ShutDown => RunError::ShutDown,
            Halt::MissingResources(missing) => RunError::MissingResources(missing),
            Halt::Unreadable { path, field, message } => RunError::RecordMismatch { path, field, message },
            Halt::NotRegistered { workflow } => RunError::NotRegistered { workflow },
            Halt::GraphChanged { workflow, changes } => RunError::GraphChanged { workflow, changes },
        }
    }
}
