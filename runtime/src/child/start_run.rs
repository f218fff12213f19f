//! `ctx.start(..)`: a run of its own, which a node starts.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Waker, Poll};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use super::error::ChildError;
use super::step::StepContext;
use crate::context::Context;
use crate::engine::{Engine, Run, Start, StartError};
use crate::event::{OnClose, StartedBy};
use crate::fault::Fault;
use crate::lazy::Lazy;
use crate::run_error::RunError;
use crate::state::StateKey;
use crate::workflow::Workflow;

/// A run that a node starts. Awaiting it starts the run and returns its handle.
///
/// One parcel for each line of an order: each start needs a key, and an id that is the same when the node runs again.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{OnClose, StartRunError};
///
/// #[node]
/// async fn pack(line: String) -> String { format!("packed: {line}") }
/// workflow! { pub ship(String) -> String { START => pack; } }
///
/// #[node]
/// async fn split(lines: Vec<String>, ctx: &Context) -> Result<Vec<String>, StartRunError> {
///     let mut parcels = Vec::new();
///     for line in lines {
///         let parcel = ctx.start::<ship>(line.clone()).key(&line).tag("line", line).on_close(OnClose::Wait);
///         parcels.push(parcel.await?.id().to_owned());
///     }
///     Ok(parcels)
/// }
/// workflow! { pub order(Vec<String>) -> Vec<String> { START => split; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<order>().register::<ship>().build()?;
/// let run = engine.start::<order>(vec!["lamp".into(), "rug".into()]).id("o-7").await?;
/// assert_eq!(run.result().await?, ["o-7:order/split/start:ship@lamp", "o-7:order/split/start:ship@rug"]);
/// assert_eq!(engine.count_runs(RunFilter::default().workflow("ship").status(RunStatus::Completed)).await?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing starts before it is awaited"]
pub struct StartRun<'c, W: Workflow>(Lazy<'c, Request<'c, W>, Result<Run<W::Output>, StartRunError>>);

struct Request<'c, W: Workflow> {
    context: &'c Context,
    /// `None` in a run without an engine.
    start: Option<Start<W::Output>>,
    key: Option<String>,
    has_id: bool,
    on_close: OnClose,
}

/// The run that was started in this process.
type Came<T> = Mutex<Option<Run<T>>>;

/// A node could not start a run. It is recorded, and is the same after a restart; the next attempt of the node tries again. `?` returns it from a node whose error is a
/// `String`, this type, or a type that is `From` it, and an arm `err` can carry it.
///
/// A node that takes part of its work elsewhere only if it can:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::StartRunError;
///
/// #[node]
/// async fn archive(text: String) -> usize { text.len() }
/// workflow! { pub archiving(String) -> usize { START => archive; } }
///
/// #[node]
/// async fn publish(text: String, ctx: &Context) -> Result<String, StartRunError> {
///     match ctx.start::<archiving>(text.clone()).await {
///         Ok(run) => Ok(format!("{text}, archived by {}", run.id())),
///         Err(StartRunError::NoEngine { .. }) => Ok(format!("{text}, not archived")),
///         Err(other) => Err(other),
///     }
/// }
/// workflow! { pub blog(String) -> String { START => publish; } }
///
/// assert_eq!(graphweft::block_on(blog("a poem".into())).unwrap(), "a poem, not archived");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartRunError {
    /// The run of the node has no engine, which could start another one.
    #[error("`{path}` starts a run, which needs an engine: start this run with `engine.start::<..>(..)`")]
    NoEngine {
        /// The node.
        path: String,
    },
    /// The workflow is not registered, and the store outlives the process.
    #[error("{}", StartError::NotRegistered { workflow: workflow.clone() })]
    NotRegistered {
        /// The workflow.
        workflow: String,
    },
    /// The id belongs to a run of the same workflow with another input.
    #[error("{}", StartError::OtherInput { id: run.clone(), workflow: workflow.clone() })]
    OtherInput {
        /// The id.
        run: String,
        /// The workflow.
        workflow: String,
    },
    /// The id belongs to a run of another workflow.
    #[error("run `{run}` is a run of `{existing}`, not of `{requested}`; choose another id")]
    OtherWorkflow {
        /// The id.
        run: String,
        /// The workflow of the run that has it.
        existing: String,
        /// The workflow that was to be started.
        requested: String,
    },
    /// The run was not started for another reason.
    #[error("`{path}` could not start a run: {message}")]
    Refused {
        /// The path of the request.
        path: String,
        /// Why.
        message: String,
    },
    /// The request cannot be made: two have one name and key, or it is dropped, or its name is too long.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The store cannot be read.
    #[error("a run that was started cannot be looked for: {message}")]
    Store {
        /// Why.
        message: String,
    },
}

