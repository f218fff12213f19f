//! Going on after a failure, and going another way from a point in an old run.

use std::future::IntoFuture;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::live::Found;
use super::{Engine, Run, RunError};
use crate::driver::below;
use crate::event::{Event, EventKind};
use crate::store::{Append, Appended, Created, HeaderChange, NewRun, Record, RunHeader, RunStatus, StoreError, Stored};

/// A run could not be retried or forked. Nothing has changed.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// There is no such run.
    #[error("there is no run `{run}`")]
    UnknownRun {
        /// The id that was asked for.
        run: String,
    },
    /// The run has not failed.
    #[error("run `{run}` {state}; {help}")]
    NotFailed {
        /// The run.
        run: String,
        /// What it does instead.
        state: &'static str,
        /// What can be done.
        help: &'static str,
    },
    /// Nothing is on record under a path.
    #[error("run `{run}` has nothing on record under `{path}`; `engine.history(..)` shows what there is")]
    UnknownPath {
        /// The run.
        run: String,
        /// The path.
        path: String,
    },
    /// The point to fork at is behind the run's last record.
    #[error("run `{run}` has {records} records, so it cannot be forked at {at}")]
    NoSuchRecord {
        /// The run.
        run: String,
        /// What was asked for.
        at: u64,
        /// How many records there are.
        records: u64,
    },
    /// The id for the new run is taken.
    #[error("there is a run `{id}` already; choose another id")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// The run cannot go on in this process.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl std::fmt::Debug for RetryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A failed run that goes on when this is awaited, which gives the [`Run`].
#[must_use = "nothing goes on before it is awaited"]
#[derive(Clone, Debug)]
pub struct Retry {
    engine: Engine,
    run: String,
    from: Vec<String>,
    force: Vec<String>,
}

/// A new run from a point in an old one; it starts when this is awaited, which gives the [`Run`].
#[must_use = "nothing starts before it is awaited"]
#[derive(Clone, Debug)]
pub struct Fork {
    engine: Engine,
    run: String,
    at: u64,
    id: Option<String>,
}

impl Engine {
    /// Goes on with a run that has failed or was cancelled, from where it failed. What is on record is reused: nodes
    /// that are done stay done, and the one that failed gets all of its attempts again, with the steps, children and
    /// answers that it had.
    ///
    /// Awaiting it gives a [`RetryError`] where the run is not there, has not failed, or cannot go on in this process.
    pub fn retry(&self, run: impl Into<String>) -> Retry {
        Retry { engine: self.clone(), run: run.into(), from: Vec::new(), force: Vec::new() }
    }

    /// A new run of the same workflow that begins with the first `at` records of an old one, as if they were its own, and
    /// goes on from there. The old run never changes. [`RunInfo::forked_from`](crate::RunInfo::forked_from) and
    /// [`RunFilter::forked_from`](crate::RunFilter::forked_from) link the two.
    ///
    /// `at` is the number of the first event that is not taken over: `event.seq` of what is to happen otherwise, or
    /// `event.seq + 1` of the last one that is to stand. What the old run ended with is never taken over.
    pub fn fork(&self, run: impl Into<String>, at: u64) -> Fork {
        Fork { engine: self.clone(), run: run.into(), at, id: None }
    }

    /// What has happened in a run, from its first record on.
    ///
    /// # Errors
    /// Where the store cannot be read; `None` where there is no such run.
    pub async fn history(&self, run: &str) -> Result<Option<Vec<Event>>, StoreError> {
        let Some(header) = self.0.store.header(run).await? else { return Ok(None) };
        let stored = self.0.store.read(header.key, 0, usize::MAX).await?;
        let event = |Stored { seq, time, record }| Event {
            version: Event::VERSION,
            run_id: run.to_owned(),
            seq,
            time,
            path: record.path,
            kind: record.kind,
        };
        Ok(Some(stored.into_iter().map(event).collect()))
    }
}

impl Retry {
    /// This node runs again as if it had never started, and so does all behind it. Paths are those of events,
    /// `checkout/draft#2`.
    pub fn from(mut self, path: impl Into<String>) -> Self {
        self.from.push(path.into());
        self
    }

    /// This node, step or child runs again, though it is done, and so does all behind it; the steps, children and answers
    /// of the node are given back. For a step or a child, the node that has asked for it runs again.
    pub fn force(mut self, path: impl Into<String>) -> Self {
        self.force.push(path.into());
        self
    }

    async fn retry(self) -> Result<Run<Json>, RetryError> {
        let Retry { engine, run, from, force } = self;
        let reservation = loop {
            match engine.reserve(&run) {
                Found::Free(reservation) => break reservation,
                Found::Reserved(over) => over.cancelled().await,
                Found::Live(_) => return Err(goes_on(&run)),
            }
        };
        let header = header_of(&engine, &run).await?;
        let definition = engine.0.workflows.get(&header.workflow).cloned().ok_or_else(|| not_registered(&header))?;
        match header.status {
            RunStatus::Failed | RunStatus::Cancelled => {}
            RunStatus::Completed => {
                let (state, help) = ("has its output", "`engine.fork(..)` starts another one from a point in it");
                return Err(RetryError::NotFailed { run, state, help });
            }
            _ => return Err(goes_on(&run)),
        }
        let history = engine.0.store.read(header.key, 0, usize::MAX).await?;
        for path in from.iter().chain(&force) {
            if !history.iter().any(|stored| stored.record.path == *path) {
                return Err(RetryError::UnknownPath { run, path: path.clone() });
            }
        }
        let owner = engine.owner().await?;
        let append = Append {
            run: header.key,
            at: header.records,
            time: engine.0.env.clock.now(),
            records: Arc::new(vec![Record {
                path: header.workflow.clone(),
                kind: EventKind::RunRetried { from, force },
            }]),
            header: HeaderChange {
                status: Some((RunStatus::Running, None)),
                owner: Some(Some(owner)),
                ..HeaderChange::default()
            },
        };
        if engine.0.store.append(append).await? == Appended::Conflict {
            return Err(goes_on(&run));
        }
        let live = engine.begin_again(reservation, &header, &definition).await;
        match live {
            Ok(live) => Ok(Run::of_live(&engine, live)),
            Err(halt) => {
                engine.give_up(&header).await;
                Err(RunError::from(halt).into())
            }
        }
    }
}

