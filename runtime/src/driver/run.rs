//! The loop that drives a run: carry out what the core asks for, wait for something to happen, tell the core.

use std::collections::HashMap;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};

use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::attempt::Running;
use super::catch::caught;
use super::shared::Shared;
use super::timers::{Timer, Timers};
use crate::compile::Executable;
use crate::context::Attempt;
use crate::core::{Core, Ended, Event, Place, RunEnd, TaskId, Writes};
use crate::fault::{Cause, Failure, Fault};
use crate::table::{BoxValue, Definition, Finished, Token};

/// A run that is to be driven.
pub(crate) struct Job {
    pub(crate) definition: Arc<Definition>,
    pub(crate) shared: Arc<Shared>,
    /// Asks the run to end, where anyone can.
    pub(crate) cancel: Option<CancellationToken>,
    /// The state that it begins with.
    pub(crate) state: Map<String, Value>,
    /// The node that it is a part of, where it is one.
    pub(crate) around: Option<Place>,
}

/// How a run ended.
pub(crate) enum Ending {
    Completed(BoxValue),
    Failed(Failure),
    Cancelled,
}

pub(super) struct Driver {
    pub(super) core: Core<Token>,
    pub(super) definition: Arc<Definition>,
    pub(super) executable: Arc<Executable>,
    pub(super) shared: Arc<Shared>,
    /// Attempts that are to begin.
    pub(super) ready: Vec<UnderWay>,
    /// The only attempt under way, polled by this loop: a chain costs no task and no channel.
    pub(super) alone: Option<UnderWay>,
    /// Attempts with a task each, since there are several.
    pub(super) tasks: Option<JoinSet<Finished>>,
    pub(super) spawned: HashMap<TaskId, Spawned>,
    pub(super) by_id: HashMap<Id, TaskId>,
    pub(super) kept: HashMap<TaskId, Vec<BoxValue>>,
    pub(super) timers: Timers,
    /// What an attempt takes one of before it runs, where the engine limits how many may. A workflow that runs inside a
    /// node takes none: the node holds one already, and would wait for itself.
    pub(super) permits: Option<Arc<Semaphore>>,
    /// A finished attempt whose memory the next one takes.
    pub(super) spare: Option<Arc<Attempt>>,
    /// The output of the node that has just ended, for the record.
    pub(super) output: Option<Value>,
    random: u64,
    /// Whether the clock is to be looked at before the nodes: nodes that are always ready would keep it waiting.
    clock_first: bool,
    cancel: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

pub(super) struct UnderWay {
    pub(super) task: TaskId,
    pub(super) running: Running,
    pub(super) attempt: Arc<Attempt>,
}

pub(super) struct Spawned {
    pub(super) handle: AbortHandle,
    pub(super) attempt: Arc<Attempt>,
}

enum Occurrence {
    Ended(TaskId, Arc<Attempt>, Finished),
    Stopped(TaskId),
    Timer(Timer),
    Cancel,
    Broken(Fault),
}

/// How many attempts may end one after another before other tasks of the thread get their turn.
const ATTEMPTS_BETWEEN_YIELDS: u32 = 64;

impl Job {
    /// Drives the run to its end. Dropping the future drops every node at its `.await`.
    pub(crate) async fn run(self, input: BoxValue) -> Ending {
        if tokio::runtime::Handle::try_current().is_err() {
            let message = "a workflow runs inside a tokio runtime, and there is none here".to_owned();
            return Ending::Failed(failure(&self.definition, Fault::Context { message }));
        }
        let executable = self.shared.env.executable(&self.definition);
        let env = &self.shared.env;
        let permits = if self.around.is_none() { env.permits.clone() } else { None };
        let program = Arc::clone(&executable.program);
        let core = Core::new(program, env.max_concurrency(), self.shared.records(), self.state, self.around);
        let mut driver = Driver {
            core,
            definition: self.definition,
            executable,
            shared: self.shared,
            ready: Vec::new(),
            alone: None,
            tasks: None,
            spawned: HashMap::new(),
            by_id: HashMap::new(),
            kept: HashMap::new(),
            timers: Timers::default(),
            permits,
            spare: None,
            output: None,
            random: 0,
            clock_first: false,
            cancel: self.cancel.map(|token| Box::pin(token.cancelled_owned())),
        };
        match caught(|| (driver.definition.start)(input)) {
            Ok(emitted) => driver.core.apply(Event::Begun(emitted)),
            Err(fault) => return Ending::Failed(failure(&driver.definition, fault)),
        }
        driver.go().await
    }
}

fn failure(definition: &Definition, fault: Fault) -> Failure {
    Failure { path: definition.name.clone(), attempts: 1, cause: Cause::from(fault) }
}

impl Driver {
    /// What the core holds are values of the user's, and their destructors may panic wherever one is let go of: then the
    /// run fails, and says so.
    async fn go(mut self) -> Ending {
        let mut until_yield = ATTEMPTS_BETWEEN_YIELDS;
        let ending = loop {
            match caught(|| self.next_step()) {
                Ok(None) => {}
                Ok(Some(end)) => break self.ending(end),
                Err(fault) => break Ending::Failed(failure(&self.definition, fault)),
            }
            let occurrence = poll_fn(|waker| self.poll_next(waker)).await;
            if let Err(fault) = caught(|| self.take(occurrence)).and_then(|taken| taken) {
                break Ending::Failed(failure(&self.definition, fault));
            }
            until_yield -= 1;
            if until_yield == 0 {
                until_yield = ATTEMPTS_BETWEEN_YIELDS;
                tokio::task::yield_now().await;
                self.clock_first = true;
            }
        };
        // Whatever a destructor says now, the run has ended as it has.
        let _ended_already = caught(|| drop(self));
        ending
    }

