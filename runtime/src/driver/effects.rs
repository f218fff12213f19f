//! Carries out the effects that the core wants: begins attempts, enters and leaves graphs, sets timers, stops. Each
//! report is decided, recorded and applied in one place.

use std::sync::Arc;
use std::task::{Context as Waker, Poll};

use super::attempt::Running;
use super::event_codec::{Given, OfRequests, derived_record, encode};
use super::inputs::RetainedInput;
use super::run::{Driver, UnderWay};
use super::spawned::Spawned;
use super::timers::Timer;
use crate::around::CallKind;
use crate::attempt::{At, Attempt, Beat};
use crate::box_value::BoxValue;
use crate::catch::caught;
use crate::context::Context;
use crate::core::{
    Admission, Conclusion, Derived, Entered, Event, Impossible, ItemPace, Place, Report, RunEnd, TaskId, TimeLimit,
    Wanted, Writes, after, is_retryable,
};
use crate::event::{EventKind, ItemsDone};
use crate::executor::Executor;
use crate::fault::{Cause, Failure, Fault};
use crate::halt::Halt;
use crate::options::{NodeOptions, Retryable};
use crate::store::Record;
use crate::table::{
    AnyNode, Arrived, AttemptBody, Definition, Emitted, Error, Finished, Moment, Routed, ScopeKind, Token, no_body,
};

