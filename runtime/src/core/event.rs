//! The events of a run, the reports of a driver, and the effects that a driver has to carry out. All of it is plain
//! data.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::items::{ItemPace, TimeLimit};
use super::state_map::Writes;
use super::task_id::TaskId;
use super::token::{Arrived, Emitted};
use crate::fault::{Cause, Failure, Fault};
use crate::options::Retryable;

/// A fact: exactly what is recorded. The state of a run is the fold of its events, live and at resume.
#[derive(Clone, Debug)]
pub(crate) enum Event<V> {
    /// The run begins; START has emitted this. `limit`: how long it may take.
    Begun { emitted: Emitted<V>, limit: Option<TimeLimit> },
    /// An attempt begins. `entered`: for a node with a graph inside, unless entering it failed.
    Started { task: TaskId, entered: Option<Box<Entered<V>>> },
    /// The next item of a bounded `[..]` begins.
    ItemStarted { task: TaskId, item: usize },
    /// An item that only waits is stopped, since one behind it has failed.
    ItemCancelled { task: TaskId, item: usize },
    /// A node is done.
    Completed { task: TaskId, emitted: Emitted<V>, writes: Writes },
    /// A collecting node waits for another arrival.
    Collecting { task: TaskId, writes: Writes },
    /// An attempt has failed. `then` was decided at that time, and is part of the fact.
    Failed { task: TaskId, cause: Box<Cause>, then: Then<V> },
    /// The delay before another attempt is over, or the time limit of a node with a graph inside.
    TimerFired { task: TaskId },
    /// An attempt that was being stopped has stopped.
    Stopped { task: TaskId },
    /// The run is being cancelled: all that is under way is stopped.
    Cancelling,
    /// The run has taken too long: all that is under way is stopped, and then it has failed.
    TimedOut,
    /// A node ends the run, so that another one follows: all else that is under way is stopped.
    StartingOver { task: TaskId, next: Box<NextRun> },
    /// Time limits begin anew: the run is retried.
    Retried { at: SystemTime },
}

/// What a run begins with that follows another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NextRun {
    pub(crate) input: Json,
    /// The initial state.
    pub(crate) state: Map<String, Json>,
}

/// What follows a failed attempt.
#[derive(Clone, Debug)]
pub(crate) enum Then<V> {
    /// Another attempt.
    RetryAt(SystemTime),
    /// The arm `err`.
    Routed(Emitted<V>),
    /// The graph around the node fails, with this error if it has a recorded form.
    Fails(Option<Box<Json>>),
}

/// The inputs with which a node has entered the graph inside.
#[derive(Clone, Debug)]
pub(crate) struct Entered<V> {
    /// The emission of START inside, for each item.
    pub(crate) inputs: Vec<Emitted<V>>,
    pub(crate) pace: ItemPace,
    pub(crate) limit: Option<TimeLimit>,
}

/// A report of a driver. Never recorded as such.
#[derive(Debug)]
pub(crate) enum Report<V> {
    /// START has emitted.
    Begin {
        emitted: Emitted<V>,
        limit: Option<TimeLimit>,
    },
    /// The inputs of the graphs inside a node were made. `None`: entering it failed, and the failure is reported next.
    Entered {
        task: TaskId,
        entered: Option<Box<Entered<V>>>,
    },
    Succeeded {
        task: TaskId,
        emitted: Emitted<V>,
        writes: Writes,
    },
    /// A collecting node waits for another arrival.
    Collecting {
        task: TaskId,
        writes: Writes,
    },
    Failed {
        task: TaskId,
        cause: Box<Cause>,
        retryable: Retryable,
        /// The tokens for the arm `err`, if no attempt is left.
        routed: Option<Emitted<V>>,
        /// The recorded form of the error, if it takes no arm.
        error: Option<Box<Json>>,
    },
    /// Nothing of an attempt runs any more, and it has not ended by itself.
    Stopped {
        task: TaskId,
    },
    TimerFired {
        task: TaskId,
    },
    /// An item only waits, before one that has failed.
    WaitingItem {
        task: TaskId,
        item: usize,
    },
    /// A node ends the run, so that another one follows.
    StartsOver {
        task: TaskId,
        next: Box<NextRun>,
    },
    Cancel,
    /// The time limit of the run is over.
    TimeIsUp,
}

/// The time and a random number, for a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    pub(crate) now: SystemTime,
    /// Drawn evenly from `0.0..1.0`.
    pub(crate) random: f64,
}

/// An attempt or item that may begin now.
#[derive(Debug)]
pub(crate) enum Admission<V> {
    Event(Event<V>),
    /// A node with a graph inside: its inputs are to be made.
    Enter(TaskId),
}

/// The result of a task whose attempt is not a call of the driver's.
#[derive(Debug)]
pub(crate) enum Conclusion<V> {
    /// The tokens that arrived at END of each graph inside, in the order of the inputs.
    Leave(Vec<Arrived<V>>),
    /// The graphs inside have completed, but their writes conflict with writes that others have made since.
    Unfit(Fault),
    /// A graph inside has failed.
    Failed(Failure),
    /// The graphs inside took longer than they may.
    TimedOut(Duration),
    /// A collecting node has had all its arrivals, and returned no output.
    NothingCollected(u64),
}

/// How a run ended.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum RunEnd<V> {
    Completed(Arrived<V>),
    Failed(Failure),
    Cancelled,
    /// Another run follows.
    StartsOver(Box<NextRun>),
}

/// A consequence of an event that is published and not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    Skipped,
    /// A task is stopped whose own body does not run. This also ends the requests of its node, live and in the fold.
    Cancelled,
}

impl<V> Event<V> {
    /// The task that it is of; `None` if it is of the whole run.
    pub(crate) fn task(&self) -> Option<TaskId> {
        match self {
            Event::Started { task, .. }
            | Event::ItemStarted { task, .. }
            | Event::ItemCancelled { task, .. }
            | Event::Completed { task, .. }
            | Event::Collecting { task, .. }
            | Event::Failed { task, .. }
            | Event::TimerFired { task }
            | Event::StartingOver { task, .. }
            | Event::Stopped { task } => Some(*task),
            Event::Begun { .. } | Event::Cancelling | Event::TimedOut | Event::Retried { .. } => None,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Event::Begun { .. } => "Begun",
            Event::Started { .. } => "Started",
            Event::ItemStarted { .. } => "ItemStarted",
            Event::ItemCancelled { .. } => "ItemCancelled",
            Event::Completed { .. } => "Completed",
            Event::Collecting { .. } => "Collecting",
            Event::Failed { .. } => "Failed",
            Event::TimerFired { .. } => "TimerFired",
            Event::Stopped { .. } => "Stopped",
            Event::Cancelling => "Cancelling",
            Event::TimedOut => "TimedOut",
            Event::StartingOver { .. } => "StartingOver",
            Event::Retried { .. } => "Retried",
        }
    }
}