impl StartRunError {
    fn of(error: &StartError, path: &str) -> Self {
        match error.clone() {
            StartError::NotRegistered { workflow } => StartRunError::NotRegistered { workflow },
            StartError::OtherInput { id: run, workflow } => StartRunError::OtherInput { run, workflow },
            StartError::OtherWorkflow { id: run, existing, requested } => {
                StartRunError::OtherWorkflow { run, existing, requested }
            }
            other => StartRunError::Refused { path: path.to_owned(), message: other.to_string() },
        }
    }
}

/// Its text, so that `?` works in a node whose error is a `String`.
impl From<StartRunError> for String {
    fn from(error: StartRunError) -> Self {
        error.to_string()
    }
}

impl Context {
    /// Starts a run of its own, as [`Engine::start`](crate::Engine::start) does, and returns its handle. It has its own journal, its own
    /// end and its own place in lists; nothing of it is recorded in this run. A part of this node that is to end with it is a
    /// child: [`call`](Self::call).
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::{OnClose, StartRunError};
    ///
    /// #[node]
    /// async fn pack(order: u32) -> String {
    ///     format!("order {order} is packed")
    /// }
    ///
    /// workflow! { pub ship(u32) -> String { START => pack; } }
    ///
    /// #[node]
    /// async fn fulfil(order: u32, ctx: &Context) -> Result<String, StartRunError> {
    ///     let parcel = ctx.start::<ship>(order).tag("kind", "parcel").on_close(OnClose::Leave).await?;
    ///     Ok(parcel.id().to_owned())
    /// }
    ///
    /// workflow! { pub checkout(u32) -> String { START => fulfil; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<checkout>().register::<ship>().build()?;
    /// let parcel = engine.start::<checkout>(7).id("order-7").await?.result().await?;
    /// assert_eq!(parcel, "order-7:checkout/fulfil/start:ship");
    ///
    /// let parcel = engine.get_run_of::<ship>(&parcel).await?.ok_or("it was started")?;
    /// assert_eq!(parcel.result().await?, "order 7 is packed");
    /// let started_by = parcel.info().await?.started_by.ok_or("a node has started it")?;
    /// assert_eq!((started_by.run.as_str(), started_by.path.as_str()), ("order-7", "checkout/fulfil/start:ship"));
    /// assert_eq!(engine.count_runs(RunFilter::default().started_by("order-7")).await?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # What is recorded
    /// The request is a [step](Self::step) with the name `start` and the name of the workflow for its key; its output is the id of the run.
    /// A second start of the same workflow by one node needs a [`key`](StartRun::key). When the node starts again, the
    /// recorded run is returned, and not started a second time. If it has ended and was [deleted](crate::Engine::delete_run) since,
    /// by hand or by [retention](crate::EngineBuilder::retention), its handle is returned as well, and to ask for its result is
    /// [`RunError::NotFound`]: what the node needs of that, it has to await before it waits for something else.
    ///
    /// The id is that of this run and the path of the request, or the one that is set by [`id`](StartRun::id). It has to be the same
    /// whenever the node runs again: if the process dies between the start and its record, the run is found by it. So a node
    /// never starts two runs, or none, in the place of one.
    ///
    /// # When this run ends
    /// [`on_close`](StartRun::on_close) says what becomes of the started run when this one completes, fails, is cancelled or [starts
    /// over](Self::start_over): nothing, or it is cancelled, or this run waits for it. If the started run starts over, that holds
    /// for the one that follows it.
    ///
    /// A retry of this run finds the started run as it is, also if it was cancelled. A [fork](crate::Engine::fork) has the
    /// recorded handle, but the run is that of its origin: the end of the fork changes nothing of it. Where a fork runs the
    /// request again, it starts a run of its own, since its id is another.
    ///
    /// # Waiting for it
    /// The handle can be awaited in the node. The node is at work meanwhile: this run stays in memory and the node keeps
    /// its place under [`max_concurrency`](crate::EngineBuilder::max_concurrency). Use [`call`](Self::call) where the result is
    /// needed, or send a [signal](crate::Engine::signal) from the started run.
    ///
    /// # Errors
    /// [`StartRunError`]: [`NotRegistered`](StartRunError::NotRegistered) for a workflow that is not registered with an engine that has a store.
    /// That the server of the store is away is none: this run stops, and the node starts again when it is back.
    ///
    /// # Cancel safety
    /// If the future is dropped, the run may or may not have been started. If it was, it is treated as by `on_close`.
    pub fn start<W: Workflow>(&self, input: W::Input) -> StartRun<'_, W> {
        let engine = self.0.run.journal.as_ref().and_then(|_| Engine::of(&self.0.run.env));
        let start = engine.map(|engine| engine.start::<W>(input));
        let request = Request { context: self, start, key: None, has_id: false, on_close: OnClose::default() };
        StartRun(Lazy::Described(request))
    }
}

