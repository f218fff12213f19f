//! The loop that drives a run: carry out the effects that the core wants, wait for an occurrence, report it to the
//! core.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::attempt::Running;
use super::batch::Batch;
use super::ending::{Ending, failure};
use super::inputs::RetainedInput;
use super::lanes::{Begun, Ended, Lanes};
use super::run_snapshot::RunSnapshot;
use super::spawned::{Spawned, SpawnedTasks};
use super::timers::{Timer, Timers};
use crate::attempt::{Attempt, Beat};
use crate::box_value::BoxValue;
use crate::catch::caught;
use crate::core::{Report, Run, RunEnd, TaskId, TimeLimit};
use crate::event::EventKind;
use crate::fault::Fault;
use crate::halt::Halt;
use crate::question::States;
use crate::shared::{Journal, Progress, Shared, WaitingAttempts, Within};
use crate::store::Stored;
use crate::table::{Definition, Executable, Finished, Token};
use crate::trace::Work;
use crate::value::drop_refused;

pub(super) struct Driver {
    pub(super) run: Box<Run<Token>>,
    pub(super) definition: Arc<Definition>,
    pub(super) executable: Arc<Executable>,
    pub(super) shared: Arc<Shared>,
    /// Attempts that are to begin.
    pub(super) ready: Vec<UnderWay>,
    /// The only attempt under way, polled by this loop: a chain costs no task and no channel.
    pub(super) alone: Option<UnderWay>,
    /// Where attempts are polled when there are several.
    pub(super) lanes: Option<Arc<Lanes>>,
    /// Nodes that complete before the core knows of them.
    pub(super) batch: Option<Arc<Batch>>,
    /// Ended attempts that are not processed yet.
    pub(super) ended: std::vec::IntoIter<Ended>,
    pub(super) spawned: SpawnedTasks,
    /// The inputs of nodes that may be attempted again.
    pub(super) retained: HashMap<TaskId, RetainedInput>,
    pub(super) timers: Timers,
    /// Nodes whose cancellation is signalled once the reason is recorded.
    pub(super) cancelling: Vec<TaskId>,
    /// The permits of the engine, if it limits how many attempts may run at once.
    pub(super) permits: Option<Arc<Semaphore>>,
    /// Attempts that wait and hold no permit.
    pub(super) waiting: Option<Arc<WaitingAttempts>>,
    /// A finished attempt whose memory is reused for the next one.
    pub(super) spare: Option<Arc<Attempt>>,
    /// Whether some tokens may be recorded values that are not decoded yet.
    pub(super) has_recorded_values: bool,
    /// Whether a cancellation was recorded by an earlier process and is not applied yet.
    pub(super) wants_cancel: bool,
    /// The questions of the run by its records, and whether it was retried, after these were folded.
    pub(super) past_questions: Option<Box<(States, bool)>>,
    /// Why it goes no further.
    pub(super) halt: Option<Halt>,
    /// Whether the fast paths are possible: attempts are not recorded, and nothing limits them.
    pub(super) is_bare: bool,
    /// Whether the runtime has a single thread, so that tasks do not run in parallel.
    pub(super) has_one_thread: bool,
    /// Whether the run itself is driven, and not a graph inside one of its nodes.
    pub(super) is_whole: bool,
    /// State shared with the child whose graph it drives.
    pub(super) within: Option<Arc<Within>>,
    /// The generation of the pulse in which the run last came to rest.
    pub(super) still_at: Option<u64>,
    /// Whether the run was last reported as waiting.
    pub(super) says_that_it_waits: bool,
    /// Whether the run leaves the memory once the rest is recorded.
    pub(super) leaves: bool,
    /// A fault that happened outside of every node.
    pub(super) failed: Option<Fault>,
    /// When other tasks of the thread last had their turn.
    pub(super) turn_began: Instant,
    /// How many attempts may end before the time of the turn is checked.
    pub(super) until_yield: u32,
    /// How many attempts have begun since everything was recorded.
    pub(super) lag: u32,
    /// Whether timers are polled before the nodes: nodes that are always ready would delay them without end.
    pub(super) clock_first: bool,
    /// Whether it has heard of the cancellation of the run from its journal.
    pub(super) was_cancelled: bool,
    pub(super) cancel: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// What the spans around its attempts are about, if anything wants them.
    pub(super) work: Option<Arc<Work>>,
}

