//! Taking records instead of live events. Attempts begin when a record says so and not before, and what was decided of
//! a failure is what its record says, so that a run is folded in the same way whatever limits and retries are set now.

use std::time::Duration;

use super::attempt::Failed;
use super::layout::Program;
use super::machine::Machine;
use super::message::Command;
use super::state::Writes;
use super::task::{TaskId, TaskStage};
use super::token::Emitted;
use crate::fault::{Cause, Failure};

impl<V> Machine<V> {
    /// Lets a task wait for the record that it has begun.
    pub(super) fn hold(&mut self, task: TaskId) {
        if let Some(at) = self.tasks.get_mut(task) {
            at.stage = TaskStage::Queued;
        }
        self.awaits(task);
    }

    fn awaits(&mut self, task: TaskId) {
        if let Some(place) = self.place_of(task) {
            self.out.push_back(Command::Awaits { task, place });
        }
    }

    /// Whether nothing in a task's item of `[..]` may begin yet.
    pub(super) fn is_held(&self, task: TaskId) -> bool {
        self.replaying || self.tasks.get(task).and_then(|at| self.scope(at.scope)).is_some_and(|scope| scope.held)
    }

    /// An attempt has begun, or begins again.
    pub(super) fn started(&mut self, program: &Program, task: TaskId) {
        let Some(at) = self.tasks.get(task) else { return };
        let scope = at.scope;
        match at.stage {
            TaskStage::Queued => {
                self.unhold(scope);
                self.pass_gate(program, task);
                self.begin_attempt(program, task);
            }
            _ => {
                let version = self.state.version;
                if let Some(at) = self.tasks.get_mut(task) {
                    at.seen = version;
                }
            }
        }
    }

    pub(super) fn await_judgement(&mut self, task: TaskId, failed: Failed<V>) {
        if let Some(at) = self.tasks.get_mut(task) {
            at.stage = TaskStage::Unjudged;
            at.unjudged = Some(Box::new(failed));
        }
        self.awaits(task);
    }

    /// What was decided when an attempt had failed.
    pub(super) fn judged(
        &mut self,
        program: &Program,
        task: TaskId,
        cause: Cause,
        retry_in: Option<Duration>,
        routed: Option<Emitted<V>>,
    ) {
        self.free_slot(program, task);
        self.drop_timer(task);
        let place = self.place_of(task);
        let (Some(at), Some(place)) = (self.tasks.get_mut(task), place) else { return };
        let (attempts, unjudged) = (at.attempt, at.unjudged.take().map(|failed| *failed));
        if let Some(delay) = retry_in {
            return self.delay(task, delay);
        }
        match (routed, unjudged) {
            (Some(emitted), _) => self.complete(program, task, emitted, Writes::default()),
            (None, Some(Failed::Inside(failure))) => self.fail_node(program, task, failure),
            (None, _) => self.fail_node(program, task, Failure { path: place.to_string(), attempts, cause }),
        }
    }

    /// A failure does not count: the node that had failed has all its attempts again. One that failed since the graph
    /// inside it did goes on inside.
    pub(super) fn forgiven(&mut self, program: &Program, task: TaskId) {
        let Some(at) = self.tasks.get(task) else { return };
        if at.stage == TaskStage::Inside {
            return;
        }
        self.free_slot(program, task);
        // Others may have come in when it failed.
        self.leave_gate(program, task);
        self.drop_timer(task);
        if let Some(at) = self.tasks.get_mut(task) {
            at.gated = false;
            at.attempt = 0;
            at.unjudged = None;
        }
        self.hold(task);
    }

    /// No record is left: what waits for one goes on by itself.
    pub(super) fn replayed(&mut self, program: &Program) {
        self.replaying = false;
        // Looked at before any of them goes on: what an item lets in as it is released has not to be let in again.
        let waiting: Vec<(TaskId, TaskStage)> = (self.tasks.ids().into_iter())
            .filter_map(|task| Some((task, self.tasks.get(task)?.stage)))
            .filter(|(task, stage)| *stage != TaskStage::Queued || !self.is_held(*task))
            .collect();
        for (task, stage) in waiting {
            match stage {
                TaskStage::Unjudged => {
                    if let Some(failed) = self.tasks.get_mut(task).and_then(|at| at.unjudged.take()) {
                        self.attempt_failed(program, task, *failed);
                    }
                }
                TaskStage::Queued if self.tasks.get(task).is_some() => self.approach(program, task),
                TaskStage::Inside => self.go_on(program, task),
                _ => {}
            }
        }
    }

    /// An item that was opened from records has begun, or is over.
    pub(super) fn unhold(&mut self, scope: usize) {
        let Some(at) = self.scope_mut(scope).filter(|at| at.held) else { return };
        at.held = false;
        if let Some((task, _)) = at.parent
            && let Some(group) = self.tasks.get_mut(task).and_then(|task| task.group.as_mut())
        {
            group.held_open = group.held_open.saturating_sub(1);
        }
    }

    /// Lets an item in that was opened from records and has not begun.
    pub(super) fn release(&mut self, program: &Program, scope: usize) {
        self.unhold(scope);
        let Some(at) = self.scope(scope) else { return };
        for task in at.tasks.clone() {
            if self.tasks.get(task).is_some_and(|at| at.stage == TaskStage::Queued) {
                self.approach(program, task);
            }
        }
    }
}
