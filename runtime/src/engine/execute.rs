//! Executes attempts at nodes of pools for engines elsewhere, which drive their runs.

use std::fmt;
use std::future::{Future, IntoFuture, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use serde_json::Value;

use super::error::BuildError;
use super::inner::Engine;
use crate::around::CallKind;
use crate::attempt::Attempt;
use crate::catch::caught;
use crate::compile;
use crate::context::Context;
use crate::driver::Running;
use crate::executor::{NodeOutcome, NodeResult, NodeTask};
use crate::fault::Fault;
use crate::field::{Unreadable, at_field};
use crate::fingerprint::FormerNames;
use crate::pool::{Outlet, Reports};
use crate::resource::MissingResources;
use crate::shared::Shared;
use crate::sorted::SortedSet;
use crate::table::{Definition, Error, Finished};

/// An attempt at a node of a pool, which runs when this is awaited; see [`Engine::execute`].
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{NodeOutcome, NodeTask, json};
///
/// #[node(pool = "gpu")]
/// async fn embed(text: String, ctx: &PoolContext) -> usize {
///     ctx.progress("half of it");
///     text.len()
/// }
/// workflow! { pub index(String) -> usize { START => embed; } }
///
/// # graphweft::block_on(async {
/// let worker = Engine::builder().register::<index>().build()?;
/// let task: NodeTask = serde_json::from_value(json!({
///     "id": "0199", "pool": "gpu", "run_id": "order-7", "workflow": "index", "node": ["embed"], "path": "index/embed",
///     "attempt": 1, "input": "a poem",
/// }))?;
/// let execution = worker.execute(task).on_progress(|data| println!("{data}"));
/// let result = execution.await?;
/// assert_eq!(result.outcome, NodeOutcome::Completed { output: json!(6), state: Vec::new() });
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is executed before it is awaited"]
pub struct Execution {
    engine: Engine,
    task: NodeTask,
    progress: Box<dyn Fn(Value) + Send + Sync>,
    cancelled: BoxFuture<'static, ()>,
}

/// An attempt at a node of a pool was not executed.
///
/// ```
/// use graphweft::{ExecuteError, Fault, NodeResult};
///
/// /// What a worker answers.
/// fn answer(executed: Result<NodeResult, ExecuteError>) -> Option<NodeResult> {
///     match executed {
///         Ok(result) => Some(result),
///         Err(ExecuteError::Cancelled) => None, // it is no longer needed
///         Err(error) => Some(NodeResult::of_fault(Fault::Context { message: error.to_string() })),
///     }
/// }
///
/// assert_eq!(answer(Err(ExecuteError::Cancelled)), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The engine has no such node in this pool. Its version of the program may be another one than that of the engine that drives the
    /// run.
    #[error(
        "this worker has no node `{}` of pool `{pool}` in workflow `{workflow}`; register the version of the workflow that the run is \
         driven with", node.join("/")
    )]
    UnknownNode {
        /// The workflow.
        workflow: String,
        /// The names that lead to the node.
        node: Vec<String>,
        /// The pool.
        pool: String,
    },
    /// The input is none of the node here.
    #[error("the input of `{path}` cannot be read by this worker: {}{message}", at_field(field))]
    InvalidInput {
        /// The path of the attempt.
        path: String,
        /// Where in the input: `lines[2].price`; `.` for the whole.
        field: String,
        /// The problem there.
        message: String,
    },
    /// It was cancelled, by [`Execution::cancelled_by`].
    #[error("the attempt was cancelled")]
    Cancelled,
}

impl Engine {
    /// Executes an attempt at a node of a pool, for an engine elsewhere that drives the run: the other side of an
    /// [`Executor`](crate::Executor). The workflow has to be registered here, or called by a node of a registered one that says
    /// `uses(..)`.
    ///
    /// The attempt has the resources, mocks, [`max_concurrency`](crate::EngineBuilder::max_concurrency) and
    /// [`cancel_grace_period`](crate::EngineBuilder::cancel_grace_period) of this engine. Its time limit counts from its permit. A panic
    /// is a fault, as everywhere. Nothing is recorded here.
    ///
    /// # Errors
    /// When it is awaited: [`ExecuteError`]. An attempt that has failed is a [`NodeResult`].
    ///
    /// # Cancel safety
    /// A future that is dropped drops the node at its `.await`.
    pub fn execute(&self, task: NodeTask) -> Execution {
        let (progress, cancelled) = (Box::new(|_| ()), pending().boxed());
        Execution { engine: self.clone(), task, progress, cancelled }
    }

