//! What a driver tells the core, and what the core asks of a driver. Plain data, all of it. What is large and rare is
//! boxed, so that what is frequent stays small.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::path::Place;
use super::state::Writes;
use super::task::TaskId;
use super::token::{Arrived, Emitted};
use crate::fault::{Cause, Failure, Fault};

/// What has happened.
#[derive(Debug)]
pub(crate) enum Event<V> {
    /// The run begins; START has emitted this.
    Begun(Emitted<V>),
    /// An attempt is over: an answer to [`Command::Run`], to [`Command::Leave`], or to [`Command::Enter`] where
    /// entering failed.
    Ended {
        task: TaskId,
        ended: Ended<V>,
        writes: Writes,
        /// Drawn evenly from `0.0..1.0`; decides the delay before another attempt.
        random: f64,
    },
    /// An answer to [`Command::Enter`]: what START of the graph inside has emitted, for each item.
    Entered { task: TaskId, inputs: Vec<Emitted<V>> },
    /// An answer to [`Command::GoOn`].
    GoOn { task: TaskId },
    /// An answer to [`Command::Route`].
    Routed { task: TaskId, emitted: Option<Emitted<V>> },
    /// A timer has run out. `random` as above: it may be the time of an attempt that another follows.
    Fired { timer: TimerId, random: f64 },
    /// From a record: an attempt has begun. Where it is under way already, it begins again.
    Started { task: TaskId },
    /// From a record: an attempt has failed, and this is what was decided then.
    Judged { task: TaskId, cause: Box<Cause>, retry_in: Option<Duration>, routed: Option<Emitted<V>> },
    /// From a record: a failure does not count, and the node begins anew.
    Forgiven { task: TaskId },
    /// The records are at their end; what was under way then goes on.
    Replayed,
    /// Someone wants the run to end.
    CancelRequested,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Ended<V> {
    Emitted(Emitted<V>),
    /// A collecting node wants another arrival.
    Waiting,
    Failed {
        cause: Box<Cause>,
        retryable: bool,
        routed: Option<Emitted<V>>,
    },
    Fault(Box<Fault>),
    /// By a fault before its input was kept, so that no other attempt can follow.
    Lost(Box<Fault>),
    /// It was cancelled, and nothing of it runs any more.
    Stopped,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Command<V> {
    /// Start an attempt at a node.
    Run {
        task: TaskId,
        place: Place,
        attempt: u32,
        /// Whether another attempt may follow, for which the input has to be kept.
        may_repeat: bool,
        /// What fired the node; `None` for a repeated attempt, whose input the driver has kept.
        arrived: Option<Arrived<V>>,
        sees: Sees,
    },
    /// Make the inputs of the graph inside a node.
    Enter {
        task: TaskId,
        place: Place,
        attempt: u32,
        may_repeat: bool,
        arrived: Option<Arrived<V>>,
    },
    /// Say so when all before this is carried out: the next item of `[..]` is begun then. What items need at once is not
    /// taken for all of them before the first has begun.
    GoOn(TaskId),
    /// Make a node's output of what arrived at END of the graph inside, in the order of the inputs.
    Leave {
        task: TaskId,
        place: Place,
        ends: Vec<Arrived<V>>,
    },
    /// No attempt is left: ask whether this goes on by the arm `err`.
    Route {
        task: TaskId,
        place: Place,
        error: Box<Routable>,
    },
    /// Stop an attempt and say [`Ended::Stopped`] when nothing of it runs any more.
    Cancel(TaskId),
    /// Forget what is kept for a task.
    Forget(TaskId),
    SetTimer {
        timer: TimerId,
        place: Place,
        after: Duration,
    },
    DropTimer(TimerId),
    /// Only while records are taken: a task waits for the record of what became of it.
    Awaits {
        task: TaskId,
        place: Place,
    },
    /// For the record. Only where the core was told to keep one.
    Note {
        /// The task that it is about; `None` for a node that was skipped.
        task: Option<TaskId>,
        place: Place,
        note: Box<Note>,
    },
    /// The run is over.
    End(Box<RunEnd<V>>),
}

/// What an attempt can read, as it was when the attempt began: what happens before a driver gets to it is not yet there.
#[derive(Clone, Debug)]
pub(crate) struct Sees {
    /// The run's state.
    pub(crate) state: Arc<Map<String, Value>>,
    /// What a collecting node has written down at earlier arrivals.
    pub(crate) local: Option<Arc<Map<String, Value>>>,
}

/// What may go on by an arm `err` though it is not the node's own error.
#[derive(Debug)]
pub(crate) enum Routable {
    Fault(Fault),
    Failure(Failure),
}

/// What a watcher of the run wants to know.
#[derive(Debug, PartialEq)]
pub(crate) enum Note {
    Completed {
        choice: usize,
        writes: Writes,
    },
    /// A collecting node wants another arrival.
    Waiting {
        writes: Writes,
    },
    Failed {
        attempt: u32,
        cause: Cause,
        retry_in: Option<Duration>,
    },
    Skipped,
    Cancelled,
}

/// How a run ended.
#[derive(Debug, PartialEq)]
pub(crate) enum RunEnd<V> {
    Completed(Arrived<V>),
    Failed(Failure),
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TimerId(pub(super) u64);
