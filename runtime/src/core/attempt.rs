//! Attempts: how a node that has fired is tried, tried again, and ends.

use std::sync::Arc;
use std::time::Duration;

use graphweft_graph::NodeIx;

use super::layout::{NodeKind, NodeLayout, Program};
use super::machine::Machine;
use super::message::{Command, Ended, Note, Routable, Sees, TimerId};
use super::state::Writes;
use super::task::{Stop, Task, TaskId, TaskStage};
use super::token::{Arrived, Emitted};
use crate::fault::{Cause, Failure, Fault};

/// How an attempt failed.
pub(super) enum Failed<V> {
    /// By the node's own error.
    Error {
        cause: Box<Cause>,
        retryable: bool,
        routed: Option<Emitted<V>>,
    },
    Fault(Box<Fault>),
    /// Before its input was kept.
    Lost(Box<Fault>),
    /// A graph inside has failed.
    Inside(Failure),
}

impl<V> Machine<V> {
    /// A node has fired.
    pub(super) fn start_task(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
        arrived: Arrived<V>,
    ) {
        if let Some(task) = self.new_task(scope, frame, node, Some(arrived)) {
            self.approach(program, task);
        }
    }

    pub(super) fn new_task(
        &mut self,
        scope: usize,
        frame: usize,
        node: NodeIx,
        arrived: Option<Arrived<V>>,
    ) -> Option<TaskId> {
        let listed = self.scope(scope)?.tasks.len();
        let task = self.tasks.insert(Task {
            scope,
            frame,
            node,
            listed,
            attempt: 0,
            stage: TaskStage::Queued,
            stopping: None,
            arrived,
            seen: 0,
            gated: false,
            timer: None,
            group: None,
            failing: None,
            unjudged: None,
        });
        self.scope_mut(scope)?.tasks.push(task);
        Some(task)
    }

