//! Events whose consequences are known beforehand, without the queues that other events need.
//!
//! Most steps of most runs are alike. A node is done, its one value goes along one edge, and the only consequence is
//! the first attempt at the node at the other end: the task keeps its slot and becomes that of the other node. Or the
//! value waits at a join for others. Or the node is the only one that is executed for an item of `[..]`.
//!
//! The state is the same as after [`Run::apply`] of the same events: tests over random graphs compare them. All other
//! cases are left to `apply`.

use std::sync::Arc;

use graphweft_graph::{NodeIx, START};

use super::items::no_items;
use super::scopes::free_scope;
use crate::core::attempts::Attempts;
use crate::core::frame::{Frame, Stage};
use crate::core::impossible::Applied;
use crate::core::items::ItemPace;
use crate::core::path::ScopePath;
use crate::core::program::{Layout, Reach, Role};
use crate::core::run::{Run, Values};
use crate::core::run_state::RunState;
use crate::core::scope::{Scope, Spare};
use crate::core::state_map::Snapshot;
use crate::core::task::{Execution, Task};
use crate::core::task_id::TaskId;
use crate::core::token::{Arrived, Emitted, Tokens};

/// A task that moves from node to node in place: borrowed while nothing else happens in the run, so that the conditions
/// common to all of its steps are checked once.
pub(crate) struct Walk<'r, V> {
    layout: &'r Layout,
    task: &'r mut Task<V>,
    frames: &'r mut [Frame<V>],
    /// The run's state for the next attempt, if it differs from the state of the one before.
    newer: Option<Snapshot>,
}

/// A first attempt that is to be made: the only thing to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The node, of the same graph.
    pub(crate) node: u32,
    /// Whether it is in a new turn.
    pub(crate) begins_turn: bool,
}

impl<V> Run<V> {
    /// A task whose completion may be applied in place. `None`, without any change, if other work is left.
    /// Its steps have no consequence that is [`Derived`](crate::core::Derived).
    pub(crate) fn walk(&mut self, task: TaskId) -> Option<Walk<'_, V>> {
        let Run { program, state, admissions, .. } = self;
        let is_quiet = state.work.is_empty()
            && state.news.changed.is_empty()
            && state.news.queued.is_empty()
            && admissions.is_unlimited();
        if !is_quiet {
            return None;
        }
        let newer = state.newer(task);
        let task = state.tasks.get_mut(task)?;
        let scope = state.scopes.get_mut(task.scope).and_then(Option::as_mut)?;
        let is_plain = task.is_running() && task.stopping.is_none() && !task.holds_place;
        if !is_plain || scope.closing.is_some() {
            return None;
        }
        Some(Walk { layout: &program.layouts[scope.layout], task, frames: &mut scope.frames, newer })
    }
}

impl<V> RunState<V> {
    /// The present state, if it differs from the one that a task has seen.
    fn newer(&self, task: TaskId) -> Option<Snapshot> {
        let at = self.tasks.get(task)?;
        let state = self.state_of(at.scope).ok()?;
        let has_seen = at.sees.as_ref().is_some_and(|sees| sees.version == state.version);
        if has_seen { None } else { Some(state.snapshot()) }
    }
}