    fn next_step(&mut self) -> Option<RunEnd<Token>> {
        let end = self.carry_out();
        if end.is_none() {
            self.begin_ready();
        }
        end
    }

    fn take(&mut self, occurrence: Occurrence) -> Result<(), Fault> {
        match occurrence {
            Occurrence::Ended(task, attempt, finished) => self.ended(task, attempt, finished),
            Occurrence::Stopped(task) => self.tell(task, Ended::Stopped, Writes::default()),
            Occurrence::Timer(Timer::Core(timer)) => {
                let random = self.random();
                self.core.apply(Event::Fired { timer, random });
            }
            Occurrence::Timer(Timer::Grace(task)) => self.drop_attempt(task),
            Occurrence::Cancel => self.core.apply(Event::CancelRequested),
            Occurrence::Broken(fault) => return Err(fault),
        }
        Ok(())
    }

    fn ending(&self, end: RunEnd<Token>) -> Ending {
        match end {
            RunEnd::Completed(arrived) => match caught(|| (self.definition.end)(arrived)) {
                Ok(output) => Ending::Completed(output),
                Err(fault) => Ending::Failed(failure(&self.definition, fault)),
            },
            RunEnd::Failed(failure) => Ending::Failed(failure),
            RunEnd::Cancelled => Ending::Cancelled,
        }
    }

    /// An attempt that is alone is polled here; as soon as there are two, each has a task, and they run in parallel
    /// where the runtime has several threads.
    fn begin_ready(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        if self.ready.len() == 1 && self.alone.is_none() && self.spawned.is_empty() {
            self.alone = self.ready.pop();
            return;
        }
        let tasks = self.tasks.get_or_insert_default();
        for UnderWay { task, running, attempt } in self.alone.take().into_iter().chain(self.ready.drain(..)) {
            let handle = tasks.spawn(running);
            self.by_id.insert(handle.id(), task);
            self.spawned.insert(task, Spawned { handle, attempt });
        }
    }

    fn poll_next(&mut self, waker: &mut Waker<'_>) -> Poll<Occurrence> {
        if let Some(cancel) = &mut self.cancel
            && cancel.as_mut().poll(waker).is_ready()
        {
            self.cancel = None;
            return Poll::Ready(Occurrence::Cancel);
        }
        if std::mem::take(&mut self.clock_first)
            && let Poll::Ready(timer) = self.poll_timers(waker)
        {
            return Poll::Ready(timer);
        }
        if let Some(alone) = &mut self.alone
            && let Poll::Ready(finished) = Pin::new(&mut alone.running).poll(waker)
            && let Some(UnderWay { task, attempt, .. }) = self.alone.take()
        {
            return Poll::Ready(Occurrence::Ended(task, attempt, finished));
        }
        if let Some(tasks) = self.tasks.as_mut().filter(|tasks| !tasks.is_empty())
            && let Poll::Ready(Some(joined)) = tasks.poll_join_next_with_id(waker)
        {
            let id = joined.as_ref().map_or_else(tokio::task::JoinError::id, |(id, _)| *id);
            if let Some(task) = self.by_id.remove(&id)
                && let Some(Spawned { attempt, .. }) = self.spawned.remove(&task)
            {
                return Poll::Ready(match joined {
                    Ok((_, finished)) => Occurrence::Ended(task, attempt, finished),
                    Err(_) => Occurrence::Stopped(task),
                });
            }
        }
        self.poll_timers(waker)
    }

    fn poll_timers(&mut self, waker: &mut Waker<'_>) -> Poll<Occurrence> {
        match caught(|| self.timers.poll_next(waker)) {
            Ok(timer) => timer.map(Occurrence::Timer),
            Err(fault) => Poll::Ready(Occurrence::Broken(fault)),
        }
    }

    /// Evenly from `0.0..1.0` (splitmix64, seeded when it is first used).
    pub(super) fn random(&mut self) -> f64 {
        if self.random == 0 {
            self.random = RandomState::new().hash_one(Arc::as_ptr(&self.shared) as usize) | 1;
        }
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}
