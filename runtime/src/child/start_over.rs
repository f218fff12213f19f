//! `ctx.start_over(..)`: the end of a run and the beginning of the next one.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::attempt::Attempt;
use crate::box_value::BoxValue;
use crate::catch::caught;
use crate::context::Context;
use crate::core::NextRun;
use crate::fault::Fault;
use crate::lazy::Lazy;
use crate::run_error::state_keys;
use crate::shared::MAX_ID;
use crate::state::StateKey;
use crate::state::scope_ids::{APP, SESSION, USER};
use crate::value::{self, drop_refused};
use crate::workflow::Workflow;

/// The end of this run, and the next one with its input. Awaiting it ends the node, and all of the run.
///
/// What a chat has to remember goes into the next run as its state:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Sum;
///
/// const TURNS: StateKey<u32, Sum> = StateKey::new("turns");
///
/// #[node]
/// async fn talk(left: u32, #[state(TURNS)] turns: u32, ctx: &Context) -> u32 {
///     if left > 0 {
///         ctx.start_over::<chat>(left - 1).state(TURNS, turns + 1).await
///     }
///     turns
/// }
///
/// workflow! {
///     #[given(TURNS)]
///     pub chat(u32) -> u32 { START => talk; }
/// }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<chat>(2).id("ada").await?;
/// assert_eq!(run.result().await?, 2);
/// assert_eq!(run.last().await?.id(), "ada~2");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "the run does not start over before this is awaited"]
pub struct StartOver<'c, W: Workflow>(Lazy<'c, Request<'c, W>, ()>);

struct Request<'c, W: Workflow> {
    context: &'c Context,
    input: W::Input,
    state: Map<String, Json>,
    /// The first value of the state that cannot be recorded.
    unrecordable: Option<String>,
}

/// A function, by its output type.
#[doc(hidden)]
pub trait Returns {
    /// The type.
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

/// The type `!`, which converts to any other. Stable Rust names it only as a return type.
type Never = <fn() -> ! as Returns>::Output;

impl Context {
    /// Ends this run and begins the next one, of the same workflow and with an empty journal: for chats, pollers and
    /// everything else that has no end. The records of a run grow with each turn of a loop, and all of them are read
    /// when it resumes; a run that starts over from time to time has few.
    ///
    /// The future never resolves, and its output is the type `!`, so it can take the place of what the node has to return:
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn count(from: u32, ctx: &Context) -> String {
    ///     if from < 30 {
    ///         ctx.start_over::<counting>(from + 10).await
    ///     }
    ///     format!("{from} is enough")
    /// }
    ///
    /// workflow! { pub counting(u32) -> String { START => count; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<counting>(5).id("seven").await?;
    /// assert_eq!(run.result().await?, "35 is enough");
    ///
    /// assert_eq!(run.status().await?, RunStatus::StartedOver);
    /// let next = run.next().await?.ok_or("it has started over")?;
    /// assert_eq!(next.id(), "seven~1");
    /// assert_eq!(next.info().await?.previous.as_deref(), Some("seven"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # What becomes of the rest of the run
    /// Everything else that is under way is stopped as after a failure: nodes that listen to
    /// [`cancelled`](Self::cancelled) have the grace period, open questions are withdrawn, children end. The output and the
    /// state writes of this node are dropped. Then the end of the run and the beginning of the next one are recorded, in one
    /// commit: at no time is there none of the two, or both. The next run is driven in this process.
    ///
    /// If several nodes start over, the first one counts. A cancellation of the run that comes before its end wins.
    ///
    /// # What the next run has
    /// - its input, and the keys of the state that are set by [`state`](StartOver::state), as for a
    ///   [start](crate::Start::state): those that the workflow names in `#[given(..)]` and that have no zero have to be set. The
    ///   state of this run does not go over;
    /// - the ids of this run's session, user and application ([`SESSION`], [`USER`], [`APP`]), unless others are set by
    ///   [`state`](StartOver::state);
    /// - the tags of this run;
    /// - the [signals](crate::Engine::signal) that this run has got and no node has taken, with their ids, and the ids of the
    ///   last 1,024 that were taken, of this run and those before it: one that is sent again is still counted once;
    /// - an id of its own: `chat~1` follows `chat`, `chat~2` follows that, and so on;
    /// - its time limit, from its beginning.
    ///
    /// # Handles and ids
    /// [`Run::result`](crate::Run::result) and [`Run::outcome`](crate::Run::outcome) are those of the last run, also by a handle to
    /// the first one. A signal, an answer or a cancellation for a run that has started over goes to the last one that
    /// follows it. Status, events and questions of a handle are those of its own run; [`Run::next`](crate::Run::next) leads to
    /// the next one. A start with the id and the input of the first run finds it. A run that has started over is not
    /// [retried](crate::Engine::retry); it can be [forked](crate::Engine::fork), and its fork starts over by itself. It is
    /// deleted like a completed one.
    ///
    /// # Errors
    /// The node fails with a [`Fault::Context`](crate::Fault::Context) that says what to do: if `W` is not the workflow of the
    /// run; in a run without an engine (`counting(5).await`); inside of a child workflow, which is a part of the run; if the
    /// input or the state cannot be recorded, or a key of the state is missing; and if the next id were longer than 1,024 bytes.
    ///
    /// If another run has the id that the next one is to have, or a deleted one whose id is kept, this run fails, and
    /// can be retried when the id is free. No signal is lost by that.
    ///
    /// # Cancel safety
    /// If the future is dropped before the node is pending, such as by a `select!` with a branch that is ready, nothing
    /// happens. From then on the run ends.
    pub fn start_over<W: Workflow>(&self, input: W::Input) -> StartOver<'_, W> {
        let request = Request { context: self, input, state: Map::new(), unrecordable: None };
        StartOver(Lazy::Described(request))
    }
}

impl<W: Workflow> StartOver<'_, W> {
    /// Sets the initial value of a key of the state; see [`Start::state`](crate::Start::state). Without effect from the first
    /// poll on.
    pub fn state<S: Serialize + DeserializeOwned + Send, R>(mut self, key: StateKey<S, R>, value: S) -> Self {
        self.0.describe(|request| match value::encode(&value, request.context.0.run.env.max_value_size) {
            Ok(value) => {
                request.state.insert(key.name().to_owned(), value);
            }
            Err(error) => {
                drop_refused(value);
                let message = format!("the value of state key `{}` cannot be recorded: {error}", key.name());
                request.unrecordable.get_or_insert(message);
            }
        });
        self
    }
}