pub(super) struct UnderWay {
    pub(super) task: TaskId,
    pub(super) running: Running<'static, Finished>,
    pub(super) attempt: Arc<Attempt>,
    pub(super) beat: Option<Beat>,
    /// Whether it was polled, and was not done.
    pub(super) was_polled: bool,
}

pub(super) enum Occurrence {
    Ended(TaskId, Arc<Attempt>, Finished),
    Stopped(TaskId),
    /// The batch is to be taken back.
    Batch,
    /// The tokio runtime drops the nodes, and will drop the driver.
    ShutDown,
    Timer(Timer),
    Cancel,
    /// Something may have changed: the driver runs its loop once.
    Said,
    /// Every remaining attempt of an item waits, and an item behind it has failed.
    WaitingItem(TaskId, usize),
    /// Nothing moves, in this generation of the pulse.
    Still(u64),
    Broken(Fault),
}

/// How many occurrences may go into one commit.
const OCCURRENCES_IN_A_COMMIT: u32 = 64;

/// How many attempts may begin before their records are appended, if the store is lost with the process.
pub(super) const ATTEMPTS_IN_A_COMMIT: u32 = 64;

/// How many attempts may end one after another before the timers and the time of the turn are checked.
pub(super) const ATTEMPTS_BETWEEN_YIELDS: u32 = 64;

/// How long other tasks of the thread may wait for their turn: yielding takes some microseconds. Zero in the simulator,
/// whose results must not depend on how long something takes.
const TURN: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_micros(100) };

impl Driver {
    /// Begins the run, or folds its records.
    pub(super) fn begin_run(
        &mut self,
        input: BoxValue,
        limit: Option<TimeLimit>,
        (snapshot, history): (Option<Arc<RunSnapshot>>, Vec<Stored>),
    ) -> Result<(), Halt> {
        // What was due while no process had the run comes before what its nodes make of an answer that came after that.
        self.clock_first = snapshot.is_some() || !history.is_empty();
        if let Some(snapshot) = snapshot {
            let resumed = caught(|| {
                // The state has what START has emitted.
                drop(input);
                let values = self.replay_behind(&snapshot, history)?;
                self.begin_replayed(values)
            });
            return resumed.unwrap_or_else(|fault| Err(Halt::broken(&self.definition.name, &fault)));
        }
        let started = match caught(|| (self.definition.start)(input)) {
            Ok(started) => started,
            Err(fault) => {
                self.failed = Some(fault);
                return Ok(());
            }
        };
        if history.is_empty() {
            self.begin_span();
            self.report(Report::Begin { emitted: started, limit }, None);
            self.watch_the_time();
            return Ok(());
        }
        let resumed = caught(|| {
            let values = self.replay(started, limit, history)?;
            self.begin_replayed(values)
        });
        resumed.unwrap_or_else(|fault| Err(Halt::broken(&self.definition.name, &fault)))
    }

    /// Sets the timer that ends the run when its time is up.
    pub(super) fn watch_the_time(&mut self) {
        self.timers.want(Timer::Run, self.run.limit(), &self.shared.env.clock);
    }

    /// Carries out all that is to be carried out by now. Returns how the run has ended, if it has.
    ///
    /// The core holds values of the user, whose destructors may panic wherever one is dropped: then the run fails with
    /// that panic.
    fn step(&mut self) -> Result<Option<Ending>, Halt> {
        let stepped = match self.failed.take() {
            Some(fault) => Err(fault),
            None => caught(|| self.carry_out()),
        };
        let ending = match stepped {
            _ if self.halt.is_some() => None,
            Ok(None) => None,
            Ok(Some(end)) => Some(self.ending(end)?),
            Err(fault) => Some(Ending::Failed(failure(&self.definition, fault))),
        };
        self.halt.take().map_or(Ok(ending), Err)
    }

