//! All that a core holds, in words, so that tests can tell two of them apart.
//!
//! Values are left out, and so is which place something has in memory. A node that waits for its turn waits, be it at a
//! gate, in the queue or in an item that is not let in yet: who of them comes next is not on record.

use std::collections::BTreeSet;
use std::fmt::Debug;

use graphweft_graph::{NodeIx, START};

use super::frame::{Frame, Stage};
use super::group::Group;
use super::layout::Layout;
use super::machine::Core;
use super::scope::{Closing, Scope};
use super::task::{Stop, Task, TaskStage};
use crate::table::ScopeKind;

impl<V> Core<V> {
    /// One line for each thing, in alphabetical order.
    pub(crate) fn snapshot(&self) -> Vec<String> {
        let machine = &self.machine;
        let mut lines = vec![
            format!("state {:?}", machine.state),
            format!("{} attempts run, {} timers are set", machine.slots.running, machine.timers.len()),
        ];
        for scope in machine.scopes.iter().flatten().filter(|scope| !scope.held) {
            let layout = &self.program.layouts[scope.layout];
            lines.push(scope_line(scope));
            let frames = scope.frames.iter().enumerate().filter(|(at, _)| !scope.free_frames.contains(at));
            lines.extend(frames.map(|(_, frame)| frame_line(layout, scope, frame)));
            let tasks = scope.tasks.iter().filter_map(|id| Some((*id, machine.tasks.get(*id)?)));
            lines.extend(tasks.map(|(id, task)| format!("{:?} {}", machine.place_of(id), self.task_line(task))));
        }
        lines.sort();
        lines
    }

    fn task_line(&self, task: &Task<V>) -> String {
        let group = task.group.as_deref().map(|group| self.group_line(group));
        let (attempt, has_input, has_timer) = (task.attempt, task.arrived.is_some(), task.timer.is_some());
        let (stopping, failing) = (task.stopping.as_ref().map(stop), &task.failing);
        if matches!(task.stage, TaskStage::AtGate | TaskStage::Queued) {
            return format!("waits, {attempt} attempts, {has_input} {has_timer} {stopping:?}");
        }
        let (stage, seen, gated, is_judged) = (task.stage, task.seen, task.gated, task.unjudged.is_none());
        format!(
            "{stage:?}, {attempt} attempts, sees {seen}, {has_input} {has_timer} {gated} {is_judged} {stopping:?} \
             {failing:?} {group:?}"
        )
    }

    fn group_line(&self, group: &Group<V>) -> String {
        let (mut inside, mut waiting) = (Vec::new(), group.pending());
        for (item, scope) in group.children.iter().enumerate() {
            match scope.and_then(|scope| self.machine.scope(scope)) {
                Some(scope) if scope.held => waiting += 1,
                Some(_) => inside.push(item),
                None => {}
            }
        }
        format!("{waiting} items wait, {inside:?} are under way, {}", group.rest())
    }

    /// What stands before its paths, where it is the core of a child.
    pub(crate) fn prefix(&self) -> Option<&str> {
        self.root.prefix.as_deref()
    }

    /// Whether the run is to end before its graph has.
    pub(crate) fn is_ending(&self) -> bool {
        self.machine.over || self.machine.scope(0).is_some_and(|scope| scope.closing.is_some())
    }

    /// Whether all commands are carried out.
    pub(crate) fn is_settled(&self) -> bool {
        self.machine.out.is_empty() && self.machine.work.is_empty()
    }

    /// Something that would wait for ever if the run only waits for its nodes: a node or a loop to which nothing under way
    /// leads, or a node that nothing keeps from beginning.
    pub(crate) fn waits_in_vain(&self) -> Option<String> {
        let machine = &self.machine;
        for scope in machine.scopes.iter().flatten().filter(|scope| !scope.held && scope.closing.is_none()) {
            let layout = &self.program.layouts[scope.layout];
            let tasks = scope.tasks.iter().filter_map(|id| machine.tasks.get(*id));
            let is_full = !machine.slots.is_free();
            for task in tasks.clone() {
                let may_wait = match task.stage {
                    TaskStage::Running | TaskStage::Inside | TaskStage::AtGate => true,
                    TaskStage::Queued => is_full,
                    TaskStage::Delayed | TaskStage::Routing | TaskStage::Unjudged => false,
                };
                if !may_wait {
                    return Some(format!("`{}` of `{}` is {:?}", layout.nodes[task.node].name, scope.path, task.stage));
                }
            }
            let awaited = behind(layout, tasks.map(|task| task.node));
            let frames = scope.frames.iter().enumerate().filter(|(at, _)| !scope.free_frames.contains(at));
            let mut waiting = frames.flat_map(|(_, frame)| waits(layout, frame));
            if let Some(node) = waiting.find(|node| !awaited.contains(node)) {
                return Some(format!("`{}` of `{}` waits for nothing", layout.nodes[node].name, scope.path));
            }
        }
        None
    }
}

