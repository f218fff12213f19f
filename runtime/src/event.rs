//! What happens in a run, one record after another.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    },
    /// An attempt at a node begins.
    NodeStarted {
        /// From 1.
        attempt: u32,
    },
    /// A node is done, and its successors may start.
    NodeCompleted {
        /// The arm that it took, as it was written, `low | medium`; `None` for an unrouted node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Its output; `None` where it went on by the arm `err` after it had failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// What it wrote to the run's state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
    },
    /// A collecting node has had an arrival and waits for another.
    NodeWaiting {
        /// What it wrote to the run's state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
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
    },
    /// The routes went elsewhere. Agents that a hand-over passes by are not on record: each step is one of them, and the
    /// rest would say so again at every step.
    NodeSkipped,
    /// The node was stopped: the run was cancelled, a sibling failed, or nothing needs its output any more.
    NodeCancelled,
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

impl Event {
    /// The format of the records that this version writes.
    pub const VERSION: u32 = 1;

    /// Whether the run ends with this.
    pub fn is_terminal(&self) -> bool {
        matches!(self.kind, EventKind::RunCompleted { .. } | EventKind::RunFailed { .. } | EventKind::RunCancelled)
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
