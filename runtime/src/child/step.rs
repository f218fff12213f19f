//! `ctx.step(..)`: a recorded piece of a node.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::tried::{Asked, Attempted, Begun, Moves, Start, Work};
use super::{ChildError, Lazy};
use crate::context::Context;
use crate::node::Travels;
use crate::options::{NodeOptions, RetryPolicy};

type Body<'c, T, E> = Box<dyn FnMut() -> BoxFuture<'c, Result<T, E>> + Send + 'c>;

/// A piece of a node that runs when this is awaited. It is a future, so that `join!` takes it.
#[must_use = "no step runs before it is awaited"]
pub struct Step<'c, T, E>(Lazy<'c, Request<'c, T, E>, Result<T, ChildError<E>>>);

struct Request<'c, T, E> {
    context: &'c Context,
    name: String,
    key: Option<String>,
    options: NodeOptions,
    body: Body<'c, T, E>,
}

impl Context {
    /// Runs a closure as a recorded piece of this node: once it has given its output it is not run again, whatever
    /// happens to the node. It may have retries and a time limit of its own.
    ///
    /// The step stands below the node (`pay/charge/capture:4000`), by its name and its [`key`](Step::key); a second use of
    /// one identity is an error at once. The closure is called once for each attempt.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    /// use graphweft::{ChildError, RetryPolicy};
    ///
    /// async fn capture(cents: u32, key: &str) -> Result<String, String> {
    ///     if cents == 0 { Err("nothing to pay".to_owned()) } else { Ok(format!("{key} took {cents}")) }
    /// }
    ///
    /// #[node]
    /// async fn charge(parts: Vec<u32>, ctx: &Context) -> Result<Vec<String>, ChildError<String>> {
    ///     let mut receipts = Vec::new();
    ///     for (at, cents) in parts.into_iter().enumerate() {
    ///         let receipt = ctx
    ///             .step("capture", || async move { capture(cents, &format!("part {at}")).await })
    ///             .key(at)
    ///             .retry(RetryPolicy::attempts(3))
    ///             .timeout(Duration::from_secs(10))
    ///             .await?;
    ///         receipts.push(receipt);
    ///     }
    ///     Ok(receipts)
    /// }
    ///
    /// workflow! {
    ///     pub pay(Vec<u32>) -> Vec<String> { START => charge; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<pay>(vec![1, 2]).await?;
    /// assert_eq!(run.result().await?, ["part 0 took 1", "part 1 took 2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # What is recorded
    /// The output when the step is done, or the error when it has failed for good, before the node is given either. What
    /// the closure captures is not: a step that is done gives what is on record, so what decides over its output belongs
    /// into its key. Nor is what the closure writes to the run's state through the node's context: that is the node's, and
    /// is not written again when the step is given back. Write it after the step.
    ///
    /// The closure is the step's work and nothing else: it counts as being at work until it ends, so a question, a child
    /// or a timer is asked for beside a step, and not inside. Everything else, errors and cancel safety included, is as
    /// with [`run`](Context::run).
    pub fn step<'c, F, R, T, E>(&'c self, name: impl Into<String>, mut body: F) -> Step<'c, T, E>
    where
        F: FnMut() -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        T: Travels,
        E: Travels,
    {
        Step(Lazy::Described(Request {
            context: self,
            name: name.into(),
            key: None,
            options: NodeOptions::default(),
            body: Box::new(move || body().boxed()),
        }))
    }
}

impl<T, E> Step<'_, T, E> {
    fn with(mut self, change: impl FnOnce(&mut Request<'_, T, E>)) -> Self {
        self.0.describe(|request| change(request));
        self
    }

    /// Tells steps of one name apart.
    pub fn key(self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.with(|request| request.key = Some(key))
    }

    /// When and how often a failed attempt is repeated; not at all where nothing is said.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|request| request.options.retry = policy)
    }

    /// How long one attempt may take. One that takes longer is dropped at its `.await`.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|request| request.options.timeout = Some(limit))
    }

    /// Records each attempt before it begins, and never makes one again that was cut short: that is then
    /// [`Fault::Interrupted`](crate::Fault::Interrupted). An attempt that ended with an error, or whose time was up, may
    /// still be followed by another where retries say so.
    pub fn at_most_once(self) -> Self {
        self.with(|request| request.options.at_most_once = true)
    }
}

impl<T: Travels, E: Travels> Request<'_, T, E> {
    async fn run(self) -> Result<T, ChildError<E>> {
        let Request { context, name, key, options, body } = self;
        let parent = &context.0;
        let path = parent.claim(&name, key.as_deref())?;
        Asked { parent, path, input: None, options }.tried(StepWork { context, body }).await
    }
}

struct StepWork<'c, T, E> {
    context: &'c Context,
    body: Body<'c, T, E>,
}

impl<T: Travels, E: Travels> Work for StepWork<'_, T, E> {
    type Output = T;
    type Error = E;

    fn is_graph(&self) -> bool {
        false
    }

    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, T, E> {
        let records = self.context.records();
        let body = async move {
            match (self.body)().await {
                Ok(output) => Attempted::output(output, Vec::new(), None, records),
                Err(error) => Attempted::error(error, |_, json| words(json), true, records),
            }
        };
        Begun { body: body.boxed(), moves: Moves::Always(start.moving) }
    }
}

/// An error of which nothing is known but that it can be written down.
fn words(error: &Json) -> Vec<String> {
    vec![error.as_str().map_or_else(|| error.to_string(), str::to_owned)]
}

impl<T: Travels, E: Travels> Future for Step<'_, T, E> {
    type Output = Result<T, ChildError<E>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.run()))
    }
}

impl<T, E> std::fmt::Debug for Step<'_, T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Step");
        if let Some(request) = self.0.description() {
            shown.field("name", &request.name).field("key", &request.key);
        }
        shown.finish_non_exhaustive()
    }
}