fn goes_on(run: &str) -> RetryError {
    let (state, help) = ("has not ended", "wait for it, or cancel it first");
    RetryError::NotFailed { run: run.to_owned(), state, help }
}

fn not_registered(header: &RunHeader) -> RetryError {
    let changes = vec!["the workflow is not registered".to_owned()];
    RetryError::Run(RunError::GraphChanged { workflow: header.workflow.clone(), changes })
}

async fn header_of(engine: &Engine, run: &str) -> Result<RunHeader, RetryError> {
    let header = engine.0.store.header(run).await?;
    header.ok_or_else(|| RetryError::UnknownRun { run: run.to_owned() })
}

impl Fork {
    /// The id of the new run, a new UUID where none is given.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    async fn fork(self) -> Result<Run<Json>, RetryError> {
        let Fork { engine, run, at, id } = self;
        let old = header_of(&engine, &run).await?;
        let definition = engine.0.workflows.get(&old.workflow).cloned().ok_or_else(|| not_registered(&old))?;
        let history = engine.0.store.read(old.key, 0, usize::MAX).await?;
        if at == 0 || at > history.len() as u64 {
            return Err(RetryError::NoSuchRecord { run, at, records: history.len() as u64 });
        }
        let taken = usize::try_from(at).unwrap_or(usize::MAX);
        let mut records: Vec<Record> = history.into_iter().take(taken).map(|stored| stored.record).collect();
        // What it ended with, or was about to, is what is to happen otherwise.
        while records.len() > 1 && records.last().is_some_and(|last| ends(&last.kind)) {
            records.pop();
        }
        let id = id.unwrap_or_else(|| engine.0.env.clock.new_run_id());
        let reservation = match engine.reserve(&id) {
            Found::Free(reservation) => reservation,
            _ => return Err(RetryError::IdTaken { id }),
        };
        let graph = match engine.0.store.graph(old.graph).await? {
            Some(body) => Arc::new((old.graph, body)),
            None => engine.graph_of(&definition),
        };
        let new = NewRun {
            id: id.clone(),
            workflow: old.workflow.clone(),
            owner: Some(engine.owner().await?),
            graph,
            forked_from: Some((run, at)),
            time: engine.0.env.clock.now(),
            records,
        };
        let header = match engine.0.store.create(new).await? {
            Created::New(header) => header,
            Created::Existing(_) => return Err(RetryError::IdTaken { id }),
        };
        match engine.begin_again(reservation, &header, &definition).await {
            Ok(live) => Ok(Run::of_live(&engine, live)),
            Err(halt) => {
                engine.give_up(&header).await;
                Err(RunError::from(halt).into())
            }
        }
    }
}

/// Whether a fork does without this where it stands last.
fn ends(kind: &EventKind) -> bool {
    kind.is_terminal()
        || matches!(
            kind,
            EventKind::NodeFailed { retry_in: None, .. } | EventKind::NodeCancelled | EventKind::CancelRequested
        )
}

impl IntoFuture for Retry {
    type Output = Result<Run<Json>, RetryError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.retry())
    }
}

impl IntoFuture for Fork {
    type Output = Result<Run<Json>, RetryError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.fork())
    }
}

/// The records without those that a retry says are not to count.
pub(super) fn effective(history: Vec<Stored>) -> Vec<Stored> {
    if !history.iter().any(|stored| matches!(stored.record.kind, EventKind::RunRetried { .. })) {
        return history;
    }
    let mut kept: Vec<Stored> = Vec::with_capacity(history.len());
    for stored in history {
        if let EventKind::RunRetried { from, force } = &stored.record.kind
            && !(from.is_empty() && force.is_empty())
        {
            let dynamic: Vec<&String> = force.iter().filter(|path| is_asked_for(&kept, path)).collect();
            kept.retain(|stored| counts(stored, from, force, &dynamic));
        }
        kept.push(stored);
    }
    kept
}

/// Whether a path is that of something that a node has asked its context for.
fn is_asked_for(history: &[Stored], path: &str) -> bool {
    let Some((parent, _)) = path.rsplit_once('/') else { return false };
    history.iter().any(|stored| {
        stored.record.path == parent && matches!(stored.record.kind, EventKind::NodeStarted { inside: None, .. })
    })
}

fn counts(stored: &Stored, from: &[String], force: &[String], dynamic: &[&String]) -> bool {
    let path = stored.record.path.as_str();
    let is_at_or_below = |of: &str| path == of || below(path, of);
    let is_done = matches!(
        stored.record.kind,
        EventKind::NodeCompleted { .. } | EventKind::NodeFailed { .. } | EventKind::NodeWaiting { .. }
    );
    if from.iter().any(|from| is_at_or_below(from)) || dynamic.iter().any(|forced| is_at_or_below(forced)) {
        return false;
    }
    // What is above a step or a child that runs again is not done either.
    !(is_done && force.iter().any(|forced| path == forced || below(forced, path)))
}
