//! Driving a run in this process.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;

use super::inner::{Engine, Halted};
use super::runs::{End, Live, Reservation};
use super::runtime;
use crate::box_value::BoxValue;
use crate::core::TimeLimit;
use crate::driver::{Ending, Job, Part, Prepared, RunSnapshot};
use crate::event::EventKind;
use crate::fingerprint::FormerNames;
use crate::halt::Halt;
use crate::meter;
use crate::shared::{Journal, Progress, ProgressReport, Shared};
use crate::store::{Owner, RunHeader, Stored};
use crate::table::Definition;
use crate::trace::GuardedSpan;

impl Engine {
    /// Prepares a run to be driven here. Nothing of it runs, and nothing is recorded.
    ///
    /// # Errors
    /// Why this program cannot resume it.
    pub(super) fn make_ready(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        start: Beginning,
        owner: Owner,
    ) -> Result<ReadyRun, Halt> {
        let (store, clock, feeds) = (&self.0.store, &self.0.env.clock, &self.0.env.feeds);
        let journal = Journal::new(header, owner, Arc::clone(store), clock.clone(), Arc::clone(feeds));
        let journal = Arc::new(match &start.former {
            None => self.with_snapshots(journal, start.snapshot.as_deref()),
            // A snapshot does not have them.
            Some(_) => journal,
        });
        let is_new = start.history.is_empty() && start.snapshot.is_none();
        let shared = Shared::recorded(Arc::clone(&self.0.env), Arc::clone(&journal));
        let was_renamed = start.former.is_some();
        let shared = shared.with_former_names(start.former);
        let shared = Arc::new(shared.traced(&header.workflow, &header.tags, start.span));
        if !self.has_registered(definition) {
            // It could not be resumed here, so it stays in memory while it waits.
            shared.pulse.once_only(true);
        }
        if start.has_started_runs {
            shared.has_started_runs();
        }
        if let Some((before, graph)) = start.new_graph {
            journal.push(header.workflow.clone(), EventKind::GraphChanged { from: before, to: graph.0 });
            journal.change_graph(graph);
        }
        let job = Job {
            definition: Arc::clone(definition),
            shared,
            cancel: None,
            state: start.state,
            part: Part::Whole,
            limit: start.limit,
            history: start.history,
            snapshot: start.snapshot,
        };
        let drive = if is_new {
            Drive::New(Box::new(job), start.input)
        } else {
            let mut prepared = job.prepare(start.input)?;
            if let Some((questions, was_retried)) = prepared.take_questions() {
                // The end of the run has closed them, and a retry or a fork opens them again.
                // Where nodes were renamed, the store has others.
                journal.index_questions(questions, !was_retried && !was_renamed);
            }
            Drive::Resumed(prepared)
        };
        Ok(ReadyRun { definition: Arc::clone(definition), journal, input: start.recorded, drive })
    }

    /// Drives a run from here on, in a task of its own.
    pub(super) fn launch(&self, reservation: Reservation, ready: ReadyRun) -> Result<Arc<Live>, Halt> {
        let runtime = runtime::current()?;
        let (live, driven) = self.admit(reservation, ready)?;
        runtime.spawn(driven.run());
        Ok(live)
    }

    /// Enters a run into the table of those that are driven here.
    pub(super) fn admit(&self, mut reservation: Reservation, ready: ReadyRun) -> Result<(Arc<Live>, Driven), Halt> {
        let ReadyRun { definition, journal, input, drive } = ready;
        let live =
            Arc::new(Live { journal: Arc::clone(&journal), input, end: Mutex::new(None), in_caller: Mutex::new(None) });
        self.0.runs.add(&mut reservation, &live)?;
        self.halted().remove(&journal.key);
        drop(reservation);
        let mut started = self.0.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.get_or_insert_with(journal.workflow.clone(), || Arc::clone(&definition));
        drop(started);
        if self.0.store.is_shared() || self.0.retention.deletes_something() {
            self.keep();
        }
        // If the runtime is shut down, this is dropped at any point of the task.
        let guard = Dropped { journal: Some(journal), engine: self.not_held() };
        Ok((Arc::clone(&live), Driven { live, definition, drive, guard }))
    }
}

/// While a run is being recorded or claimed for this engine, until it is driven. If the caller drops its future in
/// between, the store may or may not have carried that out: then the engine looks which of its runs it does not drive,
/// and resumes them.
pub(super) struct Undriven<'e> {
    engine: &'e Engine,
    is_driven: bool,
}

impl<'e> Undriven<'e> {
    pub(super) fn by(engine: &'e Engine) -> Self {
        Undriven { engine, is_driven: false }
    }

    /// The store has returned its result, by which the caller drives the run or drops it.
    pub(super) fn done(mut self) {
        self.is_driven = true;
    }
}