impl<W: Workflow> StartRun<'_, W> {
    fn with(mut self, change: impl FnOnce(Start<W::Output>) -> Start<W::Output>) -> Self {
        self.0.describe(|request| request.start = request.start.take().map(change));
        self
    }

    /// Sets the id of the run; see [`Start::id`](crate::Start::id). It has to be the same whenever the node runs again.
    ///
    /// If a run of this workflow with this id and input exists already, that one is returned. It stays what it was: who has started
    /// it, and what becomes of it when that one ends.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.describe(|request| request.has_id = true);
        self.with(|start| start.id(id))
    }

    /// Adds a label to the run; see [`Start::tag`](crate::Start::tag). It has none of the labels of this run.
    pub fn tag(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(|start| start.tag(key, value))
    }

    /// Sets the initial value of a key of its state; see [`Start::state`](crate::Start::state).
    pub fn state<S: Serialize + DeserializeOwned + Send, R>(self, key: StateKey<S, R>, value: S) -> Self {
        self.with(|start| start.state(key, value))
    }

    /// Distinguishes several runs of one workflow that a node starts.
    pub fn key(mut self, key: impl ToString) -> Self {
        let key = key.to_string();
        self.0.describe(|request| request.key = Some(key));
        self
    }

    /// What becomes of the run when this one ends. The default is [`OnClose::Leave`].
    pub fn on_close(mut self, on_close: OnClose) -> Self {
        self.0.describe(|request| request.on_close = on_close);
        self
    }
}

impl<W: Workflow> Request<'_, W> {
    async fn start(self) -> Result<Run<W::Output>, StartRunError> {
        let Request { context, start, key, has_id, on_close } = self;
        let Some(start) = start else { return Err(StartRunError::NoEngine { path: context.path() }) };
        let engine = start.engine().clone();
        let key = key.map_or_else(|| W::NAME.to_owned(), |key| format!("{}@{key}", W::NAME));
        let start = Mutex::new(Some(start));
        let came: Arc<Came<W::Output>> = Arc::default();
        let run = &context.0.run;
        let body = |step: StepContext<'_>| {
            let start = start.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (came, path) = (Arc::clone(&came), step.path().to_owned());
            let id = step.idempotency_key();
            let by = StartedBy { run: context.run_id().to_owned(), path: path.clone(), on_close };
            async move {
                // It has a single attempt.
                let Some(start) = start else { return std::future::pending().await };
                // The end of this run looks for started runs only if there is a record of a request.
                context.0.requests().recorded().await;
                let start = if has_id { start } else { start.id(id) };
                // In a task of its own, for which the end of this run waits: once it has begun it is not dropped halfway.
                let start = start.started_by(by).into_future().in_current_span();
                let started = tokio::spawn(run.track_start(start)).await;
                let started = started.unwrap_or(Err(StartError::ShutDown));
                match &started {
                    // This run stops as well, and the node starts the other one when it is resumed.
                    Err(StartError::ShutDown | StartError::Run(RunError::ShutDown)) => {
                        return std::future::pending().await;
                    }
                    Err(StartError::Store(error)) => run.pending_if_away(error).await,
                    _ => {}
                }
                let run = match started {
                    // An id that is made of this request: the run was started by it, before a crash, and has ended since.
                    Err(StartError::Deleted { id, .. }) if !has_id => return Ok(id),
                    started => started.map_err(|error| StartRunError::of(&error, &path))?,
                };
                let id = run.id().to_owned();
                *came.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
                Ok(id)
            }
        };
        let id = match context.step_with("start", body).key(&key).await {
            Ok(id) => id,
            Err(ChildError::Error(error)) => return Err(error),
            Err(ChildError::Fault(fault)) => return Err(fault.into()),
        };
        if let Some(run) = came.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Ok(run);
        }
        let get = {
            let id = id.clone();
            let engine = engine.clone();
            async move { engine.get_run(&id).await }
        };
        match context.0.requests().follow(&context.path(), get).await? {
            Ok(Some(run)) => Ok(run.of_output()),
            Ok(None) => Ok(Run::of_deleted(&engine, &id, W::NAME)),
            Err(error) => {
                run.pending_if_away(&error).await;
                Err(StartRunError::Store { message: error.to_string() })
            }
        }
    }
}

impl<W: Workflow> Future for StartRun<'_, W> {
    type Output = Result<Run<W::Output>, StartRunError>;

    fn poll(self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(waker, |request| Box::pin(request.start()))
    }
}

// No field is ever pinned in place: the future that starts the run has a box of its own.
impl<W: Workflow> Unpin for StartRun<'_, W> {}

impl<W: Workflow> fmt::Debug for StartRun<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StartRun");
        if let Some(request) = self.0.description() {
            shown.field("workflow", &W::NAME).field("key", &request.key).field("on_close", &request.on_close);
        }
        shown.finish_non_exhaustive()
    }
}
