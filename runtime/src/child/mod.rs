//! The recorded parts of a node: children (`ctx.call`), steps (`ctx.step`) and timers (`ctx.sleep`).
//!
//! Each has an identity below its node, a name and a key. When the node restarts, after a crash or in its next attempt,
//! recorded results are returned instead of executing again.

mod dyn_input;
mod dyn_node;
mod error;
mod error_text;
mod form;
mod graph;
mod kept;
mod lease;
mod node;
mod retries;
mod sleep;
mod start_over;
mod start_run;
mod step;
mod transaction;
mod tried;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

pub use dyn_node::{DynCall, DynError, DynNode};
pub use error::ChildError;
pub use error_text::ErrorText;
pub use form::{AsPayload, AsText, ErrorForm};
pub use sleep::Sleep;
pub use start_over::StartOver;
pub use start_run::{StartRun, StartRunError};
pub use step::{Step, StepContext};

use crate::context::Context;
use crate::lazy::Lazy;
use crate::node::{Node, name_of};
use crate::options::RetryPolicy;
use form::{ErrorPayload, IntoErrorText};
use node::{Given, Request};
use tried::Identity;

/// A child of a node. Awaiting it runs the child. It is a future, so it works with `join!`.
///
/// `F` is the form in which its error is recorded: [`AsPayload`], or [`AsText`] after
/// [`error_as_text`](Self::error_as_text).
#[must_use = "no child runs before it is awaited"]
pub struct Child<'c, N: Node, F: ErrorForm = AsPayload>(Lazy<'c, Request<'c, N>, Given<N, F>>);

impl Context {
    /// Runs a node as a child of this one, and returns its result. Any node can be a child, and so can a workflow;
    /// children can have children, to any depth.
    ///
    /// The path of the child is below this node (`checkout/plan/search:rust`). Its name and its [`key`](Child::key) are
    /// its identity: a second use of one identity is an error at once, so calls in a loop need a key each.
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
    ///         match ctx.call::<search>(topic.clone()).key(topic).await {
    ///             Ok(text) => found.push(text),
    ///             Err(error) => ctx.message(format!("skipped: {error}")),
    ///         }
    ///     }
    ///     let (ants, bees) = join!(
    ///         ctx.call::<search>("ants".to_owned()).key("ants"),
    ///         ctx.call::<search>("bees".to_owned()).key("bees"),
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
    /// A node that delegates its work returns the child's output: `Ok(ctx.call::<refund>(order).await?)`.
    ///
    /// # What is recorded
    /// The child's output and its writes to the run's state are recorded before its parent receives the output; so is
    /// its error after the last attempt. When this node starts again, after a restart or in a later attempt:
    ///
    /// - a completed child is not executed again: its recorded output is returned, and its writes are applied again;
    /// - a failed child returns its recorded error after a restart, and is executed again by a later attempt of this
    ///   node;
    /// - an interrupted child starts again, with its own recorded results returned to it; a workflow resumes where it
    ///   was after a restart, and starts anew in a later attempt of this node.
    ///
    /// Numbers of attempts and delays between them survive. If an enclosing workflow is retried, everything inside it
    /// restarts; recorded results are not reused.
    ///
    /// Calling a recorded child with a different input fails this node with an error that shows both, and never gives a
    /// stale result. So does a child whose recorded output or error its type does not read whole. Inputs are compared as
    /// JSON, so an input that is written in a different order each time, such as a `HashSet`, is always different. A field
    /// that was added to the type of the input since, with a default or as an `Option`, makes no difference if it has the
    /// value that it is read with.
    ///
    /// A run without an engine (`research(topics).await`) keeps the same results for later attempts, in memory.
    ///
    /// # Errors
    /// [`ChildError::Error`] is the child's own error, after its last attempt; any other is a [`ChildError::Fault`]. The
    /// error of the child has to be a payload; [`error_as_text`](Child::error_as_text) takes any other.
    ///
    /// Cancel safe: if the future is dropped, the child stops at its `.await` and is withdrawn, with all that it has
    /// recorded. Called again, it starts anew; one that may run [at most once](Child::at_most_once) is then a
    /// [`Fault::Dropped`](crate::Fault::Dropped). `ctx.cancelled()` inside the child resolves when this node
    /// is cancelled, and gives this node the grace period too.
    pub fn call<N: Node + Default>(&self, input: N::Input) -> Child<'_, N> {
        self.call_as(name_of::<N>(), N::default(), input)
    }

    /// The same for a node by value, which can carry configuration, under a name:
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
    ///     Ok(ctx.call_as("pairs", Batches { size: 2 }, numbers).await?)
    /// }
    /// # type ChildErrorOf = graphweft::ChildError<Never>;
    ///
    /// let flow = workflow! { START => in_pairs };
    /// assert_eq!(graphweft::block_on(flow.run(vec![1, 2, 3])).unwrap(), [vec![1, 2], vec![3]]);
    /// ```
    ///
    /// The configuration is not recorded: a completed child is not executed again under another one.
    pub fn call_as<N: Node>(&self, name: impl Into<String>, node: N, input: N::Input) -> Child<'_, N> {
        Child(Lazy::Described(Request::new(self, name.into(), node, input)))
    }
}

