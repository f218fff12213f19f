//! Which waiting tasks may begin: attempts in a run (`max_concurrency`), items in a node of `[..]` (`max_parallel`), items
//! of a `[..]` at once. First come, first served.
//!
//! The only reader of these limits. What is here is an index over the state, made anew where a run is resumed.

use std::collections::{HashMap, HashSet, VecDeque};

use graphweft_graph::NodeIx;

use super::event::{Admission, Event};
use super::items::ItemPace;
use super::program::{NodeKind, Program, ScopeKind};
use super::run_state::{PlaceKey, RunState};
use super::task::TaskState;
use super::task_id::TaskId;

pub(super) struct Admissions {
    /// How many attempts may be under way; 0: no limit.
    max_concurrency: usize,
    /// Tasks that may begin as soon as an attempt may.
    ready: VecDeque<TaskId>,
    /// Tasks that wait for a place in their node.
    at_gates: HashMap<PlaceKey, VecDeque<TaskId>>,
    /// Nodes some items of which have not begun.
    with_items: VecDeque<TaskId>,
}

impl Admissions {
    pub(super) fn new(max_concurrency: usize) -> Self {
        Admissions { max_concurrency, ready: VecDeque::new(), at_gates: HashMap::new(), with_items: VecDeque::new() }
    }

    pub(super) fn is_unlimited(&self) -> bool {
        self.has_no_limit() && self.is_empty()
    }

    /// Whether any number of attempts may be under way.
    pub(super) fn has_no_limit(&self) -> bool {
        self.max_concurrency == 0
    }

    /// Whether nothing waits but for a place in its node.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.with_items.is_empty()
    }

    /// Whether no attempt may begin.
    #[cfg(test)]
    pub(super) fn is_full(&self, running: usize) -> bool {
        self.max_concurrency > 0 && running >= self.max_concurrency
    }

    /// Lets one task of each node with places be looked at again.
    fn offer_places<V>(&mut self, state: &RunState<V>) {
        for waiting in self.at_gates.values_mut() {
            self.ready.extend(next_queued(waiting, state));
        }
        self.at_gates.retain(|_, waiting| !waiting.is_empty());
    }

    /// Takes in what the last events have changed.
    fn absorb<V>(&mut self, state: &mut RunState<V>) {
        for task in state.news.queued.drain(..) {
            match state.tasks.get(task).map(|at| &at.state) {
                Some(TaskState::Queued) => self.ready.push_back(task),
                Some(TaskState::Inside(_)) => self.with_items.push_back(task),
                _ => {}
            }
        }
        let mut freed = std::mem::take(&mut state.news.freed);
        for key in freed.drain(..) {
            let Some(waiting) = self.at_gates.get_mut(&key) else { continue };
            if let Some(next) = next_queued(waiting, state) {
                self.ready.push_front(next);
            }
            if waiting.is_empty() {
                self.at_gates.remove(&key);
            }
        }
        state.news.freed = freed;
    }

    /// What may begin now, where so many of the attempts under way wait for something that they have asked for.
    pub(super) fn next<V>(
        &mut self,
        program: &Program,
        state: &mut RunState<V>,
        waiting: usize,
    ) -> Option<Admission<V>> {
        self.absorb(state);
        while let Some(task) = self.ready.front().copied() {
            let Some(node) = state.tasks.get(task).filter(|at| matches!(at.state, TaskState::Queued)) else {
                self.ready.pop_front();
                // A place may have been kept for it.
                self.offer_places(state);
                continue;
            };
            if !node.holds_place
                && let Some((key, places)) = gate_of(program, state, task)
                && state.items_mut(key.0).is_ok_and(|items| items.places.get(&(key.1, key.2)) >= Some(&places))
            {
                self.ready.pop_front();
                self.at_gates.entry(key).or_default().push_back(task);
                continue;
            }
            let is_leaf = state.is_leaf(program, task).unwrap_or(true);
            if is_leaf && self.max_concurrency > 0 && state.running.saturating_sub(waiting) >= self.max_concurrency {
                break;
            }
            self.ready.pop_front();
            return Some(match is_leaf {
                true => Admission::Event(Event::Started { task, entered: None }),
                false => Admission::Enter(task),
            });
        }
        while let Some(task) = self.with_items.front().copied() {
            if let Some(item) = next_item(program, state, task) {
                return Some(Admission::Event(Event::ItemStarted { task, item }));
            }
            self.with_items.pop_front();
        }
        None
    }

    /// After the last record: makes the index of what waits, in the order in which it would have been let in.
    pub(super) fn resume<V>(&mut self, state: &mut RunState<V>) {
        *self = Admissions::new(self.max_concurrency);
        state.news.freed.clear();
        state.news.changed = state.tasks.ids().into();
        // A task that was queued, stopped or started since is looked at when its turn comes.
        let is_bounded = |task: &TaskId| {
            let at = state.tasks.get(*task).map(|at| &at.state);
            matches!(at, Some(TaskState::Inside(items)) if !items.pending.is_empty())
        };
        let with_items: Vec<TaskId> = state.tasks.ids().into_iter().filter(is_bounded).collect();
        state.news.queued.extend(with_items);
        let mut seen = HashSet::new();
        state.news.queued.retain(|task| seen.insert(*task));
    }
}

/// Takes the first task that still waits. Those that were stopped meanwhile are passed over.
fn next_queued<V>(waiting: &mut VecDeque<TaskId>, state: &RunState<V>) -> Option<TaskId> {
    let is_queued = |task: &TaskId| state.tasks.get(*task).is_some_and(|at| matches!(at.state, TaskState::Queued));
    std::iter::from_fn(|| waiting.pop_front()).find(is_queued)
}

/// The places of the node that a task is at, and how many there are.
fn gate_of<V>(program: &Program, state: &RunState<V>, task: TaskId) -> Option<(PlaceKey, usize)> {
    let key = state.place_key(program, task)?;
    let places = program.layouts[key.1].nodes[key.2].options.max_parallel?;
    Some((key, (places as usize).max(1)))
}

/// The item of a `[..]` that may begin now.
fn next_item<V>(program: &Program, state: &RunState<V>, task: TaskId) -> Option<usize> {
    let at = state.tasks.get(task)?;
    let TaskState::Inside(items) = &at.state else { return None };
    let most = match items.pace {
        ItemPace::Bounded => max_items(program, state.scope(at.scope).ok()?.layout, at.node),
        ItemPace::AtOnce | ItemPace::InTurn => usize::MAX,
    };
    items.next_item().filter(|_| at.stopping.is_none() && items.open < most)
}

fn max_items(program: &Program, layout: usize, node: NodeIx) -> usize {
    let node = &program.layouts[layout].nodes[node];
    let is_each = matches!(node.kind, NodeKind::Scope(ScopeKind::Each, _));
    node.options.max_parallel.filter(|_| is_each).map_or(usize::MAX, |most| (most as usize).max(1))
}