    /// Whether this engine has the resources of all nodes of the registered workflows that it executes itself, those of pools with an
    /// executor left out. [`start`](Engine::start) asks that of one workflow; a worker asks when it begins, and not with its first run.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// struct Prices;
    ///
    /// #[node]
    /// async fn price(cents: u32, #[resource] _prices: &Prices) -> u32 { cents }
    /// workflow! { pub pay(u32) -> u32 { START => price; } }
    ///
    /// # graphweft::block_on(async {
    /// let without = Engine::builder().register::<pay>().build()?;
    /// assert_eq!(without.check_resources().unwrap_err().0[0].nodes, ["pay/price"]);
    /// Engine::builder().register::<pay>().resource(Prices).build()?.check_resources()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`MissingResources`] of the first workflow that lacks some.
    pub fn check_resources(&self) -> Result<(), MissingResources> {
        let at_hand = self.definitions_at_hand();
        at_hand.iter().try_for_each(|definition| compile::check_resources(&self.0.env, definition))
    }

    /// Whether this engine can execute the nodes of a pool for others: it knows such nodes, and has the resources that they need. A worker
    /// says so when it begins, and not with its first task. What a node calls without a `uses(..)` of it is not known here.
    ///
    /// ```
    /// use graphweft::BuildError;
    /// use graphweft::prelude::*;
    ///
    /// #[derive(Clone)]
    /// struct Model;
    ///
    /// #[node(pool = "gpu")]
    /// async fn embed(text: String, #[resource] _model: &Model) -> usize { text.len() }
    /// workflow! { pub index(String) -> usize { START => embed; } }
    ///
    /// # graphweft::block_on(async {
    /// let without = Engine::builder().register::<index>().build()?;
    /// assert!(matches!(without.check_pool("gpu"), Err(BuildError::MissingResources(_))));
    /// let worker = Engine::builder().register::<index>().resource(Model).build()?;
    /// worker.check_pool("gpu")?;
    /// assert_eq!(
    ///     worker.check_pool("gpus").unwrap_err().to_string(),
    ///     "no node of a registered workflow is in pool `gpus`; nodes are in: `gpu`"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`BuildError::UnknownPool`] and [`BuildError::MissingResources`].
    pub fn check_pool(&self, pool: &str) -> Result<(), BuildError> {
        let mut known = self.definitions_at_hand();
        known.extend(used_by(&known));
        let mut pools = SortedSet::<&str>::new();
        for definition in &known {
            compile::check_resources_of_pool(&self.0.env, definition, pool)?;
            let graphs = compile::definitions(definition);
            pools.extend(graphs.iter().flat_map(|graph| graph.entries.iter().filter_map(|entry| entry.pool)));
        }
        if pools.contains(pool) {
            return Ok(());
        }
        let known = pools.into_iter().map(str::to_owned).collect();
        Err(BuildError::UnknownPool { pool: pool.to_owned(), known })
    }

    /// The workflows that are registered, in all versions, and those that are registered to be called.
    fn definitions_at_hand(&self) -> Vec<Arc<Definition>> {
        let registered = self.0.workflows.values().flat_map(|versions| versions.all());
        let registered = registered.map(|version| &version.definition);
        registered.chain(self.0.called.iter().copied()).cloned().collect()
    }

    /// The node of a task, in the version of its workflow that the run is driven with. If this engine has a single one, in that.
    fn node_of_pool(&self, task: &NodeTask) -> Option<Found> {
        let at_hand = self.definitions_at_hand();
        let mut versions = Vec::new();
        if let Some(found) = of_version(at_hand.iter().cloned(), task, &mut versions) {
            return Some(found);
        }
        if let Some(found) = of_version(used_by(&at_hand).into_iter(), task, &mut versions) {
            return Some(found);
        }
        let (graph, _) = versions.first()?;
        let is_single = task.graph.is_none() || versions.iter().all(|(other, _)| other == graph);
        is_single.then(|| versions.swap_remove(0).1)
    }
}

/// The workflows that nodes of these say they call.
fn used_by(definitions: &[Arc<Definition>]) -> Vec<Arc<Definition>> {
    let graphs = definitions.iter().flat_map(compile::definitions);
    let uses = graphs.flat_map(|definition| definition.infos()).flat_map(|node| node.uses()).collect();
    compile::all_used(uses).into_iter().filter_map(|used| (used.called)()?.downcast().ok()).collect()
}

type Found = (Arc<Definition>, usize);

/// The node in the version with the graph of the task. `others`: those that it is found in, by their graphs.
fn of_version(
    definitions: impl Iterator<Item = Arc<Definition>>,
    task: &NodeTask,
    others: &mut Vec<(u64, Found)>,
) -> Option<Found> {
    for definition in definitions.filter(|known| known.name == task.workflow) {
        let graph = compile::fingerprint(&definition).hash;
        let Some(found) = found_in(definition, task) else { continue };
        if task.graph == Some(graph) {
            return Some(found);
        }
        others.push((graph, found));
    }
    None
}

