//! Several processes that live at the same time, where one is believed to be dead and another takes its run over.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::Value;

use super::behaviour;
use super::bodies::{World, definition, root_definition};
use super::disk::Lapse;
use super::jobs::set_stage;
use super::life::{Ended, Life};
use super::load::is_recorded;
use super::process::Process;
use super::replays::Moments;
use super::scenario::How;
use crate::engine::{Engine, Events, Outcome, Run};
use crate::event::EventKind;
use crate::table::Definition;

/// A process with its engine.
#[derive(Clone)]
pub(super) struct Driving {
    pub(super) process: Process,
    pub(super) engine: Engine,
    /// What the engine has registered.
    pub(super) definition: Arc<Definition>,
    /// The number of its charge, which shows whether it is in charge.
    charge: u32,
    /// Whether it has had the run before.
    pub(super) is_back: bool,
}

/// The lives of processes, which end one after another.
type Lives<'l> = FuturesUnordered<LocalBoxFuture<'l, Result<Option<Lapse>, String>>>;

impl Life<'_> {
    /// Lets processes live until the run is over for all of them.
    pub(super) async fn live_together(&self, first: Process) -> Result<(), String> {
        let mut all = vec![self.begins(first)?];
        let mut lives = Lives::new();
        self.has_live(&mut lives, &all[0]);
        loop {
            let came = tokio::select! {
                biased;
                lapse = self.disk.lapsed() => {
                    self.disk.next_charge();
                    let takes_over = tokio::time::sleep(lapse.after).map(move |()| Ok(Some(lapse)));
                    lives.push(takes_over.boxed_local());
                    continue;
                }
                came = lives.next() => came,
            };
            match came {
                Some(came) => {
                    let Some(lapse) = came? else { continue };
                    let next = self.next_after(lapse, &all)?;
                    if !next.is_back {
                        all.push(next.clone());
                    }
                    self.has_live(&mut lives, &next);
                }
                None if self.disk.has_lapsed() => {}
                None => return Ok(()),
            }
        }
    }

    fn has_live<'l>(&'l self, lives: &mut Lives<'l>, driving: &Driving) {
        let nobody_lapses = |driven: Result<(), String>| driven.map(|()| None);
        lives.push(self.drives(driving.clone()).map(nobody_lapses).boxed_local());
        lives.push(self.forks_early(driving.clone()).map(nobody_lapses).boxed_local());
    }

    /// The process that takes over: one that lives already, or another.
    fn next_after(&self, lapse: Lapse, all: &[Driving]) -> Result<Driving, String> {
        let others = all.iter().rev().filter(|driving| lapse.back && driving.process.number != lapse.of);
        let back = others.into_iter().find(|driving| self.disk.renew(driving.process.number));
        match back {
            Some(driving) => {
                self.ledger.write(format!("process {} takes over again", driving.process.number));
                Ok(Driving { charge: self.disk.next_charge(), is_back: true, ..driving.clone() })
            }
            None => self.begins(Process::join(self.disk)),
        }
    }

    fn begins(&self, process: Process) -> Result<Driving, String> {
        let ledger = self.ledger.of(process.number);
        let moments = Moments::new(self.disk, &ledger);
        let world = World { ledger, clock: self.clock.clone() };
        set_stage(self.scenario, definition);
        let (definition, now) = (root_definition(self.scenario), self.clock.clone());
        let builder =
            Engine::builder().store(process.clone()).clock(move || now.now()).knows(&definition).snapshot_every(3);
        let builder = builder.resource(world).observer(moments.observer());
        let builder = match NonZeroUsize::new(self.scenario.max_concurrency) {
            Some(most) => builder.max_concurrency(most),
            None => builder,
        };
        let builder = if self.scenario.unloads { builder.max_resident_waiting(0) } else { builder };
        let engine = builder.build().map_err(|error| error.to_string())?;
        self.ledger.write(format!("process {} begins", process.number));
        Ok(Driving { process, engine, definition, charge: self.disk.next_charge(), is_back: false })
    }

    /// The same process with another engine, which knows no workflow.
    pub(super) fn without_workflows(&self, driving: &Driving) -> Result<Driving, String> {
        let now = self.clock.clone();
        let builder = Engine::builder().store(driving.process.clone()).clock(move || now.now());
        let engine = builder.build().map_err(|error| error.to_string())?;
        Ok(Driving { engine, ..driving.clone() })
    }

    /// Checks that the events of a run that is over are its records, each once and in order, and that the stream ends,
    /// in whatever processes the run was.
    ///
    /// # Errors
    /// The difference.
    pub(super) async fn are_the_records(&self, run: &Run<Value>, mut events: Events) -> Result<(), String> {
        let mut seen = Vec::new();
        let watched = async {
            while let Some(event) = events.next().await {
                if event.kind.is_recorded() && !event.derived {
                    seen.push((event.seq, event.path, event.kind));
                }
            }
        };
        let is_at_end = tokio::time::timeout(Duration::from_secs(5), watched).await.is_ok();
        let records: Vec<_> =
            self.disk.read(run.id()).into_iter().map(|at| (at.seq, at.record.path, at.record.kind)).collect();
        if !records.starts_with(&seen) {
            let other = seen.iter().zip(&records).find(|(seen, record)| seen != record);
            return Err(format!("the events of `{}` are not its records: {other:?}", run.id()));
        }
        // It may have been retried since.
        let end = records.iter().position(|(.., kind)| kind.is_terminal());
        let has_failed = self.scenario.faults.iter().any(|fault| !matches!(fault.how, How::TakenOver { .. }));
        if let Some(end) = end.filter(|_| !has_failed)
            && (!is_at_end || seen.len() <= end)
        {
            let (end, missing) = (if is_at_end { "their end" } else { "no more" }, records.get(seen.len()));
            return Err(format!("{} of {} events, and then {end}; the next is {missing:?}", seen.len(), records.len()));
        }
        Ok(())
    }

    pub(super) fn is_in_charge(&self, driving: &Driving) -> bool {
        self.disk.is_in_charge(driving.charge)
    }

    /// Whether people answer a question at a process: at the one in charge all of them, at others some.
    pub(super) fn is_asked(&self, driving: &Driving, question: &str) -> bool {
        let answers_here = || behaviour::is_answered_at(self.scenario, question, driving.process.number);
        self.is_in_charge(driving) || answers_here()
    }
}

/// Checks that the outcome which a process reports for a run that was taken over from it is that of the run, maybe
/// before its retry.
///
/// # Errors
/// The difference.
pub(super) fn is_what_came_of(runs: &[Ended], id: &str, outcome: &Outcome<Value>) -> Result<(), String> {
    let run = runs.iter().find(|run| run.id == id).ok_or_else(|| format!("`{id}` was followed, and is no run"))?;
    let is_so = run.records.iter().any(|at| is_end(&at.record.kind, outcome));
    if is_so { Ok(()) } else { Err(format!("a process that has lost the run says that it ended with {outcome:?}")) }
}

/// Whether a record is that of this end of the run.
pub(super) fn is_end(kind: &EventKind, outcome: &Outcome<Value>) -> bool {
    match (kind, outcome) {
        (EventKind::RunCompleted { output }, Outcome::Completed(said)) => is_recorded(said, output),
        (EventKind::RunFailed { failure }, Outcome::Failed(said)) => failure == said,
        (EventKind::RunCancelled, Outcome::Cancelled) => true,
        _ => false,
    }
}
