//! The bodies of requests that change something.

use std::collections::BTreeMap;

use graphweft::RunStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Status;

/// A run to start.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    /// The input, by the schema of the workflow.
    #[serde(default)]
    pub input: Value,
    /// The id of the run; without one it gets a new one. A start with the id and the input of a run that exists returns that run.
    #[serde(default)]
    pub id: Option<String>,
    /// Tags by which it is found.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// The keys of the state that the workflow is given at its start.
    #[serde(default)]
    pub state: BTreeMap<String, Value>,
    /// Begins it so many milliseconds later.
    #[serde(default)]
    pub after: Option<u64>,
}

/// The run that a request has led to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Started {
    /// Its id.
    pub run: String,
}

/// An answer to a question.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The answer, by the schema of the question.
    pub answer: Value,
    /// Who gives it.
    #[serde(default)]
    pub by: Option<String>,
    /// A comment on it.
    #[serde(default)]
    pub comment: Option<String>,
}

/// How to retry a run; an empty object resumes it from where it failed.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// Paths of nodes that run again as if they had never started, and all nodes after them.
    pub from_nodes: Vec<String>,
    /// Paths of completed nodes, steps and children that run again with what is recorded for them, and all nodes after them.
    pub rerun: Vec<String>,
}

/// Where to fork a run.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fork {
    /// The number of the first event that is not copied; without it, all that came before the end of the run are.
    pub before: Option<u64>,
    /// The id of the new run; without one it gets a new one.
    pub id: Option<String>,
}

/// A signal to a run.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// Its payload.
    #[serde(default)]
    pub payload: Value,
    /// Its id: another signal with this name and id is not counted, unless this one is rejected.
    #[serde(default)]
    pub id: Option<String>,
    /// Who sends it.
    #[serde(default)]
    pub by: Option<String>,
}

/// An empty object, or no body.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// What has become of an answer.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Answered {
    /// Whether it has the type that was asked for. If not, with status 202: it is recorded, its node has not read it yet, and it
    /// may still be rejected.
    pub accepted: bool,
}

/// What has become of a signal.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Signalled {
    /// Whether the run had got a signal with this name and id before, so that this one does not count.
    pub duplicate: bool,
}

/// What has become of a cancellation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Cancellation {
    /// The run that is cancelled: the last one that follows, if the run has started over.
    pub run: String,
    /// Its status. If it has ended, with status 200: `cancelled`, or how it had ended before.
    #[schema(value_type = Status)]
    pub status: RunStatus,
}
