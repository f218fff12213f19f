//! Resuming runs: after a restart, after the death of another process, when an answer or a timer has come.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use futures_util::{FutureExt, StreamExt};
use serde_json::Value as Json;

use super::inner::{Engine, Halted};
use super::live::Undriven;
use super::run::Run;
use super::runs::{Found, Live, Reservation};
use super::runtime::{self, Unfit};
use super::set_back::by_the_clock_of;
use super::versions::{Version, Versions};
use crate::compile::check_resources;
use crate::event::{Begins, EventKind};
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::sorted::SortedSet;
use crate::store::{
    Append, Appended, Claim, Claimed, HeaderChange, Owner, Records, RunHeader, RunKey, RunQuery, RunStatus, StoreError,
    Stored,
};
use crate::table::Definition;

/// How many runs are read at once.
const AT_ONCE: usize = 32;

/// Of how many suspended runs of a workflow the records are read by [`Engine::recover`], if their graph has not
/// changed.
const CHECKED: usize = 32;

/// How many runs are claimed at once.
const CLAIMED_AT_ONCE: usize = 1024;

/// The result of [`Engine::recover`].
///
/// What a program logs when it has started:
///
/// ```
/// use graphweft::prelude::*;
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("runs.db");
/// # graphweft::block_on(async {
/// # let before = Engine::builder().store(SqliteStore::open(&path).await?).register::<publish>().build()?;
/// # before.start::<publish>(()).id("poem").await?.outcome().await?;
/// # before.shutdown().await;
/// let engine = Engine::builder().store(SqliteStore::open(&path).await?).register::<publish>().build()?;
/// let recovery = engine.recover().await?;
/// println!("{} runs continue", recovery.resumed.len());
/// for (run, why) in &recovery.failed {
///     eprintln!("{run} stays where it is: {why}");
/// }
/// // One that waits for an answer is resumed when that comes.
/// assert!(recovery.resumed.is_empty() && recovery.failed.is_empty());
/// engine.answer("poem", "approve", true).await?;
/// assert_eq!(engine.get_run("poem").await?.ok_or("it is stored")?.result().await?, true);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
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
    /// whose process dies. Those that a process releases, as by [`shutdown`](Self::shutdown), are taken over by every engine that has
    /// started or claimed a run. Runs that wait for an answer or a timer are resumed when it comes, and use no memory until
    /// then. Those that this program could not resume are reported now: all with a changed graph or without a resource,
    /// and those with an unreadable record among the newest 32 of each workflow. For the others the calls that concern
    /// them report it. A timer that was due while no process ran fires at once.
    ///
    /// Recorded results are not executed again. A node that was running starts again from the top, with its recorded
    /// answers, steps and children returned to it; an `at_most_once` node ends with
    /// [`Fault::Interrupted`](crate::Fault::Interrupted).
    ///
    /// # Errors
    /// If the store cannot be read or written. The error of a single run is in [`Recovery::failed`]: for all of them
    /// [`RunError::NoTimers`] in a tokio runtime without timers, and [`RunError::NoRuntime`] outside of a tokio
    /// runtime.
    ///
    /// # Cancel safety
    /// If the future is dropped, the runs that it has claimed by then are resumed all the same.
    pub async fn recover(&self) -> Result<Recovery, StoreError> {
        if let Err(unfit) = runtime::current() {
            return self.refuse_all(unfit).await;
        }
        let mut report = Report::default();
        // A claim is a record, so what is refused for its graph, or for a resource, is not claimed. Until then the keeper leaves alone what
        // was refused before.
        self.check_unfit(Checked::Due, &mut report).await?;
        self.check_released(&mut report).await?;
        self.halted().retain(|key, _| report.reported.contains(key));
        self.0.recovers.store(true, Ordering::Release);
        let undriven = Undriven::by(self);
        // Without this, a run that is resumed and stops at once could be claimed for ever.
        let mut seen = Vec::new();
        loop {
            let mut claim = self.claim(None).await?;
            claim.except.extend(&seen);
            let claimed = self.claim_runs(claim).await?;
            if claimed.runs.is_empty() && claimed.damaged.is_empty() {
                break;
            }
            seen.extend(claimed.runs.iter().map(|header| header.key));
            for damaged in claimed.damaged {
                self.halted().insert(damaged.key, Halt::Store(damaged.error.clone()).into());
                report.failed(damaged.key, damaged.id, RunError::Store(damaged.error));
            }
            let resumed = futures_util::stream::iter(claimed.runs).map(|header| async move {
                let (key, id) = (header.key, header.id.clone());
                (key, id, self.resume(header).await)
            });
            let mut resumed = resumed.buffer_unordered(AT_ONCE);
            while let Some((key, id, result)) = resumed.next().await {
                match result {
                    Ok(live) => report.recovery.resumed.push(Run::of_live(self, live)),
                    // It has ended, or another engine has it.
                    Err(Halt::Fenced) => {}
                    Err(halt) => report.failed(key, id, halt.into()),
                }
            }
        }
        undriven.done();
        self.check_unfit(Checked::All, &mut report).await?;
        self.check_newest(&mut report).await?;
        let mut recovery = report.recovery;
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

    /// The result of [`recover`](Self::recover) if no run can be driven. Changes nothing.
    async fn refuse_all(&self, unfit: Unfit) -> Result<Recovery, StoreError> {
        let unfinished = vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping];
        let mut recovery = Recovery::default();
        for header in self.0.store.list(RunQuery { status: unfinished, ..RunQuery::default() }).await? {
            if !self.0.workflows.contains_key(&header.workflow) {
                recovery.unregistered.push((header.id, header.workflow));
            } else if !self.is_live_or_elsewhere(&header).await? {
                recovery.failed.push((header.id, unfit.into()));
            }
        }
        Ok(recovery)
    }

    /// The runs that this engine may take over: one run, or all except those that it executes or has had to stop.
    pub(super) async fn claim(&self, only: Option<&RunHeader>) -> Result<Claim, StoreError> {
        let mut except = self.0.runs.keys();
        if only.is_none() {
            except.extend(self.halted().keys());
        }
        let workflows = match only {
            Some(header) => vec![header.workflow.clone()],
            None => self.0.workflows.keys().cloned().collect(),
        };
        let claim = Claim::new(self.owner().await?, workflows, self.0.env.clock.now());
        Ok(Claim { only: only.map(|header| header.key), except, own: true, limit: CLAIMED_AT_ONCE, ..claim })
    }

    /// Claims runs. Whatever is claimed, the store reports all runs of this engine that other engines have added records
    /// to, and reports that once: those runs read them.
    pub(super) async fn claim_runs(&self, claim: Claim) -> Result<Claimed, StoreError> {
        let mut claimed = self.0.claim(claim).await?;
        let mut of_here = Vec::new();
        for key in claimed.nudged {
            let is_of_here = match self.0.runs.by_key(key) {
                Some(live) => {
                    live.journal.catch_up().await;
                    true
                }
                None => self.try_again(key),
            };
            of_here.extend(is_of_here.then_some(key));
        }
        // What was left out of the claim, and is not this engine's, is reported each time.
        claimed.nudged = of_here;
        Ok(claimed)
    }

    /// Another engine has added a request to a run that an error of the store has stopped here. That engine was able to write, so this one
    /// may be by now: with the next look the run is resumed, since no other engine can do that as long as this one lives.
    /// Returns whether there is such a run.
    fn try_again(&self, run: RunKey) -> bool {
        let mut halted = self.halted();
        let is_stopped = matches!(halted.get(&run), Some(Halted { halt: Halt::Store(_), is_owned: true }));
        if is_stopped {
            halted.remove(&run);
            self.0.lost_claim.store(true, Ordering::Release);
        }
        is_stopped
    }

    /// Resumes a run that this engine has claimed. If another task has resumed it here already, returns that run.
    pub(super) async fn resume(&self, header: RunHeader) -> Result<Arc<Live>, Halt> {
        let versions = self.0.workflows.get(&header.workflow);
        let versions = versions.ok_or_else(|| Halt::NotRegistered { workflow: header.workflow.clone() })?;
        loop {
            match self.0.runs.reserve(&header.id) {
                Found::Live(live) => {
                    // It may have been taken over by another engine before this one claimed it.
                    live.journal.catch_up_with_store().await;
                    if live.journal.halted().is_none() {
                        return Ok(live);
                    }
                    Engine::until_gone(&live).await;
                }
                Found::Reserved(over) => over.cancelled().await,
                Found::Free(reservation) => return self.go_on(reservation, &header, versions).await,
            }
        }
    }

    /// Resumes a run that is due at once, and no other. `None` if it has ended, or a living engine has it.
    #[cfg(feature = "test-util")]
    pub(crate) async fn resume_only(&self, header: &RunHeader) -> Result<Option<Run<Json>>, RunError> {
        let claim = self.claim(Some(header)).await?;
        let claimed = self.claim_runs(claim).await?;
        match claimed.runs.into_iter().find(|run| run.key == header.key) {
            Some(header) => Ok(Some(Run::of_live(self, self.resume(header).await?))),
            None => Ok(None),
        }
    }

    /// Takes over a run that exists and that no living engine drives. `None` if one does, or if the run waits.
    pub(super) async fn take_up(
        &self,
        reservation: Reservation,
        header: RunHeader,
        definition: &Arc<Definition>,
    ) -> Result<Option<Arc<Live>>, Halt> {
        let unregistered;
        let versions = match self.0.workflows.get(&header.workflow).filter(|versions| versions.has(definition)) {
            Some(versions) => versions,
            None => {
                unregistered = Versions::only(Version::unregistered(definition));
                &unregistered
            }
        };
        if self.is_elsewhere(&header).await.map_err(Halt::Store)? {
            return Ok(None);
        }
        // Before the run is claimed: a refused call changes nothing.
        if let Some(halt) = self.obstacle_under(&header, Some(versions)).await.map_err(Halt::Store)? {
            return Err(halt);
        }
        let claim = self.claim(Some(&header)).await.map_err(Halt::Store)?;
        let undriven = Undriven::by(self);
        let taken_up = self.take_up_claimed(reservation, &header, claim, versions).await?;
        undriven.done();
        Ok(taken_up)
    }

    async fn take_up_claimed(
        &self,
        reservation: Reservation,
        header: &RunHeader,
        claim: Claim,
        versions: &Versions,
    ) -> Result<Option<Arc<Live>>, Halt> {
        let claimed = self.claim_runs(claim).await.map_err(Halt::Store)?;
        if let Some(damaged) = claimed.damaged.into_iter().find(|damaged| damaged.key == header.key) {
            return Err(Halt::Store(damaged.error));
        }
        match claimed.runs.into_iter().find(|run| run.key == header.key) {
            Some(header) => match self.go_on(reservation, &header, versions).await {
                Err(Halt::Fenced) => Ok(None),
                gone_on => gone_on.map(Some),
            },
            None => {
                // It waits. A run that an error of the store had stopped here is resumed like any other when it is due.
                self.halted().remove(&header.key);
                self.keep();
                Ok(None)
            }
        }
    }

    /// Reads a run that this engine has claimed, and resumes it from its last record.
    async fn go_on(
        &self,
        reservation: Reservation,
        header: &RunHeader,
        versions: &Versions,
    ) -> Result<Arc<Live>, Halt> {
        let gone_on = self.begin_again(reservation, header, versions).await;
        if let Err(halt) = &gone_on
            && *halt != Halt::Fenced
        {
            self.stop_and_release(header, halt.clone()).await;
        }
        gone_on
    }

    async fn begin_again(
        &self,
        reservation: Reservation,
        header: &RunHeader,
        versions: &Versions,
    ) -> Result<Arc<Live>, Halt> {
        let definition = &self.version_of(header, versions).await?.definition;
        let owner = self.owner().await.map_err(Halt::Store)?;
        if let Some(thawed) = self.thawed(header, definition).await {
            if thawed.is_over || thawed.owner.is_some_and(|by| by != owner.0) {
                return Err(Halt::Fenced);
            }
            let header = RunHeader { records: thawed.records, status: RunStatus::Running, ..header.clone() };
            let begin = thawed.past.begin(definition);
            // Whatever is wrong with the snapshot, the records say it exactly.
            if let Ok(ready) = begin.and_then(|begin| self.make_ready(&header, definition, begin, owner)) {
                return self.launch(reservation, ready);
            }
        }
        let mut history = self.0.store.read(header.key, 0, usize::MAX).await.map_err(Halt::Store)?;
        let is_over = history.last().is_some_and(|last| last.record.kind.is_terminal());
        let taken_over = history.iter().rev().find_map(|stored| match stored.record.kind {
            EventKind::RunResumed { owner } => Some(owner),
            _ => None,
        });
        if is_over || taken_over.is_some_and(|by| by != owner.0) {
            // It has ended since it was claimed, or another engine has claimed it: the record of that claim would be
            // read as a part of the history, and would not fence this engine.
            return Err(Halt::Fenced);
        }
        let header = RunHeader { records: history.len() as u64, status: RunStatus::Running, ..header.clone() };
        if let Some(begins) = begins_later(self.0.env.clock.now(), &history) {
            self.put_to_sleep(&header, begins).await.map_err(Halt::Store)?;
            // It is not driven here, as if another engine had it.
            return Err(Halt::Fenced);
        }
        let retried = self.add_requested_retry(&header, definition, &mut history).await?;
        let again = RunHeader { records: history.len() as u64, ..header.clone() };
        let past = self.past(&again, definition, history).await?;
        let ready = self.make_ready(&again, definition, past.begin(definition)?, owner)?;
        if let Some(retried) = retried
            && let Err(halt) = self.record_requested_retry(&header, retried).await
        {
            ready.discard();
            return Err(halt);
        }
        self.launch(reservation, ready)
    }

    /// A run that has not begun and was claimed too early: the clock was set back. If another engine adds a record
    /// meanwhile, it is claimed again.
    async fn put_to_sleep(&self, header: &RunHeader, until: SystemTime) -> Result<(), StoreError> {
        let append = Append {
            run: header.key,
            at: header.records,
            time: self.0.env.clock.now(),
            records: Records::default(),
            header: HeaderChange {
                status: Some((RunStatus::Sleeping, Some(until))),
                owner: Some(None),
                ..HeaderChange::default()
            },
        };
        if self.0.append(append).await? == Appended::Conflict {
            self.0.lost_claim.store(true, Ordering::Release);
        }
        self.keep();
        Ok(())
    }

    /// Reports unfinished runs that no living engine has and that this program cannot resume, with a changed graph or without a resource.
    async fn check_unfit(&self, which: Checked, report: &mut Report) -> Result<(), StoreError> {
        for (name, versions) in self.0.workflows.iter() {
            let lacks_resources = |version: &Version| check_resources(&self.0.env, &version.definition).is_err();
            let unfit = RunQuery {
                workflows: vec![name.clone()],
                status: vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping],
                not_graphs: match versions.all().any(lacks_resources) {
                    true => Vec::new(),
                    false => versions.all().map(Version::graph).collect(),
                },
                limit: CLAIMED_AT_ONCE,
                ..RunQuery::default()
            };
            let mut before = None;
            loop {
                let mut page = self.0.store.list(RunQuery { before, ..unfit.clone() }).await?;
                let Some(last) = page.last() else { break };
                before = Some(last.key);
                let now = self.0.env.clock.now();
                page.retain(|header| which == Checked::All || is_due(header, now));
                self.check_each(page, report).await?;
            }
        }
        Ok(())
    }

    /// Reports runs that an engine has claimed and released without a record of its own, and that this program cannot resume either: they
    /// are not claimed once more each time that a program is restarted. The others are read when they are claimed.
    async fn check_released(&self, report: &mut Report) -> Result<(), StoreError> {
        let running = RunQuery {
            workflows: self.0.workflows.keys().cloned().collect(),
            status: vec![RunStatus::Running],
            limit: CLAIMED_AT_ONCE,
            ..RunQuery::default()
        };
        let mut before = None;
        loop {
            // A header that cannot be read is reported by the claim, which reads each by itself.
            let Ok(page) = self.0.store.list(RunQuery { before, ..running.clone() }).await else { return Ok(()) };
            let Some(last) = page.last() else { return Ok(()) };
            before = Some(last.key);
            let released = page.into_iter().filter(|header| header.owner.is_none() && header.records > 1);
            let last_records = futures_util::stream::iter(released).map(|header| async move {
                let last = self.0.store.read(header.key, header.records - 1, 1).await;
                (header, last)
            });
            let mut last_records = last_records.buffer_unordered(AT_ONCE);
            let mut untouched = Vec::new();
            while let Some((header, last)) = last_records.next().await {
                let is_claim = |stored: &Stored| matches!(stored.record.kind, EventKind::RunResumed { .. });
                // A record that cannot be read is reported by the claim.
                if last.is_ok_and(|last| last.iter().any(is_claim)) {
                    untouched.push(header);
                }
            }
            drop(last_records);
            self.check_each(untouched, report).await?;
        }
    }

    /// Reports suspended runs that no living engine has, and that this program could not resume when they are due. A limited number, so
    /// that starting takes the same time however many wait. The others are checked when a call concerns them.
    async fn check_newest(&self, report: &mut Report) -> Result<(), StoreError> {
        for name in self.0.workflows.keys() {
            let newest = RunQuery {
                workflows: vec![name.clone()],
                status: vec![RunStatus::Waiting, RunStatus::Sleeping],
                limit: CHECKED,
                ..RunQuery::default()
            };
            self.check_each(self.0.store.list(newest).await?, report).await?;
        }
        Ok(())
    }

    async fn check_each(&self, mut runs: Vec<RunHeader>, report: &mut Report) -> Result<(), StoreError> {
        runs.retain(|header| !report.reported.contains(&header.key));
        let mut owners: Vec<Owner> = runs.iter().filter_map(|header| header.owner).collect();
        owners.sort_unstable();
        owners.dedup();
        for owner in owners {
            // A living one is asked for once, and not for each of its runs.
            if Some(owner) != self.0.owner.get().copied() && self.0.store.is_alive(owner).await? {
                runs.retain(|header| header.owner != Some(owner));
            }
        }
        let checked = futures_util::stream::iter(runs).map(|header| async move {
            let obstacle = self.present_obstacle(&header).await;
            (header, obstacle)
        });
        let mut checked = checked.buffer_unordered(AT_ONCE);
        while let Some((header, obstacle)) = checked.next().await {
            if let Some(halt) = obstacle? {
                self.halted().insert(header.key, halt.clone().into());
                report.failed(header.key, header.id, halt.into());
            }
        }
        Ok(())
    }

    /// A run of this engine cannot continue here: another one can take it over, if it can be released.
    pub(super) async fn stop_and_release(&self, header: &RunHeader, halt: Halt) {
        self.halted().insert(header.key, Halted { halt, is_owned: true });
        let is_released = self.release(&header.id).await;
        if let Some(halted) = self.halted().get_mut(&header.key) {
            halted.is_owned = !is_released;
        }
    }

    /// Releases a run that cannot continue here, so that another engine can take it over. Returns whether that is done.
    pub(super) async fn release(&self, id: &str) -> bool {
        let released = self.disown(id).await;
        if let Err(error) = &released {
            tracing::warn!(run = id, %error, "a run that cannot be resumed here could not be released");
        }
        released.is_ok()
    }

    pub(super) fn release_later(&self, id: &str) {
        let (engine, id) = (self.not_held(), id.to_owned());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move { _ = engine.release(&id).await }.boxed());
    }

    async fn disown(&self, id: &str) -> Result<(), StoreError> {
        let me = self.owner().await?;
        // If another engine adds a record meanwhile, it is tried again.
        while let Some(now) = self.0.store.header(id).await?.filter(|now| now.owner == Some(me)) {
            let append = Append {
                run: now.key,
                at: now.records,
                time: self.0.env.clock.now(),
                records: Records::default(),
                header: HeaderChange { owner: Some(None), ..HeaderChange::default() },
            };
            if self.0.append(append).await? == Appended::Done {
                break;
            }
        }
        Ok(())
    }
}

