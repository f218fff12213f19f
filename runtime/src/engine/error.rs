//! Errors outside of nodes.

use std::time::SystemTime;

use crate::field::at_field;
use crate::halt::Halt;
use crate::resource::MissingResources;
use crate::run_error::{NO_TIMERS, RunError, state_keys};
use crate::shared::MAX_ID;
use crate::store::StoreError;

/// An engine could not be built.
///
/// It is a mistake of the program, so most programs end with it:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::BuildError;
///
/// let keys = Engine::builder().resource("key of the shop").resource("key of the bank");
/// let error = keys.build().unwrap_err();
/// assert!(matches!(error, BuildError::DuplicateResource { .. }));
/// assert_eq!(error.to_string(), "two resources are of type `&str`; wrap one of them in a type of its own");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two workflows have the same name.
    #[error(
        "two workflows are called `{name}`; rename one of them, or, if it is an earlier version of the other, register it with \
         `register_earlier`"
    )]
    DuplicateWorkflow {
        /// The name.
        name: String,
    },
    /// [`EngineBuilder::register_earlier`](crate::EngineBuilder::register_earlier) names a workflow of which no newest version is
    /// registered.
    #[error(
        "`register_earlier::<{version}>()` needs the version of workflow `{workflow}` that new runs begin on: add it with \
         `register`; both versions have the same name, each in a module of its own"
    )]
    NoNewestVersion {
        /// The name of the workflow.
        workflow: String,
        /// The type of the earlier version.
        version: &'static str,
    },
    /// Two versions of a workflow have the same graph, so their runs cannot be distinguished. What nodes do is not in a graph: a run
    /// of either continues under one of them.
    #[error(
        "versions `{}` and `{}` of workflow `{workflow}` have the same graph, so their runs cannot be distinguished; register one of \
         them only, or give a node that means something else now another name", versions[0], versions[1]
    )]
    SameGraph {
        /// The name of the workflow.
        workflow: String,
        /// The types of both.
        versions: [&'static str; 2],
    },
    /// Two resources have the same type.
    #[error("two resources are of type `{type_name}`; wrap one of them in a type of its own")]
    DuplicateResource {
        /// The type.
        type_name: &'static str,
    },
    /// Nodes that [`EngineBuilder::register_node`](crate::EngineBuilder::register_node) names, or that a worker is to execute, need resources that
    /// there are not.
    #[error(transparent)]
    MissingResources(#[from] MissingResources),
    /// [`EngineBuilder::mock`](crate::EngineBuilder::mock) names a node that is in no registered workflow.
    #[error(
        "`mock::<{node}>` replaces nothing: no registered workflow has this node; if another node calls it, add \
         `.register_node::<{node}>()`"
    )]
    UnusedMock {
        /// The type of the node.
        node: &'static str,
    },
    /// A node of a registered workflow is in a pool, the store outlives the process, and nothing says who executes the attempts.
    #[error(
        "node `{node}` is in pool `{pool}`, and this engine does not know who executes it: add `.executor(..)` for workers in other \
         processes, or `.pool(\"{pool}\")` to execute it here"
    )]
    UnservedPool {
        /// The node, behind the name of its graph.
        node: String,
        /// The pool.
        pool: String,
    },
    /// [`Engine::check_pool`](crate::Engine::check_pool) names a pool in which no node is that this engine knows.
    #[error("no node of a registered workflow is in pool `{pool}`; {}", pools_listed(known))]
    UnknownPool {
        /// The pool.
        pool: String,
        /// The pools in which nodes are.
        known: Vec<String>,
    },
    /// [`EngineBuilder::max_concurrency`](crate::EngineBuilder::max_concurrency) was called with 0.
    #[error("`max_concurrency(0)` would let no node run; leave it out for no limit")]
    ZeroConcurrency,
    /// The engine was built in a tokio runtime without timers.
    #[error("{NO_TIMERS}")]
    NoTimers,
}

