//! `ctx.step(..)`: a recorded piece of a node.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::form::words_of_json;
use super::form::{AsPayload, AsText, ErrorForm, ErrorPayload, FormOf, IntoErrorText, OutputPayload};
use super::retries::Retries;
use super::tried::{Asked, Attempted, Begun, GivenError, Moves, Start, Work, failed};
use super::{ChildError, ErrorText};
use crate::around::CallKind;
use crate::context::Context;
use crate::fault::Fault;
use crate::lazy::Lazy;
use crate::node::Payload;
use crate::options::{NodeOptions, RetryPolicy};
use crate::requests::Held;
use crate::shared::{Journal, OpenTransaction};
use crate::table::AttemptBody;

/// The closure of a step.
enum Body<'c, T, E> {
    Plain(Box<dyn FnMut() -> BoxFuture<'c, Result<T, E>> + Send + 'c>),
    /// One that takes its step.
    With(Box<dyn FnMut(StepContext<'c>) -> BoxFuture<'c, Result<T, E>> + Send + 'c>),
    /// One that writes in a transaction of the store.
    InTransaction(Box<dyn TransactionBody<'c, T, E> + 'c>),
}

/// The closure of a step, with what its next attempt gets.
enum Next<'w, 'c, T, E> {
    Plain(&'w mut (dyn FnMut() -> BoxFuture<'c, Result<T, E>> + Send + 'c)),
    With(&'w mut (dyn FnMut(StepContext<'c>) -> BoxFuture<'c, Result<T, E>> + Send + 'c), StepContext<'c>),
    InTransaction(&'w mut (dyn TransactionBody<'c, T, E> + 'c), Option<Arc<Journal>>),
}

/// The closure of a step that writes in a transaction of the store.
pub(super) trait TransactionBody<'c, T, E>: Send {
    /// Executes it in a run with this journal; none without an engine.
    fn begin(&mut self, journal: Option<Arc<Journal>>) -> BoxFuture<'c, Written<T, E>>;
}

/// How such a closure ended, with the turn in which what it has written is appended.
pub(super) type Written<T, E> = Result<(Result<T, E>, Option<OpenTransaction>), NotWritten>;

/// Why such a closure has neither an output nor an error.
pub(super) enum NotWritten {
    Fault(Fault),
    /// It has lost its turn, and is to be executed again: why.
    Undone(String),
}

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
    retries: Retries<E>,
    /// The path of the step around this one.
    around: Option<Arc<str>>,
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
        Step::new(self, None, name.into(), Body::Plain(Box::new(move || body().boxed())))
    }

    /// The same for a closure that takes its [`StepContext`]: the step's idempotency key, and steps inside of it.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// async fn post(order: u32, key: &str) -> Result<String, String> {
    ///     Ok(format!("order {order} with key {key}"))
    /// }
    ///
    /// #[node]
    /// async fn charge(order: u32, ctx: &Context) -> Result<String, ChildError<String>> {
    ///     ctx.step_with("capture", |step| async move {
    ///         // Recorded below the step: if `capture` runs again, it is not.
    ///         let checked = step.step("check", || async move { Ok::<u32, String>(order) }).await;
    ///         post(checked.map_err(|error| error.to_string())?, &step.idempotency_key()).await
    ///     })
    ///     .await
    /// }
    ///
    /// workflow! { pub pay(u32) -> String { START => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<pay>(7).id("mine").await?;
    /// assert_eq!(run.result().await?, "order 7 with key mine:pay/charge/capture");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn step_with<'c, F, R, T, E>(&'c self, name: impl Into<String>, body: F) -> Step<'c, T, E>
    where
        F: FnMut(StepContext<'c>) -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        E: Send,
    {
        Step::new(self, None, name.into(), with(body))
    }
}

fn with<'c, F, R, T, E>(mut body: F) -> Body<'c, T, E>
where
    F: FnMut(StepContext<'c>) -> R + Send + 'c,
    R: Future<Output = Result<T, E>> + Send + 'c,
{
    Body::With(Box::new(move |step| body(step).boxed()))
}

/// One attempt at a step, for the closure of [`Context::step_with`].
///
/// A payment service that charges once for each key gets that of the step, so a second attempt charges nothing twice:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::StepContext;
///
/// async fn charge(cents: u32, step: StepContext<'_>) -> Result<String, String> {
///     if step.attempt() == 1 {
///         return Err("the connection broke".into());
///     }
///     Ok(format!("{cents} cents by {}", step.idempotency_key()))
/// }
///
/// #[node]
/// async fn pay(cents: u32, ctx: &Context) -> Result<String, ChildError<String>> {
///     let twice = RetryPolicy::with_max_attempts(2).initial_delay(std::time::Duration::from_millis(1));
///     ctx.step_with("charge", |step| charge(cents, step)).retry(twice).await
/// }
///
/// workflow! { pub shop(u32) -> String { START => pay; } }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<shop>(40).id("order-7").await?;
/// assert_eq!(run.result().await?, "40 cents by order-7:shop/pay/charge");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct StepContext<'c> {
    context: &'c Context,
    path: Arc<str>,
    attempt: u32,
    is_last: Arc<AtomicBool>,
}

