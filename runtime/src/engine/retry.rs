//! Retrying a failed run, and forking a run at an event.

use std::future::IntoFuture;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::changed::check_input;
use super::derived::Deriver;
use super::error::{invalid_length, is_reserved};
use super::inner::Engine;
use super::live::{ReadyRun, Undriven};
use super::retry_request::{RetriedNodes, recorded_child_around};
use super::run::Run;
use super::runs::{Found, Reservation};
use super::runtime::{self, Unfit};
use super::set_back::by_the_clock_of;
use crate::context::Context;
use crate::event::{Event, EventKind};
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::shared::MAX_ID;
use crate::store::{
    Append, Appended, Created, HeaderChange, NewRun, Record, Records, RunHeader, RunStatus, StoreError, Stored,
};
use crate::table::Definition;

/// A run could not be retried. Nothing has changed.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::RetryError;
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<pay>(40).id("order-7").await?.result().await?;
/// let error = engine.retry("order-7").await.unwrap_err();
/// assert!(matches!(error, RetryError::NotFailed { .. }));
/// assert!(error.to_string().contains("has completed")); // and what to do instead
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// There is no such run.
    #[error("there is no run `{run}`")]
    UnknownRun {
        /// The requested id.
        run: String,
    },
    /// The run has not failed.
    #[error("run `{run}` {state}; {help}")]
    NotFailed {
        /// The run.
        run: String,
        /// Its state.
        state: &'static str,
        /// What to do instead.
        help: &'static str,
    },
    /// The run has no events at a path.
    #[error("run `{run}` has no events at `{path}`; `engine.history(..)` lists its events")]
    UnknownPath {
        /// The run.
        run: String,
        /// The path.
        path: String,
    },
    /// A path is inside a child workflow. Only the node that calls it knows its graph, and so which nodes would have to
    /// run again with this one.
    #[error(
        "`{path}` of run `{run}` is inside the child workflow `{child}`, whose graph only its caller knows; \
         name `{child}` to run all of it again"
    )]
    InsideChildWorkflow {
        /// The run.
        run: String,
        /// The path.
        path: String,
        /// The path of the child workflow, which can be named instead.
        child: String,
    },
    /// The run cannot be resumed in this process.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run could not be forked. Nothing has changed.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::ForkError;
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<pay>().build()?;
/// engine.start::<pay>(40).id("order-7").await?.result().await?;
/// let error = engine.fork("order-7").before(100).await.unwrap_err();
/// assert_eq!(error, ForkError::NoSuchEvent { run: "order-7".into(), before: 100, records: 4 });
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// There is no such run.
    #[error("there is no run `{run}`")]
    UnknownRun {
        /// The requested id.
        run: String,
    },
    /// The run has no such event to fork before.
    #[error("run `{run}` has {records} events, so it cannot be forked before event {before}")]
    NoSuchEvent {
        /// The run.
        run: String,
        /// The requested event.
        before: u64,
        /// How many recorded events there are.
        records: u64,
    },
    /// The id for the new run is too long, or empty.
    #[error("the id of a run may have 1 to {MAX_ID} bytes, and this one has {length}")]
    InvalidId {
        /// How many bytes it has.
        length: usize,
    },
    /// The id for the new run is `.` or `..`. In a URL that is a folder, also percent-encoded, so no client could ask for the run.
    #[error("the id of a run cannot be `{id}`, which is a folder in a URL; choose another id")]
    ReservedId {
        /// The id.
        id: String,
    },
    /// The id for the new run is taken.
    #[error("there is a run `{id}` already; choose another id")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// The new run cannot run in this process.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A retry of a failed run. Awaiting it resumes the run and returns the [`Run`].
