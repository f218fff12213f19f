//! What a node does in recorded pieces: children (`ctx.run`), steps (`ctx.step`) and timers (`ctx.sleep`).
//!
//! Each has an identity below its node, a name and a key. What is on record under it is given back instead of being done
//! again when the node runs again from its top, after a restart or in its next attempt.

mod graph;
mod lazy;
mod node;
mod sleep;
mod step;
mod tried;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use lazy::Lazy;
pub use sleep::Sleep;
pub use step::Step;

use crate::context::Context;
use crate::fault::Fault;
use crate::node::{Node, Travels};
use crate::options::RetryPolicy;
use node::Request;

/// How a child or a step failed, as a value: after its last attempt, or because it was not run at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildError<E> {
    /// Its own error, of the last attempt.
    #[error("{0}")]
    Error(E),
    /// What was not its own error: a time limit, a panic, an attempt cut short that may run at most once
    /// ([`Fault::Interrupted`]); or why nothing was run ([`Fault::Context`]): an identity used twice, another input than
    /// the one on record, a record that cannot be read.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl<E> ChildError<E> {
    /// Its own error, where it is that.
    pub fn into_error(self) -> Option<E> {
        match self {
            ChildError::Error(error) => Some(error),
            ChildError::Fault(_) => None,
        }
    }
}

/// A node that runs as a child of another when this is awaited. It is a future, so that `join!` takes it.
#[must_use = "no child runs before it is awaited"]
pub struct Child<'c, N: Node> {
    lazy: Lazy<'c, Request<'c, N>, Given<N>>,
    /// What it takes to run one is asked for where one is made, so that a node that cannot be one is one error.
    begin: fn(Request<'c, N>) -> BoxFuture<'c, Given<N>>,
}

/// What a child gives.
type Given<N> = Result<<N as Node>::Output, ChildError<<N as Node>::Error>>;

impl Context {
    /// Runs a node as a child of this one, and gives what it gives. Any node can be one, and so can a workflow; children
    /// have children of their own, to any depth.
    ///
    /// The child stands below this node (`checkout/plan/search:rust`), by its name and its [`key`](Child::key), which
    /// tell it from all others: a second use of one identity is an error at once. So a loop gives a key to each turn.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// # use futures::join;
    ///
    /// #[node]
    /// async fn search(topic: String) -> Result<String, String> {
    ///     if topic.is_empty() { Err("nothing to look for".to_owned()) } else { Ok(format!("all about {topic}")) }
    /// }
    ///
    /// #[node]
    /// async fn plan(topics: Vec<String>, ctx: &Context) -> Vec<String> {
    ///     let mut found = Vec::new();
    ///     for topic in topics {
    ///         match ctx.run::<search>(topic.clone()).key(topic).await {
    ///             Ok(text) => found.push(text),
    ///             Err(error) => ctx.say(format!("skipped: {error}")),
    ///         }
    ///     }
    ///     let (ants, bees) = join!(
    ///         ctx.run::<search>("ants".to_owned()).key("ants"),
    ///         ctx.run::<search>("bees".to_owned()).key("bees"),
    ///     );
    ///     found.extend([ants, bees].into_iter().flatten());
    ///     found
    /// }
    ///
    /// workflow! {
    ///     pub research(Vec<String>) -> Vec<String> { START => plan; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let found = research(vec!["wasps".to_owned(), String::new()]).await?;
    /// assert_eq!(found, ["all about wasps", "all about ants", "all about bees"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// A node that hands its own work over gives back what the child gives: `Ok(ctx.run::<refund>(order).await?)`.
    ///
    /// # What is recorded
    /// When the child is done its output is recorded, with what it wrote to the run's state, and only then given to its
    /// parent; so is the error that it failed with for good. When this node runs again from its top, after a restart or in
    /// an attempt of its own that follows a failed one, a child that is done is not run again: its output is what is on
    /// record, and its writes are made again. One that has failed for good gives the same error after a restart, and is
    /// tried again by a later attempt of this node. One that was under way begins again, with what it had asked for itself
    /// given back to it; a workflow goes on from where it stood. Counts of attempts and delays between them survive.
    /// Where a workflow around this node is tried again, all in it begins anew, and nothing is given back.
    ///
    /// A recorded child that is asked for with another input is an error that shows the hashes of both, and not a stale
    /// answer. Inputs are compared as JSON, so one that is written differently from time to time, such as a `HashSet`, is
    /// another input each time.
    ///
    /// In a run without an engine (`research(topics).await`) nothing is recorded, and everything else is the same.
    ///
    /// # Errors
    /// [`ChildError::Error`] is the child's own, after its last attempt; everything else is a [`ChildError::Fault`].
    ///
    /// Cancel safe: a child whose future is dropped stops at its `.await`, and is as one that a crash cut short. Within the
    /// same attempt of this node it cannot be asked for again. `ctx.cancelled()` inside the child resolves when this node
    /// is cancelled, and asking it counts as asking here.
    pub fn run<N: Node + Default>(&self, input: N::Input) -> Child<'_, N>
    where
        N::Error: Travels,
    {
        self.run_as(node::name_of::<N>(), N::default(), input)
    }

