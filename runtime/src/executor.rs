//! The port through which attempts at the nodes of a pool are executed by other processes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::{Cause, Fault};
use crate::options::Retryable;
use crate::state_write::StateWrite;

/// Has the attempts at nodes of pools executed by other processes: what an engine is given by
/// [`EngineBuilder::executor`](crate::EngineBuilder::executor).
///
/// An attempt at a node with a `pool` is a [`NodeTask`] when it leaves the engine that drives its run, and a [`NodeResult`] when it
/// returns. Retries, time limits of the run, routes, the state and the records stay with that engine. The other side calls
/// [`Engine::execute`](crate::Engine::execute).
///
/// `graphweft-postgres` has an executor that keeps the tasks in a table. One that gives each task to another engine of the same
/// process shows what an executor has to do:
///
/// ```
/// use futures::FutureExt;
/// use futures::future::BoxFuture;
/// use graphweft::prelude::*;
/// use graphweft::{Executor, NodeResult, NodeTask, ProgressSender};
///
/// #[node(pool = "gpu", retry(max_attempts = 2, initial_delay = "1ms"))]
/// async fn embed(text: String, ctx: &PoolContext) -> Result<usize, String> {
///     if ctx.attempt() == 1 { Err("the card was busy".to_owned()) } else { Ok(text.len()) }
/// }
///
/// workflow! { pub index(Vec<String>) -> Vec<usize> { START => [embed] => END; } }
///
/// struct OtherEngine(Engine);
///
/// impl Executor for OtherEngine {
///     fn execute(&self, task: NodeTask, progress: ProgressSender) -> BoxFuture<'static, Result<NodeResult, Fault>> {
///         let worker = self.0.clone();
///         async move {
///             let executed = worker.execute(task).on_progress(move |data| progress.send(data)).await;
///             executed.map_err(|error| Fault::Context { message: error.to_string() })
///         }
///         .boxed()
///     }
/// }
///
/// # graphweft::block_on(async {
/// let worker = Engine::builder().register::<index>().build()?;
/// let engine = Engine::builder().executor(OtherEngine(worker)).build()?;
/// let run = engine.start::<index>(vec!["a".to_owned(), "poem".to_owned()]).await?;
/// assert_eq!(run.result().await?, [1, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub trait Executor: Send + Sync + 'static {
    /// Has one attempt executed, and resolves to its result.
    ///
    /// It may be called several times with the same [`NodeTask::id`]: a run that is resumed in another process asks again for what is
    /// under way. An executor that knows the id attaches to the task that it has, and returns its
    /// result if there is one. One that does not know it executes it, unless it [was sent](NodeTask::was_sent) before and is
    /// `at_most_once`.
    ///
    /// # Errors
    /// A fault of the way there and back. The attempt has failed by it, and the retries of the node apply.
    ///
    /// # Cancel safety
    /// A future that is dropped says that nothing waits here any more; the task stays. [`cancel`](Self::cancel) stops it.
    fn execute(&self, task: NodeTask, progress: ProgressSender) -> BoxFuture<'static, Result<NodeResult, Fault>>;

    /// Whether it keeps tasks beyond the engine that has sent them, and knows of a task that [was sent](NodeTask::was_sent) before whether it was executed. Then an
    /// attempt of an `at_most_once` node outlives its engine: the next one asks for its result. Otherwise such an attempt ends by
    /// [`Fault::Interrupted`] when its engine does, and its run stays in memory until then. The default is that it does not.
    fn keeps_tasks(&self) -> bool {
        false
    }

    /// The task with this id is no longer needed: its run was cancelled or has failed, or nothing needs the output. Called once the
    /// future of [`execute`](Self::execute) is dropped and the reason is recorded, in the runtime of the run: an engine that has lost a
    /// run cancels nothing. It returns at once; what it begins may fail, since the result of the task is ignored in any case.
    ///
    /// It is not called for a call of a workflow that a node drops, nor for a run that was outside of the memory when it was cancelled: an
    /// executor that [accepts](ProgressSender::accepted) tasks has to look from time to time which of their runs are over.
    fn cancel(&self, run_id: &str, id: &str) {
        let _ = (run_id, id);
    }
}

