//! Why a run has no output.

use crate::fault::Failure;
use crate::field::at_field;
use crate::halt::Halt;
use crate::resource::MissingResources;
use crate::store::StoreError;

/// A run returned no output.
///
/// A failed node is one of several reasons why there is no output:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn charge(cents: u32) -> Result<u32, String> { Err(format!("{cents} cents are declined")) }
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// match graphweft::block_on(pay(40)) {
///     Ok(cents) => println!("paid {cents}"),
///     Err(RunError::Failed(failure)) => {
///         assert_eq!((&*failure.path, failure.attempts), ("pay/charge", 1));
///         assert_eq!(failure.error_as::<String>().as_deref(), Some("40 cents are declined"));
///     }
///     Err(other) => eprintln!("it has not failed: {other}"), // cancelled, waits, needs an engine ..
/// }
/// ```
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
    /// Keys of the state have to be set at the start, which needs an engine. Nothing has run.
    #[error(
        "workflow `{workflow}` is to be given {} at its start; start it with an engine: \
         `engine.start::<{workflow}>(..).state(KEY, ..)`, for a flow `engine.start_flow(&flow, ..).state(KEY, ..)`",
        state_keys(keys)
    )]
    MissingState {
        /// The workflow.
        workflow: String,
        /// The names of the keys.
        keys: Vec<&'static str>,
    },
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
    /// The run waits for signals.
    #[error("the run waits for a signal: {}", quoted(signals))]
    AwaitingSignals {
        /// Their names.
        signals: Vec<String>,
    },
    /// The store failed, so the run stopped in this process, or it cannot be read, and is driven by another one as before. The run is not lost: `recover()` of this engine resumes it when
    /// the store works again, or of any other once this one is gone. A request of another engine, such as to cancel it, has this engine try
    /// again. Where a server was away ([`StoreError::Unreachable`]) or could not work
    /// ([`StoreError::Unavailable`]), or a file was locked ([`StoreError::Busy`]) or had no room ([`StoreError::Full`]), the
    /// engine does so by itself.
    #[error("the store failed, so the run has stopped in this process, or cannot be read: {0}")]
    Store(#[from] StoreError),
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
    /// None of the registered versions of the workflow ([`EngineBuilder::register_earlier`](crate::EngineBuilder::register_earlier))
    /// has the graph of the run, and its records fit none of them. The run is not lost: a program with a version that fits resumes
    /// it.
    #[error(
        "the run cannot be resumed: its records fit no registered version of workflow `{workflow}`; {}",
        per_version(versions)
    )]
    NoVersionFits {
        /// The workflow.
        workflow: String,
        /// Each version, the newest and then the earlier ones as they were registered: the path of its type, and what does not fit.
        versions: Vec<(String, String)>,
    },
    /// The run's workflow is not registered with this engine. The run is not lost: a program that registers it resumes
    /// it.
    #[error(
        "the run cannot be resumed: workflow `{workflow}` is not registered; add `.register::<{workflow}>()` to \
         `Engine::builder()`"
    )]
    NotRegistered {
        /// The workflow.
        workflow: String,
    },
    /// The call was made outside of a tokio runtime. The run is not lost: it is resumed by a call inside of one.
    #[error("called outside of a tokio runtime: runs need one")]
    NoRuntime,
    /// The call was made in a tokio runtime without timers. The run is not lost: it is resumed in a runtime that has
    /// them.
    #[error("{NO_TIMERS}")]
    NoTimers,
    /// The run was asked for as one of another workflow.
    #[error("run `{run}` is a run of workflow `{workflow}`, and not of `{wanted}`")]
    OtherWorkflow {
        /// The run.
        run: String,
        /// Its workflow.
        workflow: String,
        /// The workflow that was asked for.
        wanted: &'static str,
    },
    /// The recorded value of a key of the state does not have the type of the key.
    #[error("the recorded state does not have the requested type: {message}")]
    StateMismatch {
        /// The key, and what is wrong with its value.
        message: String,
    },
    /// The store does not contain the run.
    #[error("the store does not contain the run")]
    NotFound,
    /// The engine, or the tokio runtime, was shut down before the run ended. The run is not lost: `engine.recover()`
    /// resumes it in the next process.
    #[error("the engine was shut down before the run ended")]
    ShutDown,
}

/// The message of all errors of this kind.
pub(crate) const NO_TIMERS: &str =
    "the tokio runtime has no timers, which runs need: build it with `enable_time()` or `enable_all()`";

impl From<Halt> for RunError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Store(error) => RunError::Store(error),
            // A handle follows a run that was taken over or unloaded, so no caller gets these two.
            Halt::Fenced | Halt::Parked | Halt::ShutDown => RunError::ShutDown,
            Halt::NoRuntime => RunError::NoRuntime,
            Halt::NoTimers => RunError::NoTimers,
            Halt::MissingResources(missing) => RunError::MissingResources(missing),
            Halt::Unreadable { path, field, message } => RunError::RecordMismatch { path, field, message },
            Halt::NotRegistered { workflow } => RunError::NotRegistered { workflow },
            Halt::GraphChanged { workflow, changes } => RunError::GraphChanged { workflow, changes },
            Halt::NoVersion { workflow, refused } => RunError::NoVersionFits {
                workflow,
                versions: refused.into_iter().map(|(version, halt)| (version, misfit(halt))).collect(),
            },
        }
    }
}

/// Names of keys.
pub(crate) fn state_keys(names: &[&'static str]) -> String {
    names.iter().map(|name| format!("state key `{name}`")).collect::<Vec<_>>().join(", ")
}

/// What does not fit under a version, without what is said of all of them.
fn misfit(halt: Halt) -> String {
    match halt {
        Halt::GraphChanged { changes, .. } => changes.join("; "),
        Halt::Unreadable { path, field, message } => {
            format!("the record of `{path}` cannot be read: {}{message}", at_field(&field))
        }
        halt => RunError::from(halt).to_string(),
    }
}

fn per_version(versions: &[(String, String)]) -> String {
    versions.iter().map(|(version, misfit)| format!("under `{version}`: {misfit}")).collect::<Vec<_>>().join("; ")
}

fn quoted(ids: &[String]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}
