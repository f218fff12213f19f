//! Why a run cannot continue here. Every call that concerns a run uses these checks, so that all of them return the
//! same reason.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::changed::{Adapt, Adapted};
use super::inner::{Engine, Halted};
use super::live::Beginning;
use super::set_back::by_the_clock_of;
use super::versions::{Version, Versions};
use super::voided::effective;
use crate::compile::check_resources;
use crate::core::TimeLimit;
use crate::driver::RunSnapshot;
use crate::event::EventKind;
use crate::fingerprint::FormerNames;
use crate::halt::Halt;
use crate::shared::is_start_of_run;
use crate::store::{Owner, RunHeader, StoreError, Stored};
use crate::table::Definition;

/// The input of a run, the state that it begins with, and its time limit.
type Begins = (Arc<Json>, Map<String, Json>, Option<TimeLimit>);

/// The records of a run, translated to the graph of this program and to its clock.
#[derive(Clone)]
pub(super) struct Past {
    input: Arc<Json>,
    state: Map<String, Json>,
    limit: Option<TimeLimit>,
    history: Vec<Stored>,
    /// What the records before those come to.
    snapshot: Option<Arc<RunSnapshot>>,
    /// The hash of the old graph, and the new graph, if the last records were made under another one.
    new_graph: Option<(u64, Arc<(u64, Json)>)>,
    /// Whether its nodes have started other runs, or were about to; also by requests that a retry has voided.
    has_started_runs: bool,
    /// The names that its nodes were recorded under.
    former: Option<Arc<FormerNames>>,
}

impl Engine {
    /// The reason if no living engine has a run and this program cannot resume it. `None` if the run continues or has
    /// ended, or if this engine does not know its workflow but another living engine does. Changes nothing.
    pub(super) async fn obstacle(&self, header: &RunHeader) -> Result<Option<Halt>, StoreError> {
        // A reason that was found only when the run was executed.
        let known = self.halted().get(&header.key).map(|halted| halted.halt.clone()).filter(Halt::is_of_program);
        match known {
            Some(halt) if !header.status.is_over() && !self.is_live_or_elsewhere(header).await? => Ok(Some(halt)),
            Some(_) => Ok(None),
            None => self.present_obstacle(header).await,
        }
    }

    /// The same by what the store has now, whatever was found before.
    pub(super) async fn present_obstacle(&self, header: &RunHeader) -> Result<Option<Halt>, StoreError> {
        if header.status.is_over() || self.is_live_or_elsewhere(header).await? {
            return Ok(None);
        }
        let versions = self.0.workflows.get(&header.workflow);
        if versions.is_none() && self.0.store.is_served(&header.workflow).await? {
            return Ok(None);
        }
        self.obstacle_under(header, versions).await
    }

    /// Why this program cannot resume a run under any of these versions.
    pub(super) async fn obstacle_under(
        &self,
        header: &RunHeader,
        versions: Option<&Versions>,
    ) -> Result<Option<Halt>, StoreError> {
        self.checked_under(header, versions).await.map(Result::err)
    }

