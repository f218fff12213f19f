//! Nodes that have fired and are not done yet.
//!
//! Queued, under way and Backoff are the states of the [attempts](super::attempts) at a node; Running, Inside and
//! Exhausted are the work under way in one ([`Execution`]). `is_allowed` in `apply/mod.rs` is the table of the events.
//!
//! ```text
//!             Started                    Completed, Collecting, Failed { Routed | Fails }
//!   Queued ─────────────> Running ───────────────────────────────────────────────────────> gone
//!     ^  \                   │  \                                                           ^
//!     │   \ Started{entered} │   \ stopped ───────────────────────── Stopped ───────────────┤
//!     │    \                 v                                                              │
//!     │     └──> Inside   Failed { RetryAt }                                                │
//!     │            │ all graphs inside over: Completed, Failed ─────────────────────────────┤
//!     │            v                                                                        │
//!     └──────── Backoff <── Failed { RetryAt }        Exhausted ── Failed ──────────────────┘
//!     TimerFired
//! ```
//!
//! A stop removes Queued, Backoff and Exhausted at once, Inside with its last item, and Running by `Stopped`.
//! `TimerFired` in Inside is the time limit: its graphs are stopped, and then the attempt has failed.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::attempts::{AttemptState, Attempts};
use super::impossible::{Applied, Impossible};
use super::items::Items;
use super::state_map::Snapshot;
use super::task_id::{StopReason, TaskId};
use super::token::Arrived;

#[derive(Serialize, Deserialize)]
pub(super) struct Task<V> {
    pub(super) scope: usize,
    pub(super) frame: usize,
    pub(super) node: usize,
    /// Its place in the scope's list of tasks.
    pub(super) listed: usize,
    /// The attempts at it: queued, under way or delayed. It is gone when they end.
    pub(super) attempts: Attempts<Execution<V>>,
    /// Why it is being stopped, while its work has yet to end.
    pub(super) stopping: Option<StopReason>,
    /// The tokens that fired it, until a driver takes them. Serialized, but left out when states are compared.
    pub(super) input: Option<Arrived<V>>,
    /// The run's state as its attempt sees it; for an item of `[..]` that began in turn, the state that all items see.
    pub(super) sees: Option<Snapshot>,
    /// Whether it takes a place that `max_parallel` limits: one of its graph, of its node in a `[..]`, or of both.
    pub(super) holds_place: bool,
}

/// The work under way in an attempt at a node.
#[derive(Serialize, Deserialize)]
pub(super) enum Execution<V> {
    /// Its body. For a node with a graph inside: entering it has failed, and that failure follows.
    Body,
    /// The graphs inside.
    Inside(Box<Items<V>>),
    /// Nothing: a collecting node that has had all its arrivals, and returned no output.
    Exhausted { arrivals: u64 },
}

/// The work that has to be under way for a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Nothing: the task is gone, or waits to be admitted.
    Nothing,
    /// An attempt.
    Attempt,
    /// Nothing any more; an attempt that is under way has to stop.
    Stop,
    /// A timer.
    Timer(SystemTime),
    /// The graphs inside; with their time limit, if there is one.
    Inside(Option<SystemTime>),
    /// Its conclusion: everything that it waits for is over.
    Conclude,
}

impl<V> Task<V> {
    /// The work that has to be under way: a function of the state.
    pub(super) fn wanted(&self) -> Wanted {
        let work = match self.attempts.state() {
            AttemptState::Due => return Wanted::Nothing,
            AttemptState::Backoff { until } => return Wanted::Timer(*until),
            AttemptState::UnderWay(work) => work,
            AttemptState::CutShort => {
                debug_assert!(false, "the task of a node is never without the node that it is a part of");
                return Wanted::Nothing;
            }
            AttemptState::Ended(end) => match *end {},
        };
        match work {
            Execution::Body if self.stopping.is_some() => Wanted::Stop,
            Execution::Body => Wanted::Attempt,
            Execution::Inside(items) if items.is_over() => Wanted::Conclude,
            Execution::Inside(items) if self.stopping.is_some() => {
                debug_assert!(items.open > 0, "a node whose graphs are over is gone");
                Wanted::Inside(None)
            }
            Execution::Inside(items) => Wanted::Inside(items.limit.map(|limit| limit.until)),
            Execution::Exhausted { .. } => Wanted::Conclude,
        }
    }

