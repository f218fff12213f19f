//! The state of a run: the fold of its events, and of nothing else.

use std::collections::VecDeque;
use std::sync::Arc;

use graphweft_graph::{EdgeIx, NodeIx};
use serde::{Deserialize, Serialize};

use super::event::{Derived, RunEnd};
use super::frame::turns_of;
use super::impossible::{Applied, Impossible};
use super::items::TimeLimit;
use super::path::Place;
use super::program::{Layout, NodeKind, NodeLayout, Program, ScopeKind};
use super::scope::{Scope, Spare};
use super::state_map::StateMap;
use super::task::Tasks;
use super::task_id::TaskId;

/// Everything that changes in the course of a run: the fold of its events, and of nothing else. The program does not
/// change, and is passed along as `&Program`.
#[derive(Serialize, Deserialize)]
#[serde(bound(serialize = "V: Serialize", deserialize = "V: Deserialize<'de>"))]
pub(super) struct RunState<V> {
    pub(super) scopes: Vec<Option<Scope<V>>>,
    pub(super) free_scopes: Vec<usize>,
    /// The allocations of a scope that is over, for the next one.
    #[serde(skip)]
    pub(super) spare: Option<Spare<V>>,
    pub(super) tasks: Tasks<V>,
    /// The work that is left within one event; empty between two.
    #[serde(skip)]
    pub(super) work: VecDeque<Work<V>>,
    /// How many attempts at nodes without a graph inside are under way.
    pub(super) running: usize,
    /// The state of the nodes that are in no graph inside a node.
    pub(super) shared: StateMap,
    /// The end of the run, once nothing of it can move.
    pub(super) end: Option<RunEnd<V>>,
    pub(super) has_begun: bool,
    /// Whether an attempt that may be made at most once was cut short.
    pub(super) has_cut: bool,
    /// How long the run may take.
    pub(super) limit: Option<TimeLimit>,
    /// Whether a retry has taken places away, so that tasks which have begun may be without one.
    pub(super) has_reopened: bool,
    pub(super) news: News,
}

/// The changes by the last events, for the driver and for admission. Not a part of the state, but for what is
/// serialized: the order in which tasks came to wait, and the nodes with failed items. Nothing but the fold rebuilds
/// either.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct News {
    /// Tasks whose [`Wanted`] may have changed.
    #[serde(skip)]
    pub(super) changed: VecDeque<TaskId>,
    /// Tasks that wait to be admitted, or items of them.
    pub(super) queued: Vec<TaskId>,
    /// Places that became free, each once.
    #[serde(skip)]
    pub(super) freed: Vec<Gate>,
    /// Nodes an item of which has failed, a nested workflow too. Others may still be under way.
    pub(super) with_failed_items: Vec<TaskId>,
    /// Consequences that are published and not recorded, if [`is_watched`](Self::is_watched).
    #[serde(skip)]
    pub(super) derived: Vec<(Place, Derived)>,
    /// Whether the driver or the fold needs them.
    #[serde(skip)]
    pub(super) is_watched: bool,
    /// Tasks that were made, for a driver that finds them by their paths.
    #[serde(skip)]
    pub(super) fired: Option<Vec<TaskId>>,
}

/// Which node's places: the `[..]` around it, the graph, the node.
pub(super) type PlaceKey = (TaskId, usize, NodeIx);

/// A node, graph or `[..]` with a limited number of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gate {
    /// A node in the items of a `[..]`.
    Node(PlaceKey),
    /// A graph, for its nodes.
    Graph(usize),
    /// A `[..]`, for its items. Only idle ones wait there; those that have not begun are pending.
    Items(TaskId),
}

/// Work that is left within one event. First in, first out: a frame passes all its tokens on before it is closed, and
/// nothing recurses along a graph.
pub(super) enum Work<V> {
    /// An edge gets its token; `None` is a dead one. The frame is the one in which the token is now.
    Token { scope: usize, frame: usize, edge: EdgeIx, value: Option<V> },
    /// All of a frame is settled.
    Close { scope: usize, frame: usize },
}

impl<V> RunState<V> {
    pub(super) fn new(is_watched: bool, shared: StateMap) -> Self {
        RunState {
            scopes: Vec::new(),
            free_scopes: Vec::new(),
            spare: None,
            tasks: Tasks::new(),
            work: VecDeque::new(),
            running: 0,
            shared,
            end: None,
            has_cut: false,
            has_begun: false,
            limit: None,
            has_reopened: false,
            news: News { is_watched, ..News::default() },
        }
    }

