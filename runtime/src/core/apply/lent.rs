//! Nodes that the driver executes before their events are applied.
//!
//! The completion of one of them has no effect before all are done: they are the only nodes of items of `[..]`, or
//! branches that meet at one join. So they are applied together, and no other event is applied meanwhile.
//!
//! The state is the same as after [`Run::apply`] of their events: tests over random graphs compare them.

use std::collections::VecDeque;
use std::sync::Arc;

use graphweft_graph::START;

use super::items::no_items;
use super::scopes::free_scope;
use crate::core::attempts::Attempts;
use crate::core::impossible::Applied;
use crate::core::items::ItemPace;
use crate::core::path::{Place, ScopePath, Turns};
use crate::core::program::{Layout, Reach, Role};
use crate::core::run::{Run, Values};
use crate::core::run_state::RunState;
use crate::core::task::{Execution, Task};
use crate::core::task_id::TaskId;
use crate::core::token::{Arrived, Emitted, Tokens};

/// Nodes of one graph that the driver executes, without the tokens that have fired them.
pub(crate) struct LentNodes {
    pub(crate) of: LentOf,
    /// The place of one of them; the others are other nodes there, or the same one in another item.
    pub(crate) place: Place,
    /// The run's state as they see it.
    pub(crate) sees: Values,
}

pub(crate) enum LentOf {
    /// Items of this node.
    Items(TaskId),
    /// Branches, by their tasks.
    Branches(Vec<TaskId>),
}

/// One of them.
pub(crate) struct Lent<V> {
    /// Which item, or which branch.
    pub(crate) at: usize,
    pub(crate) node: u32,
    /// The value that has fired it.
    pub(crate) value: V,
}

impl<V> Run<V> {
    /// Whether nodes may be lent to the driver: no consequence has to be observed meanwhile, and nothing else is under
    /// way.
    fn may_lend(&self) -> bool {
        let RunState { news, work, running, .. } = &self.state;
        let is_unseen = !news.is_watched && news.fired.is_none();
        is_unseen && *running == 0 && work.is_empty() && news.changed.is_empty() && self.admissions.has_no_limit()
    }

    /// Takes all items of a node that have not begun out of the state, if the only node inside is simple, and nothing
    /// else is under way or may begin. `None`, without any change, if they have to begin by events.
    pub(crate) fn lend_items(&mut self, task: TaskId) -> Option<(LentNodes, VecDeque<Lent<V>>)> {
        let may_lend = self.may_lend() && self.state.news.queued.is_empty();
        if !may_lend || !self.admissions.is_only_for_items_of(task) {
            return None;
        }
        let Run { program, state, .. } = self;
        let around = state.place_of(task)?;
        let at = state.tasks.get_mut(task).filter(|at| at.stopping.is_none())?;
        let items = at.items_mut()?;
        let layout = &program.layouts[items.layout];
        let only = layout.only.filter(|only| layout.nodes[*only].is_simple)?;
        let sees = items.entry_state.as_ref().filter(|_| items.pace == ItemPace::InTurn)?;
        let is_plain =
            |(_, emitted): &(usize, Emitted<V>)| matches!(emitted, Emitted { choice: 0, tokens: Tokens::One(_) });
        let are_plain = layout.edges_of(START, 0) == 1 && items.pending.iter().all(is_plain);
        // A single item is attempted in the task of the driver.
        if !are_plain || items.open > 0 || items.pending.len() < 2 {
            return None;
        }
        items.lent = items.pending.len();
        let node = only as u32;
        let lent = |(at, emitted): (usize, Emitted<V>)| match emitted.tokens {
            Tokens::One(value) => Some(Lent { at, node, value }),
            _ => None,
        };
        let pending = items.pending.drain(..).filter_map(lent).collect();
        let first = ScopePath { layout: Arc::clone(layout), around: Some(around), prefix: None, item: Some(0) };
        let place = Place { scope: Arc::new(first), node, turns: Turns::Outside };
        Some((LentNodes { of: LentOf::Items(task), place, sees: Arc::clone(&sees.values) }, pending))
    }

