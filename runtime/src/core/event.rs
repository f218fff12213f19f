//! What happens in a run, what a driver reports, and what it has to see to. Plain data, all of it.

use std::time::{Duration, SystemTime};

use super::items::{ItemPace, TimeLimit};
use super::state_map::Writes;
use super::task_id::TaskId;
use super::token::{Arrived, Emitted};
use crate::fault::{Cause, Failure, Fault};

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
    /// A collecting node wants another arrival.
    Collecting { task: TaskId, writes: Writes },
    /// An attempt has failed. What follows was decided then, and is part of the fact.
    Failed { task: TaskId, cause: Box<Cause>, then: Then<V> },
    /// The delay before another attempt is over, or the time limit of a node with a graph inside.
    TimerFired { task: TaskId },
    /// An attempt that was being stopped has stopped.
    Stopped { task: TaskId },
    /// The run is being cancelled: all that is under way is stopped.
    Cancelling,
    /// The run has taken too long: all that is under way is stopped, and then it has failed.
    TimedOut,
    /// Time limits begin anew: the run is retried.
    Retried { at: SystemTime },
}

/// What follows a failed attempt.
#[derive(Clone, Debug)]
pub(crate) enum Then<V> {
    /// Another attempt.
    RetryAt(SystemTime),
    /// The arm `err`.
    Routed(Emitted<V>),
    /// The graph around the node fails.
    Fails,
}

/// What a node with a graph inside has entered.
#[derive(Clone, Debug)]
pub(crate) struct Entered<V> {
    /// What START inside has emitted, for each item.
    pub(crate) inputs: Vec<Emitted<V>>,
    pub(crate) pace: ItemPace,
    pub(crate) limit: Option<TimeLimit>,
}

/// What a driver has seen. Never recorded as such.
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
    /// A collecting node wants another arrival.
    Collecting {
        task: TaskId,
        writes: Writes,
    },
    Failed {
        task: TaskId,
        cause: Box<Cause>,
        retryable: bool,
        /// What goes by the arm `err`, should no attempt be left.
        routed: Option<Emitted<V>>,
    },
    /// Nothing of an attempt runs any more, and it has not ended by itself.
    Stopped {
        task: TaskId,
    },
    TimerFired {
        task: TaskId,
    },
    Cancel,
    /// The time limit of the run is over.
    TimeIsUp,
}

/// The clock and the dice, for what is decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    pub(crate) now: SystemTime,
    /// Drawn evenly from `0.0..1.0`.
    pub(crate) random: f64,
}

/// What may begin now.
#[derive(Debug)]
pub(crate) enum Admission<V> {
    Event(Event<V>),
    /// A node with a graph inside: its inputs are to be made.
    Enter(TaskId),
}

/// What a task has come to whose attempt is not a call of the driver's.
#[derive(Debug)]
pub(crate) enum Conclusion<V> {
    /// What arrived at END of each graph inside, in the order of the inputs.
    Leave(Vec<Arrived<V>>),
    /// The same, and what was written inside conflicts with what others have written since.
    Unfit(Fault),
    /// A graph inside has failed.
    Failed(Failure),
    /// The graphs inside took longer than they may.
    TimedOut(Duration),
    /// A collecting node has had all its arrivals, and gave nothing.
    NothingCollected(u64),
}

/// How a run ended.
#[derive(Debug, PartialEq)]
pub(crate) enum RunEnd<V> {
    Completed(Arrived<V>),
    Failed(Failure),
    Cancelled,
}

/// What follows from an event and is not recorded, for those who watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    Skipped,
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
            Event::Retried { .. } => "Retried",
        }
    }
}
