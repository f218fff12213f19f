//! The public form of workflows: a type for a named one, a value for one in expression position.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use graphweft_graph::state_proof::NodeKeys;
use serde_json::Map;

use crate::box_value::BoxValue;
use crate::compile::check_resources;
use crate::context::Context;
use crate::driver::{Ending, Job, Part};
use crate::event::Tags;
use crate::fault::{Cause, Failure, Fault};
use crate::graph::Graph;
use crate::mapped::{Mapped, map};
use crate::node::{Node, Payload};
use crate::run_error::RunError;
use crate::shared::{Env, Shared};
use crate::table::Definition;

/// A named workflow: the type `checkout` of `workflow! { pub checkout(Order) -> String { .. } }`.
///
/// Code that works for any workflow, such as a start with an id that is made of the input:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{StartError, Workflow};
///
/// async fn start_once<W>(engine: &Engine, input: W::Input) -> Result<Run<W::Output>, StartError>
/// where
///     W: Workflow<Input: ToString>,
/// {
///     let id = format!("{}-{}", W::NAME, input.to_string());
///     engine.start::<W>(input).id(id).await
/// }
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = start_once::<doubled>(&engine, 4).await?;
/// assert_eq!((run.id(), run.result().await?), ("doubled-4", 8));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a workflow",
    label = "not a workflow",
    note = "`workflow! {{ name(Input) -> Output {{ .. }} }}` defines a workflow"
)]
pub trait Workflow: Node<Error = Failure> {
    /// Its name: the root of every path, and its name in an engine.
    const NAME: &'static str;

    /// What it does with the state as a node of another workflow.
    #[doc(hidden)]
    type Keys<D: Depth>: HasKeys;

    /// Its graph and the bodies of its nodes.
    #[doc(hidden)]
    fn definition() -> &'static Arc<Definition>;
}

/// A constant of what a workflow does with the state as a node of another graph.
#[doc(hidden)]
pub trait HasKeys {
    /// It.
    const KEYS: &'static NodeKeys;
}

/// How deep workflows inside each other are looked at.
#[doc(hidden)]
pub trait Depth: 'static {
    /// A workflow as a node of a graph of this depth.
    type Keys<W: Workflow>: HasKeys;
    /// That of the graph of a `[..]` in a graph of this depth, which takes as many constants as a workflow.
    type Inside: Depth;
}

/// A workflow in expression position, from an `I` to an `O`.
///
/// For a graph with nodes that carry configuration, and for tests and scripts: it has no name, so a store in a file cannot keep its runs.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::Flow;
///
/// #[node]
/// async fn double(n: u32) -> u32 { 2 * n }
/// #[node]
/// async fn print(n: u32) -> String { format!("{n}") }
///
/// let flow: Flow<u32, String> = workflow! { START => double => print };
/// assert_eq!(graphweft::block_on(flow.run(4)).unwrap(), "8");
/// assert!(flow.graph().to_mermaid().contains("double"));
/// ```
pub struct Flow<I, O> {
    definition: Arc<Definition>,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Payload, O: Payload> Flow<I, O> {
    /// The expansion of `workflow! { START => .. }`. The definition must take a boxed `I` and return a boxed `O`.
    #[doc(hidden)]
    pub fn new(definition: Arc<Definition>) -> Self {
        Flow { definition, types: PhantomData }
    }

    /// Runs it in memory, in the caller's task; nodes that run at once have their own tasks. Dropping the future stops
    /// every node at its `.await`.
    ///
    /// # Errors
    /// [`RunError::Failed`] if a node failed and its error is not routed; [`RunError::MissingResources`] if a node
    /// needs a resource, and [`RunError::MissingState`] if the flow is given keys of the state: start it with an engine
    /// then, `engine.start_flow(&flow, input)`.
    pub async fn run(&self, input: I) -> Result<O, RunError> {
        let output = in_memory(&self.definition, BoxValue::new(input)).await?;
        output_of(output, &self.definition).map_err(RunError::Failed)
    }

    /// Its graph as data: nodes, edges, labels, loops and schemas.
    pub fn graph(&self) -> Graph {
        Graph::of(&self.definition)
    }

    /// Its graph and the bodies of its nodes.
    #[doc(hidden)]
    pub fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }
}

impl<I, O> Clone for Flow<I, O> {
    fn clone(&self) -> Self {
        Flow { definition: Arc::clone(&self.definition), types: PhantomData }
    }
}

impl<I, O> fmt::Debug for Flow<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Flow").field(&self.definition.name).finish()
    }
}

/// The definition of a workflow, which is made when it is first asked for.
#[doc(hidden)]
pub struct Defined {
    definition: OnceLock<Box<dyn Made>>,
    define: fn() -> Definition,
}

