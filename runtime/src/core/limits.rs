//! How many at once: attempts in a run (`max_concurrency`), items in a node of `[..]` (`max_parallel`). First come,
//! first served.

use std::collections::VecDeque;

use super::layout::{NodeKind, Program};
use super::machine::Machine;
use super::task::{TaskId, TaskStage};

/// The places for attempts of a run.
pub(super) struct Slots {
    /// 0: no limit.
    limit: usize,
    pub(super) running: usize,
    queue: VecDeque<TaskId>,
    /// Gates at which a place has become free: the node of `[..]`, and the graph and node inside.
    pub(super) freed: Vec<(TaskId, (usize, usize))>,
}

/// The places in one node inside `[..]`.
#[derive(Default)]
pub(super) struct Gate {
    pub(super) inside: usize,
    queue: VecDeque<TaskId>,
}

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        Slots { limit, running: 0, queue: VecDeque::new(), freed: Vec::new() }
    }

    pub(super) fn are_unlimited(&self) -> bool {
        self.limit == 0 && self.freed.is_empty()
    }

    pub(super) fn is_free(&self) -> bool {
        self.limit == 0 || self.running < self.limit
    }
}

impl<V> Machine<V> {
    /// A task that has just fired: to the node's gate, if it has one, and on to the run's slots.
    pub(super) fn approach(&mut self, program: &Program, task: TaskId) {
        if self.is_held(task) {
            return self.hold(task);
        }
        // One that was about to be tried again when the records ended has never left its gate.
        let is_inside = self.tasks.get(task).is_some_and(|at| at.gated);
        if !is_inside
            && let Some((each, key, places)) = self.gate_of(program, task)
            && let Some(group) = self.tasks.get_mut(each).and_then(|each| each.group.as_mut())
        {
            let gate = group.gates.entry(key).or_default();
            if gate.inside >= places {
                gate.queue.push_back(task);
                if let Some(at) = self.tasks.get_mut(task) {
                    at.stage = TaskStage::AtGate;
                }
                return;
            }
            gate.inside += 1;
            if let Some(at) = self.tasks.get_mut(task) {
                at.gated = true;
            }
        }
        self.queue_up(program, task);
    }

    /// An attempt has ended, or begins from a record; a task that waits for its slot has none to give back.
    pub(super) fn free_slot(&mut self, program: &Program, task: TaskId) {
        let is_running = self.tasks.get(task).is_some_and(|at| at.stage == TaskStage::Running);
        if is_running && self.is_leaf(program, task) {
            self.slots.running = self.slots.running.saturating_sub(1);
        }
    }

    /// From a record: takes a place at the task's gate, whether there is one or not.
    pub(super) fn pass_gate(&mut self, program: &Program, task: TaskId) {
        if self.tasks.get(task).is_none_or(|at| at.gated) {
            return;
        }
        if let Some((each, key, _)) = self.gate_of(program, task)
            && let Some(group) = self.tasks.get_mut(each).and_then(|each| each.group.as_mut())
        {
            group.gates.entry(key).or_default().inside += 1;
            if let Some(at) = self.tasks.get_mut(task) {
                at.gated = true;
            }
        }
    }

    fn gate_mut(&mut self, each: TaskId, key: (usize, usize)) -> Option<&mut Gate> {
        self.tasks.get_mut(each)?.group.as_mut()?.gates.get_mut(&key)
    }

    fn gate_of(&self, program: &Program, task: TaskId) -> Option<(TaskId, (usize, usize), usize)> {
        let at = self.tasks.get(task)?;
        let scope = self.scope(at.scope)?;
        let each = scope.each?;
        let node = &program.layouts[scope.layout].nodes[at.node];
        // `[..]` itself limits the items inside it, not itself.
        if matches!(node.kind, NodeKind::Scope(crate::table::ScopeKind::Each, _)) {
            return None;
        }
        Some((each, (scope.layout, at.node), (node.options.max_parallel? as usize).max(1)))
    }

    /// Starts an attempt, or lets it wait for a slot.
    pub(super) fn queue_up(&mut self, program: &Program, task: TaskId) {
        if self.replaying {
            return self.hold(task);
        }
        if self.slots.limit > 0
            && self.is_leaf(program, task)
            && (!self.slots.is_free() || !self.slots.queue.is_empty())
        {
            self.slots.queue.push_back(task);
            if let Some(at) = self.tasks.get_mut(task) {
                at.stage = TaskStage::Queued;
            }
            return;
        }
        self.begin_attempt(program, task);
    }

    /// Notes that a task which is about to go no longer stands in its gate.
    pub(super) fn leave_gate(&mut self, program: &Program, task: TaskId) {
        if !self.tasks.get(task).is_some_and(|at| at.gated) {
            return;
        }
        if let Some((each, key, _)) = self.gate_of(program, task) {
            self.slots.freed.push((each, key));
        }
    }

    /// Lets in whom there is room for now. Returns whether anyone came in. Only called once nothing else moves: by then
    /// those that a failure takes with it are gone from the queues.
    pub(super) fn admit(&mut self, program: &Program) -> bool {
        let mut came_in = false;
        let freed = std::mem::take(&mut self.slots.freed);
        for (each, key) in &freed {
            if let Some(gate) = self.gate_mut(*each, *key) {
                gate.inside = gate.inside.saturating_sub(1);
            }
        }
        // Behind the last record there may be more places that became free than there are places.
        for (each, key) in freed {
            while let Some(gate) = self.gate_mut(each, key) {
                let (inside, Some(next)) = (gate.inside, gate.queue.front().copied()) else { break };
                let places = self.gate_of(program, next).map(|(_, _, places)| places);
                if places.is_some_and(|places| inside >= places) {
                    break;
                }
                if let Some(gate) = self.gate_mut(each, key) {
                    gate.queue.pop_front();
                    gate.inside += usize::from(places.is_some());
                }
                let Some(at) = self.tasks.get_mut(next) else { continue };
                at.gated = true;
                self.queue_up(program, next);
                came_in = true;
            }
        }
        while self.slots.is_free() {
            let Some(next) = self.slots.queue.pop_front() else { break };
            if self.tasks.get(next).is_some_and(|at| at.stage == TaskStage::Queued) {
                self.begin_attempt(program, next);
                came_in = true;
            }
        }
        came_in
    }
}
