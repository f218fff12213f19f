//! `ctx.step(..)`: a recorded piece of a node.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::tried::{Asked, Attempted, Begun, Moves, Start, Work};
use super::{ChildError, Lazy};
use crate::context::Context;
use crate::error_text::text;
use crate::node::Payload;
use crate::options::{NodeOptions, RetryPolicy};
use crate::requests::Held;
use crate::table::AttemptBody;

type Body<'c, T, E> = Box<dyn FnMut() -> BoxFuture<'c, Result<T, E>> + Send + 'c>;

/// A step of a node. Awaiting it runs the step. It is a future, so it works with `join!`.
#[must_use = "no step runs before it is awaited"]
pub struct Step<'c, T, E>(Lazy<'c, Request<'c, T, E>, Result<T, ChildError<E>>>);

struct Request<'c, T, E> {
    context: &'c Context,
    name: String,
    key: Option<String>,
    options: NodeOptions,
    body: Body<'c, T, E>,
    /// Runs it. `step` knows that output and error are payloads; a bound of the future would be a second error for a
    /// wrong type.
    start: fn(Self) -> BoxFuture<'c, Result<T, ChildError<E>>>,
}

/// "The error of a step is recorded."
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded as the error of a step",
    label = "turn `{Self}` into text within the step, `.map_err(|error| error.to_string())`, or into a type with `#[value]`",
    note = "what a step ends with is recorded, and returned to the node after a restart: its output and its error are payloads, \
            `Serialize + DeserializeOwned + JsonSchema + Send + 'static`"
)]
#[doc(hidden)]
pub trait StepError: Payload {}

#[diagnostic::do_not_recommend]
impl<E: Payload> StepError for E {}

impl Context {
    /// Runs a closure as a recorded step of this node: once its output is recorded it is not executed again, whatever
    /// happens to the node. It can have its own retries and time limit.
    ///
    /// The path of the step is below the node (`pay/charge/capture:4000`). Its name and its [`key`](Step::key) are its
    /// identity; a second use of one identity is an error at once. The closure is called once for each attempt.
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
    ///             .retry(RetryPolicy::with_max_attempts(3))
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
    /// The output, or the error after the last attempt, before the node receives either. The values that the closure
    /// captures are not recorded: a completed step returns its recorded output, so put everything that its output
    /// depends on into its key. Writes of the closure to the run's state through the node's context belong to the node,
    /// and are not repeated when the recorded output is returned: write after the step instead.
    ///
    /// A step counts as running until its closure ends, so ask questions, call children and sleep outside of it.
    /// Everything else, errors and cancel safety included, is as for [`call`](Context::call).
    pub fn step<'c, F, R, T, E>(&'c self, name: impl Into<String>, mut body: F) -> Step<'c, T, E>
    where
        F: FnMut() -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        T: Payload,
        E: StepError,
    {
        Step(Lazy::Described(Request {
            context: self,
            name: name.into(),
            key: None,
            options: NodeOptions::default(),
            body: Box::new(move || body().boxed()),
            start: |request| Box::pin(request.run()),
        }))
    }
}

impl<T, E> Step<'_, T, E> {
    fn with(mut self, change: impl FnOnce(&mut Request<'_, T, E>)) -> Self {
        self.0.describe(|request| change(request));
        self
    }

    /// Distinguishes steps with the same name.
    pub fn key(self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.with(|request| request.key = Some(key))
    }

    /// Sets the retries. The default is none.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|request| request.options.retry = policy)
    }

    /// Limits the time of one attempt. An attempt that takes longer is dropped at its `.await`.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|request| request.options.timeout = Some(limit))
    }

    /// Records each attempt before it starts, and never repeats one that was cut short: that is a
    /// [`Fault::Interrupted`](crate::Fault::Interrupted) if its process stopped, and a
    /// [`Fault::Dropped`](crate::Fault::Dropped) if its caller dropped it. An attempt that ended with an error or
    /// reached its time limit is still retried if the policy says so.
    pub fn at_most_once(self) -> Self {
        self.with(|request| request.options.at_most_once = true)
    }
}

impl<T: Payload, E: Payload> Request<'_, T, E> {
    async fn run(self) -> Result<T, ChildError<E>> {
        let Request { context, name, key, options, body, .. } = self;
        let parent = Arc::clone(&context.0);
        let path = parent.path_of(&name, key.as_deref())?;
        let (held, item) = Held::ask(&parent, path, None).await?;
        Asked { parent, path: held.path().to_owned(), input: None, options }.step(held, item, StepWork { body }).await
    }
}

struct StepWork<'c, T, E> {
    body: Body<'c, T, E>,
}

impl<T: Payload, E: Payload> Work for StepWork<'_, T, E> {
    type Output = T;
    type Error = E;

    fn is_graph(&self) -> bool {
        false
    }

    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, T, E> {
        let max = start.parent.run.env.max_value_size;
        let body = async move {
            match (self.body)().await {
                Ok(output) => Attempted::output(output, Vec::new(), None, max),
                Err(error) => Attempted::error(error, |_, json| words(json), true, max),
            }
        };
        Begun { body: AttemptBody::new(body), attempt: None, moves: Moves::Always(start.moving) }
    }
}

/// The text of an error that is only known to be serializable.
fn words(error: &Json) -> Vec<String> {
    vec![error.as_str().map_or_else(|| text(format_args!("{error}")), |error| text(format_args!("{error}")))]
}

impl<T, E> Future for Step<'_, T, E> {
    type Output = Result<T, ChildError<E>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |request| (request.start)(request))
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