impl<V> Walk<'_, V> {
    /// The node that [`step`](Self::step) would start, if it is on the fast path.
    #[inline]
    pub(crate) fn next_node(&self, choice: usize) -> Option<NodeIx> {
        let choice = self.layout.nodes[self.task.node].choices.get(choice)?;
        choice.short.map(|step| step.to)
    }

    /// Applies that the task is completed with one token, without writes, and that its one successor is started.
    /// `None`, without any change, if the consequences are different.
    #[inline]
    pub(crate) fn step(&mut self, choice: usize) -> Option<Step> {
        let Walk { layout, task, frames, .. } = self;
        let choice = layout.nodes[task.node].choices.get(choice)?;
        let (step, dead) = (choice.short?, &choice.dead);
        let frame = frames.get_mut(task.frame)?;
        if step.to_next_turn {
            // The turn ends, and its frame becomes that of the next.
            if frame.open != 1 || frame.next_begun || frame.last {
                return None;
            }
            let (kind, parent, turn) = (frame.kind, frame.parent, frame.turn + 1);
            frame.reset(kind, &layout.frames[kind], parent, turn);
            frame.nodes[step.to_slot].stage = Stage::Fired;
        } else {
            // In the last turn of a loop, the edges that it does not take are dead at once, and not only noted.
            let kills = frame.last && !dead.is_empty();
            if kills || frame.open < 2 || frame.nodes[step.to_slot].stage != Stage::Waiting {
                return None;
            }
            if !dead.is_empty() {
                frame.not_taken.extend_from_slice(dead);
            }
            frame.open -= 1;
            frame.nodes[step.slot].stage = Stage::Settled;
            let to = &mut frame.nodes[step.to_slot];
            to.open = to.open.saturating_sub(1);
            to.stage = Stage::Fired;
        }
        task.node = step.to;
        task.attempts.move_on();
        Some(Step { node: step.to as u32, begins_turn: step.to_next_turn })
    }

    /// The turn of the innermost loop around the task.
    #[inline]
    pub(crate) fn turn(&self) -> u64 {
        self.frames.get(self.task.frame).map_or(0, |frame| frame.turn)
    }

    /// Whether the next attempt sees another state of the run than the one before.
    #[inline]
    pub(crate) fn has_newer(&self) -> bool {
        self.newer.is_some()
    }

    /// The run's state for the attempt that the last step has started, if it has changed.
    #[inline]
    pub(crate) fn take_newer(&mut self) -> Option<Values> {
        let newer = self.newer.take()?;
        let values = Arc::clone(&newer.values);
        self.task.sees = Some(newer);
        Some(values)
    }
}

impl<V> Run<V> {
    /// Applies that the next item of a node begins, and with it the only node inside. Returns that node's task, which
    /// is to be attempted; `None`, without any change, if the item has to begin by events.
    pub(crate) fn start_item_in_place(&mut self, task: TaskId) -> Option<TaskId> {
        let Run { program, state, admissions, .. } = self;
        let is_quiet = !state.news.is_watched && state.news.fired.is_none() && state.work.is_empty();
        let items = state.tasks.get_mut(task)?.items_mut()?;
        let layout = &program.layouts[items.layout];
        let only = layout.only?;
        let sees = items.entry_state.clone().filter(|_| items.pace == ItemPace::InTurn)?;
        if !is_quiet || !admissions.has_no_limit() || layout.edges_of(START, 0) != 1 {
            return None;
        }
        let (item, value) = match items.pending.pop_front()? {
            (item, Emitted { choice: 0, tokens: Tokens::One(value) }) => (item, value),
            other => {
                items.pending.push_front(other);
                return None;
            }
        };
        items.open += 1;
        let at = free_scope(&mut state.scopes, &mut state.free_scopes);
        items.children[item] = Some(at);
        Some(state.open_item_in_place(layout, at, only, (task, item), Some(value), sees))
    }