///
/// The service is up again. What was done before is not done a second time:
///
/// ```
/// use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
/// use graphweft::prelude::*;
///
/// static IS_UP: AtomicBool = AtomicBool::new(false);
/// static RESERVED: AtomicU32 = AtomicU32::new(0);
///
/// #[node]
/// async fn reserve(seat: u32) -> u32 { RESERVED.fetch_add(1, Ordering::SeqCst); seat }
/// #[node]
/// async fn charge(seat: u32) -> Result<String, String> {
///     if IS_UP.load(Ordering::SeqCst) { Ok(format!("seat {seat} is paid")) } else { Err("no connection".into()) }
/// }
/// workflow! { pub book(u32) -> String { START => reserve => charge; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<book>().build()?;
/// assert!(engine.start::<book>(12).id("seat-12").await?.result().await.is_err());
///
/// IS_UP.store(true, Ordering::SeqCst);
/// assert_eq!(engine.retry("seat-12").await?.result().await?, "seat 12 is paid");
/// assert_eq!(RESERVED.load(Ordering::SeqCst), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is retried before it is awaited"]
#[derive(Clone, Debug)]
pub struct Retry {
    engine: Engine,
    run: String,
    from_nodes: Vec<String>,
    rerun: Vec<String>,
}

/// A new run from an event of an old one. Awaiting it starts the run and returns the [`Run`].
///
/// What would have come of the other answer? The old run stays as it is:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn review(text: String, ctx: &Context) -> String {
///     if ctx.ask::<bool>("approve", "Ship it?").await { text } else { "nothing".into() }
/// }
/// workflow! { pub publish(String) -> String { START => review; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<publish>().build()?;
/// let run = engine.start::<publish>("a poem".into()).id("poem").await?;
/// # run.outcome().await?;
/// run.answer("approve", false).await?;
/// assert_eq!(run.result().await?, "nothing");
///
/// let history = engine.history("poem").await?.ok_or("it was started")?;
/// let answered = history.iter().find(|event| matches!(event.kind, EventKind::Answered { .. })).ok_or("it was answered")?;
/// let other = engine.fork("poem").before(answered.seq).id("poem-2").await?;
/// # other.outcome().await?;
/// other.answer("approve", true).await?;
/// assert_eq!(other.result().await?, "a poem");
/// assert_eq!(run.result().await?, "nothing");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing starts before it is awaited"]
#[derive(Clone, Debug)]
pub struct Fork {
    engine: Engine,
    run: String,
    before: Option<u64>,
    id: Option<String>,
}

impl Engine {
    /// Resumes a run that has failed or was cancelled, from where it failed. Recorded results are reused: completed
    /// nodes are not executed again, and the node that failed has all of its attempts again, with its recorded steps,
    /// children and answers. A child workflow of that node that had failed starts from its beginning; one that was
    /// executing continues.
    ///
    /// If the workflow is not registered here, the retry is recorded, and an engine that knows the workflow carries it
    /// out: one that lives at once, and otherwise the next one that [recovers](Self::recover). So a workflow whose runs are
    /// retried has to be [registered](crate::EngineBuilder::register), also in an engine without a store, where a start needs
    /// no registration.
    ///
    /// Awaiting it returns a [`RetryError`] if there is no such run, if it has not failed, or if it cannot be resumed
    /// in this process.
    ///
    /// # Cancel safety
    /// If the future is dropped before it returns, the retry may or may not have been recorded. A run whose retry was
    /// recorded is resumed.
    pub fn retry(&self, run: impl Into<String>) -> Retry {
        Retry { engine: self.clone(), run: run.into(), from_nodes: Vec::new(), rerun: Vec::new() }
    }

    /// A new run of the same workflow that starts with the events of an old one and continues from there.
    /// [`Fork::before`] says how many of them; without it, all that came before the old run ended. A child workflow
    /// that had not failed by then continues. The old run never changes.
    /// [`RunInfo::forked_from`](crate::RunInfo::forked_from) and
    /// [`RunFilter::forked_from`](crate::RunFilter::forked_from) link the two.
    ///
    /// Awaiting it returns a [`ForkError`] if there is no such run or event, if the id is taken, or if the new run
    /// cannot run in this process, since its workflow is not [registered](crate::EngineBuilder::register) for one: also the
    /// workflow of a run that was started in this process.
    ///
    /// # Cancel safety
    /// If the future is dropped before it returns, the new run may or may not have been recorded. A recorded run is
    /// executed: [`get_run`](Self::get_run) finds it by its id.
    pub fn fork(&self, run: impl Into<String>) -> Fork {
        Fork { engine: self.clone(), run: run.into(), before: None, id: None }
    }

