//! The context of a node: its access to the run that it is part of.

mod state_writer;

use std::any::{Any, TypeId};
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Map, Value};
pub use state_writer::StateWriter;
use tracing::level_filters::LevelFilter;
use tracing::{Id, Span};

use crate::around::CallKind;
use crate::attempt::{Attempt, Holder};
use crate::core::NextRun;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::requests::ClonedContext;
use crate::shared::Ended;
use crate::state::{CollectorState, State, StateKey};
use crate::trace::{Cover, Work};
use crate::value::{self, MaxSize, drop_here};

/// One attempt at a node: its identity, and its access to the run's state, events, questions and children.
///
/// Cheap to clone; a clone may be moved into tasks that the node spawns.
///
/// # Requests
/// [`ask`](Self::ask), [`wait`](Self::wait), [`sleep`](Self::sleep), [`call`](Self::call) and [`step`](Self::step) return futures. A node
/// that starts again, after a restart or since its run was unloaded, gets the recorded results in the order in which
/// they were recorded, one at a time. A `select!` between requests therefore takes the branch that it took before,
/// `biased` or not:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn review(text: String, ctx: &Context) -> String {
///     tokio::select! {
///         approved = ctx.ask::<bool>("approve", "Ship it?").payload(&text) => format!("approved: {approved}"),
///         () = ctx.sleep(Duration::from_secs(3600)) => "too late".to_owned(),
///     }
/// }
///
/// workflow! {
///     pub publish(String) -> String { START => review; }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<publish>("a poem".into()).await?;
/// let Outcome::Waiting(_) = run.outcome().await? else { panic!("there is a question") };
/// run.answer("approve", true).await?;
/// assert_eq!(run.result().await?, "approved: true");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// A request whose future is dropped is withdrawn, and one that is made again is open again. A request is never ready
/// when it is polled for the first time. What is not a request is not recorded: a `select!` between two sockets is
/// decided anew by a node that starts again, so put each of them into a [`step`](Self::step).
///
/// # Tasks
/// A clone can be moved into a task that the node spawns. What the task requests belongs to the node, under the same
/// rules. When the node has ended, a step of such a task returns a [`Fault`], and every other request of it is pending
/// for ever. A run is not unloaded while there is a clone of the context of one of its nodes.
pub struct Context(pub(crate) Arc<Attempt>, Option<ClonedContext>);

impl Clone for Context {
    fn clone(&self) -> Self {
        // A task that has the clone can make requests while the body is not polled, and `Running` has to look at them
        // then.
        Context(Arc::clone(&self.0), Some(ClonedContext::of(self.0.requests())))
    }
}

impl Context {
    pub(crate) fn new(attempt: &Arc<Attempt>) -> Self {
        Context(Arc::clone(attempt), None)
    }

    /// The reference to the attempt, for the context of the next node.
    pub(crate) fn into_holder(self) -> Holder {
        Holder::of(self.0)
    }

    /// Another context of the attempt, for the next body.
    pub(crate) fn of_holder(holder: Holder) -> Self {
        Context(holder.into_attempt(), None)
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.number
    }

    /// The id of the run.
    pub fn run_id(&self) -> &str {
        self.0.run.id()
    }

    /// The path of this node: `checkout/charge`; `checkout/draft#2` in the second turn of its loop (the first is
    /// unmarked), `#2.3` in nested loops; `checkout/delivery/pack` inside the workflow that runs as node `delivery`;
    /// `digest/search[3]` for the item of index 3 in `[search]`.
    pub fn path(&self) -> String {
        self.0.path()
    }

    /// A key that is the same for every attempt at this node in this turn of this run, and different for everything
    /// else: pass it to services that deduplicate requests by key. In a run that was under way when the node was renamed
    /// (`renamed_from`) it is the one of before.
    pub fn idempotency_key(&self) -> String {
        self.0.run.idempotency_key(&self.0.place().to_string())
    }

    /// Makes this the last attempt: if it fails, by an error, a panic or its time limit, no other follows, whatever
    /// `retry(..)` says. For errors that show their kind, `retry(when = ..)` does the same.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node(retry(max_attempts = 5))]
    /// async fn charge(cents: u64, ctx: &Context) -> Result<u64, String> {
    ///     if cents > 5_000 {
    ///         ctx.no_retry();
    ///         return Err("above the limit, today and tomorrow".to_owned());
    ///     }
    ///     Ok(cents)
    /// }
    ///
    /// let flow = workflow! { START => charge };
    /// let Err(RunError::Failed(failure)) = graphweft::block_on(flow.run(6_000)) else { panic!() };
    /// assert_eq!(failure.attempts, 1);
    /// ```
    ///
    /// Nothing is recorded by the call itself: an attempt that is interrupted before it ends starts again. In a clone that
    /// has outlived the attempt it has no effect.
    pub fn no_retry(&self) {
        if !self.has_ended() {
            self.0.draft().is_last = true;
        }
    }

