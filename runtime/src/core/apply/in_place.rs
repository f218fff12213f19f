//! Events whose consequences are known beforehand, without the queues that other events need.
//!
//! Most steps of most runs are alike. A node is done, its one value goes along one edge, and all that comes of it is the
//! first attempt at the node at the other end: the task stays where it is and becomes that of the other node. Or the value
//! waits at a join for others. Or the node is the only one that is executed for an item of `[..]`.
//!
//! The state is the one that [`Run::apply`] of the same events leads to: tests over random graphs compare them. What is any
//! different is left to `apply`.

use std::sync::Arc;

use graphweft_graph::START;

use super::items::no_items;
use super::scopes::free_scope;
use crate::core::frame::{Stage, turns_of};
use crate::core::impossible::Applied;
use crate::core::items::ItemPace;
use crate::core::path::{ScopePath, Turns};
use crate::core::program::{Reach, Role};
use crate::core::run::{Run, Values};
use crate::core::run_state::RunState;
use crate::core::scope::{Scope, Spare};
use crate::core::task::{Task, TaskState};
use crate::core::task_id::TaskId;
use crate::core::token::{Arrived, Emitted, Tokens};

/// A first attempt that is to be made: the only thing to do.
pub(crate) struct StartedInPlace<V> {
    /// The graph, by its place in the program, and the node.
    pub(crate) layout: usize,
    pub(crate) node: u32,
    /// Where the node stands in a new turn: which.
    pub(crate) turns: Option<Turns>,
    /// What fires it.
    pub(crate) value: V,
    /// What it sees of the run's state, where that is not what the attempt before has seen.
    pub(crate) sees: Option<Values>,
}

impl<V> Run<V> {
    /// Applies that a task is completed, without writes, and that its one successor is started. Gives back what was emitted,
    /// and has changed nothing, where more or less than that follows.
    pub(crate) fn apply_in_place(
        &mut self,
        task: TaskId,
        emitted: Emitted<V>,
    ) -> Result<StartedInPlace<V>, Emitted<V>> {
        let Run { program, state, admissions, .. } = self;
        let is_quiet = !state.news.is_watched
            && state.work.is_empty()
            && state.news.changed.is_empty()
            && state.news.queued.is_empty()
            && admissions.is_unlimited();
        let (true, Some(at)) = (is_quiet, state.tasks.get_mut(task)) else { return Err(emitted) };
        let Some(scope) = state.scopes.get_mut(at.scope).and_then(Option::as_mut) else { return Err(emitted) };
        let layout = &*program.layouts[scope.layout];
        let choice = layout.nodes[at.node].choices.get(emitted.choice);
        let Some((step, dead)) = choice.and_then(|choice| Some((choice.short?, &choice.dead))) else {
            return Err(emitted);
        };
        let frame = &mut scope.frames[at.frame];
        let is_plain = matches!(at.state, TaskState::Running) && at.stopping.is_none() && !at.holds_place;
        // In the last turn of a loop, the edges that it does not take are dead at once, and not only noted.
        let kills = frame.last && !dead.is_empty();
        // Either the other node is left to do in this turn, or the turn ends and its frame becomes that of the next.
        let is_free = match step.to_next_turn {
            false => frame.open > 1 && frame.nodes[step.to_slot].stage == Stage::Waiting,
            true => frame.open == 1 && !frame.next_begun && !frame.last,
        };
        if !is_plain || !is_free || kills || scope.closing.is_some() {
            return Err(emitted);
        }
        let value = match emitted {
            Emitted { tokens: Tokens::One(value), .. } => value,
            emitted => return Err(emitted),
        };
        let turns = if step.to_next_turn {
            let (kind, parent, turn) = (frame.kind, frame.parent, frame.turn + 1);
            frame.reset(kind, &layout.frames[kind], parent, turn);
            frame.nodes[step.to_slot].stage = Stage::Fired;
            Some(turns_of(&scope.frames, at.frame))
        } else {
            frame.not_taken.extend_from_slice(dead);
            frame.open -= 1;
            frame.nodes[step.slot].stage = Stage::Settled;
            let to = &mut frame.nodes[step.to_slot];
            to.open = to.open.saturating_sub(1);
            to.stage = Stage::Fired;
            None
        };
        at.node = step.to;
        at.attempts = 1;
        // Nothing was written by the node itself, and so mostly nothing at all since it began.
        let is_known =
            scope.parent.is_none() && at.sees.as_ref().is_some_and(|sees| sees.version == state.shared.version);
        let sees = if is_known { None } else { state.look_again(task) };
        Ok(StartedInPlace { layout: layout.index, node: step.to as u32, turns, value, sees })
    }
}

impl<V> RunState<V> {
    /// Has a task see what the state is now. Returns that, where it is not what it has seen before.
    #[cold]
    fn look_again(&mut self, task: TaskId) -> Option<Values> {
        let at = self.tasks.get(task)?;
        let (state, seen) = (self.state_of(at.scope).ok()?, at.sees.as_ref().map(|sees| sees.version));
        let snapshot = (seen != Some(state.version)).then(|| state.snapshot())?;
        let values = Arc::clone(&snapshot.values);
        self.tasks.get_mut(task)?.sees = Some(snapshot);
        Some(values)
    }
}

impl<V> Run<V> {
    /// Applies that the next item of a node begins, and with it the only node inside. Gives that node's task, which is to be
    /// attempted; `None`, and has changed nothing, where the item has to begin as others do.
    pub(crate) fn start_item_in_place(&mut self, task: TaskId) -> Option<TaskId> {
        let Run { program, state, admissions, .. } = self;
        let is_quiet = !state.news.is_watched && state.news.fired.is_none() && state.work.is_empty();
        let TaskState::Inside(items) = &mut state.tasks.get_mut(task)?.state else { return None };
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
        let index = items.layout;
        let Spare { mut frames, mut tasks } = state.spare.take().unwrap_or_default();
        let root = &mut frames[0];
        root.reset(0, &layout.frames[0], 0, 1);
        let slot = &mut root.nodes[layout.nodes[only].slot];
        slot.open = slot.open.saturating_sub(1);
        slot.stage = Stage::Fired;
        let begun = state.tasks.insert(Task {
            scope: at,
            frame: 0,
            node: only,
            listed: 0,
            attempts: 1,
            state: TaskState::Running,
            stopping: None,
            input: Some(Arrived::One(value)),
            sees: Some(sees),
            holds_place: false,
        });
        tasks.push(begun);
        let around = state.place_of(task);
        let path = ScopePath { layout: Arc::clone(layout), around, prefix: None, item: Some(item) };
        state.scopes[at] = Some(Scope {
            layout: index,
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
            entry_state: None,
        });
        state.running += 1;
        Some(begun)
    }

    /// Applies that a task is completed, without writes, where nothing is to be begun after that: its value waits at a join for
    /// others, or the item of which it was the only node is over. Gives back what was emitted, and has changed nothing, where
    /// something else follows.
    pub(crate) fn complete_in_place(&mut self, task: TaskId, emitted: Emitted<V>) -> Result<Applied, Emitted<V>> {
        let Run { program, state, .. } = self;
        let is_quiet = !state.news.is_watched && state.work.is_empty();
        let (true, Some(at)) = (is_quiet, state.tasks.get(task)) else { return Err(emitted) };
        let Some(scope) = state.scopes.get_mut(at.scope).and_then(Option::as_mut) else { return Err(emitted) };
        let layout = &*program.layouts[scope.layout];
        let is_plain = matches!(at.state, TaskState::Running) && at.stopping.is_none() && !at.holds_place;
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