impl<W: Workflow> Request<'_, W> {
    async fn start_over(self) {
        let context = self.context;
        let node = context.0.outermost();
        match self.next(node) {
            Ok(next) => context.end_with(next),
            Err(fault) => context.stop(fault).await,
        }
        std::future::pending().await
    }

    /// What the next run begins with.
    fn next(self, node: &Attempt) -> Result<Box<NextRun>, Fault> {
        let Request { context, input, mut state, unrecordable } = self;
        let (path, attempt) = (context.path(), &context.0);
        let fault = |message: String| Fault::Context { message: format!("`{path}` cannot start over: {message}") };
        let Some(journal) = &attempt.run.journal else {
            return Err(fault(format!(
                "that needs an engine, which begins the next run: start this one with `engine.start::<{}>(..)`",
                W::NAME
            )));
        };
        if !node.is_of_run() {
            return Err(fault(format!(
                "it is in a child workflow, which is a part of run `{}`; let the child end, and let its caller start over",
                journal.run_id
            )));
        }
        if journal.workflow != W::NAME {
            return Err(fault(format!(
                "this is a run of `{}`, and not of `{}`; the next run has the same workflow",
                journal.workflow,
                W::NAME
            )));
        }
        let next_id = journal.next_id();
        if next_id.len() > MAX_ID {
            return Err(fault(format!(
                "the id of the next run would have {} bytes, and {MAX_ID} are allowed; give the first run a shorter one",
                next_id.len()
            )));
        }
        if let Some(message) = unrecordable {
            return Err(fault(message));
        }
        keep_scopes(context, &mut state);
        let definition = W::definition();
        let missing = definition.missing_keys(&state);
        if !missing.is_empty() {
            let keys = state_keys(&missing);
            return Err(fault(format!("`{}` is to be given {keys}; add `.state(KEY, ..)`", W::NAME)));
        }
        let (input, max) = (BoxValue::new(input), attempt.run.env.max_value_size);
        let written = match caught(|| (definition.door.write_input)(&input, max)) {
            Ok(Ok(written)) => return Ok(Box::new(NextRun { input: written, state })),
            Ok(Err(error)) => error.to_string(),
            Err(fault) => fault.to_string(),
        };
        drop_refused(input);
        Err(fault(format!("the input cannot be recorded: {written}")))
    }
}

/// Adds the ids of this run's session, user and application, if others are not set: the next run follows it for the same ones.
fn keep_scopes(context: &Context, state: &mut Map<String, Json>) {
    for key in [SESSION, USER, APP] {
        // A key of the program may have the same name, and be no text.
        if let Ok(Some(id)) = context.state().get(key) {
            state.entry(key.name()).or_insert(Json::String(id));
        }
    }
}

impl<W: Workflow> Future for StartOver<'_, W> {
    type Output = Never;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Never> {
        match self.get_mut().0.poll(waker, |request| Box::pin(request.start_over())) {
            Poll::Ready(()) | Poll::Pending => Poll::Pending,
        }
    }
}

// No field is ever pinned in place: the future that ends the run has a box of its own.
impl<W: Workflow> Unpin for StartOver<'_, W> {}

impl<W: Workflow> fmt::Debug for StartOver<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StartOver");
        if let Some(request) = self.0.description() {
            shown.field("state", &request.state);
        }
        shown.finish_non_exhaustive()
    }
}
