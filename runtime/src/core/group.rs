//! The graphs inside a node: one for a nested workflow, one for each item of `[..]`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::attempt::Failed;
use super::layout::{NodeKind, Program};
use super::limits::Gate;
use super::machine::Machine;
use super::message::Command;
use super::path::ScopePath;
use super::state::Seen;
use super::task::{TaskId, TaskStage};
use super::token::{Arrived, Emitted};
use crate::fault::Failure;
use crate::table::ScopeKind;

pub(super) struct Group<V> {
    pub(super) kind: ScopeKind,
    layout: usize,
    /// What has not begun, lowest index first.
    pub(super) pending: VecDeque<(usize, Emitted<V>)>,
    /// The scope of each item that is under way.
    pub(super) children: Vec<Option<usize>>,
    pub(super) ends: Vec<Option<Arrived<V>>>,
    pub(super) open: usize,
    /// Items that were opened from records, lowest index first; some may have begun since.
    pub(super) held: VecDeque<usize>,
    /// How many of those have not begun.
    pub(super) held_open: usize,
    /// How many items may be under way at once.
    limit: usize,
    /// Whether the driver was asked to say when the next item begins, so that none begins before.
    one_by_one: bool,
    /// The state when the first item began, which is when all begin that need not wait for others.
    began: Seen,
    /// The failed item of the lowest index.
    pub(super) failed: Option<(usize, Failure)>,
    /// By graph and node: who is in the node and who waits for it.
    pub(super) gates: HashMap<(usize, usize), Gate>,
}

impl<V> Machine<V> {
    /// The driver has made the inputs of the graphs inside a node.
    pub(super) fn entered(&mut self, program: &Program, task: TaskId, inputs: Vec<Emitted<V>>) {
        let Some(at) = self.tasks.get_mut(task) else { return };
        if at.stopping.is_some() {
            return self.stopped(program, task);
        }
        let (scope, node) = (at.scope, at.node);
        let Some(layout) = self.layout(program, scope) else { return };
        let spec = &layout.nodes[node];
        let NodeKind::Scope(kind, inside) = spec.kind else { return };
        let limit = match (kind, spec.options.max_parallel) {
            (ScopeKind::Each, Some(limit)) => (limit as usize).max(1),
            _ => usize::MAX,
        };
        let count = inputs.len();
        // As long as records are folded, nobody is let in where a place became free. Those of an attempt before this one
        // are not places at the gates of this one.
        self.slots.freed.retain(|(each, _)| *each != task);
        let group = Group {
            kind,
            layout: inside,
            pending: inputs.into_iter().enumerate().collect(),
            children: vec![None; count],
            ends: std::iter::repeat_with(|| None).take(count).collect(),
            open: 0,
            held: VecDeque::new(),
            held_open: 0,
            limit,
            one_by_one: false,
            began: Seen { version: self.state.version, values: Arc::clone(&self.state.values) },
            failed: None,
            gates: HashMap::new(),
        };
        if let Some(at) = self.tasks.get_mut(task) {
            at.group = Some(Box::new(group));
            at.stage = TaskStage::Inside;
        }
        self.go_on(program, task);
    }

    /// The driver has carried out what was to be done for the items before: the next one begins.
    pub(super) fn goes_on(&mut self, program: &Program, task: TaskId) {
        let Some(group) = self.tasks.get_mut(task).and_then(|task| task.group.as_mut()) else { return };
        group.one_by_one = false;
        self.as_of = Some(group.began.clone());
        self.go_on(program, task);
    }

    /// Whether items of `[..]` may begin one after the other, without anyone seeing the difference.
    fn may_take_its_time(&self) -> bool {
        !self.notes && !self.replaying && self.slots.are_unlimited()
    }