    /// Whether it waits to be admitted.
    pub(super) fn is_queued(&self) -> bool {
        self.attempts.is_due()
    }

    /// Whether a body is executed, or entering the graph inside has failed and that failure follows.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.attempts.work(), Some(Execution::Body))
    }

    /// The graphs inside it that are under way.
    pub(super) fn items(&self) -> Option<&Items<V>> {
        match self.attempts.work() {
            Some(Execution::Inside(items)) => Some(items),
            _ => None,
        }
    }

    pub(super) fn items_mut(&mut self) -> Option<&mut Items<V>> {
        match self.attempts.work_mut() {
            Some(Execution::Inside(items)) => Some(items),
            _ => None,
        }
    }

    /// The name of its state, as in the table above.
    pub(super) fn state_name(&self) -> &'static str {
        match self.attempts.state() {
            AttemptState::Due => "Queued",
            AttemptState::UnderWay(Execution::Body) => "Running",
            AttemptState::UnderWay(Execution::Inside(_)) => "Inside",
            AttemptState::UnderWay(Execution::Exhausted { .. }) => "Exhausted",
            AttemptState::Backoff { .. } => "Backoff",
            AttemptState::CutShort => "CutShort",
            AttemptState::Ended(end) => match *end {},
        }
    }

    /// Its state in words, for an event that it does not allow.
    pub(super) fn in_words(&self) -> String {
        let stopping = self.stopping.map_or(String::new(), |why| format!(", being stopped ({why:?})"));
        format!("its task is {}{stopping}", self.state_name())
    }
}

/// Tasks by id.
#[derive(Serialize, Deserialize)]
pub(super) struct Tasks<V> {
    slots: Vec<(u32, Option<Task<V>>)>,
    free: Vec<u32>,
}

impl<V> Tasks<V> {
    pub(super) fn new() -> Self {
        Tasks { slots: Vec::new(), free: Vec::new() }
    }

    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, more: usize) {
        self.slots.reserve(more.saturating_sub(self.free.len()));
    }

    pub(super) fn insert(&mut self, task: Task<V>) -> TaskId {
        match self.free.pop() {
            Some(slot) => {
                let entry = &mut self.slots[slot as usize];
                entry.0 = entry.0.wrapping_add(1);
                entry.1 = Some(task);
                TaskId { slot, serial: entry.0 }
            }
            None => {
                // Many runs have one at a time.
                if self.slots.capacity() == 0 {
                    self.slots = Vec::with_capacity(1);
                }
                let slot = self.slots.len() as u32;
                self.slots.push((0, Some(task)));
                TaskId { slot, serial: 0 }
            }
        }
    }

    /// All of them, in an order without meaning that is always the same.
    pub(super) fn ids(&self) -> Vec<TaskId> {
        let taken = self.slots.iter().enumerate().filter(|(_, (_, task))| task.is_some());
        taken.map(|(slot, (serial, _))| TaskId { slot: slot as u32, serial: *serial }).collect()
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task<V>> {
        let (serial, task) = self.slots.get(id.slot as usize)?;
        task.as_ref().filter(|_| *serial == id.serial)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task<V>> {
        let (serial, task) = self.slots.get_mut(id.slot as usize)?;
        task.as_mut().filter(|_| *serial == id.serial)
    }

    /// A task that must exist.
    pub(super) fn expect(&self, id: TaskId) -> Applied<&Task<V>> {
        self.get(id).ok_or_else(gone)
    }

    pub(super) fn expect_mut(&mut self, id: TaskId) -> Applied<&mut Task<V>> {
        self.get_mut(id).ok_or_else(gone)
    }

    pub(super) fn remove(&mut self, id: TaskId) -> Applied<Task<V>> {
        let entry = self.slots.get_mut(id.slot as usize).filter(|(serial, _)| *serial == id.serial);
        let task = entry.and_then(|(_, task)| task.take()).ok_or_else(gone)?;
        self.free.push(id.slot);
        Ok(task)
    }
}

/// `RunState::apply` adds the name of the event.
fn gone() -> Box<Impossible> {
    Box::new(Impossible { event: "", found: "its task is gone".to_owned() })
}
