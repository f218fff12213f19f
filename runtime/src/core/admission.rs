//! Which waiting tasks may begin: attempts in a run (`max_concurrency`), nodes of a graph, items in a node of `[..]`
//! and items of a `[..]` at once (`max_parallel`). First come, first served.
//!
//! What may begin under these limits is decided here. How many places a graph has is read from the options when it
//! opens (`places_in` in `core/run_state.rs`). It is an index over the state, which is made anew when a run is resumed.

use std::collections::{HashMap, HashSet, VecDeque};

use super::event::{Admission, Event};
use super::items::{ItemPace, Items};
use super::program::{NodeKind, Program, ScopeKind};
use super::run_state::{Gate, RunState};
use super::task::Task;
use super::task_id::TaskId;

pub(super) struct Admissions {
    /// How many attempts may be under way; 0: no limit.
    max_concurrency: usize,
    /// Tasks that may begin as soon as an attempt may.
    ready: VecDeque<TaskId>,
    at_gates: HashMap<Gate, VecDeque<Waiting>>,
    /// Tasks that may begin as soon as a node or item around them has got a place again.
    inside: HashMap<Waiting, Vec<TaskId>>,
    /// Tasks that were let through a gate and have not begun yet: if one never does, the place is for the next one.
    offered: HashMap<TaskId, Gate>,
    /// Nodes some items of which have not begun.
    with_items: VecDeque<TaskId>,
}

/// A task or item that waits at a gate.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Waiting {
    /// A task that is queued, or one with graphs inside that a retry has reopened.
    Task(TaskId),
    /// An item that a retry has reopened.
    Item(TaskId, usize),
}

impl Admissions {
    pub(super) fn new(max_concurrency: usize) -> Self {
        Admissions {
            max_concurrency,
            ready: VecDeque::new(),
            at_gates: HashMap::new(),
            inside: HashMap::new(),
            offered: HashMap::new(),
            with_items: VecDeque::new(),
        }
    }

    pub(super) fn is_unlimited(&self) -> bool {
        self.has_no_limit() && self.is_empty()
    }

    /// Whether any number of attempts may be under way.
    pub(super) fn has_no_limit(&self) -> bool {
        self.max_concurrency == 0
    }