    /// Begins items that may begin; when all are over, so is the attempt.
    pub(super) fn go_on(&mut self, program: &Program, task: TaskId) {
        loop {
            let Some(at) = self.tasks.get_mut(task) else { return };
            let scope = at.scope;
            let stopping = at.stopping.is_some();
            let Some(group) = at.group.as_mut() else { return };
            if stopping {
                group.pending.clear();
                group.held.clear();
            } else if let Some((lowest, _)) = &group.failed {
                // The others are about to be stopped.
                group.held.retain(|item| item < lowest);
            }
            if group.one_by_one && !group.pending.is_empty() {
                return;
            }
            if !self.replaying {
                if group.open - group.held_open >= group.limit {
                    return;
                }
                if let Some(item) = group.held.pop_front() {
                    let held = group.children.get(item).copied().flatten();
                    if let Some(scope) = held.filter(|scope| self.scope(*scope).is_some_and(|scope| scope.held)) {
                        self.release(program, scope);
                    }
                    continue;
                }
            }
            let Some((item, emitted)) = group.pending.pop_front() else { break };
            group.open += 1;
            let (kind, layout) = (group.kind, group.layout);
            if self.replaying && kind == ScopeKind::Each {
                group.held.push_back(item);
                group.held_open += 1;
            }
            let (Some(around), Some(outer)) = (self.place_of(task), self.scope(scope)) else { return };
            let (item_name, each) = match kind {
                ScopeKind::Nested => (None, outer.each),
                ScopeKind::Each => (Some(item), Some(task)),
            };
            let inside = Arc::clone(&program.layouts[layout]);
            let path = Arc::new(ScopePath { layout: inside, around: Some(around), prefix: None, item: item_name });
            self.open_scope(program, layout, path, Some((task, item, each)), emitted);
            if self.may_take_its_time()
                && let Some(group) = self.tasks.get_mut(task).and_then(|task| task.group.as_mut())
                && group.limit == usize::MAX
                && !group.pending.is_empty()
            {
                group.one_by_one = true;
                self.out.push_back(Command::GoOn(task));
            }
        }
        let Some(at) = self.tasks.get_mut(task) else { return };
        if at.group.as_ref().is_none_or(|group| group.open > 0) {
            return;
        }
        let Some(group) = at.group.take() else { return };
        if at.stopping.is_some() {
            return self.stopped(program, task);
        }
        if let Some((_, failure)) = group.failed {
            return self.attempt_failed(program, task, Failed::Inside(failure));
        }
        at.stage = TaskStage::Running;
        let ends = group.ends.into_iter().flatten().collect();
        if let Some(place) = self.place_of(task) {
            self.out.push_back(Command::Leave { task, place, ends });
        }
    }

    fn item_over(&mut self, task: TaskId, item: usize) -> Option<&mut Group<V>> {
        let group = self.tasks.get_mut(task)?.group.as_mut()?;
        group.children[item] = None;
        Some(group)
    }

    pub(super) fn item_finished(&mut self, program: &Program, task: TaskId, item: usize, output: Arrived<V>) {
        let Some(group) = self.item_over(task, item) else { return };
        group.ends[item] = Some(output);
        group.open -= 1;
        self.go_on(program, task);
    }

    /// Items above the one that failed are stopped; those below go on, and may fail as well: the lowest is reported.
    pub(super) fn item_failed(&mut self, program: &Program, task: TaskId, item: usize, failure: Failure) {
        let Some(group) = self.item_over(task, item) else { return };
        if group.failed.as_ref().is_none_or(|(lowest, _)| item < *lowest) {
            group.failed = Some((item, failure));
        }
        group.pending.clear();
        let above: Vec<usize> = group.children[item..].iter().flatten().copied().collect();
        // This item still counts as open, so that the last of these does not end the attempt before this function does.
        for scope in above {
            self.cancel_scope(program, scope);
        }
        self.item_cancelled(program, task, item);
    }

    pub(super) fn item_cancelled(&mut self, program: &Program, task: TaskId, item: usize) {
        let Some(group) = self.item_over(task, item) else { return };
        group.open -= 1;
        self.go_on(program, task);
    }

    /// Stops the graphs inside a node.
    pub(super) fn stop_group(&mut self, program: &Program, task: TaskId) {
        let Some(group) = self.tasks.get_mut(task).and_then(|task| task.group.as_mut()) else { return };
        group.pending.clear();
        let children: Vec<usize> = group.children.iter().flatten().copied().collect();
        for scope in children {
            self.cancel_scope(program, scope);
        }
    }
}