    /// The same for a node by value, one that carries configuration, under a name of its own:
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// struct Batches {
    ///     size: usize,
    /// }
    ///
    /// impl Node for Batches {
    ///     type Input = Vec<u32>;
    ///     type Output = Vec<Vec<u32>>;
    ///     type Error = Never;
    ///
    ///     async fn run(&self, input: Vec<u32>, _: &Context) -> Result<Vec<Vec<u32>>, Never> {
    ///         Ok(input.chunks(self.size).map(<[u32]>::to_vec).collect())
    ///     }
    /// }
    ///
    /// #[node]
    /// async fn in_pairs(numbers: Vec<u32>, ctx: &Context) -> Result<Vec<Vec<u32>>, ChildErrorOf> {
    ///     Ok(ctx.run_as("pairs", Batches { size: 2 }, numbers).await?)
    /// }
    /// # type ChildErrorOf = graphweft::ChildError<Never>;
    ///
    /// let flow = workflow! { START => in_pairs };
    /// assert_eq!(graphweft::block_on(flow.run(vec![1, 2, 3])).unwrap(), [vec![1, 2], vec![3]]);
    /// ```
    ///
    /// The configuration is no part of what is recorded: a child that is done is not run again under another one.
    pub fn run_as<N: Node>(&self, name: impl Into<String>, node: N, input: N::Input) -> Child<'_, N>
    where
        N::Error: Travels,
    {
        let request = Request::new(self, name.into(), node, input);
        Child { lazy: Lazy::Described(request), begin: |request| Box::pin(request.run()) }
    }
}

impl<N: Node> Child<'_, N> {
    fn with(mut self, change: impl FnOnce(&mut Request<'_, N>)) -> Self {
        self.lazy.describe(|request| change(request));
        self
    }

    /// Tells children of one name apart.
    pub fn key(self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.with(|request| request.key = Some(key))
    }

    /// When and how often a failed attempt is repeated, in place of the node's own `retry(..)`.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|request| request.options.retry = policy)
    }

    /// How long one attempt may take, in place of the node's own `timeout`. One that takes longer is dropped at its
    /// `.await`.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|request| request.options.timeout = Some(limit))
    }

    /// Records each attempt before it begins, and never makes one again that was cut short: that is then
    /// [`Fault::Interrupted`]. An attempt that ended with an error, or whose time was up, may still be followed by another
    /// where retries say so. A workflow that was cut short goes on: what it had begun itself is for its own nodes to say.
    pub fn at_most_once(self) -> Self {
        self.with(|request| request.options.at_most_once = true)
    }
}

impl<N: Node> Future for Child<'_, N> {
    type Output = Result<N::Output, ChildError<N::Error>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        let Child { lazy, begin } = self.get_mut();
        lazy.poll(waker, *begin)
    }
}

// Nothing in here is ever pinned in place: the child itself has a box of its own.
impl<N: Node> Unpin for Child<'_, N> {}

impl<N: Node> std::fmt::Debug for Child<'_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Child");
        if let Some(request) = self.lazy.description() {
            shown.field("name", &request.name).field("key", &request.key);
        }
        shown.finish_non_exhaustive()
    }
}