    /// Resolves when this attempt is cancelled: the run was cancelled, a sibling failed, or nothing needs the node's
    /// output any more.
    ///
    /// A node that has called this (or [`is_cancelled`](Self::is_cancelled)) before is then given the engine's grace
    /// period ([`EngineBuilder::cancel_grace_period`](crate::EngineBuilder::cancel_grace_period), one second by
    /// default) to clean up and return; its return value is dropped. Any other node is dropped at its `.await` at once,
    /// and so is one whose time limit has passed. Cancel safe.
    ///
    /// In a clone of the context, it also resolves when the attempt ends.
    pub async fn cancelled(&self) {
        match &self.1 {
            Some(clone) => {
                let (cancelled, ended) = (pin!(self.0.cancelled()), pin!(clone.ended()));
                futures_util::future::select(cancelled, ended).await;
            }
            None => self.0.cancelled().await,
        }
    }

    /// Whether this attempt is cancelled. A node that calls this is given the grace period, as with
    /// [`cancelled`](Self::cancelled).
    pub fn is_cancelled(&self) -> bool {
        self.0.token().is_cancelled() || self.has_ended()
    }

    /// Whether the attempt is over, and this a clone that has outlived it. It can do nothing any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.1.as_ref().is_some_and(ClonedContext::has_ended)
    }

    /// Sends progress to the subscribers of the run's events in this process. It is not recorded. While the node is under way the
    /// last 1,024 of it are kept (about 65,536 of all nodes of the run), for subscribers that come later or come back
    /// ([`Run::events_after`](crate::Run::events_after)). Data that cannot be written as JSON is skipped, with a warning
    /// in the log. In a run without an engine it does nothing.
    pub fn progress(&self, data: impl Serialize) {
        let Some(journal) = self.0.run.journal.as_ref().filter(|_| !self.has_ended()) else { return };
        match value::to_plain(&data, self.0.run.env.max_value_size) {
            Ok(data) => journal.show_progress(self.path(), data),
            Err(error) => {
                drop_here(data, &error);
                tracing::warn!(path = %self.0.place(), %error, "progress that is not JSON was skipped");
            }
        }
    }

    /// Records a message as an event of the run. One of a clone that has outlived the attempt, or one of more bytes
    /// than `EngineBuilder::max_value_size`, is skipped, with a warning in the log.
    pub fn message(&self, text: impl Into<String>) {
        let text = text.into();
        if self.has_ended() {
            tracing::warn!(path = %self.0.place(), "a message of a node that had ended was skipped");
        } else if text.len() > self.0.run.env.max_value_size.0 {
            tracing::warn!(path = %self.0.place(), bytes = text.len(), "a message above `max_value_size` was skipped");
        } else if self.0.run.records() {
            self.0.run.record(|| self.path(), || EventKind::Message { text });
            self.0.run.pulse.say();
        }
    }

    /// Records data under a name as an event of the run, [`EventKind::Note`](crate::EventKind::Note): what a dashboard shows, or
    /// what is counted later, such as the tokens of a call. The nodes of the run do not see it. The payload is plain JSON, as
    /// for [`progress`](Self::progress).
    ///
    /// An attempt that starts again after a restart finds the notes that it has recorded before, and records an equal one once.
    /// A later attempt, or another turn of a loop, records its own.
    ///
    /// A payload that is not JSON or is larger than `EngineBuilder::max_value_size`, and a note of a clone that has outlived
    /// the attempt, are skipped, with a warning in the log.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::json;
    ///
    /// #[node]
    /// async fn summarize(text: String, ctx: &Context) -> String {
    ///     ctx.note("tokens", json!({ "input": text.len(), "output": 2 }));
    ///     "A summary.".to_owned()
    /// }
    ///
    /// workflow! { pub summary(String) -> String { START => summarize; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<summary>("A text.".into()).await?;
    /// run.result().await?;
    /// let mut events = run.events();
    /// while let Some(event) = events.next().await {
    ///     if let EventKind::Note { name, payload, .. } = event.kind {
    ///         assert_eq!((event.path.as_str(), name.as_str()), ("summary/summarize", "tokens"));
    ///         assert_eq!(payload["input"], 7);
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn note(&self, name: impl Into<String>, payload: impl Serialize) {
        let (name, run) = (name.into(), &self.0.run);
        if self.has_ended() {
            tracing::warn!(path = %self.0.place(), name, "a note of a node that had ended was skipped");
            return;
        }
        if !run.records() {
            return;
        }
        match value::to_plain(&payload, run.env.max_value_size) {
            Ok(payload) => {
                let path = self.path();
                if run.desk().takes_repeated_note(&path, &name, &payload) {
                    return;
                }
                run.record(|| path, || EventKind::Note { name, payload });
                run.pulse.say();
            }
            Err(error) => {
                drop_here(payload, &error);
                tracing::warn!(path = %self.0.place(), name, %error, "a note that cannot be recorded was skipped");
            }
        }
    }

    /// The [state](crate::state) that the nodes of this run share, to read from. A node writes by the
    /// [`StateWriter`]s among its parameters.
    pub fn state(&self) -> State<'_> {
        State { before: &self.0.state, draft: &self.0.draft }
    }

    /// A writer of a key of the state, for a [`Node`](crate::Node) that is written by hand, and for a closure that
    /// [mocks](crate::EngineBuilder::mock) a node. A `#[node]` has its writers as parameters: `#[writes(OWNER)] owner:
    /// StateWriter<String>`.
    ///
    /// The node has to declare the key in [`Node::STATE`](crate::Node::STATE). If it does not, the attempt fails with
    /// [`Fault::StateNotDeclared`] when the node returns, and nothing is written.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::state::StateFacts;
    ///
    /// const OWNER: StateKey<String> = StateKey::new("owner");
    ///
    /// struct Owns {
    ///     name: &'static str,
    /// }
    ///
    /// impl Node for Owns {
    ///     type Input = ();
    ///     type Output = ();
    ///     type Error = Never;
    ///     const STATE: StateFacts = StateFacts { writes: &[OWNER.fact()], ..StateFacts::NONE };
    ///
    ///     async fn run(&self, (): (), ctx: &Context) -> Result<(), Never> {
    ///         ctx.state_writer(OWNER).set(self.name.to_owned());
    ///         Ok(())
    ///     }
    /// }
    ///
    /// #[node]
    /// async fn who(#[state(OWNER)] owner: String) -> String {
    ///     owner
    /// }
    ///
    /// let flow = workflow! {
    ///     let owns: Owns = Owns { name: "Ada" };
    ///     START => owns => who
    /// };
    /// assert_eq!(graphweft::block_on(flow.run(())).unwrap(), "Ada");
    /// ```
    pub fn state_writer<T, R>(&self, key: StateKey<T, R>) -> StateWriter<T, R> {
        StateWriter::checked(&self.0, key)
    }

    /// The private state of a collecting node, kept from one arrival to the next. For other nodes it is empty at the
    /// start of every attempt.
    pub fn collector_state(&self) -> CollectorState<'_> {
        CollectorState {
            before: self.0.local.as_deref().unwrap_or(no_values()),
            draft: &self.0.draft,
            max: self.0.run.env.max_value_size,
        }
    }

    /// A resource registered with [`EngineBuilder::resource`](crate::EngineBuilder::resource).
    pub fn resource<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.run.env.resource(TypeId::of::<T>())?.downcast_ref()
    }

    /// The one `T` of this run in this process, made at its first use. What it says has to follow from the records: it is made
    /// anew in another process, and when the run returns to memory.
    #[doc(hidden)]
    pub fn __of_run<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        self.0.run.companion()
    }

    /// Whether the result of this child is recorded, and a call of it would return that.
    #[doc(hidden)]
    pub fn __has_result(&self, child: &str) -> bool {
        let path = format!("{}/{child}", self.path());
        self.0.run.known_desk().and_then(|desk| desk.item(&path)).is_some_and(|item| item.is_done())
    }

    /// The recorded output of this child, read without its type; `None` if it has not completed.
    #[doc(hidden)]
    pub fn __recorded_output(&self, child: &str) -> Option<serde_json::Value> {
        let path = format!("{}/{child}", self.path());
        let item = self.0.run.known_desk()?.item(&path)?;
        match item.attempts.end()? {
            Ended::Completed { output, .. } => crate::value::decode(output).ok(),
            Ended::Failed { .. } => None,
        }
    }

    /// Whether an attempt at this child has begun and left no result. Of no use while the child is awaited.
    #[doc(hidden)]
    pub fn __is_cut_short(&self, child: &str) -> bool {
        let path = format!("{}/{child}", self.path());
        self.0.run.known_desk().and_then(|desk| desk.item(&path)).is_some_and(|item| item.is_cut_short())
    }

    /// Whether this question of a child was asked.
    #[doc(hidden)]
    pub fn __was_asked(&self, question: &str) -> bool {
        let path = format!("{}/{question}", self.path());
        self.0.run.known_desk().and_then(|desk| desk.item(&path)).is_some_and(|item| item.asked.is_some())
    }

    /// The recorded answer to this question of a child, as plain JSON.
    #[doc(hidden)]
    pub fn __recorded_answer(&self, question: &str) -> Option<serde_json::Value> {
        let path = format!("{}/{question}", self.path());
        self.0.run.known_desk()?.item(&path)?.answer
    }

    /// A part of the node that a crate above this one has spans for, until what this returns is dropped: around all children of the
    /// node, or around one of them. `describe` makes one below a span; as other spans, it ends when the node waits.
    #[doc(hidden)]
    pub fn __cover(&self, child: Option<&str>, describe: impl Fn(Option<Id>) -> Span + Send + Sync + 'static) -> Cover {
        if LevelFilter::current() < LevelFilter::INFO {
            return Cover::none();
        }
        let path = self.path();
        let node = self.0.work.get_or_init(|| Work::attempt(None, CallKind::Node, path.clone(), self.0.number));
        let path = child.map_or_else(|| path.clone(), |child| format!("{path}/{child}"));
        Cover::new(node, path, describe)
    }

    /// The maximum size of a value; `None` if the run is not recorded.
    #[doc(hidden)]
    pub fn __records(&self) -> Option<MaxSize> {
        self.0.run.max_size()
    }

    /// Resolves when all that this attempt has asked for, or has dropped, is recorded; at once if the run is not recorded.
    #[doc(hidden)]
    pub async fn __recorded(&self) {
        if self.__records().is_some() {
            self.0.requests().recorded().await;
        }
    }

    /// Ends the attempt with a fault: it never resolves, and the node is not polled again. For nodes written by hand whose error
    /// cannot hold a [`Fault`], such as that of a child; a fault ends the run unless its retries go on or `err` is routed.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn search(query: String) -> Vec<String> {
    ///     if query.is_empty() { panic!("no query") } else { vec![query] }
    /// }
    ///
    /// #[node]
    /// async fn count(query: String, ctx: &Context) -> usize {
    ///     match ctx.call::<search>(query).await {
    ///         Ok(found) => found.len(),
    ///         Err(ChildError::Error(never)) => match never {},
    ///         Err(error) => ctx.stop(Fault::Context { message: error.to_string() }).await,
    ///     }
    /// }
    ///
    /// let flow = workflow! { START => count };
    /// let error = graphweft::block_on(flow.run(String::new())).unwrap_err();
    /// assert!(error.to_string().contains("no query"));
    /// ```
    pub fn stop<T>(&self, fault: Fault) -> impl Future<Output = T> + Send + use<T> {
        let attempt = Arc::clone(&self.0);
        async move {
            #[cfg(feature = "test-util")]
            attempt.panic_without_workflow(&fault);
            attempt.draft().fault.get_or_insert(fault);
            // It may be called by a task that the body has spawned.
            if let Some(requests) = attempt.requests.get() {
                requests.waker.wake_body();
            }
            drop(attempt);
            std::future::pending().await
        }
    }

    /// Ends the attempt of the node of the graph that this is a part of, and the run, which another one follows. The first
    /// call counts, and none after a fault.
    pub(crate) fn end_with(&self, next: Box<NextRun>) {
        let node = self.0.outermost();
        let mut draft = node.draft();
        if draft.fault.is_none() {
            draft.fault = Some(Fault::of_start_over());
            draft.next_run = Some(next);
        }
        drop(draft);
        for attempt in [node, &self.0] {
            if let Some(requests) = attempt.requests.get() {
                requests.waker.wake_body();
            }
        }
    }

    /// The fault that [`stop`](Self::stop) was called with.
    #[doc(hidden)]
    pub fn __take_fault(&self) -> Option<Fault> {
        self.0.draft().fault.take()
    }
}

fn no_values() -> &'static Map<String, Value> {
    static NONE: OnceLock<Map<String, Value>> = OnceLock::new();
    NONE.get_or_init(Map::new)
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("path", &self.path()).field("attempt", &self.0.number).finish_non_exhaustive()
    }
}
