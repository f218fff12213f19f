//! Forking a run at an event.

use std::future::IntoFuture;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::changed::check_beginning;
use super::error::{invalid_length, is_reserved};
use super::fitting::Candidates;
use super::inner::Engine;
use super::live::Undriven;
use super::retry::cannot_run;
use super::retry_request::RetriedNodes;
use super::run::Run;
use super::runs::Found;
use super::runtime;
use super::set_back::by_the_clock_of;
use super::versions::{Version, Versions};
use crate::event::EventKind;
use crate::halt::Halt;
use crate::meter;
use crate::run_error::RunError;
use crate::shared::MAX_ID;
use crate::store::{Created, NewRun, Record, RunHeader, StoreError, Stored};
use crate::table::Definition;

/// A run could not be forked. Nothing has changed, except with [`Store`](Self::Store) and [`Run`](Self::Run): then the fork may be
/// there, and another attempt with its id finds it.
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
    #[error(
        "run `{run}` cannot be forked before event {before}: it has {records} events, and a fork keeps the first at least; \
         give a number from 1 to {records}"
    )]
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
    /// The run is the last of 16 forks, each of the one before, that were requested and have not begun.
    #[error(
        "run `{run}` is the last of many forks, each of the one before, and none of them has begun: no engine with the workflow is \
         there; start one, or fork `{origin}`, the run that they come from"
    )]
    NotBegun {
        /// The run.
        run: String,
        /// The run that all of them come from.
        origin: String,
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
    /// A new run of the same workflow that starts with the events of an old one and continues from there.
    /// [`Fork::before`] says how many of them; without it, all that came before the old run ended. A child workflow
    /// that had not failed by then continues. The old run never changes.
    /// [`RunInfo::forked_from`](crate::RunInfo::forked_from) and
    /// [`RunFilter::forked_from`](crate::RunFilter::forked_from) link the two.
    ///
    /// If the workflow is not registered here, the fork is requested: the new run is recorded, and an engine that knows the workflow
    /// carries it out, as it is by then: one that lives at once, and otherwise the next one that [recovers](Self::recover). If it
    /// cannot run there, that one reports it, as of any run that it cannot resume. An engine without a store has no other engine
    /// beside it, so there the workflow has to be [registered](crate::EngineBuilder::register), also where a start needs no registration.
    ///
    /// Awaiting it returns a [`ForkError`] if there is no such run or event, if the id is taken, or if the new run
    /// cannot run in this process.
    ///
    /// # Cancel safety
    /// If the future is dropped before it returns, the new run may or may not have been recorded. A recorded run is
    /// executed: [`get_run`](Self::get_run) finds it by its id.
    pub fn fork(&self, run: impl Into<String>) -> Fork {
        Fork { engine: self.clone(), run: run.into(), before: None, id: None }
    }

    /// The version of a fork of a run. With the input alone it is a new run.
    ///
    /// # Errors
    /// See [`version_of`](Self::version_of).
    async fn version_of_fork<'v>(
        &self,
        header: &RunHeader,
        versions: &'v Versions,
        history: &[Stored],
        at: u64,
    ) -> Result<&'v Version, Halt> {
        let beginning = beginning(history).filter(|_| at == 1);
        let copied = &history[..usize::try_from(at).unwrap_or(usize::MAX).min(history.len())];
        let mut candidates = match beginning {
            Some(_) => Candidates::of_new(versions, header.graph),
            None => Candidates::under(versions, header.graph),
        };
        loop {
            let version = candidates.next()?;
            let definition = &version.definition;
            if candidates.is_sure {
                return Ok(version);
            }
            let checked = match beginning {
                Some((input, state)) => check_beginning(definition, input, state),
                None => match self.fork_of(header, definition, history, at).await {
                    Ok(forked) => self.check_with(header, definition, copied, forked).await,
                    Err(halt) => Err(halt),
                },
            };
            if candidates.fits(version, checked)? {
                return Ok(version);
            }
        }
    }

    /// The record with which a fork begins behind the records that it copies. It is there also without voids, since time limits
    /// begin anew.
    ///
    /// # Errors
    /// If the records do not fit the current graph.
    pub(super) async fn fork_of(
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
        let history = engine.0.store.read(old.key, 0, usize::MAX).await?;
        let records = history.len() as u64;
        if engine.is_deleted_since(&old, &history).await? {
            return Err(ForkError::UnknownRun { run });
        }
        let at = before.unwrap_or(records);
        if at == 0 || at > records {
            return Err(ForkError::NoSuchEvent { run, before: at, records });
        }
        if engine.0.runs.is_closed() {
            return Err(RunError::ShutDown.into());
        }
        let before = RunHeader { graph: graph_before(&history, at).unwrap_or(old.graph), ..old.clone() };
        let id = id.unwrap_or_else(|| engine.0.env.clock.new_run_id());
        let Some(versions) = engine.0.workflows.get(&old.workflow) else {
            engine.refuse_if_alone(&old)?;
            if let Some(origin) = engine.origin_of_requests(&old).await? {
                return Err(ForkError::NotBegun { run, origin });
            }
            let mut copied = history;
            copied.truncate(usize::try_from(at).unwrap_or(usize::MAX));
            return match engine.request_fork(&before, copied, id.clone()).await? {
                Some(Created::New(header)) => {
                    meter::run_started(&header.workflow);
                    Ok(Run::of_header(&engine, &header))
                }
                Some(Created::Existing(_) | Created::Deleted { .. }) => Err(ForkError::IdTaken { id }),
                None => Err(not_registered(&old).into()),
            };
        };
        runtime::current().map_err(cannot_run)?;
        let version = engine.version_of_fork(&before, versions, &history, at).await.map_err(RunError::from)?;
        let definition = &version.definition;
        let now_under = engine.graph_of(definition);
        // Only the input is copied.
        let recorded_under = if at == 1 { now_under.0 } else { before.graph };
        let header = RunHeader { graph: recorded_under, ..before };
        // The records that led to the end of the old run, or would have, are voided, so that it can end otherwise.
        let forked = engine.fork_of(&header, definition, &history, at).await.map_err(RunError::from)?;
        if let Some((input, state)) = beginning(&history).filter(|_| at == 1) {
            check_beginning(definition, input, state).map_err(RunError::from)?;
        }
        let mut history = history;
        history.truncate(usize::try_from(at).unwrap_or(usize::MAX));
        let now = engine.0.env.clock.now();
        // All records of the new run have the time of the fork, which does not show that the clock was set back before
        // it.
        by_the_clock_of(now, &mut history);
        history.push(Stored { seq: at, time: now, record: forked });
        let records = history.iter().map(|stored| stored.record.clone()).collect();
        // Every check comes before the new run is created.
        let past = engine.past(&header, definition, history).await.map_err(RunError::from)?;
        engine.check_past(&header, definition, past.clone()).map_err(RunError::from)?;
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
        // From here the run is driven without another `.await`. What has failed may be done.
        let created = created?;
        undriven.done();
        let header = match created {
            Created::New(header) => header,
            Created::Existing(_) | Created::Deleted { .. } => return Err(ForkError::IdTaken { id }),
        };
        meter::run_started(&header.workflow);
        let ready = past.begin(definition).and_then(|start| engine.make_ready(&header, definition, start, owner));
        match ready {
            Ok(ready) => engine.launched(reservation, ready, &id).await.map_err(ForkError::Run),
            Err(halt) => {
                engine.release(&id).await;
                Err(RunError::from(halt).into())
            }
        }
    }
}

impl IntoFuture for Fork {
    type Output = Result<Run<Json>, ForkError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.fork())
    }
}

/// The input and the state that a run was started with.
fn beginning(history: &[Stored]) -> Option<(&Json, &Map<String, Json>)> {
    match &history.first()?.record.kind {
        EventKind::RunStarted { input, state, .. } => Some((input, state)),
        _ => None,
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

fn not_registered(header: &RunHeader) -> RunError {
    RunError::NotRegistered { workflow: header.workflow.clone() }
}

impl Engine {
    /// Refuses to request something of a run whose workflow is not registered here, if no other engine will ever see the request.
    pub(super) fn refuse_if_alone(&self, header: &RunHeader) -> Result<(), RunError> {
        let store = &self.0.store;
        if store.is_volatile() && !store.is_shared() { Err(not_registered(header)) } else { Ok(()) }
    }
}
