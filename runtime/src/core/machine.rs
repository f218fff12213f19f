//! The core as its driver sees it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use graphweft_graph::{EdgeIx, NodeIx};
use serde_json::{Map, Value};

use super::frame::turns_of;
use super::layout::{Layout, Program};
use super::limits::Slots;
use super::message::{Command, Event, Note, TimerId};
use super::path::Place;
use super::scope::{Scope, Spare};
use super::state::{Seen, StateMap};
use super::task::{TaskId, Tasks};
use crate::core::ScopePath;

/// One run.
pub(crate) struct Core<V> {
    pub(super) program: Arc<Program>,
    pub(super) root: Arc<ScopePath>,
    pub(super) machine: Machine<V>,
}

/// What changes while a run goes on; what does not is passed along as `&Program`.
pub(super) struct Machine<V> {
    pub(super) scopes: Vec<Option<Scope<V>>>,
    pub(super) free_scopes: Vec<usize>,
    /// What a scope that is over has allocated, for the next one.
    pub(super) spare: Option<Spare<V>>,
    pub(super) tasks: Tasks<V>,
    pub(super) work: VecDeque<Work<V>>,
    pub(super) out: VecDeque<Command<V>>,
    pub(super) slots: Slots,
    pub(super) timers: HashMap<TimerId, TaskId>,
    pub(super) next_timer: u64,
    pub(super) state: StateMap,
    /// The state that attempts which begin now see, where they should have begun before.
    pub(super) as_of: Option<Seen>,
    /// What the driver drew for the event that is being applied: the jitter of a delay comes of it.
    pub(super) random: f64,
    pub(super) notes: bool,
    /// Whether what happens comes from records: then attempts begin, and failures are judged, as these say.
    pub(super) replaying: bool,
    pub(super) over: bool,
}

/// What is left to do within one event. First in, first out: whatever a frame has yet to pass on is done before it is
/// closed, and nothing recurses along a graph.
pub(super) enum Work<V> {
    /// An edge gets its token; `None` is a dead one. The frame is the one in which the token is now.
    Token { scope: usize, frame: usize, edge: EdgeIx, value: Option<V> },
    /// All of a frame is settled.
    Close { scope: usize, frame: usize },
}

impl<V> Core<V> {
    /// A run that has not begun. `notes`: whether anyone wants [`Command::Note`]; `max_concurrency`: how many attempts
    /// of nodes may be under way at once, 0 for no limit; `prefix`: what stands before all paths, where that is not the
    /// workflow's name.
    pub(crate) fn new(
        program: Arc<Program>,
        max_concurrency: usize,
        notes: bool,
        state: Map<String, Value>,
        prefix: Option<String>,
    ) -> Self {
        let root = Arc::new(ScopePath { layout: Arc::clone(&program.layouts[0]), around: None, prefix, item: None });
        let machine = Machine {
            scopes: Vec::new(),
            free_scopes: Vec::new(),
            spare: None,
            tasks: Tasks::new(),
            work: VecDeque::new(),
            out: VecDeque::new(),
            slots: Slots::new(max_concurrency),
            timers: HashMap::new(),
            next_timer: 0,
            state: StateMap::new(state),
            as_of: None,
            random: 0.0,
            notes,
            replaying: false,
            over: false,
        };
        Core { program, root, machine }
    }

    /// From here until [`Event::Replayed`], what is applied comes from records.
    pub(crate) fn replay(&mut self) {
        self.machine.replaying = true;
    }

    /// Takes what has happened; [`next_command`](Self::next_command) then gives what is to be done, in that order.
    pub(crate) fn apply(&mut self, event: Event<V>) {
        let Core { program, root, machine } = self;
        if machine.over {
            return;
        }
        match event {
            Event::Begun(emitted) => machine.open_scope(program, 0, Arc::clone(root), None, emitted),
            Event::Ended { task, ended, writes, random } => {
                machine.random = random;
                machine.ended(program, task, ended, writes);
            }
            Event::Entered { task, inputs } => machine.entered(program, task, inputs),
            Event::GoOn { task } => machine.goes_on(program, task),
            Event::Routed { task, emitted } => machine.routed(program, task, emitted),
            Event::Fired { timer, random } => {
                machine.random = random;
                machine.fired(program, timer);
            }
            Event::CancelRequested => machine.cancel_scope(program, 0),
            Event::Started { task } => machine.started(program, task),
            Event::Judged { task, cause, retry_in, routed } => machine.judged(program, task, *cause, retry_in, routed),
            Event::Forgiven { task } => machine.forgiven(program, task),
            Event::Replayed => machine.replayed(program),
        }
        machine.settle(program);
        machine.as_of = None;
    }