    /// The recorded events of a run; `None` if there is no such run.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn history(&self, run: &str) -> Result<Option<Vec<Event>>, StoreError> {
        if let Some(live) = self.0.runs.get(run) {
            live.journal.catch_up_now();
        }
        let Some(header) = self.0.store.header(run).await? else { return Ok(None) };
        let stored = self.0.store.read(header.key, 0, usize::MAX).await?;
        Ok(Some(Deriver::of(self, &header).await.events(&header.id, stored)))
    }
}

impl Context {
    /// All recorded events of the run of this node; none without an engine.
    #[doc(hidden)]
    pub async fn __history(&self) -> Result<Vec<Event>, StoreError> {
        match Engine::of(&self.0.run.env) {
            Some(engine) => Ok(engine.history(self.run_id()).await?.unwrap_or_default()),
            None => Ok(Vec::new()),
        }
    }
}

impl Retry {
    /// Runs this node again as if it had never started, and all nodes after it. Paths are those of events,
    /// `checkout/draft#2`.
    ///
    /// A child workflow ([`Context::call`](crate::Context::call)) can be named, and so can its caller, but nothing
    /// inside it: the retry is then a [`RetryError::InsideChildWorkflow`].
    pub fn from_node(mut self, path: impl Into<String>) -> Self {
        self.from_nodes.push(path.into());
        self
    }

    /// Runs this completed node, step or child again, and all nodes after it. The node's recorded steps, children and
    /// answers are returned to it. For a step or a child, the node that requested it runs again, and a
    /// child workflow begins anew.
    ///
    /// Nothing inside a child workflow can be named: the retry is then a [`RetryError::InsideChildWorkflow`].
    pub fn rerun(mut self, path: impl Into<String>) -> Self {
        self.rerun.push(path.into());
        self
    }

    async fn retry(self) -> Result<Run<Json>, RetryError> {
        let Retry { engine, run, from_nodes, rerun } = self;
        let reservation = loop {
            match engine.0.runs.reserve(&run) {
                Found::Free(reservation) => break reservation,
                Found::Reserved(over) => over.cancelled().await,
                Found::Live(live) => {
                    // Another process may have taken it over and ended it since.
                    live.journal.catch_up_with_others().await;
                    if live.journal.halted().is_none() {
                        return Err(goes_on(&run));
                    }
                    Engine::until_gone(&live).await;
                }
            }
        };
        let header = engine.0.store.header(&run).await?;
        let header = header.ok_or_else(|| RetryError::UnknownRun { run: run.clone() })?;
        match header.status {
            RunStatus::Failed | RunStatus::Cancelled => {}
            RunStatus::Completed => {
                let (state, help) = ("has completed", "`engine.fork(..)` starts a new run from one of its events");
                return Err(RetryError::NotFailed { run, state, help });
            }
            RunStatus::StartedOver => {
                let (state, help) =
                    ("has started over", "the run that follows it, `run.next()`, can be retried if it fails");
                return Err(RetryError::NotFailed { run, state, help });
            }
            _ => {
                return Err(match engine.obstacle(&header).await? {
                    Some(halt) => RunError::from(halt).into(),
                    None => goes_on(&run),
                });
            }
        }
        if engine.0.runs.is_closed() {
            return Err(RunError::ShutDown.into());
        }
        let mut history = engine.0.store.read(header.key, 0, usize::MAX).await?;
        for path in from_nodes.iter().chain(&rerun) {
            if !history.iter().any(|stored| stored.record.path == *path) {
                return Err(RetryError::UnknownPath { run, path: path.clone() });
            }
        }
        let definition = engine.0.workflows.get(&header.workflow).cloned();
        for path in from_nodes.iter().chain(&rerun) {
            let child = match &definition {
                Some(definition) => engine.child_workflow_around(&header, definition, &history, path).await,
                None => Ok(recorded_child_around(&history, path)),
            };
            if let Some(child) = child.map_err(RunError::from)? {
                return Err(RetryError::InsideChildWorkflow { run, path: path.clone(), child });
            }
        }
        let nodes = RetriedNodes { from_nodes, rerun };
        let Some(definition) = definition else {
            return if engine.request_retry(&header, &history, nodes).await? {
                Ok(Run::of_header(&engine, &header))
            } else {
                Err(goes_on(&run))
            };
        };
        runtime::current().map_err(cannot_run)?;
        let retried = engine.retry_of(&header, &definition, history.clone(), nodes).await.map_err(RunError::from)?;
        let owner = engine.owner().await?;
        let now = engine.0.env.clock.now();
        history.push(Stored { seq: header.records, time: now, record: retried.clone() });
        // Every check comes before the retry is recorded.
        let again =
            RunHeader { records: header.records + 1, status: RunStatus::Running, owner: Some(owner), ..header.clone() };
        let past = engine.past(&again, &definition, history).await.map_err(RunError::from)?;
        let beginning = past.begin(&definition).map_err(RunError::from)?;
        let ready = engine.make_ready(&again, &definition, beginning, owner).map_err(RunError::from)?;
        let append = Append {
            run: header.key,
            at: header.records,
            time: now,
            records: Records::from(vec![retried]),
            header: HeaderChange {
                status: Some((RunStatus::Running, None)),
                owner: Some(Some(owner)),
                ..HeaderChange::default()
            },
        };
        let undriven = Undriven::by(&engine);
        let appended = engine.0.append(append).await;
        // From here the run is driven without another `.await`.
        undriven.done();
        if appended != Ok(Appended::Done) {
            ready.discard();
            return Err(appended.map_or_else(RetryError::Store, |_| goes_on(&run)));
        }
        engine.launched(reservation, ready, &header.id).await.map_err(RetryError::Run)
    }
}