impl<'c, N: Node> Child<'c, N> {
    /// Records an error of the child as its text and those of its sources, and returns it as an [`ErrorText`]: for
    /// errors that are no payloads, such as `std::io::Error`, `reqwest::Error`, `anyhow::Error` or
    /// `Box<dyn Error + Send + Sync>`. Without effect from the first poll on.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::{ChildError, ErrorText};
    ///
    /// #[node]
    /// async fn charge(cents: u64) -> std::io::Result<String> {
    ///     if cents > 5_000 { Err(std::io::Error::other("card declined")) } else { Ok(format!("paid {cents}")) }
    /// }
    ///
    /// #[node]
    /// async fn pay(cents: u64, ctx: &Context) -> String {
    ///     match ctx.call::<charge>(cents).error_as_text().await {
    ///         Ok(receipt) => receipt,
    ///         Err(ChildError::Error(error)) => format!("not paid: {error}"),
    ///         Err(fault) => format!("not known: {fault}"),
    ///     }
    /// }
    ///
    /// let flow = workflow! { START => pay };
    /// assert_eq!(graphweft::block_on(flow.run(6_000)).unwrap(), "not paid: card declined");
    /// ```
    pub fn error_as_text(self) -> Child<'c, N, AsText> {
        Child(self.0.with_output())
    }
}

impl<N: Node, F: ErrorForm> Child<'_, N, F> {
    fn with(mut self, change: impl FnOnce(&mut Request<'_, N>)) -> Self {
        self.0.describe(|request| change(request));
        self
    }

    /// Distinguishes children with the same name.
    pub fn key(self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.with(|request| request.key = Some(key))
    }

    /// Sets the retries, in place of the node's own `retry(..)`.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|request| request.options.retry = policy)
    }

    /// Which errors may be followed by another attempt, in place of the node's own `retry(when = ..)`.
    pub fn retry_when(self, when: fn(&N::Error) -> bool) -> Self {
        self.with(|request| request.retries.when = Some(when))
    }

    /// The delay that an error asks for, in place of the node's own `retry(after = ..)`; see
    /// [`Step::retry_after`].
    pub fn retry_after(self, after: fn(&N::Error) -> Option<Duration>) -> Self {
        self.with(|request| request.retries.after = Some(after))
    }

    /// A record of this child counts whatever input it has: the caller knows that it is this one, encoded by other types. An
    /// attempt that begins now has the input of this call.
    #[doc(hidden)]
    pub fn __known_by_path(self) -> Self {
        self.with(|request| request.identity = Identity::Path)
    }

    /// Limits the time of one attempt, in place of the node's own `timeout`. An attempt that takes longer is dropped at
    /// its `.await`.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|request| request.options.timeout = Some(limit))
    }

    /// Records each attempt before it starts, and never repeats one that was cut short: that is a
    /// [`Fault::Interrupted`](crate::Fault::Interrupted) if its process stopped, and a
    /// [`Fault::Dropped`](crate::Fault::Dropped) if its caller dropped it. Nor one whose output cannot be recorded:
    /// [`Fault::Unrecordable`](crate::Fault::Unrecordable). An attempt that ended with an error or
    /// reached its time limit is still retried if the policy says so. An interrupted workflow resumes: its own nodes
    /// have the option or not.
    pub fn at_most_once(self) -> Self {
        self.with(|request| request.options.at_most_once = true)
    }
}

impl<N: Node> Future for Child<'_, N, AsPayload>
where
    N::Error: ErrorPayload,
{
    type Output = Result<N::Output, ChildError<N::Error>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.run::<AsPayload>()))
    }
}

impl<N: Node> Future for Child<'_, N, AsText>
where
    N::Error: IntoErrorText,
{
    type Output = Result<N::Output, ChildError<ErrorText>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.run::<AsText>()))
    }
}

// No field is ever pinned in place: the future of the child has a box of its own.
impl<N: Node, F: ErrorForm> Unpin for Child<'_, N, F> {}

impl<N: Node, F: ErrorForm> std::fmt::Debug for Child<'_, N, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Child");
        if let Some(request) = self.0.description() {
            shown.field("name", &request.name).field("key", &request.key);
        }
        shown.finish_non_exhaustive()
    }
}