    pub(crate) fn next_command(&mut self) -> Option<Command<V>> {
        self.machine.out.pop_front()
    }

    /// Whether it asks for nothing more.
    pub(crate) fn is_idle(&self) -> bool {
        self.machine.out.is_empty()
    }

    /// Whether a task is to stop, and it is only waited for what it started.
    pub(crate) fn is_stopping(&self, task: TaskId) -> bool {
        self.machine.tasks.get(task).is_some_and(|task| task.stopping.is_some())
    }

    /// The node that a timer was set for; `None` where it is no longer set.
    pub(crate) fn place_of_timer(&self, timer: TimerId) -> Option<Place> {
        self.machine.place_of(*self.machine.timers.get(&timer)?)
    }

    /// Whether the graph that a place is in is still under way.
    pub(crate) fn is_open(&self, place: &Place) -> bool {
        let is_it = |scope: &Scope<V>| Arc::ptr_eq(&scope.path, &place.scope) && scope.closing.is_none();
        self.machine.scopes.iter().flatten().any(is_it)
    }

    /// The run's state, as a node that starts now sees it.
    pub(crate) fn state(&self) -> &Arc<Map<String, Value>> {
        &self.machine.state.values
    }
}

impl<V> Machine<V> {
    /// Does what is left to do, and lets waiting nodes in, until nothing moves.
    fn settle(&mut self, program: &Program) {
        loop {
            while let Some(work) = self.work.pop_front() {
                match work {
                    Work::Token { scope, frame, edge, value } => self.token(program, scope, frame, edge, value),
                    Work::Close { scope, frame } => self.close_frame(program, scope, frame),
                }
            }
            if self.over || self.replaying || !self.admit(program) {
                return;
            }
        }
    }

    pub(super) fn scope(&self, scope: usize) -> Option<&Scope<V>> {
        self.scopes.get(scope)?.as_ref()
    }

    pub(super) fn scope_mut(&mut self, scope: usize) -> Option<&mut Scope<V>> {
        self.scopes.get_mut(scope)?.as_mut()
    }

    pub(super) fn layout<'p>(&self, program: &'p Program, scope: usize) -> Option<&'p Layout> {
        program.layouts.get(self.scope(scope)?.layout).map(Arc::as_ref)
    }

    pub(super) fn place(&self, scope: usize, frame: usize, node: NodeIx) -> Option<Place> {
        let at = self.scope(scope)?;
        Some(Place { scope: Arc::clone(&at.path), node: node as u32, turns: turns_of(&at.frames, frame) })
    }

    pub(super) fn place_of(&self, task: TaskId) -> Option<Place> {
        let task = self.tasks.get(task)?;
        self.place(task.scope, task.frame, task.node)
    }

    pub(super) fn note(&mut self, task: Option<TaskId>, place: Option<Place>, note: impl FnOnce() -> Note) {
        if let Some(place) = place.filter(|_| self.notes) {
            self.out.push_back(Command::Note { task, place, note: Box::new(note()) });
        }
    }

    pub(super) fn note_task(&mut self, task: TaskId, note: impl FnOnce() -> Note) {
        if self.notes {
            let place = self.place_of(task);
            self.note(Some(task), place, note);
        }
    }

    pub(super) fn set_timer(&mut self, task: TaskId, after: std::time::Duration) -> TimerId {
        self.next_timer += 1;
        let timer = TimerId(self.next_timer);
        self.timers.insert(timer, task);
        if let Some(place) = self.place_of(task) {
            self.out.push_back(Command::SetTimer { timer, place, after });
        }
        timer
    }

    pub(super) fn drop_timer(&mut self, task: TaskId) {
        if let Some(timer) = self.tasks.get_mut(task).and_then(|task| task.timer.take()) {
            self.timers.remove(&timer);
            self.out.push_back(Command::DropTimer(timer));
        }
    }
}