impl Drop for Undriven<'_> {
    fn drop(&mut self) {
        if !self.is_driven {
            self.engine.0.lost_claim.store(true, Ordering::Release);
            self.engine.keep();
        }
    }
}

/// A run that is ready to be driven. Dropping it leaves no trace.
pub(super) struct ReadyRun {
    definition: Arc<Definition>,
    journal: Arc<Journal>,
    input: Arc<Json>,
    drive: Drive,
}

impl ReadyRun {
    pub(super) fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Drops it, with the values of the user that it has read.
    pub(super) fn discard(self) {
        if let Drive::Resumed(prepared) = self.drive {
            prepared.discard();
        }
    }
}

enum Drive {
    New(Box<Job>, BoxValue),
    Resumed(Prepared),
}

impl Drive {
    fn begin(self) -> Prepared {
        match self {
            Drive::New(job, input) => job.begin(input),
            Drive::Resumed(prepared) => prepared,
        }
    }
}

/// A run in the table, with its driver.
pub(super) struct Driven {
    live: Arc<Live>,
    definition: Arc<Definition>,
    drive: Drive,
    guard: Dropped,
}

impl Driven {
    pub(super) async fn run(self) {
        let Driven { live, definition, drive, guard } = self;
        let ending = match drive.begin().run().await {
            // Boxed: it is larger than the others, and rare.
            Ending::StartsOver(next) => Box::pin(guard.engine.begin_next(&live.journal, &definition, *next)).await,
            ending => ending,
        };
        guard.over(&live, ending);
    }
}

/// The state with which a run begins or resumes.
pub(crate) struct Beginning {
    pub(crate) input: BoxValue,
    pub(crate) recorded: Arc<Json>,
    pub(crate) state: serde_json::Map<String, Json>,
    /// How long it may take.
    pub(crate) limit: Option<TimeLimit>,
    pub(crate) history: Vec<Stored>,
    /// What the records before those come to.
    pub(crate) snapshot: Option<Arc<RunSnapshot>>,
    /// The hash of the old graph, and the new graph, if its records were made under another one.
    pub(crate) new_graph: Option<(u64, Arc<(u64, Json)>)>,
    /// Whether its nodes have started other runs before, or were about to.
    pub(crate) has_started_runs: bool,
    /// The names that its nodes were recorded under, if those are others now.
    pub(crate) former: Option<Arc<FormerNames>>,
    /// The span in which it was started, if that was here and now.
    pub(crate) span: Option<GuardedSpan>,
}

struct Dropped {
    journal: Option<Arc<Journal>>,
    engine: Engine,
}

impl Dropped {
    fn over(mut self, live: &Live, ending: Ending) {
        let Some(journal) = self.journal.take() else { return };
        let (end, outcome) = match ending {
            Ending::Completed(output) => (End::Completed(Some(output)), "completed"),
            Ending::Failed(failure) => (End::Failed(failure), "failed"),
            Ending::Cancelled => (End::Cancelled, "cancelled"),
            Ending::StartedOver(next) => (End::StartedOver(next), "started_over"),
            // It was not begun, so this one continues.
            Ending::StartsOver(_) => return self.engine.halt(&journal, Halt::ShutDown),
            Ending::Halted(halt) => return self.engine.halt(&journal, halt),
        };
        meter::run_ended(&journal.workflow, outcome);
        *live.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
        self.engine.0.remove_run(&journal.run_id);
        journal.progress.report(Progress::Over);
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            self.engine.halt(&journal, Halt::ShutDown);
        }
    }
}

impl Engine {
    /// A run is no longer driven here, and has not ended.
    fn halt(&self, journal: &Journal, halt: Halt) {
        // If its journal has stopped already, the reason of that comes first.
        let halt = journal.halted().unwrap_or(halt);
        match &halt {
            Halt::Parked | Halt::Fenced => {}
            halt => _ = self.halted().insert(journal.key, Halted { halt: halt.clone(), is_owned: true }),
        }
        let (is_parked, is_of_program) = (matches!(halt, Halt::Parked), halt.is_of_program());
        let is_of_outage = halt.is_of_outage();
        self.0.remove_run(&journal.run_id);
        journal.gone(halt);
        if is_of_program {
            self.release_later(&journal.run_id);
        }
        if is_of_outage {
            self.keep();
        }
        if is_parked {
            // An answer may have come since it was recorded that the run waits: then the run is not suspended any more.
            if !journal.is_at_rest() {
                self.0.lost_claim.store(true, Ordering::Release);
            }
            self.keep();
        }
    }

    /// Waits until a run that is being stopped here is gone from the table.
    pub(super) async fn until_gone(live: &Live) {
        // It may be driven by a caller that waits for this.
        live.hand_over();
        let is_gone = |now: ProgressReport| matches!(now.progress(), Progress::Over | Progress::Halted);
        live.journal.progress.until(is_gone).await;
    }
}