/// A run could not be started. Nothing of it has run. With [`Store`](Self::Store) it may be recorded all the same: a start with
/// the same id finds it, and [`recover`](crate::Engine::recover) begins it.
///
/// A server tells a mistake of its client from one of its own:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{StartError, json};
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<doubled>().build()?;
/// let status = |error: StartError| match error {
///     StartError::UnknownWorkflow { .. } => 404,
///     StartError::InvalidInput { .. } | StartError::InvalidId { .. } => 400,
///     StartError::OtherInput { .. } => 409,
///     _ => 500,
/// };
/// assert_eq!(status(engine.start_json("halved", json!(4)).await.unwrap_err()), 404);
/// assert_eq!(status(engine.start_json("doubled", json!(-4)).await.unwrap_err()), 400);
/// engine.start_json("doubled", json!(4)).id("mine").await?;
/// assert_eq!(status(engine.start_json("doubled", json!(5)).id("mine").await.unwrap_err()), 409);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
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
    /// The workflow is not registered, and the store outlives the process.
    #[error(
        "workflow `{workflow}` is not registered, so a run of it could not be resumed when this process has ended; add \
         `.register::<{workflow}>()` to the builder of the engine"
    )]
    NotRegistered {
        /// The workflow.
        workflow: String,
    },
    /// A workflow in expression position was started, and the store outlives the process.
    #[error(
        "a workflow in expression position has no name, so its run could not be resumed when this process has ended; \
         define it as `workflow! {{ name(Input) -> Output {{ .. }} }}` and register it, or start it in an engine without \
         a store"
    )]
    FlowInStore,
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
    /// The workflow has keys of the state that are given at its start, and some are not.
    #[error("workflow `{workflow}` is not given {}; set it: {}", state_keys(keys), setting(keys))]
    MissingState {
        /// The workflow.
        workflow: String,
        /// The names of the keys.
        keys: Vec<&'static str>,
    },
    /// The JSON is not the value of a key that the workflow is given.
    #[error("invalid value of state key `{key}` of `{workflow}`: {}{message}", at_field(field))]
    InvalidState {
        /// The workflow.
        workflow: String,
        /// The name of the key.
        key: String,
        /// Where in the value: `lines[2].price`; `.` for the whole.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// The id is too long, or empty.
    #[error("the id of a run may have 1 to {MAX_ID} bytes, and this one has {length}")]
    InvalidId {
        /// How many bytes it has.
        length: usize,
    },
    /// The id is `.` or `..`. In a URL that is a folder, also percent-encoded, so no client could ask for the run.
    #[error("the id of a run cannot be `{id}`, which is a folder in a URL; choose another id")]
    ReservedId {
        /// The id.
        id: String,
    },
    /// A tag is too long, or there are too many.
    #[error("invalid tag `{key}`: {message}")]
    InvalidTag {
        /// Its key.
        key: String,
        /// What is wrong with it.
        message: String,
    },
    /// The id belongs to a run that was deleted, and is kept for some time so that nothing is done twice.
    #[error("run `{id}` was deleted, and its id is not free yet, so that nothing is done twice; choose another id")]
    Deleted {
        /// The id.
        id: String,
        /// Until when no run can have it.
        until: SystemTime,
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
    /// A value cannot be recorded: its type cannot be written as JSON, or it is too large or too deep.
    #[error("{what} cannot be recorded: {message}")]
    NotRecordable {
        /// The input, or a key of the state.
        what: String,
        /// Why.
        message: String,
    },
    /// A run with this id exists and cannot be resumed in this process.
    #[error(transparent)]
    Run(RunError),
    /// The engine is shut down.
    #[error("the engine is shut down, and the run was not recorded: start it in another process")]
    ShutDown,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The transaction is that of a step: its closure writes by a connection that belongs to the store.
    #[error(
        "a run cannot be started within the transaction of a step; start it in the node, by `ctx.start`, or within a transaction on a \
         connection of the program's own"
    )]
    WithinStep,
    /// The call was made outside of a tokio runtime.
    #[error("a run must be started inside a tokio runtime")]
    NoRuntime,
    /// The call was made in a tokio runtime without timers.
    #[error("{NO_TIMERS}")]
    NoTimers,
}

impl StartError {
    /// Whether a text can be the id of a run. [`Engine::start`](crate::Engine::start) asks the same; this is for a program
    /// that hands an id to another one.
    ///
    /// # Errors
    /// [`StartError::InvalidId`] and [`StartError::ReservedId`].
    ///
    /// ```
    /// use graphweft::StartError;
    ///
    /// assert_eq!(StartError::check_id("order-7"), Ok(()));
    /// assert_eq!(StartError::check_id(""), Err(StartError::InvalidId { length: 0 }));
    /// ```
    pub fn check_id(id: &str) -> Result<(), StartError> {
        if let Some(length) = invalid_length(id) {
            return Err(StartError::InvalidId { length });
        }
        if is_reserved(id) {
            return Err(StartError::ReservedId { id: id.to_owned() });
        }
        Ok(())
    }
}