impl<'c> StepContext<'c> {
    /// Which attempt at the step this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The path of the step: `pay/charge/capture:4000`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A key that is the same for every attempt at this step, also when its node starts again, and different for
    /// everything else, other steps of the node and other turns of a loop included: pass it to services that deduplicate
    /// requests by key.
    pub fn idempotency_key(&self) -> String {
        self.context.0.run.idempotency_key(&self.path)
    }

    /// Makes this the last attempt at the step; see [`Context::no_retry`].
    pub fn no_retry(&self) {
        self.is_last.store(true, Ordering::Relaxed);
    }

    /// A step inside of this one, as [`Context::step`]. Its path lies below (`pay/charge/capture/check`), and so its
    /// identity is its own. If this step runs again, in its next attempt or after a restart, the recorded output is
    /// returned; once this step is done, what is below it is not looked at again.
    ///
    /// A step of the node that is awaited within the closure, by the node's own context, is a step beside this one.
    pub fn step<F, R, T, E>(&self, name: impl Into<String>, mut body: F) -> Step<'c, T, E>
    where
        F: FnMut() -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        E: Send,
    {
        let around = Some(Arc::clone(&self.path));
        Step::new(self.context, around, name.into(), Body::Plain(Box::new(move || body().boxed())))
    }

    /// A step inside of this one, as [`Context::step_with`].
    pub fn step_with<F, R, T, E>(&self, name: impl Into<String>, body: F) -> Step<'c, T, E>
    where
        F: FnMut(StepContext<'c>) -> R + Send + 'c,
        R: Future<Output = Result<T, E>> + Send + 'c,
        E: Send,
    {
        Step::new(self.context, Some(Arc::clone(&self.path)), name.into(), with(body))
    }
}

impl std::fmt::Debug for StepContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepContext").field("path", &self.path).field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

impl<'c, T, E: Send> Step<'c, T, E> {
    pub(super) fn in_transaction(
        context: &'c Context,
        name: String,
        body: impl TransactionBody<'c, T, E> + 'c,
    ) -> Self {
        Step::new(context, None, name, Body::InTransaction(Box::new(body)))
    }

    fn new(context: &'c Context, around: Option<Arc<str>>, name: String, body: Body<'c, T, E>) -> Self {
        let (options, retries) = (NodeOptions::default(), Retries::default());
        Step(Lazy::Described(Request { context, name, key: None, options, retries, around, body }))
    }

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
    ///     let text = ctx.step("read", || async { std::fs::read_to_string(&path) }).error_as_text().await?;
    ///     Ok(text.len())
    /// }
    ///
    /// let flow = workflow! { START => length };
    /// let Err(RunError::Failed(failure)) = graphweft::block_on(flow.run("/no/such/file".to_owned())) else { panic!() };
    /// assert!(failure.cause.to_string().contains("No such file"));
    /// ```
    pub fn error_as_text(self) -> Step<'c, T, E, AsText> {
        Step(self.0.with_output())
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

    /// Which errors may be followed by another attempt; without it, all. [`retry`](Self::retry) says how many attempts
    /// there are.
    pub fn retry_when(self, when: fn(&E) -> bool) -> Self {
        self.with(|request| request.retries.when = Some(when))
    }

