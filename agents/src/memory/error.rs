//! How sessions fail.

use graphweft::NoLogs;
use graphweft::store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::MAX_ID;

/// Why a session could not be used.
///
/// A run that was started without a session fails before any model is called:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, AgentError, Memory, Models, Scripted, SessionError};
///
/// workflow! {
///     pub chat(String) -> String {
///         let agent: Agent<String, String> = Agent::new("You talk.").memory(Memory::session("chat"));
///         START => agent;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let model = Scripted::text("Good day.");
/// let engine = Engine::builder().resource(Models::new(model.clone())).build()?;
/// let Outcome::Failed(failure) = engine.start::<chat>("Hi".into()).await?.outcome().await? else { panic!("it has no session") };
/// assert_eq!(failure.error_as(), Some(AgentError::Session(SessionError::NoSession)));
/// assert!(model.requests().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionError {
    /// The run belongs to no session.
    #[error("the run has no session; start it with `.state(SESSION, \"ada\".to_owned())`")]
    NoSession,
    /// The id of the session is too long. An agent has called no model by then.
    #[error("the id of a session may have up to {MAX_ID} bytes, and this one has {length}")]
    IdTooLong {
        /// The bytes of the id.
        length: usize,
    },
    /// The workflow is executed without an engine, so there is no store.
    #[error("a session needs an engine; start the workflow with `Engine::start`")]
    NoEngine,
    /// The store of the engine keeps no logs.
    #[error(
        "the store of this engine keeps no logs, so it has no sessions; use one whose `Store::logs` returns them, such as `SqliteStore`"
    )]
    NoLogs,
    /// Another run is in the session, and the agent does not wait for it ([`Overlap::Reject`](crate::Overlap::Reject)).
    #[error(
        "run `{run}` is in the session `{session}`; start this one when it is over, or let it wait with `Overlap::Queue`"
    )]
    Busy {
        /// The log of the session.
        session: String,
        /// The other run.
        run: String,
    },
    /// The agent is a tool of an agent in the same session, which would wait for it for ever.
    #[error(
        "`{around}` is in the session `{session}`, and this agent is a part of it; give this one another memory, or none"
    )]
    Nested {
        /// The log of the session.
        session: String,
        /// The node of the agent around this one.
        around: String,
    },
    /// A session cannot become a copy of another one, since something was said in it.
    #[error("the session `{session}` is not empty; fork to another one, or delete it before")]
    NotEmpty {
        /// The log of the session.
        session: String,
    },
    /// An entry was written by another version of this crate, or by another program.
    #[error("entry {position} of the session `{session}` cannot be read: {message}")]
    Unreadable {
        /// The log of the session.
        session: String,
        /// The position of the entry.
        position: u64,
        /// Why.
        message: String,
    },
    /// The store failed. In an agent that is in another way than to be away, which stops the run until it is back.
    #[error("the session cannot be read or written: {message}")]
    Store {
        /// Why.
        message: String,
    },
}

impl From<NoLogs> for SessionError {
    fn from(_: NoLogs) -> Self {
        SessionError::NoLogs
    }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        SessionError::Store { message: error.to_string() }
    }
}