impl Engine {
    /// Drives a run that has just been retried or forked.
    async fn launched(&self, reservation: Reservation, ready: ReadyRun, id: &str) -> Result<Run<Json>, RunError> {
        match self.launch(reservation, ready) {
            Ok(live) => Ok(Run::of_live(self, live)),
            // The engine was shut down meanwhile, so that the next one resumes the run.
            Err(halt) => {
                self.release(id).await;
                Err(halt.into())
            }
        }
    }
}

/// The records up to the end of the run that the fork undoes, which comes before the first retry that is not copied.
/// The records that this retry voided count again without it.
fn up_to_the_end(history: &[Stored], at: u64) -> &[Stored] {
    let is_retry = |stored: &Stored| stored.seq >= at && matches!(stored.record.kind, EventKind::RunRetried { .. });
    &history[..history.iter().position(is_retry).unwrap_or(history.len())]
}

/// The graph that a run had before a record; `None` if it never had another than at its end.
fn graph_before(history: &[Stored], at: u64) -> Option<u64> {
    let changes = history.iter().filter_map(|stored| match stored.record.kind {
        EventKind::GraphChanged { from, to } => Some((stored.seq, from, to)),
        _ => None,
    });
    let (before, after): (Vec<_>, Vec<_>) = changes.partition(|(seq, ..)| *seq < at);
    before.last().map(|(_, _, to)| *to).or(after.first().map(|(_, from, _)| *from))
}

fn goes_on(run: &str) -> RetryError {
    let (state, help) = ("has not ended", "wait for it, or cancel it first");
    RetryError::NotFailed { run: run.to_owned(), state, help }
}

fn cannot_run(unfit: Unfit) -> RunError {
    Halt::from(unfit).into()
}

fn not_registered(header: &RunHeader) -> RunError {
    RunError::NotRegistered { workflow: header.workflow.clone() }
}

impl Engine {
    /// The record with which a fork begins behind the records that it copies. It is there also without voids, since time limits
    /// begin anew.
    ///
    /// # Errors
    /// If the records do not fit the current graph.
    async fn fork_of(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        history: &[Stored],
        at: u64,
    ) -> Result<Record, Halt> {
        let copied = &history[..usize::try_from(at).unwrap_or(usize::MAX).min(history.len())];
        if let Some(retried) = self.retry_in_fork(header, definition, copied).await? {
            return Ok(retried);
        }
        let voids = match up_to_the_end(history, at) {
            // Only the input is copied, with which every graph of this name can begin.
            _ if at == 1 => Vec::new(),
            records => self.voids(header, definition, records.to_vec(), at, (&[], &[])).await?,
        };
        Ok(RetriedNodes::default().record(&header.workflow, voids, false))
    }
}