/// The nodes that wait for a token, and the heads of the loops that do. A collecting node that has one does not.
fn waits<'l, V>(layout: &'l Layout, frame: &'l Frame<V>) -> impl Iterator<Item = NodeIx> + 'l {
    let kind = &layout.frames[frame.kind];
    let is_busy = |node: NodeIx| layout.nodes[node].collector.as_ref().is_some_and(|of| frame.collectors[of.slot].busy);
    let nodes = frame
        .nodes
        .iter()
        .zip(&kind.nodes)
        .filter(move |(slot, node)| slot.stage == Stage::Waiting && **node != START && !is_busy(**node));
    let loops = frame.loops.iter().zip(&kind.loops).filter(|(slot, _)| slot.stage == Stage::Waiting);
    nodes.map(|(_, node)| *node).chain(loops.flat_map(|(_, of)| layout.frames[*of + 1].heads.iter().copied()))
}

/// The nodes that these lead to.
fn behind(layout: &Layout, nodes: impl Iterator<Item = NodeIx>) -> BTreeSet<NodeIx> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<NodeIx> = nodes.collect();
    while let Some(node) = left.pop() {
        let next = layout.nodes[node].out.iter().map(|edge| layout.edges[*edge].to);
        left.extend(next.filter(|node| reached.insert(*node)));
    }
    reached
}

fn scope_line<V>(scope: &Scope<V>) -> String {
    let closing = match &scope.closing {
        Some(Closing::Failed(failure)) => format!("fails: {failure:?}"),
        Some(Closing::Cancelled) => "is cancelled".to_owned(),
        None => String::new(),
    };
    format!("{} {} {closing}", scope.path, scope.output.is_some())
}

fn frame_line<V>(layout: &Layout, scope: &Scope<V>, frame: &Frame<V>) -> String {
    let sorted = |all: &[usize]| all.iter().copied().collect::<BTreeSet<usize>>();
    let turns =
        super::frame::turns_of(&scope.frames, scope.frames.iter().position(|at| std::ptr::eq(at, frame)).unwrap_or(0));
    let nodes: Vec<_> = frame.nodes.iter().map(|slot| (slot.open, slot.stage)).collect();
    let loops: Vec<_> = frame.loops.iter().map(|slot| (slot.open, slot.stage, slot.turns)).collect();
    let groups: Vec<_> = (frame.groups.iter())
        .map(|slot| (slot.open, slot.live, slot.places.iter().map(Option::is_some).collect::<Vec<_>>()))
        .collect();
    // What a collecting node has written down means nothing any more once it has its output, and is not recorded then.
    let done = |at: usize| {
        frame.collected.iter().any(|node| layout.nodes[*node].collector.as_ref().is_some_and(|of| of.slot == at))
    };
    let collectors: Vec<_> = (frame.collectors.iter().enumerate())
        .map(|(at, slot)| (slot.waiting.len(), slot.arrivals, slot.busy, (!done(at)).then(|| slot.local.clone())))
        .collect();
    let rest: [&dyn Debug; 4] = [&nodes, &loops, &groups, &collectors];
    let ends =
        (frame.open, frame.back_open, frame.next_begun, frame.last, sorted(&frame.not_taken), sorted(&frame.collected));
    let mut line = format!("{} kind {}", scope.path, frame.kind);
    turns.write_to(&mut line).expect("a string takes all");
    line + &format!(" {ends:?} {rest:?}")
}

fn stop(why: &Stop) -> String {
    format!("{why:?}")
}

impl<V> Group<V> {
    /// All that is not counted by where its items are.
    fn rest(&self) -> String {
        let ends: Vec<bool> = self.ends.iter().map(Option::is_some).collect();
        let mut gates: Vec<_> =
            self.gates.iter().map(|(at, gate)| (*at, gate.inside)).filter(|(_, inside)| *inside > 0).collect();
        gates.sort_unstable();
        let is_each = self.kind == ScopeKind::Each;
        format!("{ends:?} {is_each} {} {:?} {gates:?}", self.open - self.held_open, self.failed)
    }

    fn pending(&self) -> usize {
        self.pending.len()
    }
}