    /// The version under which this program can resume a run, or why it cannot.
    pub(super) async fn checked_under<'v>(
        &self,
        header: &RunHeader,
        versions: Option<&'v Versions>,
    ) -> Result<Result<&'v Version, Halt>, StoreError> {
        let checked = match versions {
            Some(versions) => self.check_run(header, versions).await,
            None => Err(Halt::NotRegistered { workflow: header.workflow.clone() }),
        };
        match checked {
            // An error of the store is not a property of the run.
            Err(Halt::Store(error)) if !is_damage(&error) => Err(error),
            checked => Ok(checked),
        }
    }

    /// Why a run that no other engine has was stopped here, although this program may be able to resume it.
    pub(super) fn stopped_here(&self, header: &RunHeader) -> Option<Halt> {
        if self.0.runs.is_shut_down() {
            return Some(Halt::ShutDown);
        }
        let is_of_another = header.owner.is_some() && header.owner != self.0.owner.get().copied();
        let mut halted = self.halted();
        // Another process has resumed it since: it waits by now, or that process has died. It is resumed like any other
        // when it is due.
        let waits = header.owner.is_none() && header.status.is_suspended();
        if (is_of_another || waits) && matches!(halted.get(&header.key), Some(Halted { halt: Halt::Store(_), .. })) {
            halted.remove(&header.key);
        }
        halted.get(&header.key).map(|halted| halted.halt.clone())
    }

    /// Whether a living engine drives a run, or will when it is due.
    pub(super) async fn is_live_or_elsewhere(&self, header: &RunHeader) -> Result<bool, StoreError> {
        Ok(self.0.runs.get(&header.id).is_some() || self.is_elsewhere(header).await?)
    }

    /// Whether another living engine has a run.
    pub(super) async fn is_elsewhere(&self, header: &RunHeader) -> Result<bool, StoreError> {
        match header.owner {
            Some(owner) if Some(owner) != self.0.owner.get().copied() => self.0.store.is_alive(owner).await,
            _ => Ok(false),
        }
    }

    /// Whether this program can resume a run: its records are folded and the values that it needs next are read, as if
    /// it were resumed. No node runs.
    async fn check_run<'v>(&self, header: &RunHeader, versions: &'v Versions) -> Result<&'v Version, Halt> {
        let version = self.version_of(header, versions).await?;
        self.check_run_under(header, &version.definition).await.map(|()| version)
    }

    async fn check_run_under(&self, header: &RunHeader, definition: &Arc<Definition>) -> Result<(), Halt> {
        // Before its records are read, which are many perhaps.
        check_resources(&self.0.env, definition).map_err(Halt::MissingResources)?;
        if let Some(thawed) = self.thawed(header, definition).await
            && self.check_past(header, definition, thawed.past).is_ok()
        {
            return Ok(());
        }
        let mut history = self.0.store.read(header.key, 0, usize::MAX).await.map_err(Halt::Store)?;
        self.add_requested_retry(header, definition, &mut history).await?;
        let past = self.past(header, definition, history).await?;
        self.check_past(header, definition, past)
    }

    pub(super) fn check_past(&self, header: &RunHeader, definition: &Arc<Definition>, past: Past) -> Result<(), Halt> {
        // The journal of this one is discarded with it.
        self.make_ready(header, definition, past.begin(definition)?, Owner(0))?.discard();
        Ok(())
    }

    /// The records of a run, translated to the graph of this program and to its clock.
    pub(super) async fn past(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        mut history: Vec<Stored>,
    ) -> Result<Past, Halt> {
        check_resources(&self.0.env, definition).map_err(Halt::MissingResources)?;
        by_the_clock_of(self.0.env.clock.now(), &mut history);
        let first = history.first().map(|stored| &stored.record.kind);
        let Some(EventKind::RunStarted { input, state, limit, .. }) = first else {
            return Err(Halt::Unreadable {
                path: header.workflow.clone(),
                field: ".".to_owned(),
                message: "its first record is not that of its start".to_owned(),
            });
        };
        let limit = limit.as_ref().map(TimeLimit::from);
        let (input, state) = (Arc::new(input.clone()), state.clone());
        let Adapted { before, former } = self.adapt(header, definition, &mut history, Adapt::NamesAndValues).await?;
        let new_graph = before.map(|before| (before, self.graph_of(definition)));
        let has_started_runs = history.iter().any(|stored| is_start_of_run(&stored.record.path));
        let (history, former) = (effective(history), former.map(Arc::new));
        Ok(Past { input, state, limit, history, snapshot: None, new_graph, has_started_runs, former })
    }
}

impl Past {
    /// From a snapshot: the first record of the run, and those behind the snapshot. `None` if that is not a first record.
    pub(super) fn thawed(first: Stored, snapshot: Arc<RunSnapshot>, history: Vec<Stored>) -> Option<Past> {
        let EventKind::RunStarted { input, .. } = first.record.kind else { return None };
        let (snapshot, state) = (Some(snapshot), Map::new());
        // They may be among the records that are not read.
        let has_started_runs = true;
        // A run with nodes that were renamed has none.
        let (limit, new_graph, former) = (None, None, None);
        Some(Past { input: Arc::new(input), state, limit, history, snapshot, new_graph, has_started_runs, former })
    }

    /// What a fold of the whole run begins with, and its records; `None` if they were made under another graph.
    pub(super) fn into_fold(self) -> Option<(Begins, Vec<Stored>)> {
        let Past { input, state, limit, history, snapshot: None, new_graph: None, .. } = self else { return None };
        Some(((input, state, limit), history))
    }

    pub(super) fn begin(self, definition: &Definition) -> Result<Beginning, Halt> {
        let Past { input: recorded, state, limit, history, snapshot, new_graph, has_started_runs, former } = self;
        let input = (definition.door.read_input)(&recorded).map_err(|error| Halt::Unreadable {
            path: definition.name.clone(),
            field: error.field,
            message: error.message,
        })?;
        let span = None;
        Ok(Beginning { input, recorded, state, limit, history, snapshot, new_graph, has_started_runs, former, span })
    }
}

/// Whether the store can never read this run.
fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt { .. } | StoreError::BadRecord { .. })
}