/// One attempt at a node of a pool, as data.
///
/// As JSON, for a queue of one's own:
///
/// ```
/// use graphweft::{NodeTask, json};
///
/// let task: NodeTask = serde_json::from_value(json!({
///     "id": "0199", "pool": "gpu", "run_id": "order-7", "workflow": "index", "node": ["[embed]", "embed"],
///     "path": "index/embed[3]", "attempt": 1, "input": "a poem",
/// }))?;
/// assert_eq!(task.idempotency_key(), "order-7:index/embed[3]");
/// assert!(!task.at_most_once && task.timeout.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeTask {
    /// What distinguishes this attempt from all others of its run, also after retries of the run. It stays when the run is resumed.
    pub id: String,
    /// The pool.
    pub pool: String,
    /// The run.
    pub run_id: String,
    /// The workflow in which the node is found: that of the run, or one that a node of it has called.
    pub workflow: String,
    /// The hash of the graph of that workflow, by which a worker that has several versions of it finds the one of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<u64>,
    /// The names that lead to the node from there: those of the nested workflows and `[..]` around it, and its own.
    pub node: Vec<String>,
    /// The path of the attempt in its run.
    pub path: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// Whether it was sent before, and its engine has begun anew. An executor that [keeps tasks](Executor::keeps_tasks) and does not know one with
    /// `at_most_once` then returns [`Fault::Interrupted`]: it may have been executed.
    #[serde(default)]
    pub was_sent: bool,
    /// Whether an attempt that was begun and not ended is reported as [`Fault::Interrupted`], and never repeated.
    #[serde(default)]
    pub at_most_once: bool,
    /// The path under the names with which the run has recorded it first, if its nodes were renamed since: the idempotency key
    /// has those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_path: Option<String>,
    /// How long it may take from its begin on. Time in a queue does not count.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The input of the node, as it is recorded ([`Payload`](crate::Payload)).
    pub input: Value,
    /// The state of the run as the attempt sees it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub state: Map<String, Value>,
}

impl NodeTask {
    /// The key of [`PoolContext::idempotency_key`](crate::PoolContext::idempotency_key): the same for every attempt at this node in
    /// this turn of this run.
    pub fn idempotency_key(&self) -> String {
        format!("{}:{}", self.run_id, self.former_path.as_deref().unwrap_or(&self.path))
    }
}

/// What an attempt at a node of a pool came to.
///
/// ```
/// use graphweft::{Fault, NodeOutcome, NodeResult};
///
/// // A worker has died in the middle of an attempt that may be made once:
/// let result = NodeResult::of_fault(Fault::Interrupted);
/// assert!(matches!(result.outcome, NodeOutcome::Faulted { fault: Fault::Interrupted }));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeResult {
    /// How it ended.
    pub outcome: NodeOutcome,
    /// Whether it has called `no_retry`: no other attempt follows.
    #[serde(default)]
    pub is_last: bool,
    /// The messages and notes of the attempt, in their order. The run records them before the end of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<NodeReport>,
}

impl NodeResult {
    /// An attempt that has ended by a fault.
    pub fn of_fault(fault: Fault) -> Self {
        NodeResult { outcome: NodeOutcome::Faulted { fault }, is_last: false, reports: Vec::new() }
    }
}