    /// Drives the run until it has ended, which is not recorded yet.
    ///
    /// # Errors
    /// Why this process no longer drives it.
    pub(super) async fn until_end(&mut self) -> Result<Ending, Halt> {
        self.wake_up();
        loop {
            if let Some(ending) = self.step()? {
                return Ok(ending);
            }
            let lags = self.lags();
            if !lags {
                self.let_transaction_end();
            }
            if !lags && let Some(journal) = &self.shared.journal {
                journal.flush().await?;
                self.lag = 0;
                // Read before the reason: the reason is set before the flag.
                let is_stopped = journal.is_stopped();
                if let Some(halt) = journal.halted() {
                    return Err(halt);
                }
                if self.leaves {
                    return Err(Halt::Parked);
                }
                if is_stopped {
                    let journal = Arc::clone(journal);
                    return Err(self.record_what_has_ended(&journal).await);
                }
                if self.shared.pulse.is_still_since(self.still_at) && journal.desk.waits_for_others() {
                    self.says_that_it_waits = true;
                    journal.waits();
                } else if std::mem::take(&mut self.says_that_it_waits) {
                    journal.progress.report(Progress::Running);
                }
            }
            self.signal_cancellations();
            #[cfg(test)]
            self.is_observed();
            self.begin_ready();
            let occurrence = if self.until_yield == 0 {
                self.until_yield = ATTEMPTS_BETWEEN_YIELDS;
                self.clock_first = true;
                if self.turn_began.elapsed() >= TURN {
                    tokio::task::yield_now().await;
                    self.turn_began = Instant::now();
                }
                // There may be more to carry out, so this does not wait.
                match poll_fn(|waker| Poll::Ready(self.poll_next(waker))).await {
                    Poll::Ready(occurrence) => occurrence,
                    Poll::Pending => continue,
                }
            } else if self.lag > 0 {
                match poll_fn(|waker| Poll::Ready(self.poll_next(waker))).await {
                    Poll::Ready(occurrence) => occurrence,
                    // The loop records everything that was pushed before it waits.
                    Poll::Pending => continue,
                }
            } else {
                poll_fn(|waker| self.poll_waiting(waker)).await
            };
            if self.lag > 0
                && !matches!(occurrence, Occurrence::Ended(_, _, Finished::Emitted { .. }))
                && let Some(journal) = &self.shared.journal
            {
                journal.flush().await?;
            }
            let taken = caught(|| self.take(occurrence)).and_then(|taken| taken);
            if let Err(fault) = taken {
                self.failed = Some(fault);
                continue;
            }
            self.take_more().await;
            self.until_yield = self.until_yield.saturating_sub(1);
        }
    }

    /// Whether the next attempt begins before the pushed records are appended: only if it is the only one, and its node
    /// may run again.
    fn lags(&mut self) -> bool {
        let (true, None, [next]) = (self.may_lag(), &self.alone, &self.ready[..]) else { return false };
        let lags = !next.attempt.once_only && self.until_yield > 0 && self.lag < ATTEMPTS_IN_A_COMMIT;
        self.lag += u32::from(lags);
        lags
    }

    /// Whether a lone attempt may begin before the pushed records are appended.
    pub(super) fn may_lag(&self) -> bool {
        self.has_one_attempt() && self.shared.journal.as_ref().is_some_and(|journal| journal.may_lag())
    }

    /// Whether the step from a lone attempt to the next one may be recorded as one.
    pub(super) fn may_record_steps(&self) -> bool {
        self.has_one_attempt() && self.shared.journal.as_ref().is_some_and(|journal| journal.takes_steps())
    }

    fn has_one_attempt(&self) -> bool {
        self.is_whole && self.still_at.is_none() && !self.leaves && self.spawned.is_empty()
    }