    /// Applies that a task is completed, without writes, if nothing begins after that: its value waits at a join for
    /// others, or the item of which it was the only node is over. Returns the emission, without any change, if there
    /// are other consequences.
    pub(crate) fn complete_in_place(&mut self, task: TaskId, emitted: Emitted<V>) -> Result<Applied, Emitted<V>> {
        let Run { program, state, .. } = self;
        let is_quiet = !state.news.is_watched && state.work.is_empty();
        let (true, Some(at)) = (is_quiet, state.tasks.get(task)) else { return Err(emitted) };
        let Some(scope) = state.scopes.get_mut(at.scope).and_then(Option::as_mut) else { return Err(emitted) };
        let layout = &*program.layouts[scope.layout];
        let is_plain = at.is_running() && at.stopping.is_none() && !at.holds_place;
        let Some(choice) = layout.nodes[at.node].choices.get(emitted.choice) else { return Err(emitted) };
        let (true, None, [edge], Tokens::One(_)) = (is_plain, &scope.closing, &choice.live[..], &emitted.tokens) else {
            return Err(emitted);
        };
        if layout.only == Some(at.node) && scope.parent.is_some() {
            let Emitted { tokens: Tokens::One(value), .. } = emitted else { return Err(emitted) };
            return Ok(self.end_item_in_place(task, value));
        }
        let edge = &layout.edges[*edge];
        let (Role::Node(to), Reach::Group(group, place)) = (edge.role, edge.reach) else { return Err(emitted) };
        let frame = &mut scope.frames[at.frame];
        let stays = edge.home == frame.depth && choice.dead.is_empty() && !layout.collects;
        if !stays || frame.open < 2 {
            return Err(emitted);
        }
        let kind = &layout.frames[frame.kind].groups[group];
        let waits = frame.nodes[to].stage == Stage::Waiting && frame.nodes[to].open > 1 && frame.groups[group].open > 1;
        if !waits {
            return Err(emitted);
        }
        let Emitted { tokens: Tokens::One(value), .. } = emitted else { return Err(emitted) };
        frame.open -= 1;
        frame.nodes[layout.nodes[at.node].slot].stage = Stage::Settled;
        frame.nodes[to].open -= 1;
        let group = &mut frame.groups[group];
        group.open -= 1;
        group.live += 1;
        if group.places.is_empty() {
            group.places.resize_with(kind.places, || None);
        }
        group.places[place] = Some(value);
        state.running -= 1;
        Ok(state.unlist(task).map(drop))
    }

    fn end_item_in_place(&mut self, task: TaskId, value: V) -> Applied {
        let Run { program, state, .. } = self;
        state.running -= 1;
        let at = state.tasks.remove(task)?;
        let removed = state.remove_scope(at.scope)?;
        let (around, item) = removed.parent.ok_or_else(no_items)?;
        state.item_finished(program, around, item, Arrived::One(value))
    }
}

impl<V> RunState<V> {
    /// Opens the scope of an item whose graph has one node, with that node under way. `at`: its place, which the items
    /// know. `input`: the tokens that have fired the node, if its attempt does not have them yet.
    pub(super) fn open_item_in_place(
        &mut self,
        layout: &Arc<Layout>,
        at: usize,
        only: NodeIx,
        (task, item): (TaskId, usize),
        input: Option<V>,
        sees: Snapshot,
    ) -> TaskId {
        let Spare { mut frames, mut tasks } = self.spare.take().unwrap_or_default();
        let root = &mut frames[0];
        root.reset(0, &layout.frames[0], 0, 1);
        let slot = &mut root.nodes[layout.nodes[only].slot];
        slot.open = slot.open.saturating_sub(1);
        slot.stage = Stage::Fired;
        let begun = self.tasks.insert(Task {
            scope: at,
            frame: 0,
            node: only,
            listed: 0,
            attempts: Attempts::first(Execution::Body),
            stopping: None,
            input: input.map(Arrived::One),
            sees: Some(sees),
            holds_place: false,
        });
        tasks.push(begun);
        let around = self.place_of(task);
        let path = ScopePath { layout: Arc::clone(layout), around, prefix: None, item: Some(item) };
        self.scopes[at] = Some(Scope {
            layout: layout.index,
            path: Arc::new(path),
            parent: Some((task, item)),
            each: Some(task),
            frames,
            free_frames: Vec::new(),
            tasks,
            places: None,
            taken: 0,
            closing: None,
            output: None,
            has_cut: false,
            entry_state: None,
        });
        self.running += 1;
        begun
    }
}
