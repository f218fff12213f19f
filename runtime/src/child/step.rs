//! `ctx.step(..)`: a recorded piece of a node.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::form::{AsPayload, AsText, ErrorForm, ErrorPayload, FormOf, IntoErrorText, OutputPayload};
use super::tried::{Asked, Attempted, Begun, GivenError, Moves, Start, Work, failed};
use super::{ChildError, ErrorText, Lazy};
use crate::context::Context;
use crate::error_text::text;
use crate::node::Payload;
use crate::options::{NodeOptions, RetryPolicy};
use crate::requests::Held;
use crate::table::AttemptBody;

type Body<'c, T, E> = Box<dyn FnMut() -> BoxFuture<'c, Result<T, E>> + Send + 'c>;

/// A step of a node. Awaiting it runs the step. It is a future, so it works with `join!`.
///
/// `F` is the form in which its error is recorded: [`AsPayload`], or [`AsText`] after
/// [`error_as_text`](Self::error_as_text).
#[must_use = "no step runs before it is awaited"]
pub struct Step<'c, T, E: Send, F: ErrorForm = AsPayload>(Lazy<'c, Request<'c, T, E>, Given<T, E, F>>);

/// The result of a step.
type Given<T, E, F> = Result<T, ChildError<<F as ErrorForm>::Error<E>>>;

struct Request<'c, T, E> {
    context: &'c Context,
    name: String,
    key: Option<String>,
    options: NodeOptions,
    body: Body<'c, T, E>,
}

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
    /// An error of the closure is recorded as a payload. For one that is no payload, see
    /// [`error_as_text`](Step::error_as_text).
    /// Everything else, errors and cancel safety included, is as for [`call`](Context::call).
    pub fn step<'c, F, R, T, E>(&'c self, name: impl Into<String>, mut body: F) -> Step<'c, T, E>
    where
        F: FnMut() -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        E: Send,
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

impl<'c, T, E: Send> Step<'c, T, E> {
    /// Records an error of the closure as its text and those of its sources, and returns it as an
    /// [`ErrorText`](crate::ErrorText): for errors that are no payloads, such as `std::io::Error`, `reqwest::Error`,
    /// `anyhow::Error` or `Box<dyn Error + Send + Sync>`. Without effect from the first poll on.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::{ChildError, ErrorText};
    ///
    /// #[node]
    /// async fn length(path: String, ctx: &Context) -> Result<usize, ChildError<ErrorText>> {
    ///     let text = ctx.step("read", || tokio::fs::read_to_string(&path)).error_as_text().await?;
    ///     Ok(text.len())
    /// }
    ///
    /// let flow = workflow! { START => length };
    /// let Err(RunError::Failed(failure)) = graphweft::block_on(flow.run("/no/such/file".to_owned())) else { panic!() };
    /// assert!(failure.cause.to_string().contains("No such file"));
    /// ```
    pub fn error_as_text(self) -> Step<'c, T, E, AsText> {
        Step(match self.0 {
            Lazy::Described(request) => Lazy::Described(request),
            Lazy::Running(_) | Lazy::Over => Lazy::Over,
        })
    }
}

impl<T, E: Send, F: ErrorForm> Step<'_, T, E, F> {
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

impl<T: Payload, E: Send + 'static> Request<'_, T, E> {
    async fn run<F: FormOf<E>>(self) -> Given<T, E, F> {
        let Request { context, name, key, options, body } = self;
        let parent = Arc::clone(&context.0);
        let path = parent.path_of(&name, key.as_deref())?;
        let (held, item) = Held::ask(&parent, path, None).await?;
        let asked = Asked { parent, path: held.path().to_owned(), input: None, options };
        asked.step(held, item, StepWork { body, form: PhantomData::<fn() -> F> }).await
    }
}

struct StepWork<'c, T, E, F> {
    body: Body<'c, T, E>,
    form: PhantomData<fn() -> F>,
}

impl<T: Payload, E: Send + 'static, F: FormOf<E>> Work for StepWork<'_, T, E, F> {
    type Output = T;
    type Error = E;
    type Form = F;

    fn is_graph(&self) -> bool {
        false
    }

    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, T, GivenError<Self>> {
        let max = start.parent.run.env.max_value_size;
        let body = async move {
            match (self.body)().await {
                Ok(output) => Attempted::output(output, Vec::new(), None, max),
                Err(error) => failed::<T, E, F>(error, |_, json| words(json), true, max),
            }
        };
        Begun { body: AttemptBody::new(body), attempt: None, moves: Moves::Always(start.moving) }
    }
}

/// The text of an error that is only known to be serializable.
fn words(error: &Json) -> Vec<String> {
    vec![error.as_str().map_or_else(|| text(format_args!("{error}")), |error| text(format_args!("{error}")))]
}

impl<T: OutputPayload, E: ErrorPayload> Future for Step<'_, T, E, AsPayload> {
    type Output = Result<T, ChildError<E>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.run::<AsPayload>()))
    }
}

impl<T: OutputPayload, E: IntoErrorText> Future for Step<'_, T, E, AsText> {
    type Output = Result<T, ChildError<ErrorText>>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.run::<AsText>()))
    }
}

impl<T, E: Send, F: ErrorForm> std::fmt::Debug for Step<'_, T, E, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Step");
        if let Some(request) = self.0.description() {
            shown.field("name", &request.name).field("key", &request.key);
        }
        shown.finish_non_exhaustive()
    }
}