impl Fork {
    /// The first event that the new run does not start with: `event.seq` of the event that is to happen differently.
    /// The end of the old run is never copied.
    pub fn before(mut self, seq: u64) -> Self {
        self.before = Some(seq);
        self
    }

    /// Sets the id of the new run, of at most 1,024 bytes, and not `.` or `..`. The default is a new UUID.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    async fn fork(self) -> Result<Run<Json>, ForkError> {
        let Fork { engine, run, before, id } = self;
        if let Some(length) = id.as_deref().and_then(invalid_length) {
            return Err(ForkError::InvalidId { length });
        }
        if let Some(id) = id.as_ref().filter(|id| is_reserved(id)) {
            return Err(ForkError::ReservedId { id: id.clone() });
        }
        let old = engine.0.store.header(&run).await?;
        let old = old.ok_or_else(|| ForkError::UnknownRun { run: run.clone() })?;
        let definition = engine.0.workflows.get(&old.workflow).cloned().ok_or_else(|| not_registered(&old))?;
        let history = engine.0.store.read(old.key, 0, usize::MAX).await?;
        let records = history.len() as u64;
        let at = before.unwrap_or(records);
        if at == 0 || at > records {
            return Err(ForkError::NoSuchEvent { run, before: at, records });
        }
        if engine.0.runs.is_closed() {
            return Err(RunError::ShutDown.into());
        }
        runtime::current().map_err(cannot_run)?;
        let now_under = engine.graph_of(&definition);
        let recorded_under = if at == 1 { now_under.0 } else { graph_before(&history, at).unwrap_or(old.graph) };
        let header = RunHeader { graph: recorded_under, ..old.clone() };
        // The records that led to the end of the old run, or would have, are voided, so that it can end otherwise.
        let forked = engine.fork_of(&header, &definition, &history, at).await.map_err(RunError::from)?;
        let mut history = history;
        history.truncate(usize::try_from(at).unwrap_or(usize::MAX));
        let now = engine.0.env.clock.now();
        // All records of the new run have the time of the fork, which does not show that the clock was set back before
        // it.
        by_the_clock_of(now, &mut history);
        history.push(Stored { seq: at, time: now, record: forked });
        let records = history.iter().map(|stored| stored.record.clone()).collect();
        // Every check comes before the new run is created.
        let past = engine.past(&header, &definition, history).await.map_err(RunError::from)?;
        if at == 1 {
            check_input(&definition, past.input()).map_err(RunError::from)?;
        }
        engine.check_past(&header, &definition, past.clone()).map_err(RunError::from)?;
        let id = id.unwrap_or_else(|| engine.0.env.clock.new_run_id());
        let reservation = match engine.0.runs.reserve(&id) {
            Found::Free(reservation) => reservation,
            _ => return Err(ForkError::IdTaken { id }),
        };
        let graph = match engine.0.store.graph(recorded_under).await? {
            Some(body) => Arc::new((recorded_under, body)),
            None => now_under,
        };
        let owner = engine.owner().await?;
        let new = NewRun {
            id: id.clone(),
            workflow: old.workflow.clone(),
            owner: Some(owner),
            graph,
            forked_from: Some((run, at)),
            previous: None,
            started_by: None,
            tags: old.tags.clone(),
            wake_at: None,
            time: now,
            records,
        };
        let undriven = Undriven::by(&engine);
        let created = engine.0.create(new).await;
        // From here the run is driven without another `.await`.
        undriven.done();
        let header = match created? {
            Created::New(header) => header,
            Created::Existing(_) | Created::Deleted { .. } => return Err(ForkError::IdTaken { id }),
        };
        let ready = past.begin(&definition).and_then(|start| engine.make_ready(&header, &definition, start, owner));
        match ready {
            Ok(ready) => engine.launched(reservation, ready, &id).await.map_err(ForkError::Run),
            Err(halt) => {
                engine.release(&id).await;
                Err(RunError::from(halt).into())
            }
        }
    }
}

impl IntoFuture for Retry {
    type Output = Result<Run<Json>, RetryError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.retry())
    }
}

impl IntoFuture for Fork {
    type Output = Result<Run<Json>, ForkError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.fork())
    }
}