    /// Whether nothing is left to examine: all that the index has waits at gates, for places of any kind.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.with_items.is_empty()
    }

    /// Whether no attempt may begin.
    #[cfg(test)]
    pub(super) fn is_full(&self, running: usize) -> bool {
        self.max_concurrency > 0 && running >= self.max_concurrency
    }

    /// Whether no limit applies, and nothing may begin but items of this node.
    pub(super) fn is_only_for_items_of(&self, task: TaskId) -> bool {
        self.has_no_limit() && self.ready.is_empty() && self.with_items.len() == 1 && self.with_items[0] == task
    }

    /// Applies the changes of the last events to the index.
    fn absorb<V>(&mut self, state: &mut RunState<V>) {
        for task in state.news.queued.drain(..) {
            match state.tasks.get(task) {
                Some(at) if at.is_queued() => self.ready.push_back(task),
                Some(at) if at.items().is_some() => self.with_items.push_back(task),
                _ => {}
            }
        }
        let mut freed = std::mem::take(&mut state.news.freed);
        for gate in freed.drain(..) {
            self.offer_place(state, gate);
        }
        state.news.freed = freed;
    }

    /// Has the first one at a gate examined again. Those that were stopped meanwhile are skipped.
    fn offer_place<V>(&mut self, state: &RunState<V>, gate: Gate) {
        let Some(waiting) = self.at_gates.get_mut(&gate) else { return };
        while let Some(next) = waiting.pop_front() {
            let inside = self.inside.remove(&next).unwrap_or_default();
            if let Some(first) = look_again(&mut self.ready, &mut self.with_items, state, next, inside) {
                self.offered.insert(first, gate);
                break;
            }
        }
        if waiting.is_empty() {
            self.at_gates.remove(&gate);
        }
    }

    /// An examined task does not begin now, or never. The place that was offered to it is for another, unless it waits
    /// there.
    fn pass_over<V>(&mut self, state: &RunState<V>, task: TaskId, waits_at: Option<Gate>) {
        if let Some(gate) = self.offered.remove(&task).filter(|gate| Some(*gate) != waits_at) {
            self.offer_place(state, gate);
        }
    }

    /// Has a task wait at a gate, for itself or for a node or item around it.
    fn wait_at<V>(&mut self, state: &RunState<V>, task: TaskId, gate: Gate, who: Waiting) {
        let is_itself = who == Waiting::Task(task) && is_queued(state, task);
        let is_there = !is_itself && self.inside.contains_key(&who);
        if !is_itself {
            self.inside.entry(who).or_default().push(task);
        }
        if !is_there {
            self.at_gates.entry(gate).or_default().push_back(who);
        }
        self.pass_over(state, task, Some(gate));
    }

    /// A task begins, or an item of it. The nodes and items around it get their places again with it, so the other
    /// tasks inside those may begin too.
    fn let_in<V>(&mut self, state: &RunState<V>, task: TaskId) {
        // Most runs have neither, and a lookup in a map computes a hash.
        if !self.offered.is_empty() {
            self.offered.remove(&task);
        }
        if self.inside.is_empty() {
            return;
        }
        let mut around = vec![Waiting::Task(task)];
        let mut at = state.tasks.get(task);
        while let Some((task, item)) = at.and_then(|at| state.scope(at.scope).ok()).and_then(|scope| scope.parent) {
            around.extend([Waiting::Item(task, item), Waiting::Task(task)]);
            at = state.tasks.get(task);
        }
        for who in around {
            let inside = self.inside.remove(&who).unwrap_or_default();
            look_again(&mut self.ready, &mut self.with_items, state, who, inside);
        }
    }

    /// The next task that may begin now. `waiting`: how many of the attempts under way wait for a request of theirs.
    pub(super) fn next<V>(
        &mut self,
        program: &Program,
        state: &mut RunState<V>,
        waiting: usize,
    ) -> Option<Admission<V>> {
        self.absorb(state);
        while let Some(task) = self.ready.front().copied() {
            if !is_queued(state, task) {
                self.ready.pop_front();
                self.pass_over(state, task, None);
                continue;
            }
            if let Some((gate, who)) = closed_gate(program, state, task) {
                self.ready.pop_front();
                self.wait_at(state, task, gate, who);
                continue;
            }
            let is_leaf = state.is_leaf(program, task).unwrap_or(true);
            if is_leaf && self.max_concurrency > 0 && state.running.saturating_sub(waiting) >= self.max_concurrency {
                break;
            }
            self.ready.pop_front();
            self.let_in(state, task);
            return Some(match is_leaf {
                true => Admission::Event(Event::Started { task, entered: None }),
                false => Admission::Enter(task),
            });
        }
        while let Some(task) = self.with_items.front().copied() {
            if let Some(item) = next_item(program, state, task) {
                let Some((gate, who)) = closed_gate(program, state, task) else {
                    self.let_in(state, task);
                    return Some(Admission::Event(Event::ItemStarted { task, item }));
                };
                self.with_items.pop_front();
                self.wait_at(state, task, gate, who);
                continue;
            }
            self.with_items.pop_front();
            self.pass_over(state, task, None);
        }
        None
    }

    /// After the last record: makes the index of waiting tasks, in the order in which they would have been admitted.
    pub(super) fn resume<V>(&mut self, state: &mut RunState<V>) {
        *self = Admissions::new(self.max_concurrency);
        state.news.freed.clear();
        state.news.changed = state.tasks.ids().into();
        // A task that was queued, stopped or started since is examined when its turn comes.
        let has_pending = |task: &TaskId| {
            let items = state.tasks.get(*task).and_then(Task::items);
            items.is_some_and(|items| !items.pending.is_empty())
        };
        let with_items: Vec<TaskId> = state.tasks.ids().into_iter().filter(has_pending).collect();
        // In front, so that those that were queued keep their order.
        state.news.queued.splice(..0, with_items);
        keep_last(&mut state.news.queued);
    }
}

