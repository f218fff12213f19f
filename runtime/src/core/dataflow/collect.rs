//! Collecting nodes: one arrival after another until the first output.

use std::sync::Arc;

use graphweft_graph::NodeIx;
use serde_json::{Map, Value};

use crate::core::attempts::Attempts;
use crate::core::fold_writes::fold_into;
use crate::core::frame::{CollectorSlot, Stage};
use crate::core::impossible::{Applied, Impossible};
use crate::core::program::Program;
use crate::core::run_state::RunState;
use crate::core::task::Execution;
use crate::core::task_id::{StopReason, TaskId};
use crate::core::token::Arrived;
use crate::fault::Fault;
use crate::state_write::StateWrite;

impl<V> RunState<V> {
    /// An edge to a collecting node has its token.
    pub(super) fn arrive(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
        value: Option<V>,
    ) -> Applied {
        let slot = self.layout(program, scope)?.nodes[node].slot;
        if self.frame_mut(scope, frame)?.nodes[slot].stage == Stage::Settled {
            return Ok(());
        }
        if let Some(value) = value {
            self.expect_collector(program, scope, frame, node)?.waiting.push_back(value);
        }
        self.next_arrival(program, scope, frame, node)
    }

    /// It has had an arrival, and waits for the next.
    pub(in crate::core) fn wait_for_arrival(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
    ) -> Applied {
        self.expect_collector(program, scope, frame, node)?.busy = false;
        self.next_arrival(program, scope, frame, node)
    }

    /// Fires the node for the next arrival, unless it is processing one. After the last one without an output it has
    /// failed.
    fn next_arrival(&mut self, program: &Program, scope: usize, frame: usize, node: NodeIx) -> Applied {
        let slot = self.expect_collector(program, scope, frame, node)?;
        if slot.busy {
            return Ok(());
        }
        if let Some(value) = slot.waiting.pop_front() {
            slot.busy = true;
            slot.arrivals += 1;
            if self.is_unneeded(program, scope, frame, node)? {
                return self.skip(program, scope, frame, node);
            }
            return self.fire_task(scope, frame, node, Attempts::none(), Some(Arrived::One(value)));
        }
        let arrivals = slot.arrivals;
        let vertex = self.layout(program, scope)?.nodes[node].slot;
        if self.frame_mut(scope, frame)?.nodes[vertex].open > 0 {
            return Ok(());
        }
        if arrivals == 0 {
            return self.skip(program, scope, frame, node);
        }
        self.fire_task(scope, frame, node, Attempts::first(Execution::Exhausted { arrivals }), None)
    }

    /// A node has its output. If it collects, the nodes that only feed it are stopped.
    pub(in crate::core) fn stop_what_only_feeds(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
    ) -> Applied {
        let Some(collector) = &self.layout(program, scope)?.nodes[node].collector else { return Ok(()) };
        let at = self.scope_mut(scope)?;
        at.frames[frame].collected.push(node);
        at.frames[frame].collectors[collector.slot].waiting.clear();
        let tasks = at.tasks.clone();
        for task in tasks {
            // Stopping one may have ended others.
            let Some(at) = self.tasks.get(task) else { continue };
            if collector.only_feeds[at.node] && self.is_within(scope, at.frame, frame)? {
                self.stop(program, task, StopReason::OutputUnneeded)?;
            }
        }
        Ok(())
    }

    /// Whether a node could only lead to a collecting node that has its output.
    pub(super) fn is_unneeded(&self, program: &Program, scope: usize, frame: usize, node: NodeIx) -> Applied<bool> {
        let layout = self.layout(program, scope)?;
        if !layout.collects {
            return Ok(false);
        }
        let at = self.scope(scope)?;
        let mut at_frame = &at.frames[frame];
        loop {
            let mut collectors = at_frame.collected.iter().filter_map(|done| layout.nodes[*done].collector.as_ref());
            if collectors.any(|done| done.only_feeds[node]) {
                return Ok(true);
            }
            if at_frame.depth == 0 {
                return Ok(false);
            }
            at_frame = &at.frames[at_frame.parent];
        }
    }

    fn is_within(&self, scope: usize, mut inner: usize, outer: usize) -> Applied<bool> {
        let at = self.scope(scope)?;
        while inner != outer && at.frames[inner].depth > 0 {
            inner = at.frames[inner].parent;
        }
        Ok(inner == outer)
    }

    pub(in crate::core) fn collector(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
    ) -> Applied<Option<&mut CollectorSlot<V>>> {
        let Some(collector) = &self.layout(program, scope)?.nodes[node].collector else { return Ok(None) };
        Ok(self.frame_mut(scope, frame)?.collectors.get_mut(collector.slot))
    }

    fn expect_collector(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
    ) -> Applied<&mut CollectorSlot<V>> {
        let no_collector = || Box::new(Impossible { event: "", found: "its node takes one arrival".to_owned() });
        self.collector(program, scope, frame, node)?.ok_or_else(no_collector)
    }

    fn collector_of(&self, program: &Program, task: TaskId) -> Option<&CollectorSlot<V>> {
        let at = self.tasks.get(task)?;
        let collector = self.node(program, task).ok()?.collector.as_ref()?;
        self.scope(at.scope).ok()?.frames[at.frame].collectors.get(collector.slot)
    }

    /// The state that a collecting node has kept from earlier arrivals.
    pub(in crate::core) fn collector_state_of(
        &self,
        program: &Program,
        task: TaskId,
    ) -> Option<Arc<Map<String, Value>>> {
        self.collector_of(program, task).map(|slot| Arc::clone(&slot.local))
    }

    /// Checks that writes can be folded into that state.
    pub(in crate::core) fn check_collector_writes(
        &self,
        program: &Program,
        task: TaskId,
        writes: &[StateWrite],
    ) -> Result<(), Fault> {
        match self.collector_of(program, task).filter(|_| !writes.is_empty()) {
            Some(slot) => fold_into(&mut Map::clone(&slot.local), writes),
            None => Ok(()),
        }
    }

    pub(in crate::core) fn fold_collector_writes(
        &mut self,
        program: &Program,
        task: TaskId,
        writes: &[StateWrite],
    ) -> Result<(), Fault> {
        if writes.is_empty() {
            return Ok(());
        }
        let Some(at) = self.tasks.get(task) else {
            debug_assert!(false, "a node that has written is there");
            return Ok(());
        };
        let (scope, frame, node) = (at.scope, at.frame, at.node);
        match self.collector(program, scope, frame, node) {
            Ok(Some(slot)) => fold_into(Arc::make_mut(&mut slot.local), writes),
            _ => {
                debug_assert!(false, "only a collecting node keeps something for itself");
                Ok(())
            }
        }
    }
}
