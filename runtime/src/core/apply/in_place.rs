//! `Completed` and `Started` in one, for a step from one node to the next.
//!
//! Most steps of most runs are alike: a node is done, its one value goes along one edge, and all that comes of it is the
//! first attempt at the node at the other end. For these nothing has to be queued, and the task stays where it is and
//! becomes that of the other node. The state is the one that [`Run::apply`] of the two events leads to: a test over random
//! graphs compares them. A step that is any different is left to `apply`.

use crate::core::frame::{Stage, turns_of};
use crate::core::path::Turns;
use crate::core::run::Run;
use crate::core::task::TaskState;
use crate::core::task_id::TaskId;
use crate::core::token::{Emitted, Tokens};

/// A first attempt that is to be made: the only thing to do.
pub(crate) struct StartedInPlace<V> {
    /// The graph, by its place in the program, and the node.
    pub(crate) layout: usize,
    pub(crate) node: u32,
    /// Where the node stands in a new turn: which.
    pub(crate) turns: Option<Turns>,
    /// What fires it.
    pub(crate) value: V,
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
        match &mut at.sees {
            Some(sees) if sees.version == state.shared.version => {}
            sees => *sees = Some(state.shared.snapshot()),
        }
        Ok(StartedInPlace { layout: layout.index, node: step.to as u32, turns, value })
    }
}
