//! Carrying out the core's commands, and telling it what came of them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use super::attempt::Running;
use super::catch::caught;
use super::run::{Driver, Given, UnderWay};
use super::timers::Timer;
use crate::attempt::{At, Attempt, Beat};
use crate::context::Context;
use crate::core::{Arrived, Command, Ended, Event, Note, Place, Routable, RunEnd, Sees, TaskId, Writes};
use crate::event::{Entered, EventKind};
use crate::fault::Fault;
use crate::state::StateWrite;
use crate::store::Record;
use crate::table::{AnyNode, BoxValue, Emitted, Error, Finished, Routed, Token};

impl Driver {
    /// Does all that the core asks for. Returns the end of the run, if that is what it asks for.
    pub(super) fn carry_out(&mut self) -> Option<RunEnd<Token>> {
        while self.until_yield > 0 || !self.is_bare {
            let Some(command) = self.core.next_command() else { break };
            if self.halt.is_some() {
                return None;
            }
            if !matches!(command, Command::Note { .. }) {
                self.record_failure();
            }
            match command {
                Command::Run { task, place, attempt, may_repeat, arrived, sees } => {
                    self.run(task, place, attempt, may_repeat, arrived, sees);
                }
                Command::Enter { task, place, attempt, may_repeat, arrived } => {
                    self.begin_inside(task, &place, attempt, may_repeat, arrived);
                }
                Command::GoOn(task) => self.core.apply(Event::GoOn { task }),
                Command::Leave { task, place, ends } => self.leave_inside(task, &place, ends),
                Command::Route { task, place, error } => {
                    let emitted = self.route(&place, &error).map(|routed| {
                        self.give(task, Given::Error(routed.error));
                        routed.emitted
                    });
                    self.core.apply(Event::Routed { task, emitted });
                }
                Command::Awaits { .. } => {}
                Command::Cancel(task) => self.cancel(task),
                Command::Forget(task) => {
                    if let Some(kept) = self.kept.remove(&task) {
                        // A user's destructor may panic; nothing depends on it.
                        let _ = caught(|| drop(kept));
                    }
                }
                Command::SetTimer { timer, after, .. } => self.timers.set(Timer::Core(timer), after),
                Command::DropTimer(timer) => self.timers.unset(Timer::Core(timer)),
                Command::Note { task, place, note } => self.write_down(task, &place, *note),
                Command::End(end) => return Some(*end),
            }
        }
        self.record_failure();
        None
    }

    /// Nothing became of a failure that could be recorded with it.
    fn record_failure(&mut self) {
        if let (Some(journal), Some(failure)) = (&self.shared.journal, self.unrecorded.take()) {
            journal.push(failure.path, failure.kind);
        }
    }

    pub(super) fn begin_inside(
        &mut self,
        task: TaskId,
        place: &Place,
        attempt: u32,
        may_repeat: bool,
        arrived: Option<Arrived>,
    ) {
        let arrived = match arrived.map(|arrived| self.read(arrived)).transpose() {
            Ok(arrived) => arrived,
            Err(halt) => return self.halt = Some(halt),
        };
        let entered = self.enter(task, place, may_repeat, arrived);
        if let Some(journal) = &self.shared.journal {
            // A graph that is entered begins from its start, also where what is left of the attempt before was on record.
            journal.desk.forget_below(&place.path());
        }
        self.shared.record(
            || place.path(),
            || EventKind::NodeStarted {
                attempt,
                inside: entered.as_ref().ok().map(|inputs| self.entered(place, inputs)),
                input: None,
            },
        );
        match entered {
            Ok(inputs) => self.core.apply(Event::Entered { task, inputs }),
            Err(fault) => self.tell(task, self.ended_by(task, may_repeat, fault), Writes::default()),
        }
    }

    /// What is recorded of the inputs inside a node: which way each goes.
    fn entered(&self, place: &Place, inputs: &[Emitted]) -> Entered {
        let labels = self.executable.labels_inside(&self.definition, place);
        let label = |input: &Emitted| labels.get(input.choice).map(|label| (*label).to_owned());
        Entered { items: inputs.len() as u64, labels: inputs.iter().filter_map(label).collect() }
    }

