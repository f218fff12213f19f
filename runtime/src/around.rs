//! What the builder of an engine sets around every attempt at a node.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::fault::Fault;

/// An attempt at a node, a child or a step, which [`EngineBuilder::around`](crate::EngineBuilder::around) is passed before it begins.
///
/// A budget for one step, whatever node it is in:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{Call, Done};
///
/// fn is_mail(call: &Call) -> bool {
///     call.is_step() && call.name().starts_with("mail")
/// }
///
/// #[node]
/// async fn greet(name: String, ctx: &Context) -> Result<String, ChildError<String>> {
///     ctx.step("mail", || async { Ok::<_, String>(format!("Hello, {name}!")) }).await
/// }
///
/// workflow! { pub hello(String) -> String { START => greet; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().around(|call, next| async move {
///     // A copy of production that must not write to customers.
///     if is_mail(&call) { Done::failed(format!("{}: no mail from here", call.path)) } else { next.run().await }
/// });
/// let failed = engine.build()?.start::<hello>("Ada".into()).await?.result().await;
/// assert!(failed.unwrap_err().to_string().ends_with("hello/greet/mail: no mail from here"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    pub(crate) kind: CallKind,
    /// The id of the run. For a workflow that is called as a function, one of this call only.
    pub run_id: String,
    /// The path of the node, child or step, as in events: `checkout/charge`.
    pub path: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
}

impl Call {
    /// The last part of the path: the name of the node, or of the child or step with its key (`charge`, `capture:4000`).
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    /// Whether it is a node that another one has called by [`Context::call`](crate::Context::call).
    pub fn is_child(&self) -> bool {
        self.kind == CallKind::Child
    }

    /// Whether it is a [step](crate::Context::step). If it is neither a child nor a step, it is a node of a graph; a nested workflow is
    /// none, its nodes are.
    pub fn is_step(&self) -> bool {
        self.kind == CallKind::Step
    }
}

/// What is attempted. Not public: with variants of these names in reach, rustc would print the trait `Node` by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Node,
    Child,
    Step,
}

/// The attempt that a call is about, which has not begun yet. If it is dropped, the attempt does not happen.
///
/// At most one attempt at a time, in all runs of an engine, because the printer takes one page at a time:
///
/// ```
/// use std::sync::Arc;
/// use graphweft::prelude::*;
/// use graphweft::{Done, Next};
/// use tokio::sync::Mutex;
///
/// async fn alone(printer: Arc<Mutex<()>>, next: Next) -> Done {
///     let _turn = printer.lock().await;
///     next.run().await
/// }
///
/// #[node]
/// async fn print(page: String) -> usize { page.len() }
///
/// workflow! { pub printing(Vec<String>) -> Vec<usize> { START => [print]; } }
///
/// # graphweft::block_on(async {
/// let printer = Arc::new(Mutex::new(()));
/// let engine = Engine::builder().around(move |_, next| alone(Arc::clone(&printer), next)).build()?;
/// let run = engine.start::<printing>(vec!["one".into(), "three".into()]).await?;
/// assert_eq!(run.result().await?, [3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "the node does not run before `run` is awaited"]
pub struct Next(Arc<Mutex<Turn>>);

/// How an attempt ended. Return it from the function given to [`EngineBuilder::around`](crate::EngineBuilder::around).
///
/// An alert for each attempt that fails, which leaves the end of the attempt as it is:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use graphweft::prelude::*;
///
/// #[node(retry(max_attempts = 2, initial_delay = "1ms"))]
/// async fn charge(cents: u32) -> Result<u32, String> { Err(format!("{cents} cents are declined")) }
///
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// # graphweft::block_on(async {
/// let alerts = Arc::new(Mutex::new(Vec::new()));
/// let pager = Arc::clone(&alerts);
/// let engine = Engine::builder().around(move |call, next| {
///     let pager = Arc::clone(&pager);
///     async move {
///         let done = next.run().await;
///         if let Some(error) = done.error() {
///             pager.lock().unwrap().push(format!("{} #{}: {error}", call.path, call.attempt));
///         }
///         done
///     }
/// });
/// assert!(engine.build()?.start::<pay>(40).await?.result().await.is_err());
/// assert_eq!(*alerts.lock().unwrap(), ["pay/charge #1: 40 cents are declined", "pay/charge #2: 40 cents are declined"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done(Result<(), String>, Source);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Attempt,
    Around,
}