    pub(super) fn spec<'p>(&self, program: &'p Program, task: TaskId) -> Option<&'p NodeLayout> {
        let at = self.tasks.get(task)?;
        self.layout(program, at.scope)?.nodes.get(at.node)
    }

    pub(super) fn is_leaf(&self, program: &Program, task: TaskId) -> bool {
        self.spec(program, task).is_some_and(|spec| spec.kind == NodeKind::Leaf)
    }

    pub(super) fn begin_attempt(&mut self, program: &Program, task: TaskId) {
        let (Some(spec), Some(place)) = (self.spec(program, task), self.place_of(task)) else { return };
        let version = self.as_of.as_ref().map_or(self.state.version, |seen| seen.version);
        let Some(at) = self.tasks.get_mut(task) else { return };
        at.attempt += 1;
        at.seen = version;
        at.stage = TaskStage::Running;
        let (attempt, arrived) = (at.attempt, at.arrived.take());
        let may_repeat = attempt < spec.options.retry.max_attempts;
        if spec.kind == NodeKind::Leaf {
            self.slots.running += 1;
            let local = spec.collector.as_ref().and_then(|_| self.local_of(program, task));
            let state = self.as_of.as_ref().map_or(&self.state.values, |seen| &seen.values);
            let sees = Sees { state: Arc::clone(state), local };
            self.out.push_back(Command::Run { task, place, attempt, may_repeat, arrived, sees });
        } else {
            self.out.push_back(Command::Enter { task, place, attempt, may_repeat, arrived });
            if let Some(after) = spec.options.timeout {
                let timer = self.set_timer(task, after);
                if let Some(at) = self.tasks.get_mut(task) {
                    at.timer = Some(timer);
                }
            }
        }
    }

    /// The driver says how an attempt ended.
    pub(super) fn ended(&mut self, program: &Program, task: TaskId, ended: Ended<V>, writes: Writes) {
        let Some(at) = self.tasks.get(task) else { return };
        let is_stopping = at.stopping.is_some();
        self.free_slot(program, task);
        if is_stopping {
            return self.stopped(program, task);
        }
        match ended {
            Ended::Emitted(emitted) => self.complete(program, task, emitted, writes),
            Ended::Waiting => self.waits(program, task, writes),
            Ended::Failed { cause, retryable, routed } => {
                self.attempt_failed(program, task, Failed::Error { cause, retryable, routed });
            }
            Ended::Fault(fault) => self.attempt_failed(program, task, Failed::Fault(fault)),
            Ended::Lost(fault) => self.attempt_failed(program, task, Failed::Lost(fault)),
            Ended::Stopped => {
                self.attempt_failed(program, task, Failed::Fault(Box::new(Fault::Interrupted)));
            }
        }
    }

    /// A node is done: its writes are folded, and its tokens go on.
    pub(super) fn complete(&mut self, program: &Program, task: TaskId, emitted: Emitted<V>, writes: Writes) {
        if let Err(fault) = self.fold(program, task, &writes).map_err(Box::new) {
            return self.attempt_failed(program, task, Failed::Fault(fault));
        }
        let choice = emitted.choice;
        self.note_task(task, || Note::Completed { choice, writes });
        let Some(at) = self.end_task(program, task) else { return };
        self.collected(program, at.scope, at.frame, at.node);
        self.emit(program, at.scope, at.frame, at.node, emitted);
        self.settle_node(program, at.scope, at.frame, at.node);
    }

    /// Takes over what an attempt has written; all of it, or nothing.
    pub(super) fn fold(&mut self, program: &Program, task: TaskId, writes: &Writes) -> Result<(), Fault> {
        let Some(set) = &writes.0 else { return Ok(()) };
        let (Some(at), Some(place)) = (self.tasks.get(task), self.place_of(task)) else { return Ok(()) };
        let seen = at.seen;
        let local = self.fold_local(program, task, &set.local)?;
        self.state.fold(&set.shared, seen, || place.to_string())?;
        if let Some(local) = local {
            self.keep_local(program, task, local);
        }
        Ok(())
    }

    /// An attempt has failed: there is another, or an arm `err` takes it, or the scope fails.
    pub(super) fn attempt_failed(&mut self, program: &Program, task: TaskId, failed: Failed<V>) {
        self.drop_timer(task);
        if self.replaying {
            return self.await_judgement(task, failed);
        }
        let (Some(spec), Some(at)) = (self.spec(program, task), self.tasks.get(task)) else { return };
        let attempt = at.attempt;
        let (cause, retryable) = match &failed {
            Failed::Error { cause, retryable, .. } => (Cause::clone(cause), *retryable),
            Failed::Fault(fault) => (Cause::from(Fault::clone(fault)), is_retryable(fault)),
            Failed::Lost(fault) => (Cause::from(Fault::clone(fault)), false),
            // What was cut short in there may not be repeated, and all of it would be.
            Failed::Inside(failure) => (failure.cause.clone(), !failure.is_interrupted()),
        };
        if retryable && attempt < spec.options.retry.max_attempts {
            let delay = spec.options.retry.delay_after(attempt, self.random);
            self.note_task(task, || Note::Failed { attempt, cause, retry_in: Some(delay) });
            return self.delay(task, delay);
        }
        let Some(place) = self.place_of(task) else { return };
        let (failure, error) = match failed {
            Failed::Error { routed, .. } => {
                self.note_task(task, || Note::Failed { attempt, cause: cause.clone(), retry_in: None });
                return match routed {
                    Some(emitted) => self.complete(program, task, emitted, Writes::default()),
                    None => {
                        let failure = Failure { path: place.to_string(), attempts: attempt, cause };
                        self.fail_node(program, task, failure)
                    }
                };
            }
            Failed::Fault(fault) | Failed::Lost(fault) => {
                let failure = Failure { path: place.to_string(), attempts: attempt, cause };
                // What fails with a graph inside fails with a `Failure`, whatever was the matter.
                let error = match spec.kind {
                    NodeKind::Leaf => Routable::Fault(*fault),
                    NodeKind::Scope(..) => Routable::Failure(failure.clone()),
                };
                (failure, error)
            }
            Failed::Inside(failure) => (failure.clone(), Routable::Failure(failure)),
        };
        if let Some(at) = self.tasks.get_mut(task) {
            at.failing = Some(Box::new(failure));
            at.stage = TaskStage::Routing;
        }
        self.out.push_back(Command::Route { task, place, error: Box::new(error) });
    }

    pub(super) fn delay(&mut self, task: TaskId, delay: Duration) {
        let timer = self.set_timer(task, delay);
        if let Some(at) = self.tasks.get_mut(task) {
            at.stage = TaskStage::Delayed;
            at.timer = Some(timer);
        }
    }

    /// The driver says whether a fault, or the failure of a graph inside, goes on by the arm `err`.
    pub(super) fn routed(&mut self, program: &Program, task: TaskId, emitted: Option<Emitted<V>>) {
        let Some(at) = self.tasks.get_mut(task) else { return };
        if at.stopping.is_some() {
            return self.stopped(program, task);
        }
        let (attempt, Some(failure)) = (at.attempt, at.failing.take()) else { return };
        // Only now, so that the record of a failure and of what became of it are one.
        self.note_task(task, || Note::Failed { attempt, cause: failure.cause.clone(), retry_in: None });
        match emitted {
            Some(emitted) => self.complete(program, task, emitted, Writes::default()),
            None => self.fail_node(program, task, *failure),
        }
    }

    pub(super) fn fail_node(&mut self, program: &Program, task: TaskId, failure: Failure) {
        let Some(at) = self.end_task(program, task) else { return };
        self.fail_scope(program, at.scope, failure);
    }

    /// A timer has run out: the delay before an attempt, or the time of a graph inside.
    pub(super) fn fired(&mut self, program: &Program, timer: TimerId) {
        let Some(task) = self.timers.remove(&timer) else { return };
        let Some(spec) = self.spec(program, task) else { return };
        let Some(at) = self.tasks.get_mut(task) else { return };
        at.timer = None;
        match (at.stage, spec.options.timeout) {
            (TaskStage::Delayed, _) => self.queue_up(program, task),
            (_, Some(after)) => self.stop(program, task, Stop::Attempt(Box::new(Fault::Timeout { after }))),
            (_, None) => {}
        }
    }

    /// Stops a task before its time. What waits goes at once; what runs is cancelled, and goes when it has ended.
    pub(super) fn stop(&mut self, program: &Program, task: TaskId, why: Stop) {
        let is_leaf = self.is_leaf(program, task);
        let Some(at) = self.tasks.get_mut(task) else { return };
        match (&at.stopping, &why) {
            (None, _) => {}
            (Some(Stop::Abandoned), _) | (Some(_), Stop::InVain | Stop::Attempt(_)) => return,
            (Some(_), Stop::Abandoned) => {
                at.stopping = Some(why);
                return;
            }
        }
        at.stopping = Some(why);
        match at.stage {
            TaskStage::AtGate | TaskStage::Queued | TaskStage::Delayed | TaskStage::Unjudged => {
                self.stopped(program, task);
            }
            TaskStage::Running if is_leaf => self.out.push_back(Command::Cancel(task)),
            TaskStage::Running | TaskStage::Routing => {}
            TaskStage::Inside => self.stop_group(program, task),
        }
    }

    /// Nothing of a task that was stopped runs any more.
    pub(super) fn stopped(&mut self, program: &Program, task: TaskId) {
        let Some(why) = self.tasks.get_mut(task).and_then(|at| at.stopping.take()) else { return };
        if let Stop::Attempt(fault) = why {
            return self.attempt_failed(program, task, Failed::Fault(fault));
        }
        self.note_task(task, || Note::Cancelled);
        let Some(at) = self.end_task(program, task) else { return };
        if matches!(why, Stop::Abandoned) {
            return self.scope_stopped(program, at.scope);
        }
        self.collected(program, at.scope, at.frame, at.node);
        self.emit_dead(program, at.scope, at.frame, at.node);
        self.settle_node(program, at.scope, at.frame, at.node);
    }

    /// Takes a task out of every list.
    pub(super) fn end_task(&mut self, program: &Program, task: TaskId) -> Option<Task<V>> {
        self.drop_timer(task);
        self.leave_gate(program, task);
        if self.spec(program, task).is_some_and(|spec| spec.options.retry.max_attempts > 1) {
            self.out.push_back(Command::Forget(task));
        }
        let at = self.tasks.remove(task)?;
        let scope = self.scope_mut(at.scope)?;
        scope.tasks.swap_remove(at.listed);
        let moved = scope.tasks.get(at.listed).copied();
        if let Some(moved) = moved.and_then(|moved| self.tasks.get_mut(moved)) {
            moved.listed = at.listed;
        }
        Some(at)
    }
}

/// Whether another attempt may follow.
pub(crate) fn is_retryable(fault: &Fault) -> bool {
    !matches!(fault, Fault::NothingCollected { .. } | Fault::Interrupted)
}
