//! Retrying a failed run.

use std::future::IntoFuture;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value as Json;

use super::derived::Deriver;
use super::fitting::Candidates;
use super::inner::Engine;
use super::live::{ReadyRun, Undriven};
use super::retry_request::{RetriedNodes, recorded_child_around};
use super::run::Run;
use super::runs::{Found, Reservation};
use super::runtime::{self, Unfit};
use super::versions::Versions;
use crate::context::Context;
use crate::event::Event;
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::store::{Append, Appended, HeaderChange, Records, RunHeader, RunStatus, StoreError, Stored};
use crate::table::Definition;

/// A run could not be retried. Nothing has changed, except with [`Store`](Self::Store) and [`Run`](Self::Run): then the retry may be
/// recorded, and the run continues.
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
    /// No node and no request has a record at a path.
    #[error(
        "run `{run}` has no record of a node at `{path}`; `engine.history(..)` lists them, beside events that are derived"
    )]
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
        if self.is_deleted_since(&header, &stored).await? {
            return Ok(None);
        }
        Ok(Some(Deriver::of(self, &header).await.events(self, &header.id, stored).await))
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
                    // It may have ended since, here or in another process that has taken it over.
                    live.journal.catch_up_with_store().await;
                    if live.journal.halted().is_none() && !live.journal.is_ending() {
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
        if engine.is_deleted_since(&header, &history).await? {
            return Err(RetryError::UnknownRun { run });
        }
        for path in from_nodes.iter().chain(&rerun) {
            // The records of the run itself are those of no node.
            if *path == header.workflow || !history.iter().any(|stored| stored.record.path == *path) {
                return Err(RetryError::UnknownPath { run, path: path.clone() });
            }
        }
        let versions = engine.0.workflows.get(&header.workflow);
        let nodes = RetriedNodes { from_nodes, rerun };
        let definition = match versions {
            Some(versions) => {
                Some(engine.version_of_retry(&header, versions, &history, &nodes).await.map_err(RunError::from)?)
            }
            None => None,
        };
        for path in nodes.from_nodes.iter().chain(&nodes.rerun) {
            let child = match definition {
                Some(definition) => engine.child_workflow_around(&header, definition, &history, path).await,
                None => Ok(recorded_child_around(&history, path)),
            };
            if let Some(child) = child.map_err(RunError::from)? {
                return Err(RetryError::InsideChildWorkflow { run, path: path.clone(), child });
            }
        }
        let Some(definition) = definition else {
            engine.refuse_if_alone(&header)?;
            return if engine.request_retry(&header, &history, nodes).await? {
                Ok(Run::of_header(&engine, &header))
            } else {
                Err(goes_on(&run))
            };
        };
        runtime::current().map_err(cannot_run)?;
        let retried = engine.retry_of(&header, definition, history.clone(), nodes).await.map_err(RunError::from)?;
        let owner = engine.owner().await?;
        let now = engine.0.env.clock.now();
        history.push(Stored { seq: header.records, time: now, record: retried.clone() });
        // Every check comes before the retry is recorded.
        let again =
            RunHeader { records: header.records + 1, status: RunStatus::Running, owner: Some(owner), ..header.clone() };
        let past = engine.past(&again, definition, history).await.map_err(RunError::from)?;
        let beginning = past.begin(definition).map_err(RunError::from)?;
        let ready = engine.make_ready(&again, definition, beginning, owner).map_err(RunError::from)?;
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
        // From here the run is driven without another `.await`. What has failed may be done.
        if appended.is_ok() {
            undriven.done();
        }
        if appended != Ok(Appended::Done) {
            ready.discard();
            appended?;
            return Err(match engine.is_there(&header).await? {
                true => goes_on(&run),
                false => RetryError::UnknownRun { run },
            });
        }
        engine.launched(reservation, ready, &header.id).await.map_err(RetryError::Run)
    }
}

impl Engine {
    /// Whether the store still has a run, and no other one with its id.
    pub(super) async fn is_there(&self, header: &RunHeader) -> Result<bool, StoreError> {
        Ok(self.0.store.header(&header.id).await?.is_some_and(|now| now.key == header.key))
    }

    /// Whether a run lacks records that it had, since it was deleted before they were read.
    pub(super) async fn is_deleted_since(&self, header: &RunHeader, history: &[Stored]) -> Result<bool, StoreError> {
        Ok((history.len() as u64) < header.records && !self.is_there(header).await?)
    }

    /// The version under which a run is retried.
    ///
    /// # Errors
    /// See [`version_of`](Self::version_of).
    async fn version_of_retry<'v>(
        &self,
        header: &RunHeader,
        versions: &'v Versions,
        history: &[Stored],
        nodes: &RetriedNodes,
    ) -> Result<&'v Arc<Definition>, Halt> {
        let mut candidates = Candidates::under(versions, header.graph);
        loop {
            let version = candidates.next()?;
            let definition = &version.definition;
            if candidates.is_sure {
                return Ok(definition);
            }
            let checked = match self.retry_of(header, definition, history.to_vec(), nodes.clone()).await {
                Ok(retried) => self.check_with(header, definition, history, retried).await,
                Err(halt) => Err(halt),
            };
            if candidates.fits(version, checked)? {
                return Ok(definition);
            }
        }
    }

    /// Drives a run that has just been retried or forked.
    pub(super) async fn launched(
        &self,
        reservation: Reservation,
        ready: ReadyRun,
        id: &str,
    ) -> Result<Run<Json>, RunError> {
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

fn goes_on(run: &str) -> RetryError {
    let (state, help) = ("has not ended", "wait for it, or cancel it first");
    RetryError::NotFailed { run: run.to_owned(), state, help }
}

pub(super) fn cannot_run(unfit: Unfit) -> RunError {
    Halt::from(unfit).into()
}

impl IntoFuture for Retry {
    type Output = Result<Run<Json>, RetryError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.retry())
    }
}