impl Next {
    /// Runs the attempt to its end: with its permit, within its time limit, and with all that it asks for.
    ///
    /// If the future is dropped, the attempt is dropped at its `.await`, as by a time limit.
    pub async fn run(self) -> Done {
        let dropped = DroppedRun(&self.0);
        let result = poll_fn(|waker| {
            let mut turn = lock(dropped.0);
            match &mut *turn {
                Turn { state: State::Over(result), .. } => Poll::Ready(result.clone()),
                Turn { outer, state } => {
                    let is_same = outer.as_ref().is_some_and(|outer| outer.will_wake(waker.waker()));
                    if let (State::Before, Some(outer)) = (&*state, outer.as_ref()) {
                        // It may be polled in another task.
                        outer.wake_by_ref();
                    }
                    // The task of the attempt polls this anyway when the attempt has ended. A waker that is kept looks as if
                    // something else were to wake the run.
                    *state = State::Runs((!is_same).then(|| waker.waker().clone()));
                    Poll::Pending
                }
            }
        })
        .await;
        Done(result, Source::Attempt)
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

impl Done {
    /// The attempt fails with this text, as a [`Fault::Refused`]: whether it has run or not. A node that has run and is failed has
    /// had its effects, and its output is lost.
    pub fn failed(message: impl Into<String>) -> Self {
        Done(Err(message.into()), Source::Around)
    }

    /// Whether the attempt has completed.
    pub fn is_completed(&self) -> bool {
        self.0.is_ok()
    }

    /// The text of its error or fault.
    pub fn error(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }
}

/// Gives up the attempt if the future that runs it is dropped before its end.
struct DroppedRun<'n>(&'n Mutex<Turn>);

impl Drop for DroppedRun<'_> {
    fn drop(&mut self) {
        let mut turn = lock(self.0);
        if !matches!(turn.state, State::Over(_)) {
            turn.state = State::Dropped;
            if let Some(outer) = turn.outer.take() {
                outer.wake();
            }
        }
    }
}

/// What the function around an attempt and the attempt know of each other.
struct Turn {
    /// The waker of the task that polls both, while it has to be woken for the attempt to begin.
    outer: Option<Waker>,
    state: State,
}

enum State {
    Before,
    /// With who waits for its end, if that is another task.
    Runs(Option<Waker>),
    Over(Result<(), String>),
    Dropped,
}

/// Nothing of the user's runs under this lock.
fn lock(turn: &Mutex<Turn>) -> MutexGuard<'_, Turn> {
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function around attempts.
type Function = dyn Fn(Call, Next) -> BoxFuture<'static, Done> + Send + Sync;

/// The functions around every attempt of an engine, the outermost first.
#[derive(Clone, Default)]
pub(crate) struct Around(Vec<Arc<Function>>);

impl Around {
    pub(crate) fn add<F, R>(&mut self, function: F)
    where
        F: Fn(Call, Next) -> R + Send + Sync + 'static,
        R: Future<Output = Done> + Send + 'static,
    {
        self.0.push(Arc::new(move |call, next| function(call, next).boxed()));
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The attempt with all functions around it.
    pub(crate) fn wrap<'n, T: Attempted + 'n>(&self, call: &Call, attempt: BoxFuture<'n, T>) -> BoxFuture<'n, T> {
        let around = self.0.iter().rev();
        around.fold(attempt, |attempt, function| surrounded(Arc::clone(function), call.clone(), attempt).boxed())
    }
}

/// The end of an attempt, of any type.
pub(crate) trait Attempted: From<Fault> + Send {
    /// The text of its error.
    fn error(&self) -> Option<String>;
}

async fn surrounded<T: Attempted>(function: Arc<Function>, call: Call, attempt: BoxFuture<'_, T>) -> T {
    let turn = Arc::new(Mutex::new(Turn { outer: None, state: State::Before }));
    let mut around = pin!(function(call, Next(Arc::clone(&turn))));
    let mut attempt = Some(attempt);
    let mut ended = None;
    let done = poll_fn(|waker| {
        loop {
            lock(&turn).outer = Some(waker.waker().clone());
            if let Poll::Ready(done) = around.as_mut().poll(waker) {
                return Poll::Ready(done);
            }
            let runs = {
                let mut turn = lock(&turn);
                if !matches!(turn.state, State::Before) {
                    turn.outer = None;
                }
                match turn.state {
                    State::Runs(_) => true,
                    State::Dropped => {
                        drop(turn);
                        attempt = None;
                        false
                    }
                    State::Before | State::Over(_) => false,
                }
            };
            let Some(body) = attempt.as_mut().filter(|_| runs) else { return Poll::Pending };
            let Poll::Ready(end) = Pin::new(body).poll(waker) else { return Poll::Pending };
            attempt = None;
            let over = State::Over(end.error().map_or(Ok(()), Err));
            ended = Some(end);
            let before = std::mem::replace(&mut lock(&turn).state, over);
            if let State::Runs(Some(waits)) = before {
                waits.wake();
            }
        }
    })
    .await;
    match (done, ended) {
        (Done(_, Source::Attempt), Some(end)) => end,
        (Done(Err(message), Source::Around), _) => Fault::Refused { message }.into(),
        (Done(..), _) => {
            let message = "the function around it has returned how another attempt ended".to_owned();
            Fault::Refused { message }.into()
        }
    }
}