    /// Records the outputs that nodes have returned before the run stops, and begins nothing that comes behind them.
    async fn record_what_has_ended(&mut self, journal: &Arc<Journal>) -> Halt {
        while let Poll::Ready(ended) = poll_fn(|waker| Poll::Ready(self.poll_ended(waker))).await {
            if caught(|| self.take(ended)).and_then(|taken| taken).is_err() {
                break;
            }
        }
        let flushed = journal.flush().await;
        self.halt.take().or(flushed.err()).unwrap_or(Halt::ShutDown)
    }

    /// Takes occurrences that are already there, so that they go into the same commit.
    async fn take_more(&mut self) {
        for _ in 0..OCCURRENCES_IN_A_COMMIT {
            if self.spawned.is_empty() || self.failed.is_some() {
                return;
            }
            let next = poll_fn(|waker| Poll::Ready(self.poll_ended(waker))).await;
            let Poll::Ready(occurrence) = next else { return };
            if let Err(fault) = caught(|| self.take(occurrence)).and_then(|taken| taken) {
                self.failed = Some(fault);
            }
        }
    }

    /// Records how the run has ended, unless that is for another driver or it has not ended for all.
    pub(super) async fn record_ending(&mut self, ending: &mut Ending) {
        let Some(journal) = self.shared.journal.clone().filter(|_| self.is_whole) else { return };
        if matches!(ending, Ending::Halted(_)) {
            return;
        }
        if self.shared.may_wait_for_started() {
            self.release_span();
            // Boxed: it is larger than the others, and rare.
            if let Err(halt) = Box::pin(self.shared.close_started()).await {
                *ending = Ending::Halted(halt);
                return;
            }
        }
        if self.push_ending(&journal, ending)
            && let Err(halt) = journal.flush().await
        {
            *ending = Ending::Halted(halt);
        }
    }

    /// Pushes the record of an ending, if there is one. An output that cannot be recorded is a failure.
    fn push_ending(&self, journal: &Journal, ending: &mut Ending) -> bool {
        let kind = match ending {
            Ending::Completed(output) => {
                let max_size = self.shared.env.max_value_size;
                let written = caught(|| (self.definition.door.write_output)(output, max_size));
                let written = written.map_err(|fault| fault.to_string());
                let written = written.and_then(|written| written.map_err(|error| error.to_string()));
                match written {
                    Ok(output) => EventKind::RunCompleted { output },
                    Err(problem) => {
                        let failure = failure(&self.definition, Fault::unrecordable("output", problem));
                        if let Ending::Completed(output) = std::mem::replace(ending, Ending::Failed(failure.clone())) {
                            drop_refused(output);
                        }
                        EventKind::RunFailed { failure }
                    }
                }
            }
            Ending::Failed(failure) => EventKind::RunFailed { failure: failure.clone() },
            Ending::Cancelled => EventKind::RunCancelled,
            Ending::Halted(_) | Ending::StartsOver(_) | Ending::StartedOver(_) => return false,
        };
        journal.push(self.definition.name.clone(), kind);
        true
    }

    fn take(&mut self, occurrence: Occurrence) -> Result<(), Fault> {
        // Before the occurrence is reported: until here the core does not know which nodes of the batch are done.
        self.take_batch_back();
        self.continue_span();
        match occurrence {
            Occurrence::Ended(task, attempt, finished) => self.ended(task, attempt, finished),
            Occurrence::Stopped(task) => self.report(Report::Stopped { task }, None),
            Occurrence::ShutDown => self.halt = Some(Halt::ShutDown),
            Occurrence::Timer(Timer::Run) => self.report(Report::TimeIsUp, None),
            Occurrence::Timer(Timer::Delay(task) | Timer::Limit(task)) => {
                self.report(Report::TimerFired { task }, None)
            }
            Occurrence::Timer(Timer::Grace(task)) => self.drop_attempt(task),
            Occurrence::Cancel => {
                if !self.run.is_ending() || self.run.is_starting_over() {
                    self.report(Report::Cancel, None);
                }
            }
            Occurrence::Said | Occurrence::Batch => {}
            Occurrence::WaitingItem(task, item) => self.report(Report::WaitingItem { task, item }, None),
            Occurrence::Still(generation) => self.come_to_rest(generation),
            Occurrence::Broken(fault) => return Err(fault),
        }
        Ok(())
    }