/// What [`Defined`] holds. Behind it, a program of the user does not have rustc look again whether all that a definition is made
/// of can be shared.
trait Made: Send + Sync {
    fn definition(&self) -> &Arc<Definition>;
}

impl Made for Arc<Definition> {
    fn definition(&self) -> &Arc<Definition> {
        self
    }
}

impl Defined {
    /// By the function that an expansion has for it.
    pub const fn by(define: fn() -> Definition) -> Self {
        Defined { definition: OnceLock::new(), define }
    }

    /// The definition.
    pub fn get(&self) -> &Arc<Definition> {
        self.definition.get_or_init(|| Box::new(Arc::new((self.define)()))).definition()
    }
}

/// The future of a run, made and looked at here alone: a program of the user makes nothing of the engine for a workflow of its
/// own, and rustc does not look into the run for each of them.
type Erased<'a, E> = BoxFuture<'a, Result<BoxValue, E>>;

/// The future of a run with the type of its output.
type Typed<'a, O, E> = Mapped<Erased<'a, E>, Result<BoxValue, E>, Result<O, E>>;

/// Runs a workflow in memory, in the caller's task: `checkout(order).await`.
#[doc(hidden)]
pub fn run_in_memory<W: Workflow>(input: W::Input) -> Typed<'static, W::Output, RunError> {
    map(in_memory(W::definition(), BoxValue::new(input)), |result| {
        output_of(result?, W::definition()).map_err(RunError::Failed)
    })
}

fn in_memory(definition: &Arc<Definition>, input: BoxValue) -> Erased<'_, RunError> {
    Box::pin(async move {
        let env = Env::plain();
        check_resources(env, definition)?;
        let missing = definition.missing_keys(&Map::new());
        if !missing.is_empty() {
            return Err(RunError::MissingState { workflow: definition.name.clone(), keys: missing });
        }
        let job = Job {
            definition: Arc::clone(definition),
            shared: Arc::new(Shared::in_memory(Arc::clone(env)).traced(&definition.name, &Tags::new(), None)),
            cancel: None,
            state: Map::new(),
            part: Part::Whole,
            limit: definition.limits.time_limit(env.clock.now()),
            history: Vec::new(),
            snapshot: None,
        };
        match job.run(input).await {
            Ending::Completed(output) => Ok(output),
            Ending::Failed(failure) => Err(RunError::Failed(failure)),
            Ending::Cancelled | Ending::StartsOver(_) | Ending::StartedOver(_) => Err(RunError::Cancelled),
            Ending::Halted(halt) => Err(halt.into()),
        }
    })
}

/// Runs a workflow inside a node of another, on behalf of `Node::run` of a workflow type: with that run's resources,
/// replacements, a copy of its state, and paths below the node's own. It is cancelled with the node. Nothing of it is
/// recorded, as with any function that a node calls. `ctx.call::<W>(..)` records.
#[doc(hidden)]
pub fn run_within<W: Workflow>(input: W::Input, context: &Context) -> Typed<'_, W::Output, Failure> {
    map(within(W::definition(), BoxValue::new(input), context), |result| output_of(result?, W::definition()))
}

fn within<'a>(definition: &'static Arc<Definition>, input: BoxValue, context: &'a Context) -> Erased<'a, Failure> {
    Box::pin(async move {
        let state = Map::clone(&context.0.state);
        let missing = definition.missing_keys(&state);
        if !missing.is_empty() {
            let error = RunError::MissingState { workflow: definition.name.clone(), keys: missing };
            let cause = Cause::from(Fault::Context { message: error.to_string() });
            return Err(Failure::at(context.path(), 1, cause));
        }
        let job = Job {
            definition: Arc::clone(definition),
            shared: Arc::new(context.0.run.unrecorded(context.0.work.get().cloned())),
            cancel: None,
            state,
            part: Part::Of(context.path()),
            limit: definition.limits.time_limit(context.0.run.env.clock.now()),
            history: Vec::new(),
            snapshot: None,
        };
        match job.run(input).await {
            Ending::Completed(output) => Ok(output),
            Ending::Failed(failure) => Err(failure),
            Ending::Halted(_) | Ending::Cancelled | Ending::StartsOver(_) | Ending::StartedOver(_) => {
                let cause = Cause::from(Fault::Context { message: "cancelled".to_owned() });
                Err(Failure::at(context.path(), 1, cause))
            }
        }
    })
}

fn output_of<O: 'static>(mut output: BoxValue, definition: &Definition) -> Result<O, Failure> {
    output.take().ok_or_else(|| wrong_output(definition))
}

pub(crate) fn wrong_output(definition: &Definition) -> Failure {
    let message = "the output does not have the requested type".to_owned();
    Failure::at(definition.name.clone(), 1, Cause::from(Fault::Context { message }))
}
