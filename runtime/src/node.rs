//! Nodes, and the payloads that edges carry.

use std::future::Future;
use std::sync::Arc;

use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

use crate::context::Context;
use crate::options::NodeOptions;
use crate::resource::ResourceNeed;
use crate::table::Definition;

/// A type that a node can take and return: its values can be recorded, read back, described by a JSON Schema, and sent
/// to another thread. Implemented for every type that is `Serialize + DeserializeOwned + JsonSchema + Send + 'static`,
/// and for no other; `#[graphweft::value]` derives what is needed.
///
/// These are not supertraits, so that a type which lacks all of them is one compile error and not one for each.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel through a workflow",
    label = "has to be `Serialize + DeserializeOwned + JsonSchema + Send + 'static`",
    note = "put `#[value]` on your own type (graphweft's prelude brings it), or derive the three traits"
)]
pub trait Payload: Send + 'static {
    #[doc(hidden)]
    fn __to_json(&self) -> Result<serde_json::Value, serde_json::Error>;

    #[doc(hidden)]
    fn __from_json(json: &serde_json::Value) -> Result<Self, serde_path_to_error::Error<serde_json::Error>>
    where
        Self: Sized;

    #[doc(hidden)]
    fn __schema() -> Schema
    where
        Self: Sized;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Payload for T {
    fn __to_json(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    fn __from_json(json: &serde_json::Value) -> Result<Self, serde_path_to_error::Error<serde_json::Error>> {
        serde_path_to_error::deserialize(json)
    }

    fn __schema() -> Schema {
        schemars::schema_for!(T)
    }
}

/// One step of a workflow.
///
/// `#[node]` implements it for a function. A hand-written implementation can carry configuration:
///
/// ```
/// use graphweft::prelude::*;
///
/// struct BatchProcessor {
///     size: usize,
/// }
///
/// impl Node for BatchProcessor {
///     type Input = Vec<u32>;
///     type Output = Vec<Vec<u32>>;
///     type Error = Never;
///
///     async fn run(&self, input: Vec<u32>, _: &Context) -> Result<Vec<Vec<u32>>, Never> {
///         Ok(input.chunks(self.size).map(<[u32]>::to_vec).collect())
///     }
/// }
///
/// let size = 2;
/// let flow = workflow! {
///     let batch = BatchProcessor { size };
///     START => batch
/// };
/// assert_eq!(graphweft::block_on(flow.run(vec![1, 2, 3])).unwrap(), [vec![1, 2], vec![3]]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node",
    label = "not a node",
    note = "a node is an async function marked `#[node]`, a workflow, or a type that implements `Node`"
)]
pub trait Node: Send + Sync + 'static {
    /// The input: `()` for none, a tuple for several values.
    type Input: Payload;
    /// The output.
    type Output: Payload;
    /// The error; [`Never`](crate::Never) if it cannot fail.
    type Error: Send + 'static;

    /// Runs the node once. Called for every attempt and for every turn of a loop. The future is dropped at an `.await`
    /// when the run is cancelled or the time limit has passed, so hold no lock or half-written file across one.
    fn run(
        &self,
        input: Self::Input,
        context: &Context,
    ) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send;

    /// Retries, time limit and other options. `let name = node(..)` in a workflow overrides those written there.
    fn options(&self) -> NodeOptions {
        NodeOptions::default()
    }

    /// The option `name`.
    #[doc(hidden)]
    const OWN_NAME: Option<&'static str> = None;

    /// The name of the function, or of the workflow.
    #[doc(hidden)]
    const FUNCTION: Option<&'static str> = None;

    /// The option `renamed_from`: the node's former names.
    #[doc(hidden)]
    const RENAMED_FROM: &'static [&'static str] = &[];

    /// Doc comment of the function, for pictures and UIs.
    #[doc(hidden)]
    const DOC: &'static str = "";

    /// Whether another attempt may follow this error (`retry(when = ..)`).
    #[doc(hidden)]
    fn retry_when(&self, _error: &Self::Error) -> bool {
        true
    }

    /// A copy of an input for another attempt, where `Clone` gives one; otherwise it goes through serde.
    #[doc(hidden)]
    fn copy_input(_input: &Self::Input) -> Option<Self::Input> {
        None
    }

    /// The error as text and source chain, outermost first.
    #[doc(hidden)]
    fn explain(_error: &Self::Error) -> Vec<String> {
        vec![format!("an error of type `{}`", std::any::type_name::<Self::Error>())]
    }

    /// The resources that must be there before a run starts.
    #[doc(hidden)]
    fn resources() -> Vec<ResourceNeed> {
        Vec::new()
    }

    /// Where the graph inside is, for a workflow that is used as a node. Not the graph itself: a workflow may be a node
    /// of its own, and would wait for itself to be made.
    #[doc(hidden)]
    fn nested() -> Option<fn() -> &'static Arc<Definition>> {
        None
    }
}

/// A collecting node, the target of `a | b => node`: it runs for each arrival. `None` waits for the next one, the first
/// `Some` is its output.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes one arrival after another, but it is not a collecting node",
    label = "has to be marked `#[node(collect)]`",
    note = "a collecting node returns `Option<Out>`: `None` keeps waiting, the first `Some` completes it"
)]
pub trait Collector: Node<Output = Option<Self::Collected>> {
    /// The value of the first `Some`.
    type Collected: Payload;
}