/// The length of an id in bytes, if it is not valid for a run.
pub(super) fn invalid_length(id: &str) -> Option<usize> {
    Some(id.len()).filter(|length| !(1..=MAX_ID).contains(length))
}

/// Whether every client would take an id for a folder and remove it from a URL: <https://url.spec.whatwg.org/#path-state>.
pub(super) fn is_reserved(id: &str) -> bool {
    matches!(id, "." | "..")
}

fn setting(keys: &[&'static str]) -> String {
    let set = |key: &&str| format!("`.state({}, ..)`", key.to_uppercase());
    keys.iter().map(set).collect::<Vec<_>>().join(", ")
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "no workflow is: add it with `Engine::builder().register::<..>()`".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("registered: {}", names.join(", "))
}

fn pools_listed(pools: &[String]) -> String {
    if pools.is_empty() {
        return "no node is in a pool: add `#[node(pool = \"..\")]`, or register the workflow".to_owned();
    }
    let pools: Vec<String> = pools.iter().map(|pool| format!("`{pool}`")).collect();
    format!("nodes are in: {}", pools.join(", "))
}

impl From<Halt> for StartError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Store(error) => StartError::Store(error),
            halt => StartError::Run(halt.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;
    use crate::child::ChildError;
    use crate::engine::{ForkError, RetryError};
    use crate::fault::{Cause, Failure, Fault};
    use crate::question::AnswerError;

    fn full() -> StoreError {
        StoreError::Full { path: "runs.db".into(), message: "disk full".to_owned() }
    }

    fn failure() -> Failure {
        Failure::new("checkout/charge", Cause::new("no money"))
    }

    #[track_caller]
    fn shows(error: impl Error, parts: &[&str]) {
        let shown = format!("{error:?}");
        assert_ne!(shown, error.to_string());
        assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
    }

    #[test]
    fn the_debug_form_of_an_error_has_its_variant_and_its_fields() {
        shows(
            BuildError::DuplicateWorkflow { name: "checkout".to_owned() },
            &["DuplicateWorkflow", "name", "checkout"],
        );
        shows(StartError::InvalidId { length: 2000 }, &["InvalidId", "length", "2000"]);
        shows(RunError::Failed(failure()), &["Failed", "Failure", "path", "checkout/charge", "attempts", "no money"]);
        shows(RunError::Waiting { questions: vec!["a".to_owned()] }, &["Waiting", "questions", "\"a\""]);
        shows(AnswerError::UnknownRun { run: "r".to_owned() }, &["UnknownRun", "run", "\"r\""]);
        shows(AnswerError::Run(RunError::ShutDown), &["Run(", "ShutDown"]);
        shows(RetryError::Run(RunError::ShutDown), &["Run(", "ShutDown"]);
        shows(ForkError::Store(full()), &["Store(", "Full", "path", "runs.db", "message", "disk full"]);
        shows(Fault::Panic { message: "oops".to_owned() }, &["Panic", "message", "oops"]);
        shows(ChildError::<RunError>::Fault(Fault::Interrupted), &["Fault(", "Interrupted"]);
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the file was not read")]
    struct NotRead(#[source] std::io::Error);

    /// The one whose own text is that of the error inside has the source of that.
    #[test]
    fn an_error_has_the_source_of_the_error_inside() {
        let stopped = RunError::Store(full());
        assert_eq!(stopped.source().and_then(|source| source.downcast_ref()), Some(&full()));
        for passed_on in [
            &AnswerError::Run(stopped.clone()) as &dyn Error,
            &RetryError::Run(stopped.clone()),
            &ForkError::Run(stopped.clone()),
        ] {
            assert_eq!(passed_on.to_string(), stopped.to_string());
            assert_eq!(passed_on.source().and_then(|source| source.downcast_ref()), Some(&full()));
        }
        let child = ChildError::Error(NotRead(std::io::Error::other("gone")));
        assert_eq!(child.source().map(ToString::to_string), Some("gone".to_owned()));
    }

    fn is_error<E: Error + Send + Sync + 'static>() {}

    #[test]
    fn errors_can_be_passed_on_in_boxes_and_across_threads() {
        is_error::<BuildError>();
        is_error::<StartError>();
        is_error::<RunError>();
        is_error::<AnswerError>();
        is_error::<RetryError>();
        is_error::<ForkError>();
        is_error::<StoreError>();
        is_error::<ChildError<RunError>>();
    }
}