    pub(super) fn leave_inside(&mut self, task: TaskId, place: &Place, ends: Vec<Arrived>) {
        match ends.into_iter().map(|end| self.read(end)).collect() {
            Ok(ends) => {
                let finished = self.leave(place, ends).unwrap_or_else(Finished::from);
                self.finished(task, finished, Writes::default());
            }
            Err(halt) => self.halt = Some(halt),
        }
    }

    pub(super) fn run(
        &mut self,
        task: TaskId,
        place: Place,
        number: u32,
        may_repeat: bool,
        arrived: Option<Arrived>,
        sees: Sees,
    ) {
        let arrived = match arrived.map(|arrived| self.read(arrived)).transpose() {
            Ok(arrived) => arrived,
            Err(halt) => return self.halt = Some(halt),
        };
        if let Some(journal) = &self.shared.journal {
            journal.push(place.path(), EventKind::NodeStarted { attempt: number, inside: None, input: None });
        }
        let span = tracing::debug_span!("node", path = %place, attempt = number);
        let Some((node, limit, once_only)) = self.body(&place) else {
            let message = format!("`{place}` has no body; the table of its workflow was not made by `workflow!`");
            return self.tell(task, Ended::Fault(Box::new(Fault::Context { message })), Writes::default());
        };
        let attempt = self.attempt(place, number, once_only, sees);
        let context = Context(Arc::clone(&attempt));
        let future = match (arrived, may_repeat) {
            (Some(arrived), false) => caught(|| node.run_once(arrived, context)),
            (arrived, _) => self.repeatable(task, &node, arrived, may_repeat, context),
        };
        match future.and_then(|future| caught(|| Running::new(future, limit, self.permits.as_ref(), span))) {
            Ok(running) => {
                let beat = Beat::of(&attempt);
                self.begin(UnderWay { task, running, attempt, beat });
            }
            Err(fault) => self.tell(task, self.ended_by(task, may_repeat, fault), Writes::default()),
        }
    }

    /// Runs an attempt to its end where its node is known to be done in no time, and where it would have a task of its own.
    fn begin(&mut self, mut under_way: UnderWay) {
        let is_alone = self.ready.is_empty() && self.alone.is_none() && self.spawned.is_empty() && self.core.is_idle();
        let pace = match &under_way.attempt.place {
            At::Node(place) if self.is_bare && !is_alone => self.executable.pace(place).filter(|pace| pace.is_quick()),
            _ => None,
        };
        let Some(pace) = pace.cloned() else { return self.ready.push(under_way) };
        if !self.ready.is_empty() {
            // They need not wait for this one.
            self.spawn_ready();
        }
        let begun = Instant::now();
        // One that does not end is polled again by whoever has it next.
        let polled = Pin::new(&mut under_way.running).poll(&mut Waker::from_waker(std::task::Waker::noop()));
        pace.note(polled.is_ready(), begun.elapsed());
        match polled {
            Poll::Ready(finished) => {
                self.until_yield = self.until_yield.saturating_sub(1);
                let UnderWay { task, attempt, running, beat } = under_way;
                drop((running, beat));
                self.ended(task, attempt, finished);
            }
            Poll::Pending => self.ready.push(under_way),
        }
    }

    /// How an attempt ends by a fault before anything of the node has run. What an edge brings is used up by its
    /// conversion, so where that panics nothing is left to try again with.
    fn ended_by(&self, task: TaskId, may_repeat: bool, fault: Fault) -> Ended<Token> {
        let is_lost = may_repeat && !self.kept.contains_key(&task);
        if is_lost { Ended::Lost(Box::new(fault)) } else { Ended::Fault(Box::new(fault)) }
    }

    fn body(&self, place: &Place) -> Option<(Arc<dyn AnyNode>, Option<Duration>, bool)> {
        let entry = self.executable.entry(&self.definition, place)?;
        Some((Arc::clone(entry.node.as_ref()?), entry.options.timeout, entry.options.at_most_once))
    }