    /// One that has to be there.
    pub(super) fn scope(&self, scope: usize) -> Applied<&Scope<V>> {
        self.scopes.get(scope).and_then(Option::as_ref).ok_or_else(scope_gone)
    }

    pub(super) fn scope_mut(&mut self, scope: usize) -> Applied<&mut Scope<V>> {
        self.scopes.get_mut(scope).and_then(Option::as_mut).ok_or_else(scope_gone)
    }

    pub(super) fn layout<'p>(&self, program: &'p Program, scope: usize) -> Applied<&'p Layout> {
        Ok(&program.layouts[self.scope(scope)?.layout])
    }

    pub(super) fn node<'p>(&self, program: &'p Program, task: TaskId) -> Applied<&'p NodeLayout> {
        let at = self.tasks.expect(task)?;
        Ok(&self.layout(program, at.scope)?.nodes[at.node])
    }

    pub(super) fn is_leaf(&self, program: &Program, task: TaskId) -> Applied<bool> {
        Ok(self.node(program, task)?.kind == NodeKind::Leaf)
    }

    pub(super) fn place(&self, scope: usize, frame: usize, node: NodeIx) -> Applied<Place> {
        let at = self.scope(scope)?;
        Ok(Place { scope: Arc::clone(&at.path), node: node as u32, turns: turns_of(&at.frames, frame) })
    }

    pub(super) fn place_of(&self, task: TaskId) -> Option<Place> {
        let task = self.tasks.get(task)?;
        self.place(task.scope, task.frame, task.node).ok()
    }

    /// How many nodes of a graph that opens may be under way at once: by the option of the node around it, or else by
    /// that of the workflow. In `[..]` that option of a node counts items.
    pub(super) fn places_in(&self, program: &Program, layout: usize, around: Option<TaskId>) -> Applied<Option<usize>> {
        let mut most = program.layouts[layout].max_parallel;
        if let Some(task) = around {
            let (node, outer) = (self.node(program, task)?, self.scope(self.tasks.expect(task)?.scope)?);
            if outer.each.is_none() && matches!(node.kind, NodeKind::Scope(ScopeKind::Nested, _)) {
                most = node.options.max_parallel.or(most);
            }
        }
        Ok(most.map(|most| (most as usize).max(1)))
    }

    /// Whether an attempt at this node takes a place, of any kind.
    pub(super) fn needs_place(&self, program: &Program, task: TaskId) -> bool {
        let Some(at) = self.tasks.get(task) else { return false };
        let Ok(scope) = self.scope(at.scope) else {
            debug_assert!(false, "a task is in a scope");
            return false;
        };
        scope.places.is_some() || scope.each.is_some() && program.layouts[scope.layout].nodes[at.node].has_places
    }

    /// The node whose place an attempt takes, if the number of its places is limited.
    pub(super) fn place_key(&self, program: &Program, task: TaskId) -> Option<PlaceKey> {
        let at = self.tasks.get(task)?;
        let scope = self.scope(at.scope).ok()?;
        program.layouts[scope.layout].nodes[at.node].has_places.then_some((scope.each?, scope.layout, at.node))
    }

    /// Adds a consequence of this event that is not recorded: it is published, and a cancellation ends the requests of
    /// its node.
    pub(super) fn derive(&mut self, scope: usize, frame: usize, node: NodeIx, what: Derived) -> Applied {
        if self.news.is_watched {
            let place = self.place(scope, frame, node)?;
            self.news.derived.push((place, what));
        }
        Ok(())
    }

    /// The time limit of the run, while that is not ending.
    pub(super) fn open_limit(&self) -> Option<TimeLimit> {
        let root = self.scopes.first()?.as_ref()?;
        self.limit.filter(|_| root.closing.is_none() && self.end.is_none())
    }

    /// The state that the nodes of a graph share.
    pub(super) fn state_of(&self, scope: usize) -> Applied<&StateMap> {
        let Some((around, _)) = self.scope(scope)?.parent else { return Ok(&self.shared) };
        let items = self.tasks.expect(around)?.items().ok_or_else(scope_gone)?;
        Ok(&items.state)
    }

    pub(super) fn state_of_mut(&mut self, scope: usize) -> Applied<&mut StateMap> {
        let Some((around, _)) = self.scope(scope)?.parent else { return Ok(&mut self.shared) };
        let items = self.tasks.expect_mut(around)?.items_mut().ok_or_else(scope_gone)?;
        Ok(&mut items.state)
    }
}

pub(super) fn scope_gone() -> Box<Impossible> {
    Box::new(Impossible { event: "", found: "the graph around its task is over".to_owned() })
}
