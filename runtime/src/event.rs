//! What happens in a run, one record after another.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::fault::{Cause, Failure};
use crate::state::StateWrite;

/// One record of a run.
///
/// As JSON it is flat: `{"version":1,"run_id":"..","seq":3,"time":1763762400123,"path":"checkout/charge",
/// "type":"node_started","attempt":1}`, `time` in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The format of this record, [`Event::VERSION`] for new ones. Older ones stay readable.
    pub version: u32,
    /// The run.
    pub run_id: String,
    /// Its number in the run, from 0, without gaps. [`Progress`](EventKind::Progress) is not recorded and has the number
    /// of the record before it.
    pub seq: u64,
    /// When it was recorded, by the clock on the wall.
    #[serde(with = "millis")]
    pub time: SystemTime,
    /// The node, as in `checkout/charge`, or the workflow for what concerns the whole run.
    pub path: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
///
/// A run's state is the fold of these. A path below that of a node without a graph inside is something that the node
/// asked its context for: a child, a step, a question, a timer (`checkout/plan/search:rust`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run begins.
    RunStarted {
        /// The name of the workflow.
        workflow: String,
        /// Its input.
        input: Value,
        /// The run's state at the beginning.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        state: Map<String, Value>,
    },
    /// A process took the run over: after a restart, or after its owner had died. What an owner before still tries to
    /// record is refused.
    RunResumed {
        /// The number of the owner, in the store.
        owner: u64,
    },
    /// From here on, records are made under another graph of the same workflow.
    GraphChanged {
        /// The hash of the graph before.
        from: u64,
        /// The hash of the graph from here on.
        to: u64,
    },
    /// Someone wants a run that had failed to go on. What is on record before this is reused, but for what led to the end
    /// of the run and what is named here.
    RunRetried {
        /// Nodes that run again as if they had never started, and all behind them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<String>,
        /// Nodes, steps and children that run again; what they had asked for is given back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        force: Vec<String>,
    },
    /// An attempt at a node, a child or a step begins. The same attempt begins again where a process died during it.
    NodeStarted {
        /// From 1.
        attempt: u32,
        /// For a node with a graph inside: what was entered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inside: Option<Entered>,
        /// For a child: the hash of its input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
    },
    /// A node is done, and its successors may start.
    NodeCompleted {
        /// The arm that it took, as it was written, `low | medium`; `None` for an unrouted node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Its output; `None` where it went on by the arm `err` after it had failed.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        output: Option<Value>,
        /// What went along the arm `err` instead.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        error: Option<Value>,
        /// What it wrote to the run's state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
    },
    /// A collecting node has had an arrival and waits for another.
    NodeWaiting {
        /// What it wrote to the run's state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
        /// What it wrote down for its next arrival.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        local: Vec<StateWrite>,
    },
    /// An attempt has failed.
    NodeFailed {
        /// From 1.
        attempt: u32,
        /// The error.
        cause: Cause,
        /// When the next attempt begins; `None` where there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in: Option<Duration>,
        /// The error itself, where a child or a step gives it back as a value.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        error: Option<Value>,
    },
    /// The routes went elsewhere. Agents that a hand-over passes by are not on record: each step is one of them, and the
    /// rest would say so again at every step.
    NodeSkipped,
    /// The node was stopped: the run was cancelled, a sibling failed, or nothing needs its output any more.
    NodeCancelled,
    /// A recorded child, step or answer was given back instead of being done again. Goes to whoever watches at that
    /// moment and is not recorded.
    StepReused,
    /// A message, `ctx.say(..)`.
    Said {
        /// Its text.
        text: String,
    },
    /// Progress, `ctx.emit(..)`: goes to whoever watches at that moment and is not recorded.
    Progress {
        /// What was emitted.
        data: Value,
    },
    /// A node asks a person, `ctx.ask(..)`. The path is the question's.
    Asked {
        /// The text of the question.
        prompt: String,
        /// What there is to see with it.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        payload: Value,
        /// The JSON Schema of the answer.
        schema: Value,
    },
    /// The answer to a question. The path is the question's.
    Answered {
        /// The answer.
        answer: Value,
    },
    /// A recorded answer cannot be read as what the node asks for now: the question is open again. The path is the
    /// question's.
    AnswerRefused {
        /// What does not fit, and where.
        message: String,
    },
    /// A timer was set, `ctx.sleep(..)`. The path is the timer's.
    TimerSet {
        /// When it runs out.
        #[serde(with = "millis")]
        until: SystemTime,
    },
    /// A timer has run out: one that a node had set, the delay before another attempt, the time limit of a node with a
    /// graph inside.
    TimerFired,
    /// Someone wants the run to end.
    CancelRequested,
    /// The run has its output.
    RunCompleted {
        /// The output.
        output: Value,
    },
    /// The run has failed.
    RunFailed {
        /// Which node, after how many attempts, and why.
        failure: Failure,
    },
    /// The run was cancelled.
    RunCancelled,
}

/// What a node with a graph inside has entered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entered {
    /// How many items; 1 for a nested workflow.
    pub items: u64,
    /// The arm that each item took at START inside; empty where that is not routed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl EventKind {
    /// Whether the run ends with this.
    pub fn is_terminal(&self) -> bool {
        matches!(self, EventKind::RunCompleted { .. } | EventKind::RunFailed { .. } | EventKind::RunCancelled)
    }

    /// Whether this is kept, and not only shown to whoever watches at that moment.
    pub fn is_recorded(&self) -> bool {
        !matches!(self, EventKind::Progress { .. } | EventKind::StepReused)
    }
}

/// `null` is a value, and not its absence.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Event {
    /// The format of the records that this version writes.
    pub const VERSION: u32 = 1;

    /// Whether the run ends with this.
    pub fn is_terminal(&self) -> bool {
        self.kind.is_terminal()
    }
}

mod millis {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        to.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let millis = u64::deserialize(from)?;
        UNIX_EPOCH
            .checked_add(Duration::from_millis(millis))
            .ok_or_else(|| serde::de::Error::custom("a time beyond what this machine can hold"))
    }
}
