//! Why a run goes no further in this process, though it has not ended.

use super::{MissingResources, RunError};
use crate::fault::Fault;
use crate::store::StoreError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Halt {
    /// Nothing can be recorded.
    Store(StoreError),
    /// Another process has taken it over.
    Fenced,
    /// It waits, and has left the memory.
    Parked,
    /// The tokio runtime is gone.
    ShutDown,
    /// Nodes want resources that this engine does not have.
    MissingResources(MissingResources),
    /// A record cannot be read.
    Unreadable { path: String, field: String, message: String },
    /// Its graph has changed under it.
    GraphChanged { workflow: String, changes: Vec<String> },
}

impl Halt {
    /// A mistake in graphweft, or a destructor of the user's that panics.
    pub(crate) fn broken(workflow: &str, fault: &Fault) -> Self {
        Halt::Unreadable { path: workflow.to_owned(), field: ".".to_owned(), message: fault.to_string() }
    }
}

impl From<Halt> for RunError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Store(error) => RunError::Store(error),
            Halt::Fenced => RunError::TakenOver,
            Halt::Parked | Halt::ShutDown => RunError::ShutDown,
            Halt::MissingResources(missing) => RunError::MissingResources(missing),
            Halt::Unreadable { path, field, message } => RunError::UnreadableRecord { path, field, message },
            Halt::GraphChanged { workflow, changes } => RunError::GraphChanged { workflow, changes },
        }
    }
}
