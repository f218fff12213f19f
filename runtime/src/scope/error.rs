//! How the state beyond a run fails.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::child::ChildError;
use crate::engine::NoLogs;
use crate::fault::Fault;
use crate::shared::MAX_ID;
use crate::store::StoreError;

/// Why the state of a [scope](crate::scope) could not be read or written. Nothing was written, except with
/// [`Store`](Self::Store), where it may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScopeError {
    /// The run belongs to no session, or is for no user.
    #[error("the run has no {scope}; start it with `.state({constant}, \"ada\".to_owned())`", constant = key.to_uppercase())]
    NoId {
        /// The scope: `session` or `user`.
        scope: String,
        /// The key of the run's state that has the id.
        key: String,
    },
    /// The id of a session, a user or an application is too long.
    #[error("the id of a {scope} may have up to {MAX_ID} bytes, and this one has {length}")]
    IdTooLong {
        /// The scope: `session`, `user` or `app`.
        scope: String,
        /// The bytes of the id.
        length: usize,
    },
    /// The workflow is executed without an engine, so there is no store.
    #[error("the state of a scope needs an engine; start the workflow with `Engine::start`")]
    NoEngine,
    /// The store of the engine keeps no logs.
    #[error(
        "the store of this engine keeps no logs, so it has no state beyond a run; use one whose `Store::logs` returns them, such as `SqliteStore`"
    )]
    NoLogs,
    /// Another one has written a key since it was read, and this update would have overwritten that unseen.
    #[error(
        "state key `{key}` of {scope} {id:?} was written by {by} since it was read; read it again, as a node with retries does, or give \
         the key a reducer"
    )]
    Conflict {
        /// The scope: `session`, `user` or `app`.
        scope: String,
        /// Its id.
        id: String,
        /// The key.
        key: String,
        /// Who has written it.
        by: WrittenBy,
    },
    /// What is stored is not of the type of the key, or was merged by reducers that do not fit each other.
    #[error("{scope} {id:?}: {message}")]
    Mismatch {
        /// The scope.
        scope: String,
        /// Its id.
        id: String,
        /// The key.
        key: String,
        /// Why.
        message: String,
    },
    /// A value cannot be recorded, or not be merged into what is stored.
    #[error("state key `{key}` of {scope} {id:?} is not written: {message}")]
    Refused {
        /// The scope.
        scope: String,
        /// Its id.
        id: String,
        /// The key.
        key: String,
        /// Why.
        message: String,
    },
    /// An entry was written by another version of this crate, or by another program.
    #[error("entry {position} of the log {log:?} cannot be read: {message}")]
    Unreadable {
        /// The log.
        log: String,
        /// The position of the entry.
        position: u64,
        /// Why.
        message: String,
    },
    /// The store failed. In a node that is in another way than to be away, which stops the run until it is back.
    #[error("the state of a scope cannot be read or written: {message}")]
    Store {
        /// Why.
        message: String,
    },
    /// The node that reads or writes has ended, or uses one scope twice without a [key](crate::scope::OpenScope::key).
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Its text, so that `?` works in a node whose error is a `String`.
impl From<ScopeError> for String {
    fn from(error: ScopeError) -> Self {
        error.to_string()
    }
}

/// Who has written the state of a scope.
///
/// Whom to ask about a conflict:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::scope::{ScopeError, User, WrittenBy};
/// use graphweft::state::Overwrite;
///
/// const PLAN: StateKey<String, Overwrite, User> = StateKey::new("plan");
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let (mine, other) = (engine.scope(User, "ada").await?, engine.scope(User, "ada").await?);
/// other.update().set(PLAN, "large".into()).await?;
/// let conflict = mine.update().set(PLAN, "small".into()).await.unwrap_err();
/// assert!(matches!(conflict, ScopeError::Conflict { by: WrittenBy::Program, .. })); // no node of a run
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
// No variant is called like the trait `Node`: rustc's messages would then write `graphweft::Node`.
pub enum WrittenBy {
    /// A node of a run.
    InRun {
        /// The id of the run.
        run: String,
        /// The path of the node.
        path: String,
    },
    /// A program, by [`Engine::scope`](crate::Engine::scope).
    Program,
}

impl ScopeError {
    /// Whether another one has written a key since it was read: to read again and decide again may help.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::scope::{ScopeError, USER, User};
    /// use graphweft::state::Overwrite;
    ///
    /// const NAME: StateKey<String, Overwrite, User> = StateKey::new("name");
    ///
    /// #[node(retry(max_attempts = 3, when = ScopeError::is_conflict))]
    /// async fn rename(name: String, ctx: &Context) -> Result<Option<String>, ScopeError> {
    ///     let user = ctx.scope(User).await?;
    ///     let before = user.get(NAME)?;
    ///     user.update().set(NAME, name).await?;
    ///     Ok(before)
    /// }
    ///
    /// workflow! { pub renaming(String) -> Option<String> { START => rename; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<renaming>("Ada".into()).state(USER, "7".to_owned()).await?;
    /// assert_eq!(run.result().await?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn is_conflict(&self) -> bool {
        matches!(self, ScopeError::Conflict { .. })
    }

    /// Whether the same may succeed a little later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, ScopeError::Store { .. })
    }
}

impl fmt::Display for WrittenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrittenBy::InRun { run, path } => write!(f, "`{path}` of run `{run}`"),
            WrittenBy::Program => f.write_str("a program outside of a run"),
        }
    }
}

impl From<NoLogs> for ScopeError {
    fn from(_: NoLogs) -> Self {
        ScopeError::NoLogs
    }
}

impl From<StoreError> for ScopeError {
    fn from(error: StoreError) -> Self {
        ScopeError::Store { message: error.to_string() }
    }
}

impl From<ChildError<ScopeError>> for ScopeError {
    fn from(error: ChildError<ScopeError>) -> Self {
        match error {
            ChildError::Error(error) => error,
            ChildError::Fault(fault) => ScopeError::Fault(fault),
        }
    }
}
