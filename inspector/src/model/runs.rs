//! Runs, as lists have them.

use std::collections::BTreeMap;

use graphweft::{FeedEvent, RunInfo, RunStatus};
use serde::Serialize;
use utoipa::ToSchema;

use super::millis;
use super::questions::Question;

/// The status of a run. `waiting`: for an answer or a signal. `sleeping`: for a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Status {
    Running,
    Waiting,
    Sleeping,
    Completed,
    Failed,
    Cancelled,
    StartedOver,
}

/// All statuses, in the order in which pages show them.
pub(crate) const STATUSES: [RunStatus; 7] = [
    RunStatus::Running,
    RunStatus::Waiting,
    RunStatus::Sleeping,
    RunStatus::Failed,
    RunStatus::Completed,
    RunStatus::Cancelled,
    RunStatus::StartedOver,
];

/// A run, without its events. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Whether the workflow is registered with this server, so that runs of it can be started here. Without it, retries and
    /// forks are requested.
    pub registered: bool,
    /// Its status.
    #[schema(value_type = Status)]
    pub status: RunStatus,
    /// When it was started.
    pub created: u64,
    /// When its status changed last.
    pub updated: u64,
    /// When it ended, if it has.
    pub ended: Option<u64>,
    /// The number of its recorded events.
    pub records: u64,
    /// When its next timer fires, if it waits for one, or when it begins.
    pub wake_at: Option<u64>,
    /// What it was forked from.
    pub forked_from: Option<ForkedFrom>,
    /// The id of the run that it follows, which has started over.
    pub previous: Option<String>,
    /// The id of the run that follows it, if it has started over.
    pub next: Option<String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Where it is, if it has not ended.
    pub position: Option<Position>,
    /// How many of its questions are open.
    pub open_questions: u64,
    /// The question that has been open for the longest time, in short: the first line of its text, at most 200 characters, and
    /// neither its data nor its schema.
    pub question: Option<Question>,
    /// The names of the signals that it waits for, as far as its last events show them.
    pub awaited_signals: Vec<String>,
    /// The first line of its failure, at most 200 characters, if it has failed.
    pub failure: Option<String>,
    /// Why its last events cannot be read, if they are damaged.
    pub unreadable: Option<String>,
}

/// What a run was forked from.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ForkedFrom {
    /// The id of the run.
    pub run: String,
    /// The number of the first event that was not copied.
    pub before: u64,
}

/// Where a run is: the last thing of which something was recorded.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Position {
    /// Its path.
    pub path: String,
    /// The number of its attempt, if the last record is that an attempt has started.
    pub attempt: Option<u32>,
    /// The time of that record.
    pub since: u64,
    /// The attempt that follows, if the last record is that one has failed.
    pub next_attempt: Option<NextAttempt>,
    /// If it is in a `[..]`: how many of the items are done, as far as the last records show that.
    pub items: Option<Items>,
}

/// An attempt that follows a failed one, after its delay.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NextAttempt {
    /// Its number; the first attempt is 1.
    pub number: u32,
    /// When it may start.
    pub at: u64,
    /// The first line of why the last one has failed, at most 200 characters.
    pub failure: String,
}

/// How many items of a `[..]` are done.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Items {
    /// The node with which an item of it was done last, without the number of the item.
    pub path: String,
    /// So many items are done.
    pub done: u64,
    /// Of so many.
    pub all: u64,
}

impl Run {
    pub(crate) fn of(info: RunInfo, registered: bool) -> Self {
        Run {
            id: info.id,
            workflow: info.workflow,
            registered,
            status: info.status,
            created: millis(info.created),
            updated: millis(info.updated),
            ended: info.ended.map(millis),
            records: info.records,
            wake_at: info.wake_at.map(millis),
            forked_from: info.forked_from.map(|(run, before)| ForkedFrom { run, before }),
            previous: info.previous,
            next: info.next,
            tags: info.tags,
            position: info.position.map(|at| Position {
                path: at.path,
                attempt: at.attempt,
                since: millis(at.since),
                next_attempt: at.next_attempt.map(|next| NextAttempt {
                    number: next.number,
                    at: millis(next.at),
                    failure: next.failure,
                }),
                items: at.items.map(|items| Items { path: items.path, done: items.done, all: items.all }),
            }),
            open_questions: info.open_questions,
            question: info.question.map(Question::from),
            awaited_signals: info.awaited_signals,
            failure: info.failure,
            unreadable: info.unreadable,
        }
    }
}

/// A page of runs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Runs {
    /// The runs.
    pub runs: Vec<Run>,
    /// The `cursor` of the next page; null if this is the last one.
    pub next: Option<String>,
}

/// How many runs there are, by status.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[allow(missing_docs, reason = "the words say it")]
pub struct Counts {
    pub running: u64,
    pub waiting: u64,
    pub sleeping: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub started_over: u64,
    /// All of them together.
    pub all: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, status: RunStatus, runs: u64) {
        let count = match status {
            RunStatus::Running => Some(&mut self.running),
            RunStatus::Waiting => Some(&mut self.waiting),
            RunStatus::Sleeping => Some(&mut self.sleeping),
            RunStatus::Completed => Some(&mut self.completed),
            RunStatus::Failed => Some(&mut self.failed),
            RunStatus::Cancelled => Some(&mut self.cancelled),
            RunStatus::StartedOver => Some(&mut self.started_over),
            _ => None,
        };
        if let Some(count) = count {
            *count += runs;
        }
        self.all += runs;
    }
}

/// Something was recorded for a run: an item of the stream of changes. Its values are not in it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FeedChange {
    /// The id of the run.
    pub run: String,
    /// The name of its workflow.
    pub workflow: String,
    /// The number of the event.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub time: u64,
    /// The path of the event.
    pub path: String,
    /// The type of the event: `node_started`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

impl FeedChange {
    pub(crate) fn of(next: &FeedEvent) -> Self {
        let event = &next.event;
        FeedChange {
            run: event.run_id.clone(),
            workflow: next.workflow.clone(),
            seq: event.seq,
            time: millis(event.time),
            path: event.path.clone(),
            kind: event.kind.name(),
        }
    }
}

/// What this server is and lets do.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Server {
    /// The version of the inspector.
    pub version: &'static str,
    /// Whether nothing can be changed through it.
    pub read_only: bool,
    /// Whether requests that change something need the token from the page, in the header `X-Graphweft-Token`.
    pub needs_token: bool,
    /// The time of the server, in milliseconds since 1970, for ages and waits.
    pub now: u64,
}