    /// An attempt that another may follow runs on a copy of the input.
    fn repeatable(
        &mut self,
        task: TaskId,
        node: &Arc<dyn AnyNode>,
        arrived: Option<Arrived>,
        may_repeat: bool,
        context: Context,
    ) -> Result<BoxFuture<'static, Finished>, Fault> {
        let input = match arrived {
            Some(arrived) => Some(caught(|| node.prepare(arrived))??),
            None => self.kept.remove(&task).and_then(|mut kept| kept.pop()),
        };
        let input = input.ok_or_else(input_is_gone)?;
        let input = if may_repeat {
            let copy = caught(|| node.copy(&input));
            self.kept.insert(task, vec![input]);
            copy??
        } else {
            input
        };
        caught(|| Arc::clone(node).run(input, context))
    }

    fn attempt(&mut self, place: Place, number: u32, once_only: bool, sees: Sees) -> Arc<Attempt> {
        let Sees { state, local } = sees;
        if let Some(mut spare) = self.spare.take()
            && let Some(attempt) = Arc::get_mut(&mut spare)
        {
            attempt.renew(place, number, &state, local);
            attempt.once_only = once_only;
            return spare;
        }
        let mut attempt = Attempt::new(Arc::clone(&self.shared), At::Node(place), number, state, local);
        attempt.once_only = once_only;
        Arc::new(attempt)
    }

    /// The inputs of the graphs inside a node, each as what START of its graph emits.
    fn enter(
        &mut self,
        task: TaskId,
        place: &Place,
        may_repeat: bool,
        arrived: Option<Arrived>,
    ) -> Result<Vec<Emitted>, Fault> {
        let scope = self.executable.scope(&self.definition, place).ok_or_else(input_is_gone)?;
        let inputs: Vec<BoxValue> = match arrived {
            Some(arrived) => caught(|| scope.enter(arrived))??,
            None => self.kept.remove(&task).ok_or_else(input_is_gone)?,
        };
        let inputs = if may_repeat {
            let copies = caught(|| inputs.iter().map(|input| scope.copy(input)).collect::<Result<Vec<_>, _>>());
            self.kept.insert(task, inputs);
            copies??
        } else {
            inputs
        };
        let inside = scope.definition();
        caught(|| inputs.into_iter().map(|input| (inside.start)(input)).collect())
    }

    fn leave(&self, place: &Place, ends: Vec<Arrived>) -> Result<Finished, Fault> {
        let scope = self.executable.scope(&self.definition, place).ok_or_else(input_is_gone)?;
        let end = &scope.definition().end;
        let records = self.shared.records();
        caught(|| scope.leave(ends.into_iter().map(end).collect(), records))?
    }

    /// Whether an error that is not the node's own goes on by its arm `err`. A conversion that panics takes no arm: the
    /// error that was to be converted says more.
    fn route(&self, place: &Place, error: &Routable) -> Option<Routed> {
        let entry = self.executable.entry(&self.definition, place)?;
        let records = self.shared.records();
        let routed = match (error, &entry.node, &entry.scope) {
            (Routable::Failure(failure), _, Some(scope)) => caught(|| scope.route_failure(failure, records)),
            (Routable::Fault(fault), Some(node), _) => caught(|| node.route_fault(fault, records)),
            _ => Ok(None),
        };
        routed.unwrap_or_default()
    }

    /// Tells a node that it is cancelled. One that listens has the grace period to end by itself.
    fn cancel(&mut self, task: TaskId) {
        if let Some(at) = self.ready.iter().position(|ready| ready.task == task) {
            self.ready.swap_remove(at);
            return self.tell(task, Ended::Stopped, Writes::default());
        }
        let alone = self.alone.as_ref().filter(|alone| alone.task == task).map(|alone| &alone.attempt);
        let Some(attempt) = alone.or_else(|| self.spawned.get(task).map(|spawned| &spawned.attempt)) else { return };
        let grace = self.shared.env.cancel_grace;
        if attempt.cancel() && !grace.is_zero() {
            self.timers.set(Timer::Grace(task), grace);
        } else {
            self.drop_attempt(task);
        }
    }

    /// Drops a node at its `.await`.
    pub(super) fn drop_attempt(&mut self, task: TaskId) {
        if self.alone.as_ref().is_some_and(|alone| alone.task == task) {
            self.alone = None;
            self.tell(task, Ended::Stopped, Writes::default());
        } else if let Some(spawned) = self.spawned.get_mut(task) {
            spawned.is_dropped = true;
            // The set of tasks says when it is gone.
            spawned.handle.abort();
        }
    }

    /// An attempt is over.
    pub(super) fn ended(&mut self, task: TaskId, attempt: Arc<Attempt>, finished: Finished) {
        self.timers.unset(Timer::Grace(task));
        let writes = attempt.take_writes();
        self.spare = Some(attempt);
        match (writes, finished) {
            (Err(fault), Finished::Emitted { .. } | Finished::Waiting) => {
                self.tell(task, Ended::Fault(Box::new(fault)), Writes::default());
            }
            (writes, finished) => self.finished(task, finished, writes.unwrap_or_default()),
        }
    }

    fn finished(&mut self, task: TaskId, finished: Finished, writes: Writes) {
        let ended = match finished {
            Finished::Emitted { emitted, output } => {
                self.give(task, Given::Output(output.map(|output| *output)));
                Ended::Emitted(emitted)
            }
            Finished::Waiting => Ended::Waiting,
            Finished::Failed(error) => {
                let Error { cause, retryable, routed } = *error;
                let routed = routed.map(|routed| {
                    self.give(task, Given::Error(routed.error));
                    routed.emitted
                });
                Ended::Failed { cause: Box::new(cause), retryable, routed }
            }
            Finished::Fault(fault) => Ended::Fault(fault),
        };
        self.tell(task, ended, writes);
    }

    pub(super) fn tell(&mut self, task: TaskId, ended: Ended<Token>, writes: Writes) {
        let random = if matches!(ended, Ended::Emitted(_)) && writes.0.is_none() { 0.0 } else { self.random() };
        self.core.apply(Event::Ended { task, ended, writes, random });
    }

    /// Keeps what a node gave until the core says what comes of it.
    fn give(&mut self, task: TaskId, given: Given) {
        if self.shared.records() {
            self.given.push((task, given));
        }
    }

    /// What the nodes inside a child write becomes the child's own.
    pub(super) fn gather(&self, note: &Note) {
        if let (Some(within), Note::Completed { writes, .. } | Note::Waiting { writes }) = (&self.within, note) {
            within.wrote(writes);
        }
    }

    fn write_down(&mut self, task: Option<TaskId>, place: &Place, note: Note) {
        self.gather(&note);
        let state = |writes: Writes| -> (Vec<StateWrite>, Vec<StateWrite>) {
            writes.0.map(|set| (set.shared, set.local)).unwrap_or_default()
        };
        let given = task.and_then(|task| {
            let at = self.given.iter().position(|(given, _)| *given == task)?;
            Some(self.given.swap_remove(at).1)
        });
        let Some(journal) = self.shared.journal.clone() else { return };
        let path = place.path();
        match &note {
            Note::Failed { retry_in, .. } => self.has_failed(place, retry_in.is_some()),
            Note::Completed { .. } => self.has_completed(place),
            _ => {}
        }
        let kind = match note {
            Note::Completed { choice, writes } => {
                journal.desk.forget_below(&path);
                let (output, error) = match given {
                    Some(Given::Output(output)) => (output, None),
                    Some(Given::Error(error)) => (None, error),
                    None => (None, None),
                };
                EventKind::NodeCompleted {
                    label: self.executable.label(&self.definition, place, choice).map(str::to_owned),
                    output,
                    error,
                    state: state(writes).0,
                }
            }
            Note::Waiting { writes } => {
                journal.desk.forget_below(&path);
                let (state, local) = state(writes);
                EventKind::NodeWaiting { state, local }
            }
            Note::Failed { attempt, cause, retry_in } => {
                tracing::debug!(path, attempt, %cause, ?retry_in, "attempt failed");
                if retry_in.is_none()
                    && let (Some(task), Some(given @ Given::Error(_))) = (task, given)
                {
                    // It may go on by the arm `err`, which comes next.
                    self.given.push((task, given));
                }
                journal.desk.forgive_below(&path);
                EventKind::NodeFailed { attempt, cause, retry_in, error: None }
            }
            Note::Skipped => EventKind::NodeSkipped,
            Note::Cancelled => {
                journal.desk.forget_below(&path);
                EventKind::NodeCancelled
            }
        };
        let record = Record { path, kind };
        if let EventKind::NodeFailed { retry_in: None, .. } = record.kind {
            self.record_failure();
            self.unrecorded = Some(record);
        } else {
            journal.push_both(self.unrecorded.take(), record);
        }
    }
}

fn input_is_gone() -> Fault {
    Fault::Context { message: "the node's input is gone; this is a mistake in graphweft".to_owned() }
}