fn found_in(mut definition: Arc<Definition>, task: &NodeTask) -> Option<Found> {
    let (last, around) = task.node.split_last()?;
    for name in around {
        let entry = definition.entries.iter().find(|entry| entry.name == *name)?;
        definition = Arc::clone(entry.scope.as_ref()?.definition());
    }
    let is_it = |entry: &crate::table::Entry| entry.name == *last && entry.pool == Some(task.pool.as_str());
    let at = definition.entries.iter().position(is_it)?;
    Some((definition, at))
}

impl Execution {
    /// Has the progress of the attempt (`ctx.progress`) passed to this function, as plain JSON. It is called by the node.
    pub fn on_progress(self, progress: impl Fn(Value) + Send + Sync + 'static) -> Self {
        Execution { progress: Box::new(progress), ..self }
    }

    /// Cancels the attempt when this future is ready. A node that listens for it has the grace period of the engine to end; any other is
    /// dropped at its `.await`. The execution then ends with [`ExecuteError::Cancelled`].
    pub fn cancelled_by(self, cancelled: impl Future<Output = ()> + Send + 'static) -> Self {
        Execution { cancelled: cancelled.boxed(), ..self }
    }

    async fn run(self) -> Result<NodeResult, ExecuteError> {
        let Execution { engine, task, progress, cancelled } = self;
        let Some((definition, at)) = engine.node_of_pool(&task) else {
            let NodeTask { workflow, node, pool, .. } = task;
            return Err(ExecuteError::UnknownNode { workflow, node, pool });
        };
        let node = definition.entries.get(at).and_then(|entry| entry.node.clone());
        let Some(node) = node else { return Ok(NodeResult::of_fault(crate::table::no_body(&task.path))) };
        let NodeTask { run_id, path, attempt: number, timeout, input, state, former_path, .. } = task;
        let input = match caught(|| node.read_input(&input)) {
            Ok(Ok(input)) => input,
            Ok(Err(Unreadable { field, message })) => return Err(ExecuteError::InvalidInput { path, field, message }),
            Err(fault) => return Ok(NodeResult::of_fault(fault)),
        };
        let env = &engine.0.env;
        let former = former_path.map(|then| Arc::new(FormerNames::Node { now: path.clone(), then }));
        let run = Arc::new(Shared::elsewhere(env, run_id).with_former_names(former));
        let outlet = run.companion::<Outlet>();
        outlet.set(Reports::new(progress));
        // START and END have no entries.
        let place = (&definition, at as u32 + 2);
        let attempt = Arc::new(Attempt::elsewhere(Arc::clone(&run), &path, place, number, state));
        let begun = caught(|| {
            let body = node.run(input, Context::new(&attempt));
            let body = run.surrounded(body, CallKind::Node, || path.clone(), number);
            Running::new(body, timeout, run.permits.as_ref(), None)
        });
        let mut running = match begun {
            Ok(running) => running,
            Err(fault) => return Ok(NodeResult::of_fault(fault)),
        };
        let finished = {
            let ended = poll_fn(|waker| running.poll(Some(&attempt), waker));
            match select(pin!(ended), cancelled).await {
                Either::Left((finished, _)) => Some(finished),
                Either::Right(((), ended)) => {
                    let grace = env.cancel_grace_period;
                    let listens = attempt.listens() && !grace.is_zero();
                    attempt.cancel();
                    if listens {
                        let _ = tokio::time::timeout(grace, ended).await;
                    }
                    None
                }
            }
        };
        drop(running);
        match finished {
            Some(finished) => Ok(result_of(finished, &attempt, &outlet)),
            None => Err(ExecuteError::Cancelled),
        }
    }
}

fn result_of(finished: Finished, attempt: &Attempt, outlet: &Outlet) -> NodeResult {
    let outcome = match finished {
        Finished::Emitted { output: Some(output), .. } => match attempt.take_writes() {
            Ok(writes) => {
                let state = writes.0.map(|set| set.shared).unwrap_or_default();
                NodeOutcome::Completed { output: *output, state }
            }
            Err(fault) => NodeOutcome::Faulted { fault },
        },
        Finished::Emitted { output: None, .. } | Finished::Waiting => {
            let message = format!("`{}` has ended without an output; this is a mistake in graphweft", attempt.path());
            NodeOutcome::Faulted { fault: Fault::Context { message } }
        }
        Finished::Failed(error) => {
            let Error { cause, retryable, routed, json } = *error;
            let error = routed.and_then(|routed| routed.error).or_else(|| json.map(|json| *json));
            NodeOutcome::Failed { cause, retry: retryable.into(), error }
        }
        Finished::Fault(fault) => NodeOutcome::Faulted { fault: *fault },
    };
    NodeResult { outcome, is_last: attempt.is_last(), reports: outlet.take() }
}

impl IntoFuture for Execution {
    type Output = Result<NodeResult, ExecuteError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.run().boxed()
    }
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").field("task", &self.task).finish_non_exhaustive()
    }
}
