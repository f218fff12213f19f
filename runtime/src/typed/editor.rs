//! What the view of a workflow in an editor is made of: see `macros/core/src/editor`. No program runs it.

use std::marker::PhantomData;

use super::{END, START};
use crate::node::Node;

/// Something of a type, where only the type matters.
///
/// # Panics
///
/// Always. Only an editor reads the code that calls it.
pub fn seen<T>() -> T {
    unreachable!("the view of an editor is not compiled")
}

/// What a name of a node may stand for.
pub trait NodeName {}

impl<N: Node> NodeName for N {}
impl NodeName for START {}
impl NodeName for END {}

/// Any node. As `<AnyNode<_> as IsNode>::Node` it is a type that only nodes can be, so that an editor offers them first.
pub struct AnyNode<N>(PhantomData<N>);

/// See [`AnyNode`].
pub trait IsNode {
    /// The node.
    type Node;
}

impl<N: NodeName> IsNode for AnyNode<N> {
    type Node = N;
}

/// The place of a node's name.
pub fn seen_node<N>(_: <AnyNode<N> as IsNode>::Node)
where
    AnyNode<N>: IsNode,
{
}

/// What a node gives, as far as the words of its function tell.
pub trait SeenNode {
    /// Its value.
    type Value;
    /// Its error.
    type Error;
    /// What has the labels that it is more likely routed by as fields: of its `Result`, or of its value.
    type Labels;
}

/// A value that has labels.
pub trait SeenRoute {
    /// What has them as fields, each with the type of what it carries.
    type Labels;
}

impl<T, E> SeenRoute for Result<T, E> {
    type Labels = SeenResult<T, E>;
}

impl<T> SeenRoute for Option<T> {
    type Labels = SeenOption<T>;
}

/// The labels of a `Result`.
pub struct SeenResult<T, E> {
    /// The node has completed.
    pub ok: T,
    /// The node has failed, for good: its retries are over.
    pub err: E,
    #[doc(hidden)]
    pub __the_name_that_is_being_written_here_and_is_not_yet_the_name_of_anything: (),
}

/// The labels of an `Option`.
pub struct SeenOption<T> {
    /// There is a value.
    pub some: T,
    /// There is none.
    pub none: (),
    #[doc(hidden)]
    pub __the_name_that_is_being_written_here_and_is_not_yet_the_name_of_anything: (),
}

/// The options of a node.
pub struct SeenNodeOptions {
    /// `name = "charge_card"`: what the node is called in paths, events and the graph. Without it, that is the name of the
    /// function.
    pub name: &'static str,
    /// `renamed_from = "bill"`: the former name of the node, under which older runs have recorded it.
    /// `renamed_from("bill", "pay")` for several.
    pub renamed_from: &'static str,
    /// `retry(max_attempts = 3, initial_delay = "200ms")`: another attempt after an error or a fault, with delays that
    /// grow. Without it a node is attempted once.
    ///
    /// `max_attempts`, `initial_delay`, `max_delay`, `backoff_factor`, `jitter`, `when` and `after` are its parts.
    pub retry: SeenRetryOptions,
    /// `timeout = "10s"`: how long one attempt may take. An attempt that takes longer is dropped at an `.await` and fails
    /// with `Fault::Timeout`.
    pub timeout: &'static str,
    /// `at_most_once`: an attempt that was interrupted is reported and never repeated.
    pub at_most_once: bool,
    /// `blocking`: a plain `fn` that runs on the pool for blocking work.
    pub blocking: bool,
    /// `max_parallel = 4`: inside `[..]`, how many items may be in this node at once. At a nested workflow, how many of its
    /// nodes may be under way at once.
    pub max_parallel: u32,
    /// `collect`: a collecting node, the target of `a | b => node`. It returns `Option<Out>`, and `None` waits for the next
    /// arrival.
    pub collect: bool,
    /// `uses(search, read)`: the nodes that it may call. Their resources are checked before a run starts, and the graph shows
    /// them.
    pub uses: (),
    /// `pool = "gpu"`: its attempts are executed by any process that works for this pool, and by that of the run if the engine
    /// has no executor.
    pub pool: &'static str,
    #[doc(hidden)]
    pub __the_name_that_is_being_written_here_and_is_not_yet_the_name_of_anything: (),
}

/// The parts of `retry(..)`.
pub struct SeenRetryOptions {
    /// `max_attempts = 3`: the number of attempts, the first included. 5 if it is not written.
    pub max_attempts: u32,
    /// `initial_delay = "200ms"`: the delay before the second attempt. One second if it is not written.
    pub initial_delay: &'static str,
    /// `max_delay = "60s"`: no delay between two attempts is longer. One minute if it is not written.
    pub max_delay: &'static str,
    /// `backoff_factor = 2.0`: each delay before an attempt is so many times the one before. 2 if it is not written.
    pub backoff_factor: f64,
    /// `jitter = 1.0`: up to this share of a delay is added at random, so that attempts do not come all at once. 1 if it is
    /// not written.
    pub jitter: f64,
    /// `when = CardError::is_transient`: which of the node's own errors lead to another attempt, as a function from `&Error`
    /// to `bool`. It is not asked about faults.
    pub when: (),
    /// `after = ApiError::retry_after`: the delay that an error asks for, as a function from `&Error` to `Option<Duration>`.
    pub after: (),
    #[doc(hidden)]
    pub __the_name_that_is_being_written_here_and_is_not_yet_the_name_of_anything: (),
}

/// What is written above a workflow.
pub struct SeenRunLimits {
    /// `#[timeout = "1h"]`: how long a run may take, from its start and over restarts. A run that takes longer fails with
    /// `Fault::Timeout`, after its nodes were cancelled.
    pub timeout: &'static str,
    /// `#[max_parallel = 8]`: how many of the workflow's nodes may be under way at once.
    pub max_parallel: u32,
}