/// Which runs are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checked {
    /// Those that could be claimed now.
    Due,
    All,
}

/// What a call of [`Engine::recover`] has found so far.
#[derive(Default)]
struct Report {
    recovery: Recovery,
    /// The runs that have failed, each of which is reported once.
    reported: SortedSet<RunKey>,
}

impl Report {
    fn failed(&mut self, key: RunKey, id: String, why: RunError) {
        self.reported.insert(key);
        self.recovery.failed.push((id, why));
    }
}

/// Whether a run that no living engine has is resumed now.
fn is_due(header: &RunHeader, now: SystemTime) -> bool {
    header.status == RunStatus::Running || header.wake_at.is_some_and(|wake| wake <= now)
}

/// When a run begins that has not begun, if that is later than now.
fn begins_later(now: SystemTime, history: &[Stored]) -> Option<SystemTime> {
    // A signal is kept until a node waits for it.
    let is_untouched =
        |stored: &Stored| matches!(stored.record.kind, EventKind::RunResumed { .. } | EventKind::SignalReceived { .. });
    let (first, others) = history.split_first()?;
    if !others.iter().all(is_untouched) || !matches!(first.record.kind, EventKind::RunStarted { begins: Some(_), .. }) {
        return None;
    }
    let mut history = history.to_vec();
    by_the_clock_of(now, &mut history);
    match history.first()?.record.kind {
        EventKind::RunStarted { begins: Some(Begins { at, .. }), .. } => Some(at).filter(|at| *at > now),
        _ => None,
    }
}