/// Of a task that was queued more than once, such as one that has failed since, only the last place counts.
pub(super) fn keep_last(queued: &mut Vec<TaskId>) {
    let mut seen = HashSet::new();
    queued.reverse();
    queued.retain(|task| seen.insert(*task));
    queued.reverse();
}

fn is_queued<V>(state: &RunState<V>, task: TaskId) -> bool {
    state.tasks.get(task).is_some_and(Task::is_queued)
}

/// Puts waiting tasks back to where they are examined, before all others. Returns the first of them, if any still
/// waits.
fn look_again<V>(
    ready: &mut VecDeque<TaskId>,
    with_items: &mut VecDeque<TaskId>,
    state: &RunState<V>,
    who: Waiting,
    inside: Vec<TaskId>,
) -> Option<TaskId> {
    let itself = match who {
        Waiting::Task(task) if is_queued(state, task) => Some(task),
        _ => None,
    };
    let mut first = None;
    for task in inside.into_iter().chain(itself).rev() {
        match state.tasks.get(task) {
            Some(at) if at.is_queued() => ready.push_front(task),
            Some(at) if at.items().is_some() => with_items.push_front(task),
            _ => continue,
        }
        first = Some(task);
    }
    first
}

/// The gate at which a task that could begin, or an item of it, has to wait for a place: first for those of the nodes
/// and items around it, then for its own.
pub(super) fn closed_gate<V>(program: &Program, state: &RunState<V>, task: TaskId) -> Option<(Gate, Waiting)> {
    let at = state.tasks.get(task)?;
    if state.has_reopened
        && let Some((around, item)) = state.scope(at.scope).ok()?.parent
    {
        let closed = closed_gate(program, state, around).or_else(|| {
            let is_full = |items: &Items<V>| items.open - items.idle.len() >= max_items(program, state, around);
            let items = state.tasks.get(around)?.items()?;
            let waits = items.idle.contains(&item) && is_full(items);
            waits.then_some((Gate::Items(around), Waiting::Item(around, item)))
        });
        if closed.is_some() {
            return closed;
        }
    }
    if at.holds_place {
        return None;
    }
    let scope = state.scope(at.scope).ok()?;
    let is_full = scope.places.is_some_and(|places| scope.taken >= places);
    let gate = if is_full { Some(Gate::Graph(at.scope)) } else { full_node(program, state, task) };
    gate.map(|gate| (gate, Waiting::Task(task)))
}

/// The gate of a task's node, if there is no place in it for another item of `[..]`.
fn full_node<V>(program: &Program, state: &RunState<V>, task: TaskId) -> Option<Gate> {
    let key = state.place_key(program, task)?;
    let places = program.layouts[key.1].nodes[key.2].options.max_parallel?;
    let items = state.tasks.get(key.0)?.items()?;
    let is_full = items.places.get(&(key.1, key.2)).is_some_and(|taken| *taken >= (places as usize).max(1));
    is_full.then_some(Gate::Node(key))
}

/// The item of a `[..]` that may begin now.
fn next_item<V>(program: &Program, state: &RunState<V>, task: TaskId) -> Option<usize> {
    let at = state.tasks.get(task)?;
    let items = at.items()?;
    let most = match items.pace {
        ItemPace::Bounded => max_items(program, state, task),
        ItemPace::AtOnce | ItemPace::InTurn => usize::MAX,
    };
    items.next_item().filter(|_| at.stopping.is_none() && items.open < most)
}

fn max_items<V>(program: &Program, state: &RunState<V>, task: TaskId) -> usize {
    let Ok(node) = state.node(program, task) else {
        debug_assert!(false, "what has items is a node");
        return usize::MAX;
    };
    let is_each = matches!(node.kind, NodeKind::Scope(ScopeKind::Each, _));
    node.options.max_parallel.filter(|_| is_each).map_or(usize::MAX, |most| (most as usize).max(1))
}