    /// Starts the branches that wait to be admitted, if they are simple nodes that meet at one join, and nothing else
    /// is under way or may begin. `None`, without any change, if they have to start by events.
    pub(crate) fn lend_branches(&mut self) -> Option<(LentNodes, VecDeque<Lent<V>>)> {
        let [first, _, ..] = self.state.news.queued[..] else { return None };
        if !self.may_lend() || !self.admissions.is_empty() || !self.state.news.freed.is_empty() {
            return None;
        }
        let Run { program, state, .. } = self;
        let (scope, frame) = state.tasks.get(first).map(|at| (at.scope, at.frame))?;
        let around = state.scope(scope).ok().filter(|at| at.places.is_none() && at.closing.is_none())?;
        let layout = &*program.layouts[around.layout];
        let depth = around.frames[frame].depth;
        let joins = |task: &TaskId| {
            let at = state.tasks.get(*task)?;
            let is_first = at.attempts.number() == 0 && at.sees.is_none() && at.stopping.is_none();
            let is_plain = is_first && at.scope == scope && at.frame == frame && at.is_queued();
            // The node of a task in another scope is one of another layout.
            if is_plain { join_of(layout, at, depth) } else { None }
        };
        let join = joins(&first)?;
        if layout.collects || !state.news.queued.iter().all(|task| joins(task) == Some(join)) {
            return None;
        }
        let (place, sees) = (state.place_of(first)?, state.state_of(scope).ok()?.snapshot());
        let tasks = std::mem::take(&mut state.news.queued);
        let mut pending = VecDeque::with_capacity(tasks.len());
        for (at, task) in tasks.iter().enumerate() {
            let Some(task) = state.tasks.get_mut(*task) else { continue };
            let Some(Arrived::One(value)) = task.input.take() else { continue };
            task.attempts = Attempts::first(Execution::Body);
            task.sees = Some(sees.clone());
            state.running += 1;
            pending.push_back(Lent { at, node: task.node as u32, value });
        }
        debug_assert_eq!(pending.len(), tasks.len(), "`joins` has found each of them with its value");
        Some((LentNodes { of: LentOf::Branches(tasks), place, sees: sees.values }, pending))
    }

    /// Applies that a lent item has begun, and with it the only node inside, which is under way. Returns that node's
    /// task.
    pub(crate) fn begin_lent_item(&mut self, task: TaskId, item: usize) -> Applied<TaskId> {
        let Run { program, state, .. } = self;
        let Some(items) = state.tasks.expect_mut(task)?.items_mut() else { return Err(no_items()) };
        let layout = &program.layouts[items.layout];
        let (Some(only), Some(sees)) = (layout.only, items.entry_state.clone()) else { return Err(no_items()) };
        items.lent -= 1;
        items.open += 1;
        let at = free_scope(&mut state.scopes, &mut state.free_scopes);
        items.children[item] = Some(at);
        Ok(state.open_item_in_place(layout, at, only, (task, item), None, sees))
    }

    /// Applies that these lent items have begun and are done, and takes back those that have not begun, in their order.
    pub(crate) fn return_items(&mut self, task: TaskId, done: Vec<(usize, V)>, pending: VecDeque<Lent<V>>) -> Applied {
        let Run { program, state, .. } = self;
        let items = state.items_mut(task)?;
        items.lent -= done.len() + pending.len();
        debug_assert!(items.lent == 0 && items.pending.is_empty(), "all that was lent is returned at once");
        for (item, value) in done {
            items.ends[item] = Some(Arrived::One(value));
        }
        let emitted = |value| Emitted { choice: 0, tokens: Tokens::One(value) };
        items.pending.extend(pending.into_iter().map(|lent| (lent.at, emitted(lent.value))));
        if !items.pending.is_empty() {
            state.news.queued.push(task);
        }
        state.look_at_items(program, task)
    }

    /// Takes back a branch whose attempt has started and was not made.
    pub(crate) fn return_branch(&mut self, task: TaskId, value: V) -> Applied {
        self.state.tasks.expect_mut(task)?.input = Some(Arrived::One(value));
        self.state.news.changed.push_back(task);
        Ok(())
    }
}

/// The join at which the value of a task waits when it is done, whatever its node returns, without any other
/// consequence.
fn join_of<V>(layout: &Layout, task: &Task<V>, depth: usize) -> Option<(usize, usize)> {
    let node = &layout.nodes[task.node];
    let [choice] = &node.choices[..] else { return None };
    let ([edge], []) = (&choice.live[..], &choice.dead[..]) else { return None };
    let edge = &layout.edges[*edge];
    let (Role::Node(to), Reach::Group(group, _)) = (edge.role, edge.reach) else { return None };
    let is_simple = node.is_simple && edge.home == depth && matches!(task.input, Some(Arrived::One(_)));
    is_simple.then_some((to, group))
}
