//! Collecting nodes: one arrival after another until the first output.

use std::sync::Arc;

use graphweft_graph::NodeIx;
use serde_json::{Map, Value};

use super::attempt::Failed;
use super::frame::{CollectorSlot, Stage};
use super::layout::Program;
use super::machine::Machine;
use super::message::Note;
use super::state::{Write, Writes, fold_into};
use super::task::{Stop, TaskId};
use super::token::Arrived;
use crate::fault::Fault;

impl<V> Machine<V> {
    /// An edge to a collecting node has its token.
    pub(super) fn arrive(&mut self, program: &Program, scope: usize, frame: usize, node: NodeIx, value: Option<V>) {
        if self.stage_of(program, scope, frame, node) == Some(Stage::Settled) {
            return;
        }
        if let (Some(value), Some(slot)) = (value, self.collector(program, scope, frame, node)) {
            slot.waiting.push_back(value);
        }
        self.next_arrival(program, scope, frame, node);
    }

    /// Runs the node for the next arrival, unless it is at one. After the last one without an output it has failed.
    fn next_arrival(&mut self, program: &Program, scope: usize, frame: usize, node: NodeIx) {
        let Some(slot) = self.collector(program, scope, frame, node) else { return };
        if slot.busy {
            return;
        }
        if let Some(value) = slot.waiting.pop_front() {
            slot.busy = true;
            slot.arrivals += 1;
            if self.is_in_vain(program, scope, frame, node) {
                return self.skip(program, scope, frame, node);
            }
            return self.start_task(program, scope, frame, node, Arrived::One(value));
        }
        let arrivals = slot.arrivals;
        if !self.has_had_all(program, scope, frame, node) {
            return;
        }
        if arrivals == 0 {
            return self.skip(program, scope, frame, node);
        }
        if let Some(task) = self.new_task(scope, frame, node, None) {
            if let Some(at) = self.tasks.get_mut(task) {
                at.attempt = 1;
            }
            let fault = Box::new(Fault::NothingCollected { arrivals });
            self.attempt_failed(program, task, Failed::Fault(fault));
        }
    }

    /// An attempt at a collecting node has ended without an output.
    pub(super) fn waits(&mut self, program: &Program, task: TaskId, writes: Writes) {
        if let Err(fault) = self.fold(program, task, &writes).map_err(Box::new) {
            return self.attempt_failed(program, task, Failed::Fault(fault));
        }
        self.note_task(task, || Note::Waiting { writes });
        let Some(at) = self.end_task(program, task) else { return };
        if let Some(slot) = self.collector(program, at.scope, at.frame, at.node) {
            slot.busy = false;
        }
        self.next_arrival(program, at.scope, at.frame, at.node);
    }

    /// A node has its output. If it collects, what could only have arrived there is stopped.
    pub(super) fn collected(&mut self, program: &Program, scope: usize, frame: usize, node: NodeIx) {
        let Some(layout) = self.layout(program, scope) else { return };
        let Some(collector) = &layout.nodes[node].collector else { return };
        let Some(at) = self.scope_mut(scope) else { return };
        at.frames[frame].collected.push(node);
        at.frames[frame].collectors[collector.slot].waiting.clear();
        let tasks = at.tasks.clone();
        let in_vain = |task: &TaskId| {
            self.tasks
                .get(*task)
                .is_some_and(|task| collector.in_vain[task.node] && self.is_within(scope, task.frame, frame))
        };
        let stop: Vec<TaskId> = tasks.into_iter().filter(in_vain).collect();
        for task in stop {
            self.stop(program, task, Stop::InVain);
        }
    }

    /// Whether all that a node could still lead to is a collecting node that has its output.
    pub(super) fn is_in_vain(&self, program: &Program, scope: usize, frame: usize, node: NodeIx) -> bool {
        let Some(layout) = self.layout(program, scope) else { return false };
        if !layout.collects {
            return false;
        }
        let Some(at) = self.scope(scope) else { return false };
        let mut at_frame = &at.frames[frame];
        loop {
            let collectors = at_frame.collected.iter().filter_map(|done| layout.nodes[*done].collector.as_ref());
            if collectors.into_iter().any(|done| done.in_vain[node]) {
                return true;
            }
            if at_frame.depth == 0 {
                return false;
            }
            at_frame = &at.frames[at_frame.parent];
        }
    }

    fn is_within(&self, scope: usize, mut inner: usize, outer: usize) -> bool {
        let Some(at) = self.scope(scope) else { return false };
        while inner != outer && at.frames[inner].depth > 0 {
            inner = at.frames[inner].parent;
        }
        inner == outer
    }

    fn stage_of(&self, program: &Program, scope: usize, frame: usize, node: NodeIx) -> Option<Stage> {
        let slot = self.layout(program, scope)?.nodes[node].slot;
        Some(self.scope(scope)?.frames[frame].nodes[slot].stage)
    }

    fn has_had_all(&self, program: &Program, scope: usize, frame: usize, node: NodeIx) -> bool {
        let slot = |at: &super::layout::Layout| at.nodes[node].slot;
        let (Some(layout), Some(at)) = (self.layout(program, scope), self.scope(scope)) else { return false };
        at.frames[frame].nodes[slot(layout)].open == 0
    }

    fn collector(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
    ) -> Option<&mut CollectorSlot<V>> {
        let slot = self.layout(program, scope)?.nodes[node].collector.as_ref()?.slot;
        self.frame_mut(scope, frame)?.collectors.get_mut(slot)
    }

    fn collector_of(&mut self, program: &Program, task: TaskId) -> Option<&mut CollectorSlot<V>> {
        let at = self.tasks.get(task)?;
        let (scope, frame, node) = (at.scope, at.frame, at.node);
        self.collector(program, scope, frame, node)
    }

    pub(super) fn local_of(&mut self, program: &Program, task: TaskId) -> Option<Arc<Map<String, Value>>> {
        self.collector_of(program, task).map(|slot| Arc::clone(&slot.local))
    }

    /// What a collecting node keeps for itself, with these writes.
    pub(super) fn fold_local(
        &mut self,
        program: &Program,
        task: TaskId,
        writes: &[Write],
    ) -> Result<Option<Map<String, Value>>, Fault> {
        let Some(slot) = self.collector_of(program, task).filter(|_| !writes.is_empty()) else { return Ok(None) };
        let mut local = Map::clone(&slot.local);
        fold_into(&mut local, writes)?;
        Ok(Some(local))
    }

    pub(super) fn keep_local(&mut self, program: &Program, task: TaskId, local: Map<String, Value>) {
        if let Some(slot) = self.collector_of(program, task) {
            slot.local = Arc::new(local);
        }
    }
}