/// A fault or failure that the arm `err` takes although it is not an error value of the node.
enum Routable<'f> {
    Fault(&'f Fault),
    Failure(&'f Failure),
}

impl Driver {
    /// Carries out every wanted effect, until there is none left. Returns the end of the run if it has ended.
    pub(super) fn carry_out(&mut self) -> Option<RunEnd<Token>> {
        while (self.until_yield > 0 || !self.is_bare) && self.halt.is_none() {
            if let Some(task) = self.run.next_changed() {
                self.see_to(task);
                continue;
            }
            if self.begin_branches() {
                break;
            }
            match self.run.admit(self.waiting.as_ref().map_or(0, |waiting| waiting.count())) {
                Some(Admission::Event(Event::ItemStarted { task, item })) => self.start_item(task, item),
                Some(Admission::Event(event)) => self.commit(event, None),
                Some(Admission::Enter(task)) => self.enter(task),
                None if self.run.has_changes() => {}
                None => break,
            }
        }
        self.run.take_end()
    }

    fn start_item(&mut self, task: TaskId, item: usize) {
        if self.begin_items(task) {
            return;
        }
        let only = if self.is_bare { self.run.start_item_in_place(task) } else { None };
        match only {
            Some(only) => self.begin_attempt(only),
            None => self.commit(Event::ItemStarted { task, item }, None),
        }
    }

    /// Starts or stops timers and attempts of a task, so that they match its state.
    fn see_to(&mut self, task: TaskId) {
        let wanted = self.run.wanted(task);
        let (delay, limit) = match wanted {
            Wanted::Timer(until) => (Some(until), None),
            Wanted::Inside(until) => (None, until),
            _ => (None, None),
        };
        self.timers.want(Timer::Delay(task), delay, &self.shared.env.clock);
        self.timers.want(Timer::Limit(task), limit, &self.shared.env.clock);
        match wanted {
            Wanted::Attempt => self.begin_attempt(task),
            Wanted::Stop => self.stop_attempt(task),
            Wanted::Conclude => self.conclude(task),
            Wanted::Nothing if !self.retained.is_empty() && !self.run.is_live(task) => {
                if let Some(retained) = self.retained.remove(&task) {
                    // A user's destructor may panic; nothing depends on it.
                    let _ = caught(|| drop(retained));
                }
            }
            Wanted::Nothing | Wanted::Timer(_) | Wanted::Inside(_) => {}
        }
    }

    /// Has the core decide on a report, and commits the resulting event.
    pub(super) fn report(&mut self, report: Report<Token>, given: Option<Given>) {
        if let Some(event) = self.run.decide(report, || self.shared.chance()) {
            self.commit(event, given);
        }
    }

    /// Applies an event, and records it together with its consequences.
    pub(super) fn commit(&mut self, event: Event<Token>, given: Option<Given>) {
        let settled = self.settles(&event);
        let mut record = match &self.shared.journal {
            Some(_) => encode(&self.run, (&self.executable, &self.definition), &event, given),
            None => None,
        };
        let within = match (&record, &event) {
            (Some(_), Event::Completed { task, .. }) => self.run.item_of(*task),
            _ => None,
        };
        if let Err(impossible) = self.run.apply(event) {
            self.halt = Some(self.halt_for(&impossible));
            return;
        }
        if let (Some((path, of_requests)), Some(desk)) = (settled, self.shared.known_desk()) {
            of_requests.settle(desk, &path);
        }
        let Some(journal) = &self.shared.journal else { return };
        if let Some((around, item)) = within
            && let Some(Record { kind: EventKind::NodeCompleted { items, .. }, .. }) = &mut record
        {
            let done = self.run.items_done(around, item);
            *items = done.map(|(done, all)| ItemsDone { done: done as u64, all: all as u64 });
        }
        let derived = if self.run.has_derived() { self.run.take_derived() } else { Vec::new() };
        let follows: Vec<Record> = derived.iter().map(|(place, what)| derived_record(place, *what)).collect();
        for (cancelled, (_, what)) in follows.iter().zip(&derived) {
            if *what == Derived::Cancelled {
                // The cancellation has no record of its own, so without these records other processes would list
                // questions that its last attempt left open. They come before the event, since the fold drops the
                // node's requests with the event.
                for question in journal.desk.unread_questions(&cancelled.path) {
                    journal.push(question, EventKind::RequestWithdrawn);
                }
                journal.desk.forget_below(&cancelled.path);
            }
        }
        journal.push_with(record, follows);
    }

    /// The node of an event, and whether its requests are forgotten or retried.
    fn settles(&self, event: &Event<Token>) -> Option<(String, OfRequests)> {
        self.shared.known_desk().filter(|desk| !desk.is_empty())?;
        let (task, of_requests) = OfRequests::after(event)?;
        Some((self.run.place_of(task)?.path(), of_requests))
    }

    /// A bug in graphweft: this program records nothing more of the run.
    pub(super) fn halt_for(&self, impossible: &Impossible) -> Halt {
        let message = format!("{impossible}; this is a mistake in graphweft");
        Halt::broken(&self.definition.name, &Fault::Context { message })
    }

    /// The place of a task that the run has an effect for. Stops the run if there is no such task.
    fn place_of(&mut self, task: TaskId) -> Option<Place> {
        let place = self.run.place_of(task);
        if place.is_none() {
            let gone = Impossible { event: "an effect", found: "its task is gone".to_owned() };
            self.halt = Some(self.halt_for(&gone));
        }
        place
    }

    /// Makes the inputs of a node with a graph inside, once it is admitted.
    fn enter(&mut self, task: TaskId) {
        let Some(place) = self.place_of(task) else { return };
        let may_repeat = self.run.may_be_followed(task);
        if let Some(desk) = self.shared.known_desk().filter(|desk| !desk.is_empty()) {
            // A graph that is entered begins from its start.
            desk.forget_below(&place.path());
        }
        let arrived = match self.run.take_input(task).map(|arrived| self.read(arrived)).transpose() {
            Ok(arrived) => arrived,
            Err(halt) => return self.halt = Some(halt),
        };
        let has_arrived = arrived.is_some();
        match self.inputs(task, &place, may_repeat, arrived) {
            Ok(inputs) => {
                let entered = Box::new(Entered { inputs, pace: self.pace_of(&place), limit: self.limit_of(&place) });
                self.report(Report::Entered { task, entered: Some(entered) }, None);
            }
            Err(Cut::Halt(halt)) => self.halt = Some(halt),
            Err(Cut::Fault(fault)) => {
                self.report(Report::Entered { task, entered: None }, None);
                let is_lost = has_arrived && may_repeat && !self.retained.contains_key(&task);
                self.fails(task, &place, fault, is_lost);
            }
        }
    }

    fn pace_of(&self, place: &Place) -> ItemPace {
        let entry = self.executable.entry(&self.definition, place);
        let is_each = entry.and_then(|entry| entry.scope.as_ref()).is_some_and(|scope| scope.kind() == ScopeKind::Each);
        match entry.and_then(|entry| entry.options.max_parallel).filter(|_| is_each) {
            Some(_) => ItemPace::Bounded,
            None if is_each && self.is_bare => ItemPace::InTurn,
            None => ItemPace::AtOnce,
        }
    }

    fn limit_of(&self, place: &Place) -> Option<TimeLimit> {
        let limit = self.executable.entry(&self.definition, place)?.options.timeout?;
        Some(TimeLimit { after: limit, until: after(self.shared.env.clock.now(), limit) })
    }

    /// Concludes a node that waited for the graphs inside it, or for its arrivals: all of them are over.
    fn conclude(&mut self, task: TaskId) {
        let Some(place) = self.place_of(task) else { return };
        let Some(conclusion) = self.run.take_conclusion(task) else {
            let found = "what is inside its task is under way".to_owned();
            self.halt = Some(self.halt_for(&Impossible { event: "a conclusion", found }));
            return;
        };
        // Another attempt would repeat everything inside, also what may be made at most once and was cut short.
        let has_cut = self.run.has_cut_inside(task);
        match conclusion {
            Conclusion::Leave(ends) => match ends.into_iter().map(|end| self.read(end)).collect() {
                Ok(ends) => match self.leave(&place, ends) {
                    Ok(finished) => self.finished(task, &place, finished, Writes::default()),
                    Err(fault) => self.fails(task, &place, fault, has_cut),
                },
                Err(halt) => self.halt = Some(halt),
            },
            Conclusion::Unfit(fault) => self.fails(task, &place, fault, has_cut),
            Conclusion::Failed(failure) => {
                self.fails_with(task, &place, failure.cause.clone(), !has_cut, &Routable::Failure(&failure));
            }
            Conclusion::TimedOut(after) => self.fails(task, &place, Fault::Timeout { after }, has_cut),
            Conclusion::NothingCollected(arrivals) => {
                self.fails(task, &place, Fault::NothingCollected { arrivals }, false);
            }
        }
    }

    /// An attempt has failed by a fault. `is_lost`: no other follows, since its input is gone, since it has called
    /// `ctx.no_retry()`, or since something in it may run at most once and was cut short.
    pub(super) fn fails(&mut self, task: TaskId, place: &Place, fault: Fault, is_lost: bool) {
        let retryable = is_retryable(&fault) && !is_lost;
        // A node with a graph inside always fails with a `Failure`, whatever the cause.
        if place.is_scope() {
            let cause = Cause::from(fault);
            let failure = Failure::at(place.path(), self.run.attempts(task), cause.clone());
            self.fails_with(task, place, cause, retryable, &Routable::Failure(&failure));
        } else {
            self.fails_with(task, place, Cause::from(fault.clone()), retryable, &Routable::Fault(&fault));
        }
    }

    fn fails_with(&mut self, task: TaskId, place: &Place, cause: Cause, retryable: bool, error: &Routable<'_>) {
        let retryable = Retryable::from(retryable);
        let has_attempts = retryable != Retryable::No && self.run.may_be_followed(task);
        let routed = if has_attempts { None } else { self.route(task, place, error) };
        if self.halt.is_some() {
            return;
        }
        let (routed, given) = routed.map(|routed| (routed.emitted, Given::Error(routed.error))).unzip();
        self.report(Report::Failed { task, cause: Box::new(cause), retryable, routed, error: None }, given);
    }

    fn begin_attempt(&mut self, task: TaskId) {
        let Some(place) = self.place_of(task) else { return };
        if place.is_scope() {
            // Entering it had failed, and the process died before it recorded how.
            let message = "interrupted while the inputs of the graph inside were made".to_owned();
            return self.fails(task, &place, Fault::Context { message }, false);
        }
        let number = self.run.attempts(task);
        let keeps_input = self.run.keeps_input(task);
        let arrived = match self.run.take_input(task).map(|arrived| self.read(arrived)).transpose() {
            Ok(arrived) => arrived,
            Err(halt) => return self.halt = Some(halt),
        };
        let definition = Arc::clone(self.executable.definition(&self.definition, place.scope.layout.index));
        let Some((node, options)) = body(&definition, &place) else {
            return self.fails(task, &place, no_body(&place), false);
        };
        let attempt = self.attempt(task, &definition, place.clone(), number, options.at_most_once);
        let traced = self.traced(&attempt);
        let context = Context::new(&attempt);
        let has_arrived = arrived.is_some();
        let future = match (arrived, keeps_input) {
            (Some(arrived), false) => caught(|| node.run_once(arrived, context)),
            (arrived, _) => self.repeatable(task, node, arrived, keeps_input, context),
        };
        let future = future.map(|future| self.shared.surrounded(future, CallKind::Node, || place.path(), number));
        let executor = self.executor_of(&definition, &place);
        // The time of an attempt that is executed elsewhere is limited there: until it begins it is in a queue.
        let limit = options.timeout.filter(|_| executor.is_none());
        let is_kept = executor.is_some_and(|executor| executor.keeps_tasks());
        match future.and_then(|future| caught(|| Running::new(future, limit, self.permits.as_ref(), traced))) {
            Ok(running) => {
                let running = running.measured(|| place.path());
                let beat = Beat::of(&attempt, is_kept);
                self.begin(UnderWay { task, running, attempt, beat, was_polled: false });
            }
            // The conversion consumes the value of the edge. If it panics, there is no input for another attempt.
            Err(fault) => {
                let is_lost = has_arrived && keeps_input && !self.retained.contains_key(&task);
                self.fails(task, &place, fault, is_lost);
            }
        }
    }

    /// What has the attempts at a node executed elsewhere.
    pub(super) fn executor_of(&self, definition: &Definition, place: &Place) -> Option<&Arc<dyn Executor>> {
        let env = &self.shared.env;
        let entry = definition.entry(place.node as usize).filter(|entry| env.replacement(entry.type_id).is_none());
        env.executor_of(entry?.pool?)
    }

    /// Begins an attempt. If it would get a task of its own and the runtime has one thread, it is polled once here: a
    /// node that completes needs no task, and a node that computes would block the only thread in a task of its own as
    /// well.
    fn begin(&mut self, mut under_way: UnderWay) {
        let is_alone =
            self.ready.is_empty() && self.alone.is_none() && self.spawned.is_empty() && !self.run.has_more_to_begin();
        if is_alone || !self.is_bare || !self.has_one_thread {
            return self.add_ready(under_way);
        }
        // If it does not end, the task that it gets polls it again.
        let UnderWay { running, attempt, .. } = &mut under_way;
        match running.poll(Some(attempt), &mut Waker::from_waker(std::task::Waker::noop())) {
            Poll::Ready(finished) => {
                self.until_yield = self.until_yield.saturating_sub(1);
                let UnderWay { task, attempt, running, beat, .. } = under_way;
                drop((running, beat));
                self.ended(task, attempt, finished);
            }
            Poll::Pending => self.add_ready(UnderWay { was_polled: true, ..under_way }),
        }
    }

    fn add_ready(&mut self, attempt: UnderWay) {
        // Many runs have one at a time, and many of them may be in memory.
        if self.ready.capacity() == 0 {
            self.ready = Vec::with_capacity(1);
        }
        self.ready.push(attempt);
    }

    /// An attempt that another may follow runs on a copy of the input.
    fn repeatable(
        &mut self,
        task: TaskId,
        node: &dyn AnyNode,
        arrived: Option<Arrived>,
        keeps_input: bool,
        context: Context,
    ) -> Result<AttemptBody<'static>, Fault> {
        let input = match arrived {
            Some(arrived) => Some(caught(|| node.prepare(arrived))??),
            None => match self.retained.remove(&task) {
                Some(RetainedInput::Values(mut values)) => values.pop(),
                Some(RetainedInput::Recorded(_)) | None => None,
            },
        };
        let input = input.ok_or_else(input_is_gone)?;
        let input = if keeps_input {
            let copy = caught(|| node.copy(&input));
            self.retained.insert(task, RetainedInput::Values(vec![input]));
            copy??
        } else {
            input
        };
        caught(|| node.run(input, context))
    }

    fn attempt(
        &mut self,
        task: TaskId,
        definition: &Arc<Definition>,
        place: Place,
        number: u32,
        once_only: bool,
    ) -> Arc<Attempt> {
        let (state, local) = self.run.sees(task);
        if let Some(mut spare) = self.spare.take()
            && let Some(attempt) = Arc::get_mut(&mut spare)
        {
            attempt.renew(place, number, &state, local);
            attempt.set_bodies(definition);
            attempt.once_only = once_only;
            return spare;
        }
        let mut attempt = Attempt::new(Arc::clone(&self.shared), At::Node(place), number, state, local);
        attempt.set_bodies(definition);
        attempt.once_only = once_only;
        attempt.waiting.clone_from(&self.waiting);
        attempt.items_around_graph = self.within.as_ref().and_then(|within| within.items_around.clone());
        Arc::new(attempt)
    }

    /// The inputs of the graphs inside a node, each as what START of its graph emits.
    fn inputs(
        &mut self,
        task: TaskId,
        place: &Place,
        may_repeat: bool,
        arrived: Option<Arrived>,
    ) -> Result<Vec<Emitted>, Cut> {
        let scope = self.executable.scope(&self.definition, place).ok_or_else(input_is_gone)?;
        self.shared.env.check_nesting(place.depth() + 1, place)?;
        let inputs: Vec<BoxValue> = match arrived {
            Some(arrived) => caught(|| scope.enter(arrived))??,
            None => match self.retained.remove(&task) {
                Some(RetainedInput::Values(values)) => values,
                Some(RetainedInput::Recorded(inside)) => {
                    let inputs = self.inputs_of(&inside).map_err(Cut::Halt)?;
                    self.retained.insert(task, RetainedInput::Recorded(inside));
                    inputs
                }
                None => return Err(input_is_gone().into()),
            },
        };
        let is_recorded = matches!(self.retained.get(&task), Some(RetainedInput::Recorded(_)));
        let inputs = if may_repeat && !is_recorded {
            let copies = caught(|| inputs.iter().map(|input| scope.copy(input)).collect::<Result<Vec<_>, _>>());
            self.retained.insert(task, RetainedInput::Values(inputs));
            copies??
        } else {
            inputs
        };
        let inside = scope.definition();
        Ok(caught(|| inputs.into_iter().map(|input| (inside.start)(input)).collect())?)
    }

    fn leave(&self, place: &Place, ends: Vec<Arrived>) -> Result<Finished, Fault> {
        let scope = self.executable.scope(&self.definition, place).ok_or_else(input_is_gone)?;
        let end = &scope.definition().end;
        let records = self.shared.max_size();
        caught(|| scope.leave(ends.into_iter().map(end).collect(), records, Moment::at(place)))?
    }

    /// Routes a fault or failure by the arm `err`, if the node has one that takes it. If the conversion panics, no arm
    /// is taken, since the original error is more informative than the panic.
    fn route(&mut self, task: TaskId, place: &Place, error: &Routable<'_>) -> Option<Routed> {
        let input = match error {
            Routable::Fault(_) => self.input_for_fault(task, place),
            Routable::Failure(_) => None,
        };
        let entry = self.executable.entry(&self.definition, place)?;
        let records = self.shared.max_size();
        let moment = Moment::at(place);
        let routed = match (error, &entry.node, &entry.scope) {
            (Routable::Failure(failure), _, Some(scope)) => caught(|| scope.route_failure(failure, records, moment)),
            (Routable::Fault(fault), Some(node), _) => caught(|| node.route_fault(fault, input, records, moment)),
            _ => Ok(None),
        };
        routed.unwrap_or_default()
    }

    /// The input of the last attempt at a node that makes its error of a fault and its input.
    fn input_for_fault(&mut self, task: TaskId, place: &Place) -> Option<BoxValue> {
        let definition = Arc::clone(self.executable.definition(&self.definition, place.scope.layout.index));
        let (node, _) = body(&definition, place).filter(|(node, _)| node.keeps_input())?;
        if let Some(retained) = self.retained.remove(&task) {
            return match retained {
                RetainedInput::Values(mut values) => values.pop(),
                RetainedInput::Recorded(_) => None,
            };
        }
        // The attempt was one of an earlier process.
        let arrived = self.run.take_input(task)?;
        match self.read(arrived) {
            Ok(arrived) => caught(|| node.prepare(arrived)).ok()?.ok(),
            Err(halt) => {
                self.halt = Some(halt);
                None
            }
        }
    }

    /// Stops an attempt. If its node listens for its cancellation, that is signalled once the reason is
    /// recorded ([`Driver::signal_cancellations`]).
    fn stop_attempt(&mut self, task: TaskId) {
        if let Some(at) = self.ready.iter().position(|ready| ready.task == task) {
            self.ready.swap_remove(at);
            return self.report(Report::Stopped { task }, None);
        }
        let Some(attempt) = self.attempt_under_way(task) else {
            // Nothing of it runs: it was stopped by an earlier process.
            return self.report(Report::Stopped { task }, None);
        };
        if attempt.listens() && !self.shared.env.cancel_grace_period.is_zero() {
            self.cancelling.push(task);
        } else {
            attempt.cancel();
            self.drop_attempt(task);
        }
    }

    /// Signals to nodes that they are cancelled. From then on they have the grace period to end by themselves.
    pub(super) fn signal_cancellations(&mut self) {
        let grace = self.shared.env.cancel_grace_period;
        for task in std::mem::take(&mut self.cancelling) {
            if let Some(attempt) = self.attempt_under_way(task) {
                attempt.cancel();
                self.timers.set(Timer::Grace(task), grace);
            }
        }
    }

    /// The attempt at a node that has begun here and has not ended.
    pub(super) fn attempt_under_way(&self, task: TaskId) -> Option<&Arc<Attempt>> {
        let alone = self.alone.as_ref().filter(|alone| alone.task == task).map(|alone| &alone.attempt);
        alone.or_else(|| self.spawned.get(task).map(|spawned| &spawned.attempt))
    }

    /// Drops a node at its `.await`.
    pub(super) fn drop_attempt(&mut self, task: TaskId) {
        if let Some(alone) = self.alone.take_if(|alone| alone.task == task) {
            let attempt = Arc::clone(&alone.attempt);
            drop(alone);
            attempt.end_noticed();
            self.report(Report::Stopped { task }, None);
        } else if self.lanes.as_ref().is_some_and(|lanes| lanes.take_back(task).is_some()) {
            if let Some(Spawned { attempt, .. }) = self.spawned.remove(task) {
                attempt.end_noticed();
            }
            self.report(Report::Stopped { task }, None);
        } else if let Some(spawned) = self.spawned.get_mut(task) {
            spawned.is_dropped = true;
            // The task that polls it reports when it is gone.
            spawned.attempt.own_task.abort();
        }
    }

    /// An attempt is over.
    pub(super) fn ended(&mut self, task: TaskId, attempt: Arc<Attempt>, finished: Finished) {
        self.timers.unset(Timer::Grace(task));
        let writes = attempt.take_writes();
        let is_last = attempt.is_last();
        let next = if let Finished::Fault(_) = finished { attempt.take_next_run() } else { None };
        attempt.end_noticed();
        self.spare = Some(attempt);
        if let Some(next) = next {
            return self.report(Report::StartsOver { task, next }, None);
        }
        let finished = match finished {
            Finished::Emitted { emitted, output, .. } if is_empty(&writes) => {
                let Err(emitted) = self.complete_in_place(task, emitted) else { return };
                Finished::Emitted { emitted, output, holder: None }
            }
            finished => finished,
        };
        let Some(place) = self.place_of(task) else { return };
        match (writes, finished) {
            (Err(fault), Finished::Emitted { .. } | Finished::Waiting) => self.fails(task, &place, fault, is_last),
            (_, Finished::Fault(fault)) => self.fails(task, &place, *fault, is_last),
            (writes, Finished::Failed(mut error)) if is_last => {
                error.retryable = Retryable::No;
                self.finished(task, &place, Finished::Failed(error), writes.unwrap_or_default());
            }
            (writes, finished) => self.finished(task, &place, finished, writes.unwrap_or_default()),
        }
    }

    /// Completes a node that has written nothing, if the fast path is possible; otherwise returns its emission.
    fn complete_in_place(&mut self, task: TaskId, emitted: Emitted) -> Result<(), Emitted> {
        if !self.is_bare || !self.retained.is_empty() {
            return Err(emitted);
        }
        if let Err(impossible) = self.run.complete_in_place(task, emitted)? {
            self.halt = Some(self.halt_for(&impossible));
        }
        Ok(())
    }

    /// A branch that has written nothing is done.
    pub(super) fn branch_is_done(&mut self, task: TaskId, emitted: Emitted) {
        if let Err(emitted) = self.complete_in_place(task, emitted) {
            self.report(Report::Succeeded { task, emitted, writes: Writes::default() }, None);
        }
    }

    fn finished(&mut self, task: TaskId, place: &Place, finished: Finished, writes: Writes) {
        if let Finished::Emitted { .. } | Finished::Waiting = finished
            && let Err(fault) = self.run.check_writes(task, &writes)
        {
            return self.fails(task, place, fault, false);
        }
        match finished {
            Finished::Emitted { emitted, output, .. } => {
                let given = Given::Output(output.map(|output| *output));
                self.report(Report::Succeeded { task, emitted, writes }, Some(given));
            }
            Finished::Waiting => self.report(Report::Collecting { task, writes }, None),
            Finished::Failed(error) => {
                let Error { cause, retryable, routed, json } = *error;
                let (routed, given) = routed.map(|routed| (routed.emitted, Given::Error(routed.error))).unzip();
                let cause = Box::new(cause);
                self.report(Report::Failed { task, cause, retryable, routed, error: json }, given);
            }
            Finished::Fault(fault) => self.fails(task, place, *fault, false),
        }
    }
}

/// Why the inputs of the graphs inside a node were not made.
enum Cut {
    Fault(Fault),
    Halt(Halt),
}

impl From<Fault> for Cut {
    fn from(fault: Fault) -> Self {
        Cut::Fault(fault)
    }
}

fn is_empty(writes: &Result<Writes, Fault>) -> bool {
    matches!(writes, Ok(Writes(None)))
}

fn body<'d>(definition: &'d Definition, place: &Place) -> Option<(&'d dyn AnyNode, &'d NodeOptions)> {
    let entry = definition.entry(place.node as usize)?;
    Some((&**entry.node.as_ref()?, &entry.options))
}

fn input_is_gone() -> Fault {
    Fault::Context { message: "the node's input is gone; this is a mistake in graphweft".to_owned() }
}
