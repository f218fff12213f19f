//! Resuming runs: after a restart, after the death of another process, when an answer or a timer has come.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::StreamExt;
use serde_json::Value as Json;

use super::live::{Beginning, Found, Live, Reservation};
use super::{Engine, Halt, Run};
use crate::compile::check_resources;
use crate::event::EventKind;
use crate::run_error::RunError;
use crate::store::{Append, Appended, Claim, HeaderChange, RunHeader, RunKey, RunQuery, RunStatus, StoreError};
use crate::table::Definition;

/// How many runs are read at once.
const AT_ONCE: usize = 32;

/// How many runs are claimed at once.
const CLAIMED_AT_ONCE: usize = 1024;

/// The result of [`Engine::recover`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recovery {
    /// Runs that were resumed in this process.
    pub resumed: Vec<Run<Json>>,
    /// Runs that cannot be resumed here, and why. They are not lost, and the next call tries them again.
    pub failed: Vec<(String, RunError)>,
    /// Unfinished runs of workflows that are not registered, with the name of the workflow. They are not changed.
    pub unregistered: Vec<(String, String)>,
}

impl Engine {
    /// Resumes every unfinished run of a registered workflow that no live process owns, and from now on takes over runs
    /// whose process dies. Runs that wait for an answer or a timer are resumed when it comes, and use no memory until
    /// then. A timer that was due while no process ran fires at once.
    ///
    /// Recorded results are not executed again. A node that was running starts again from the top, with its recorded
    /// answers, steps and children returned to it; an `at_most_once` node ends with
    /// [`Fault::Interrupted`](crate::Fault::Interrupted).
    ///
    /// # Errors
    /// If the store cannot be read or written. The error of a single run is in [`Recovery::failed`].
    pub async fn recover(&self) -> Result<Recovery, StoreError> {
        let mut recovery = Recovery::default();
        self.blocked().clear();
        self.0.recovers.store(true, Ordering::Release);
        // One that goes on and is stopped at once, by whatever, could be claimed for ever.
        let mut seen = Vec::new();
        loop {
            let mut claim = self.claim(None).await?;
            claim.except.extend(&seen);
            let claimed = self.0.store.claim(claim).await?;
            if claimed.runs.is_empty() && claimed.damaged.is_empty() {
                break;
            }
            seen.extend(claimed.runs.iter().map(|header| header.key));
            for damaged in claimed.damaged {
                self.blocked().insert(damaged.key, Halt::Store(damaged.error.clone()));
                recovery.failed.push((damaged.id, RunError::Store(damaged.error)));
            }
            let resumed = futures::stream::iter(claimed.runs).map(|header| async move {
                let id = header.id.clone();
                (id, self.resume(header).await)
            });
            let mut resumed = resumed.buffer_unordered(AT_ONCE);
            while let Some((id, result)) = resumed.next().await {
                match result {
                    Ok(live) => recovery.resumed.push(Run::of_live(self, live)),
                    Err(halt) => recovery.failed.push((id, halt.into())),
                }
            }
        }
        let stopped: Vec<String> = self.stopped().keys().cloned().collect();
        for id in stopped {
            self.let_wait(&id).await?;
        }
        self.blocked_while_waiting(&mut recovery).await?;
        let query = RunQuery {
            not_workflows: self.0.workflows.keys().cloned().collect(),
            status: vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping],
            ..RunQuery::default()
        };
        let others = self.0.store.list(query).await?;
        recovery.unregistered = others.into_iter().map(|header| (header.id, header.workflow)).collect();
        self.keep();
        Ok(recovery)
    }

    /// What this engine may take over: one run, or all but those that it is at or has tried in vain.
    pub(super) async fn claim(&self, only: Option<&RunHeader>) -> Result<Claim, StoreError> {
        let mut except = self.0.runs.keys();
        if only.is_none() {
            except.extend(self.blocked().keys());
        }
        Ok(Claim {
            owner: self.owner().await?,
            workflows: match only {
                Some(header) => vec![header.workflow.clone()],
                None => self.0.workflows.keys().cloned().collect(),
            },
            only: only.map(|header| header.key),
            except,
            own: true,
            orphans: true,
            now: self.0.env.clock.now(),
            limit: CLAIMED_AT_ONCE,
        })
    }

    /// Goes on with a run that this engine has claimed; the run as it is here, where somebody else was faster.
    pub(super) async fn resume(&self, header: RunHeader) -> Result<Arc<Live>, Halt> {
        let definition = self.0.workflows.get(&header.workflow).cloned();
        let definition = definition.ok_or_else(|| Halt::NotRegistered { workflow: header.workflow.clone() })?;
        loop {
            match self.reserve(&header.id) {
                Found::Live(live) => return Ok(live),
                Found::Reserved(over) => over.cancelled().await,
                Found::Free(reservation) => return self.go_on(reservation, &header, &definition).await,
            }
        }
    }

    /// Takes over a run that exists and that nobody alive drives. `None` where somebody does, or where it waits.
    pub(super) async fn take_up(
        &self,
        reservation: Reservation,
        header: RunHeader,
        definition: &Arc<Definition>,
    ) -> Result<Option<Arc<Live>>, Halt> {
        let claim = self.claim(Some(&header)).await.map_err(Halt::Store)?;
        let claimed = self.0.store.claim(claim).await.map_err(Halt::Store)?;
        if let Some(damaged) = claimed.damaged.into_iter().find(|damaged| damaged.key == header.key) {
            return Err(Halt::Store(damaged.error));
        }
        match claimed.runs.into_iter().find(|run| run.key == header.key) {
            Some(header) => self.go_on(reservation, &header, definition).await.map(Some),
            None => {
                self.let_wait(&header.id).await.map_err(Halt::Store)?;
                self.keep();
                Ok(None)
            }
        }
    }

    /// A run that the store had stopped here waits on: for whoever wakes it, as if it had left the memory by itself.
    async fn let_wait(&self, id: &str) -> Result<(), StoreError> {
        if !self.stopped().contains_key(id) {
            return Ok(());
        }
        let header = self.0.store.header(id).await?;
        let owner = self.owner().await?;
        match header.filter(|header| header.owner == Some(owner)) {
            // It was under way until a moment ago: who waits for it is told, and asks again.
            Some(header) if header.status == RunStatus::Running => return Ok(()),
            Some(header) if self.0.runs.get(id).is_none() => self.disown(&header).await?,
            _ => {}
        }
        self.stopped().remove(id);
        Ok(())
    }

    /// Reads a run and drives it from where it stood.
    async fn go_on(
        &self,
        reservation: Reservation,
        header: &RunHeader,
        definition: &Arc<Definition>,
    ) -> Result<Arc<Live>, Halt> {
        let gone_on = self.begin_again(reservation, header, definition).await;
        match &gone_on {
            Ok(_) => {
                self.blocked().remove(&header.key);
            }
            Err(halt) => {
                self.blocked().insert(header.key, halt.clone());
                self.give_up(header).await;
            }
        }
        gone_on
    }

    /// A run that was driven here cannot be resumed by this program: it is left to others.
    pub(super) fn block(&self, key: RunKey, id: &str, halt: &Halt) {
        self.blocked().insert(key, halt.clone());
        let (engine, id) = (self.clone(), id.to_owned());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Ok(Some(header)) = engine.0.store.header(&id).await {
                engine.give_up(&header).await;
            }
        });
    }

    /// Runs that wait, and that this program could not resume if what they wait for came.
    async fn blocked_while_waiting(&self, recovery: &mut Recovery) -> Result<(), StoreError> {
        for (name, definition) in &self.0.workflows {
            let query = RunQuery {
                workflow: Some(name.clone()),
                not_graph: Some(self.graph_of(definition).0),
                status: vec![RunStatus::Waiting, RunStatus::Sleeping],
                ..RunQuery::default()
            };
            for header in self.0.store.list(query).await? {
                if self.0.runs.get(&header.id).is_some() || self.blocked().contains_key(&header.key) {
                    continue;
                }
                let mut history = self.0.store.read(header.key, 0, usize::MAX).await?;
                if let Err(halt) = self.adapt(&header, definition, &mut history).await {
                    self.blocked().insert(header.key, halt.clone());
                    recovery.failed.push((header.id, halt.into()));
                }
            }
        }
        Ok(())
    }

    /// Whether nobody alive drives a run that this engine cannot resume, since its workflow is not registered.
    pub(super) async fn is_abandoned(&self, header: &RunHeader) -> Result<bool, StoreError> {
        if self.definition_of(&header.workflow).is_some() || header.status.is_over() {
            return Ok(false);
        }
        if header.owner.is_some() {
            // Only the store knows whether its owner lives; what it gives is given back.
            let claimed = self.0.store.claim(self.claim(Some(header)).await?).await?;
            let Some(mine) = claimed.runs.into_iter().find(|run| run.key == header.key) else { return Ok(false) };
            self.disown(&mine).await?;
        }
        self.blocked().insert(header.key, Halt::NotRegistered { workflow: header.workflow.clone() });
        Ok(true)
    }

    pub(super) async fn begin_again(
        &self,
        reservation: Reservation,
        header: &RunHeader,
        definition: &Arc<Definition>,
    ) -> Result<Arc<Live>, Halt> {
        if let Err(missing) = check_resources(&self.0.env, definition) {
            return Err(Halt::MissingResources(missing));
        }
        let history = self.0.store.read(header.key, 0, usize::MAX).await.map_err(Halt::Store)?;
        let (recorded, state) = match history.first().map(|stored| &stored.record.kind) {
            Some(EventKind::RunStarted { input, state, .. }) => (input.clone(), state.clone()),
            _ => {
                return Err(Halt::Unreadable {
                    path: header.workflow.clone(),
                    field: ".".to_owned(),
                    message: "its first record is not that of its start".to_owned(),
                });
            }
        };
        let input = (definition.door.read_input)(&recorded).map_err(|error| Halt::Unreadable {
            path: header.workflow.clone(),
            field: error.path().to_string(),
            message: error.inner().to_string(),
        })?;
        let mut header = header.clone();
        header.records = history.len() as u64;
        header.status = RunStatus::Running;
        let mut history = history;
        let before = self.adapt(&header, definition, &mut history).await?;
        let graph = self.graph_of(definition);
        let new_graph = before.map(|before| (before, graph));
        let history = super::history::effective(history);
        let start = Beginning { input, recorded: Arc::new(recorded), state, history, new_graph };
        self.launch(reservation, &header, definition, start)
    }

    /// Leaves a run that cannot go on here to others.
    pub(super) async fn give_up(&self, header: &RunHeader) {
        if let Err(error) = self.disown(header).await {
            tracing::warn!(run = header.id, %error, "a run that cannot be resumed here could not be released");
        }
    }

    async fn disown(&self, header: &RunHeader) -> Result<(), StoreError> {
        let me = self.owner().await?;
        // Others may add something meanwhile, and then it is tried again.
        while let Some(now) = self.0.store.header(&header.id).await?.filter(|now| now.owner == Some(me)) {
            let append = Append {
                run: now.key,
                at: now.records,
                time: self.0.env.clock.now(),
                records: Arc::default(),
                header: HeaderChange { owner: Some(None), ..HeaderChange::default() },
            };
            if self.0.store.append(append).await? == Appended::Done {
                break;
            }
        }
        Ok(())
    }
}
