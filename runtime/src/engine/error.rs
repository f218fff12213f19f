//! What goes wrong outside of nodes.

use std::fmt;
use std::sync::Arc;

use super::Halt;
use crate::driver::Env;
use crate::fault::Failure;
use crate::question::at_field;
use crate::store::StoreError;
use crate::table::Definition;

/// An engine could not be built.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two workflows have one name, by which they could not be told apart.
    #[error("two workflows are called `{name}`; rename one of them")]
    DuplicateWorkflow {
        /// The name.
        name: String,
    },
    /// Two resources have one type, by which they could not be told apart.
    #[error("two resources are of type `{type_name}`; wrap one of them in a type of its own")]
    DuplicateResource {
        /// The type.
        type_name: &'static str,
    },
}

/// A run could not be started. Nothing of it has run.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nodes want resources that the engine does not have.
    #[error(transparent)]
    MissingResources(#[from] MissingResources),
    /// No workflow is registered under this name.
    #[error("no workflow `{name}` is registered; there {}", listed(registered))]
    UnknownWorkflow {
        /// What was asked for.
        name: String,
        /// What there is.
        registered: Vec<String>,
    },
    /// The JSON is not an input of the workflow.
    #[error("`{workflow}` does not take this input: {}{message}", at_field(field))]
    InvalidInput {
        /// The workflow.
        workflow: String,
        /// Where in the input: `lines[2].price`; `.` for the whole.
        field: String,
        /// What is wrong there.
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
    /// A value cannot be written as JSON, and so not be recorded.
    #[error("{what} cannot be written as JSON: {message}")]
    NotJson {
        /// The input, or a key of the state.
        what: String,
        /// Why.
        message: String,
    },
    /// There is a run of this id, and it cannot go on in this process.
    #[error(transparent)]
    Run(RunError),
    /// Nothing can be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run needs a tokio runtime, and there is none here.
    #[error("a run starts inside a tokio runtime, and there is none here")]
    NoRuntime,
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "are none: `Engine::builder().register::<..>()` makes one known".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{} {}", if names.len() == 1 { "is" } else { "are" }, names.join(", "))
}

/// Resources that nodes want and the engine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine lacks {}", described(.0))]
pub struct MissingResources(
    /// Each missing type once.
    pub Vec<MissingResource>,
);

/// A resource that the engine does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingResource {
    /// Its type.
    pub type_name: &'static str,
    /// The nodes that want it.
    pub nodes: Vec<String>,
}

fn described(missing: &[MissingResource]) -> String {
    let each = missing.iter().map(|resource| {
        let nodes: Vec<String> = resource.nodes.iter().map(|node| format!("`{node}`")).collect();
        format!("resource `{}`, which {} want{}", resource.type_name, nodes.join(", "), plural(nodes.len()))
    });
    format!("{}; give them to `Engine::builder().resource(..)`", each.collect::<Vec<_>>().join("; "))
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

fn plural(wanting: usize) -> &'static str {
    if wanting == 1 { "s" } else { "" }
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

/// A run gave no output.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A node failed and nothing routed that.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// Nodes want resources, which only an engine can give them. Nothing has run.
    #[error(transparent)]
    MissingResources(#[from] MissingResources),
    /// The recorded output cannot be read as the type that was asked for.
    #[error("the recorded output cannot be read: {message}")]
    Unreadable {
        /// Why.
        message: String,
    },
    /// The run waits for answers, and has no output before they come.
    #[error("the run waits for an answer to {}", quoted(questions))]
    Waiting {
        /// The ids of the open questions.
        questions: Vec<String>,
    },
    /// Nothing can be recorded, so that nothing goes on. The run is not lost: `engine.recover()` goes on with it when the
    /// cause is gone.
    #[error("the run has stopped, since nothing can be recorded: {0}")]
    Store(#[from] StoreError),
    /// Another process drives the run now.
    #[error("another process has taken the run over")]
    TakenOver,
    /// A record cannot be read by the program as it is now. The run is not lost: it goes on in a program that can.
    #[error("the run cannot go on: the record of `{path}` cannot be read: {}{message}", at_field(field))]
    UnreadableRecord {
        /// The node.
        path: String,
        /// Where in the value: `lines[2].price`; `.` for the whole.
        field: String,
        /// What is wrong there.
        message: String,
    },
    /// The workflow is not what it was when the run was recorded, in a way that matters to what is on record. The run is
    /// not lost: it goes on in a program whose workflow fits.
    #[error("the run cannot go on: workflow `{workflow}` has changed since it was recorded: {}", changes.join("; "))]
    GraphChanged {
        /// The workflow.
        workflow: String,
        /// Which node, and what of it.
        changes: Vec<String>,
    },
    /// The run is not in the store any more.
    #[error("the run is not in the store any more")]
    Gone,
    /// The engine, or the tokio runtime, was shut down before the run had ended. What is on record stays: `engine.recover()`
    /// goes on with it in the next process.
    #[error("the engine was shut down before the run had ended")]
    ShutDown,
}

/// `fn main() -> Result<(), RunError>` prints the `Debug` form, and a person reads it.
macro_rules! debug_is_display {
    ($($error:ty)*) => {$(
        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

debug_is_display!(BuildError StartError RunError);
