//! Nodes that have fired and are not settled yet.

use super::attempt::Failed;
use super::group::Group;
use super::message::TimerId;
use super::token::Arrived;
use crate::fault::{Failure, Fault};

/// A node that has fired. A place is used again, so the serial tells a new task from an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TaskId {
    pub(super) at: u32,
    pub(super) serial: u32,
}

impl TaskId {
    /// A small number, which no other task has at the same time.
    pub(crate) fn place(self) -> usize {
        self.at as usize
    }
}

pub(super) struct Task<V> {
    pub(super) scope: usize,
    pub(super) frame: usize,
    pub(super) node: usize,
    /// Its place in the scope's list of tasks.
    pub(super) listed: usize,
    pub(super) attempt: u32,
    pub(super) stage: TaskStage,
    /// Why it is being stopped, while what it started has yet to end.
    pub(super) stopping: Option<Stop>,
    /// What fired it, until the first attempt starts.
    pub(super) arrived: Option<Arrived<V>>,
    /// How many state writes had happened when this attempt began.
    pub(super) seen: u64,
    /// Whether it takes one of the node's `max_parallel` places.
    pub(super) gated: bool,
    /// The delay before the next attempt, or the time limit of a graph inside.
    pub(super) timer: Option<TimerId>,
    /// The graphs inside.
    pub(super) group: Option<Box<Group<V>>>,
    /// What will fail the node if no arm takes it.
    pub(super) failing: Option<Box<Failure>>,
    /// How it has failed, while the record of what was decided then has yet to come.
    pub(super) unjudged: Option<Box<Failed<V>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskStage {
    /// Waits for one of the node's `max_parallel` places.
    AtGate,
    /// Waits for one of the run's `max_concurrency` places.
    Queued,
    /// The driver is at it.
    Running,
    /// The graphs inside are under way.
    Inside,
    /// Waits for the next attempt.
    Delayed,
    /// The driver is asked for an arm `err`.
    Routing,
    /// Has failed; a record says what was decided.
    Unjudged,
}

/// Why a task is stopped before its time.
#[derive(Debug)]
pub(super) enum Stop {
    /// Its scope ends.
    Abandoned,
    /// All that it could still lead to is a collecting node that has its output.
    InVain,
    /// This attempt, by a fault.
    Attempt(Box<Fault>),
}

/// Tasks by id.
pub(super) struct Tasks<V> {
    places: Vec<(u32, Option<Task<V>>)>,
    free: Vec<u32>,
}

impl<V> Tasks<V> {
    pub(super) fn new() -> Self {
        Tasks { places: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, task: Task<V>) -> TaskId {
        match self.free.pop() {
            Some(at) => {
                let place = &mut self.places[at as usize];
                place.0 = place.0.wrapping_add(1);
                place.1 = Some(task);
                TaskId { at, serial: place.0 }
            }
            None => {
                let at = self.places.len() as u32;
                self.places.push((0, Some(task)));
                TaskId { at, serial: 0 }
            }
        }
    }

    /// All of them, in no order that means anything, but always the same.
    pub(super) fn ids(&self) -> Vec<TaskId> {
        let ids = self.places.iter().enumerate().filter(|(_, (_, task))| task.is_some());
        ids.map(|(at, (serial, _))| TaskId { at: at as u32, serial: *serial }).collect()
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task<V>> {
        let (serial, task) = self.places.get(id.at as usize)?;
        task.as_ref().filter(|_| *serial == id.serial)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task<V>> {
        let (serial, task) = self.places.get_mut(id.at as usize)?;
        task.as_mut().filter(|_| *serial == id.serial)
    }

    pub(super) fn remove(&mut self, id: TaskId) -> Option<Task<V>> {
        let (serial, task) = self.places.get_mut(id.at as usize)?;
        if *serial != id.serial {
            return None;
        }
        let task = task.take()?;
        self.free.push(id.at);
        Some(task)
    }
}
