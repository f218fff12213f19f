//! The state of a run as text, so that tests can compare two of them.
//!
//! Values and slot numbers are left out.

use std::fmt::Debug;

use graphweft_graph::{NodeIx, START};

use super::attempts::AttemptState;
use super::frame::{Frame, Stage};
use super::items::Items;
use super::program::Layout;
use super::run::Run;
use super::scope::{Scope, ScopeExit};
use super::task::{Execution, Task};

use crate::sorted::SortedSet;

impl<V> Run<V> {
    /// One line for each entry, in alphabetical order. `with_state`: with the run's state, and the state that attempts
    /// see.
    pub(crate) fn snapshot(&self, with_state: bool) -> Vec<String> {
        let state = &self.state;
        let mut lines = vec![
            if with_state { format!("state {:?}", state.shared) } else { String::new() },
            format!("{} attempts run, until {:?}", state.running, state.limit),
        ];
        for scope in state.scopes.iter().flatten() {
            lines.push(scope_line(scope));
            let frames = scope.frames.iter().enumerate().filter(|(at, _)| !scope.free_frames.contains(at));
            lines.extend(frames.map(|(_, frame)| frame_line(scope, frame)));
            let tasks = scope.tasks.iter().filter_map(|id| Some((*id, state.tasks.get(*id)?)));
            lines.extend(tasks.map(|(id, task)| format!("{:?} {}", state.place_of(id), task_line(task, with_state))));
        }
        lines.sort();
        lines
    }

    /// Whether a node or item around a graph waits for a place, and so everything in the graph.
    fn waits_around(&self, scope: usize) -> bool {
        let parent = self.state.scope(scope).ok().and_then(|scope| scope.parent);
        parent.is_some_and(|(task, item)| {
            let around = self.state.tasks.get(task).expect("a graph is over before the node around it");
            let is_idle = around.items().is_some_and(|items| items.idle.contains(&item));
            let is_at_gate = self.state.needs_place(&self.program, task) && !around.holds_place;
            is_idle || is_at_gate || self.waits_around(around.scope)
        })
    }

    /// Whether no change is left for the driver.
    pub(crate) fn is_settled(&self) -> bool {
        self.state.news.changed.is_empty() && self.state.work.is_empty()
    }

    /// A node that would wait for ever if the run only waits for its nodes: a node or a loop to which nothing under way
    /// leads, or a node that could begin and does not.
    pub(crate) fn waits_in_vain(&self) -> Option<String> {
        let state = &self.state;
        for scope in state.scopes.iter().flatten().filter(|scope| scope.closing.is_none()) {
            let layout = &self.program.layouts[scope.layout];
            let tasks = scope.tasks.iter().filter_map(|id| state.tasks.get(*id));
            let is_full = self.admissions.is_full(state.running);
            for task in tasks.clone() {
                let may_wait = match task.attempts.state() {
                    AttemptState::UnderWay(Execution::Body) => true,
                    AttemptState::UnderWay(Execution::Inside(items)) => !items.is_over(),
                    AttemptState::Due => {
                        let has_places = layout.nodes[task.node].has_places || scope.places.is_some();
                        is_full || has_places || self.waits_around(task.scope)
                    }
                    AttemptState::Backoff { .. }
                    | AttemptState::UnderWay(Execution::Exhausted { .. })
                    | AttemptState::CutShort => false,
                    AttemptState::Ended(end) => match *end {},
                };
                if !may_wait {
                    let (node, state) = (&layout.nodes[task.node].name, task.in_words());
                    return Some(format!("`{node}` of `{}` waits, and {state}", scope.path));
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

fn task_line<V>(task: &Task<V>, with_state: bool) -> String {
    let items = match task.attempts.state() {
        AttemptState::UnderWay(Execution::Inside(items)) => items_line(items, with_state),
        AttemptState::UnderWay(Execution::Exhausted { arrivals }) => format!("after {arrivals}"),
        AttemptState::Backoff { until } => format!("until {until:?}"),
        AttemptState::Due | AttemptState::UnderWay(Execution::Body) | AttemptState::CutShort => String::new(),
        AttemptState::Ended(end) => match *end {},
    };
    let seen = task.sees.as_ref().map(|sees| (sees.version, with_state.then_some(&sees.values)));
    format!(
        "{}, {} attempts, sees {seen:?}, place {}, stopping {:?} {items}",
        task.state_name(),
        task.attempts.number(),
        task.holds_place,
        task.stopping
    )
}

fn items_line<V>(items: &Items<V>, with_state: bool) -> String {
    let children: Vec<bool> = items.children.iter().map(Option::is_some).collect();
    let pending: Vec<usize> = items.pending.iter().map(|(item, _)| *item).collect();
    let ends: Vec<bool> = items.ends.iter().map(Option::is_some).collect();
    let mut places: Vec<_> = items.places.iter().filter(|(_, inside)| **inside > 0).collect();
    places.sort_unstable();
    format!(
        "{:?} {:?}: {pending:?} wait, {} are under way, {children:?}, {ends:?}, {:?}, {places:?}, {:?} idle, cut {}, state {:?}",
        items.pace,
        items.limit,
        items.open,
        items.failed,
        items.idle,
        items.has_cut,
        with_state.then_some(&items.state)
    )
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
fn behind(layout: &Layout, nodes: impl Iterator<Item = NodeIx>) -> SortedSet<NodeIx> {
    let mut reached = SortedSet::new();
    let mut left: Vec<NodeIx> = nodes.collect();
    while let Some(node) = left.pop() {
        let next = layout.nodes[node].out.iter().map(|edge| layout.edges[*edge].to);
        left.extend(next.filter(|node| reached.insert(*node)));
    }
    reached
}

fn scope_line<V>(scope: &Scope<V>) -> String {
    let closing = match &scope.closing {
        Some(ScopeExit::Failed(failure)) => format!("fails: {failure:?}"),
        Some(ScopeExit::Cancelled) => "is cancelled".to_owned(),
        Some(ScopeExit::StartsOver(next)) => format!("starts over: {next:?}"),
        None => String::new(),
    };
    let places = (scope.places, scope.taken);
    format!("{} {} {places:?} {closing}", scope.path, scope.output.is_some())
}

fn frame_line<V>(scope: &Scope<V>, frame: &Frame<V>) -> String {
    let sorted = |all: &[usize]| all.iter().copied().collect::<SortedSet<usize>>();
    let turns =
        super::frame::turns_of(&scope.frames, scope.frames.iter().position(|at| std::ptr::eq(at, frame)).unwrap_or(0));
    let nodes: Vec<_> = frame.nodes.iter().map(|slot| (slot.open, slot.stage)).collect();
    let loops: Vec<_> = frame.loops.iter().map(|slot| (slot.open, slot.stage, slot.turns)).collect();
    let groups: Vec<_> = (frame.groups.iter())
        .map(|slot| (slot.open, slot.live, slot.places.iter().map(Option::is_some).collect::<Vec<_>>()))
        .collect();
    let collectors: Vec<_> = (frame.collectors.iter())
        .map(|slot| (slot.waiting.len(), slot.arrivals, slot.busy, slot.local.clone()))
        .collect();
    let rest: [&dyn Debug; 4] = [&nodes, &loops, &groups, &collectors];
    let ends =
        (frame.open, frame.back_open, frame.next_begun, frame.last, sorted(&frame.not_taken), sorted(&frame.collected));
    let mut line = format!("{} kind {}", scope.path, frame.kind);
    turns.write_to(&mut line).expect("a string takes all");
    line + &format!(" {ends:?} {rest:?}")
}