/// How an attempt at a node of a pool ended.
///
/// ```
/// use graphweft::{NodeOutcome, json};
///
/// let outcome = NodeOutcome::Completed { output: json!(7), state: Vec::new() };
/// assert_eq!(serde_json::to_value(outcome)?, json!({ "completed": { "output": 7 } }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeOutcome {
    /// With an output.
    Completed {
        /// The output as it is recorded.
        output: Value,
        /// The writes to the state of the run, in their order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
    },
    /// With the node's own error.
    Failed {
        /// Its text and those of its sources.
        cause: Cause,
        /// Whether another attempt may follow.
        retry: NodeRetry,
        /// The error itself as it is recorded, if it can be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    },
    /// By a fault: a panic, its time limit, a value that cannot be recorded.
    Faulted {
        /// The fault.
        fault: Fault,
    },
}

/// Whether another attempt may follow an error, as the node says by `retry(when = .., after = ..)`.
///
/// ```
/// use graphweft::{NodeRetry, json};
///
/// assert_eq!(serde_json::to_value(NodeRetry::AfterPolicy)?, json!("after_policy"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeRetry {
    /// None may.
    Never,
    /// One may, after the delay of the policy.
    AfterPolicy,
    /// One may, after this delay.
    After(Duration),
}

/// What an attempt at a node of a pool has reported while it was executed.
///
/// ```
/// use graphweft::{NodeReport, json};
///
/// let report = NodeReport::Note { name: "tokens".to_owned(), payload: json!(12) };
/// assert_eq!(serde_json::to_value(report)?, json!({ "note": { "name": "tokens", "payload": 12 } }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeReport {
    /// `ctx.message(..)`
    Message {
        /// The text.
        text: String,
    },
    /// `ctx.note(..)`
    Note {
        /// Its name.
        name: String,
        /// Its payload, plain JSON.
        payload: Value,
    },
}

/// Where an [`Executor`] tells how an attempt comes along that is executed elsewhere.
///
/// ```
/// use graphweft::{ProgressSender, json};
///
/// fn forward(update: &str, progress: &ProgressSender) -> Result<(), serde_json::Error> {
///     progress.send(serde_json::from_str(update)?);
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct ProgressSender(pub(crate) Arc<dyn OfAttempt>);

/// What it reaches.
pub(crate) trait OfAttempt: Send + Sync {
    fn send(&self, data: Value);
    fn accepted(&self);
}

impl ProgressSender {
    /// Sends progress of the node (`ctx.progress`) to the subscribers of the run's events. What comes after the end of the attempt is
    /// dropped.
    pub fn send(&self, data: Value) {
        self.0.send(data);
    }

    /// Says that the task is where it survives this process, has no result yet, and is not expected to have one soon. A run that has nothing else
    /// to do is then [`Sleeping`](crate::RunStatus::Sleeping), and may leave the memory as one that waits for a timer does
    /// ([`max_resident_waiting`](crate::EngineBuilder::max_resident_waiting)): the future of [`Executor::execute`] is dropped, and
    /// the executor has to have the run resumed when there is a result, by [`Engine::wake`](crate::Engine::wake) or in its
    /// own way. A result that came before the future was dropped, and was not returned by it, counts too.
    ///
    /// An executor that never calls it has all its runs in memory. The run of an `at_most_once` attempt stays there in any case, unless the
    /// executor [keeps tasks](Executor::keeps_tasks).
    pub fn accepted(&self) {
        self.0.accepted();
    }
}

impl From<Retryable> for NodeRetry {
    fn from(retryable: Retryable) -> Self {
        match retryable {
            Retryable::No => NodeRetry::Never,
            Retryable::AfterPolicy => NodeRetry::AfterPolicy,
            Retryable::After(delay) => NodeRetry::After(delay),
        }
    }
}

impl From<NodeRetry> for Retryable {
    fn from(retry: NodeRetry) -> Self {
        match retry {
            NodeRetry::Never => Retryable::No,
            NodeRetry::AfterPolicy => Retryable::AfterPolicy,
            NodeRetry::After(delay) => Retryable::After(delay),
        }
    }
}

impl std::fmt::Debug for ProgressSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProgressSender")
    }
}
