//! The short way from one node to the next.
//!
//! Most steps of most runs are alike: a node is done, its one value goes along one edge, and all that comes of it is the
//! first attempt at the node at the other end. For these nothing has to be queued, and the task stays where it is and
//! becomes that of the other node. What comes of it is what [`Core::apply`] and [`Core::next_command`] would have given; a
//! step that is any different is left to them. A chain takes a third of its time this way.

use super::frame::{Stage, turns_of};
use super::machine::Core;
use super::path::Turns;
use super::task::{TaskId, TaskStage};
use super::token::{Emitted, Tokens};

/// A first attempt that is to be made: the only thing to do.
pub(crate) struct PassedOn<V> {
    /// The graph, by its place in the program, and the node.
    pub(crate) layout: usize,
    pub(crate) node: u32,
    /// Where the node stands in a new turn: which.
    pub(crate) turns: Option<Turns>,
    /// What fires it.
    pub(crate) value: V,
}

impl<V> Core<V> {
    /// Ends an attempt that has written nothing, and has its task be that of the next node. Gives back what it has
    /// emitted, and has done nothing, where that is not all there is to do.
    pub(crate) fn pass_on(&mut self, task: TaskId, emitted: Emitted<V>) -> Result<PassedOn<V>, Emitted<V>> {
        let Core { program, machine, .. } = self;
        let is_quiet = !(machine.notes || machine.replaying || machine.over)
            && machine.work.is_empty()
            && machine.out.is_empty()
            && machine.slots.are_unlimited();
        let (true, Some(at)) = (is_quiet, machine.tasks.get_mut(task)) else { return Err(emitted) };
        let Some(scope) = machine.scopes.get_mut(at.scope).and_then(Option::as_mut) else { return Err(emitted) };
        let layout = &*program.layouts[scope.layout];
        let choice = layout.nodes[at.node].choices.get(emitted.choice);
        let Some((step, dead)) = choice.and_then(|choice| Some((choice.short?, &choice.dead))) else {
            return Err(emitted);
        };
        let frame = &mut scope.frames[at.frame];
        let is_plain = at.stage == TaskStage::Running && at.stopping.is_none() && at.timer.is_none() && !at.gated;
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
        at.attempt = 1;
        at.seen = machine.state.version;
        Ok(PassedOn { layout: layout.index, node: step.to as u32, turns, value })
    }
}