    fn ending(&self, end: RunEnd<Token>) -> Result<Ending, Halt> {
        if let Some(within) = self.within.as_ref().filter(|_| self.run.has_cut()) {
            within.set_cut();
        }
        Ok(match end {
            RunEnd::Completed(arrived) => {
                let arrived = self.read(arrived)?;
                if let Some(within) = &self.within {
                    within.has_written(self.run.writes());
                }
                match caught(|| (self.definition.end)(arrived)) {
                    Ok(output) => Ending::Completed(output),
                    Err(fault) => Ending::Failed(failure(&self.definition, fault)),
                }
            }
            RunEnd::Failed(failure) => Ending::Failed(failure),
            RunEnd::Cancelled => Ending::Cancelled,
            RunEnd::StartsOver(next) => Ending::StartsOver(next),
        })
    }

    /// A single attempt is polled here. As soon as there are two, each has a task, and they run in parallel if the
    /// runtime has several threads.
    fn begin_ready(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        if self.ready.len() == 1 && self.alone.is_none() && self.spawned.is_empty() {
            self.alone = self.ready.pop();
            return;
        }
        self.spawn_ready();
    }

    pub(super) fn lanes(&mut self) -> &Arc<Lanes> {
        self.lanes.get_or_insert_with(|| Arc::new(Lanes::new(&self.shared, self.has_one_thread)))
    }

    /// A transaction of the only node under way keeps the flush waiting that comes now: the node ends it, so it gets a task of its
    /// own, which is polled meanwhile.
    fn let_transaction_end(&mut self) {
        let has_requests = self.alone.as_ref().is_some_and(|alone| alone.attempt.requests.get().is_some());
        if has_requests && self.shared.journal.as_ref().is_some_and(|journal| journal.is_held()) {
            self.spawn_alone();
        }
    }

    fn spawn_alone(&mut self) {
        if let Some(alone) = self.alone.take() {
            let lanes = Arc::clone(self.lanes());
            lanes.begin_alone(leave(&mut self.spawned, alone));
        }
    }

    pub(super) fn spawn_ready(&mut self) {
        self.spawn_alone();
        let lanes = Arc::clone(self.lanes());
        let spawned = &mut self.spawned;
        let is_one = self.ready.len() == 1;
        for ready in self.ready.extract_if(.., |ready| is_one || ready.was_polled) {
            lanes.begin_alone(leave(spawned, ready));
        }
        if !self.ready.is_empty() {
            lanes.begin(self.ready.drain(..).map(|ready| leave(spawned, ready)));
        }
    }
}

/// An attempt leaves the driver, for a task of its own.
fn leave(spawned: &mut SpawnedTasks, under_way: UnderWay) -> Begun {
    let UnderWay { task, running, attempt, beat, .. } = under_way;
    spawned.insert(Spawned { task, attempt: Arc::clone(&attempt), beat, is_dropped: false });
    Begun { task, running, attempt }
}

/// An attempt with a task of its own is dropped later, and may be in the middle of a poll. It records nothing more.
impl Drop for Driver {
    fn drop(&mut self) {
        if self.lag > 0
            && let Some(journal) = &self.shared.journal
        {
            journal.catch_up_now();
        }
        self.drop_span();
        self.alone.iter().chain(&self.ready).for_each(|under_way| under_way.attempt.end_noticed());
        for attempt in self.spawned.attempts() {
            attempt.end_noticed();
            attempt.requests().silence();
            attempt.own_task.abort();
        }
        if let Some(lanes) = &self.lanes {
            lanes.close();
        }
    }
}
