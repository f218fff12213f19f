//! Why this process no longer drives a run that has not ended.

use crate::fault::Fault;
use crate::resource::MissingResources;
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
    /// The call was made outside of a tokio runtime.
    NoRuntime,
    /// The tokio runtime has no timers.
    NoTimers,
    /// Nodes need resources that this engine does not have.
    MissingResources(MissingResources),
    /// A record cannot be read.
    Unreadable { path: String, field: String, message: String },
    /// Its workflow is not registered here.
    NotRegistered { workflow: String },
    /// Its graph has changed since it was recorded.
    GraphChanged { workflow: String, changes: Vec<String> },
    /// None of several versions of its workflow fits: each by the path of its type, with what does not.
    NoVersion { workflow: String, refused: Vec<(String, Halt)> },
}

impl Halt {
    /// Whether this program can never resume the run. Another program may.
    pub(crate) fn is_of_program(&self) -> bool {
        matches!(
            self,
            Halt::MissingResources(_)
                | Halt::Unreadable { .. }
                | Halt::NotRegistered { .. }
                | Halt::GraphChanged { .. }
                | Halt::NoVersion { .. }
        )
    }

    /// Whether it may be over by itself, since the server of the store was away or could not work, or its file was locked or had no room.
    pub(crate) fn is_of_outage(&self) -> bool {
        matches!(self, Halt::Store(error) if error.is_of_outage())
    }

    /// A bug in graphweft, or a destructor of the user's that panics.
    pub(crate) fn broken(workflow: &str, fault: &Fault) -> Self {
        Halt::Unreadable { path: workflow.to_owned(), field: ".".to_owned(), message: fault.to_string() }
    }
}