    /// The delay before the next attempt that an error asks for, such as the `Retry-After` of a rate limit: it is recorded,
    /// and kept exactly, without jitter, also above [`RetryPolicy::max_delay`]. `None`: that of the policy.
    /// [`retry`](Self::retry) says how many attempts there are.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::prelude::*;
    /// use graphweft::ErrorText;
    ///
    /// #[derive(Debug, thiserror::Error)]
    /// #[error("too many requests")]
    /// struct TooMany {
    ///     retry_after: Duration,
    /// }
    ///
    /// #[node]
    /// async fn ask(ctx: &Context) -> Result<u32, ChildError<ErrorText>> {
    ///     let mut calls = 0;
    ///     let request = || {
    ///         calls += 1;
    ///         let after = TooMany { retry_after: Duration::from_millis(5) };
    ///         std::future::ready(if calls == 1 { Err(after) } else { Ok(calls) })
    ///     };
    ///     ctx.step("request", request)
    ///         .retry(RetryPolicy::with_max_attempts(3))
    ///         .retry_after(|error| Some(error.retry_after))
    ///         .error_as_text()
    ///         .await
    /// }
    ///
    /// let flow = workflow! { START => ask };
    /// assert_eq!(graphweft::block_on(flow.run(())).unwrap(), 2);
    /// ```
    pub fn retry_after(self, after: fn(&E) -> Option<Duration>) -> Self {
        self.with(|request| request.retries.after = Some(after))
    }

    /// Limits the time of one attempt. An attempt that takes longer is dropped at its `.await`.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|request| request.options.timeout = Some(limit))
    }

    /// Records each attempt before it starts, and never repeats one that was cut short: that is a
    /// [`Fault::Interrupted`](crate::Fault::Interrupted) if its process stopped, and a
    /// [`Fault::Dropped`](crate::Fault::Dropped) if its caller dropped it. Nor one whose output cannot be recorded:
    /// [`Fault::Unrecordable`](crate::Fault::Unrecordable). An attempt that ended with an error or
    /// reached its time limit is still retried if the policy says so.
    pub fn at_most_once(self) -> Self {
        self.with(|request| request.options.at_most_once = true)
    }
}

impl<T: Payload, E: Send + 'static> Request<'_, T, E> {
    async fn run<F: FormOf<E>>(self) -> Given<T, E, F> {
        let Request { context, name, key, options, retries, around, body } = self;
        let parent = Arc::clone(&context.0);
        let path = match &around {
            Some(around) => parent.path_below(around, &name, key.as_deref())?,
            None => parent.path_of(&name, key.as_deref())?,
        };
        let (held, item) = Held::ask(&parent, path, None).await?;
        let asked = Asked { parent, path: held.path().to_owned(), input: None, options };
        let form = PhantomData::<fn() -> F>;
        asked.step(held, item, StepWork { context, body, retries, is_last: Arc::default(), form }).await
    }
}

struct StepWork<'c, T, E, F> {
    context: &'c Context,
    body: Body<'c, T, E>,
    retries: Retries<E>,
    is_last: Arc<AtomicBool>,
    form: PhantomData<fn() -> F>,
}

impl<T: Payload, E: Send + 'static, F: FormOf<E>> Work for StepWork<'_, T, E, F> {
    type Output = T;
    type Error = E;
    type Form = F;

    fn kind(&self) -> Option<CallKind> {
        Some(CallKind::Step)
    }

    fn is_last(&self) -> bool {
        self.is_last.load(Ordering::Relaxed)
    }

    fn begin<'w>(&'w mut self, start: Start<'w>) -> Begun<'w, T, GivenError<Self>> {
        let max = start.parent.run.env.max_value_size;
        let StepWork { context, body, retries, is_last, .. } = self;
        let (context, retries) = (*context, *retries);
        let next = match body {
            Body::Plain(body) => Next::Plain(body),
            Body::With(body) => {
                // What an earlier attempt has asked for below it is asked for again.
                start.parent.requests().forget_held_below(start.path);
                *is_last = Arc::default();
                let (path, is_last) = (start.path.into(), Arc::clone(is_last));
                Next::With(body, StepContext { context, path, attempt: start.number, is_last })
            }
            Body::InTransaction(body) => Next::InTransaction(&mut **body, start.parent.run.journal.clone()),
        };
        let body = async move {
            let (ended, transaction) = match next {
                Next::Plain(body) => (body().await, None),
                Next::With(body, step) => (body(step).await, None),
                Next::InTransaction(body, journal) => match body.begin(journal).await {
                    Ok(written) => written,
                    Err(NotWritten::Fault(fault)) => return Attempted::Fault(fault),
                    Err(NotWritten::Undone(why)) => return Attempted::Undone(why),
                },
            };
            match ended {
                Ok(output) => {
                    let attempted = Attempted::output(output, Vec::new(), None, max);
                    match transaction {
                        Some(transaction) => attempted.with(transaction),
                        None => attempted,
                    }
                }
                Err(error) => {
                    let retryable = retries.of_step(&error);
                    failed::<T, E, F>(error, |_, json| words_of_json(json), retryable, max)
                }
            }
        };
        Begun { body: AttemptBody::new(body), attempt: None, moves: Moves::Always(start.moving) }
    }
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
