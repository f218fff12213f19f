//! What a list shows of a run.

use std::time::SystemTime;

use serde::Serialize;

use crate::asked::Question;
use crate::error_text::first_line;
use crate::event::{AfterFailure, EventKind, ItemsDone, millis, optional_millis};
use crate::question::closes;
use crate::shared::below;
use crate::store::{RunKey, RunOverview, RunStatus, StartedBy, Stored, Tags};

/// A run, without its events. Times are milliseconds since 1970 in JSON.
///
/// A row of a list. It is read without the records of the run, however many those are:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::RunInfo;
///
/// # #[node] async fn charge(cents: u32) -> Result<u32, String> { Err(format!("{cents} cents are declined")) }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// fn row(run: &RunInfo) -> String {
///     format!("{} {:?} {}", run.id, run.status, run.failure.as_deref().unwrap_or_default())
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<pay>(40).id("order-7").await?.outcome().await?;
/// let runs = engine.list_runs(RunFilter::default().workflow("pay")).await?;
/// assert_eq!(row(&runs[0]), "order-7 Failed node `pay/charge` failed after 1 attempt: 40 cents are declined");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunInfo {
    /// Its position among all runs.
    pub key: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its status.
    pub status: RunStatus,
    /// When it was started.
    #[serde(with = "millis")]
    pub created: SystemTime,
    /// When its status changed last.
    #[serde(with = "millis")]
    pub updated: SystemTime,
    /// When it ended, if it has.
    #[serde(with = "optional_millis")]
    pub ended: Option<SystemTime>,
    /// The number of its recorded events.
    pub records: u64,
    /// When its next timer fires, if it waits for one, or when it begins.
    #[serde(with = "optional_millis")]
    pub wake_at: Option<SystemTime>,
    /// The run that it was forked from, and the number of the first event that was not copied.
    pub forked_from: Option<(String, u64)>,
    /// The node of another run that has [started](crate::Context::start) it.
    pub started_by: Option<StartedBy>,
    /// The run that it follows, which has [started over](crate::Context::start_over).
    pub previous: Option<String>,
    /// The run that follows it, if it has started over.
    pub next: Option<String>,
    /// Its [tags](crate::Start::tag).
    pub tags: Tags,
    /// Where it is, if it has not ended.
    pub position: Option<Position>,
    /// How many of its questions are open.
    pub open_questions: u64,
    /// The question that has been open for the longest time, in short: the first line of its text, at most 200 characters, and
    /// neither its data nor the schema of the answer. [`Run::questions`](crate::Run::questions) and
    /// [`Engine::questions`](crate::Engine::questions) have all of it.
    pub question: Option<Question>,
    /// The names of the signals that it waits for, as far as its last records show them.
    /// [`Run::awaited_signals`](crate::Run::awaited_signals) has all.
    pub awaited_signals: Vec<String>,
    /// Why it failed, if it has: the first line of its failure, at most 200 characters, and `…` if it is longer.
    /// [`Run::outcome`](crate::Run::outcome) has all of it.
    pub failure: Option<String>,
    /// Why its last records cannot be read, if they are damaged: then its position and its failure are not known.
    pub unreadable: Option<String>,
}

/// Where a run is: the last node, child, step, question, signal or timer of which something was recorded. Others may be under
/// way at the same time.
///
/// What a run that is not over is at, in a list:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn review(text: String, ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").payload(text).await }
/// workflow! { pub publish(String) -> bool { START => review; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<publish>("a poem".into()).await?;
/// # run.outcome().await?;
/// let position = run.info().await?.position.ok_or("it has not ended")?;
/// assert_eq!(position.path, "publish/review/approve");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// Its path, with the turns of loops and the items of `[..]`: `checkout/review#2`.
    pub path: String,
    /// The number of its attempt, from 1, if the last record is that an attempt has started.
    pub attempt: Option<u32>,
    /// Since when: the time of that record.
    #[serde(with = "millis")]
    pub since: SystemTime,
    /// The attempt that follows, if the last record is that one has failed.
    pub next_attempt: Option<NextAttempt>,
    /// If it is in a `[..]`: how many of the items are done, as far as the last records show that.
    pub items: Option<ItemProgress>,
}

/// An attempt that follows a failed one, after its delay.
///
/// A run that is retried in an hour is [`Running`](RunStatus::Running), and this says what it is at:
///
/// ```
/// use graphweft::NextAttempt;
/// use graphweft::prelude::*;
///
/// #[node(retry(max_attempts = 2, initial_delay = "1h", max_delay = "1h"))]
/// async fn charge(cents: u32) -> Result<u32, String> { Err(format!("{cents} cents: the bank is closed")) }
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<pay>(40).await?;
/// let next = loop {
///     let position = run.info().await?.position;
///     if let Some(next) = position.and_then(|at| at.next_attempt) {
///         break next;
///     }
///     tokio::task::yield_now().await;
/// };
/// let NextAttempt { number, failure, .. } = next;
/// assert_eq!(format!("attempt {number} follows: {failure}"), "attempt 2 follows: 40 cents: the bank is closed");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NextAttempt {
    /// Its number; the first attempt is 1.
    pub number: u32,
    /// When it may start.
    #[serde(with = "millis")]
    pub at: SystemTime,
    /// Why the last one has failed: the first line of its error, at most 200 characters, and `…` if it is longer.
    pub failure: String,
}

/// How many items of a `[..]` are done.
///
/// How far a long `[..]` is, while one of its items still waits:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::ItemProgress;
///
/// #[node]
/// async fn check(page: u32, ctx: &Context) -> u32 {
///     if page == 3 { ctx.ask::<()>("look", "Page 3 is not readable").await }
///     page
/// }
/// workflow! { pub scan(Vec<u32>) -> Vec<u32> { START => [check]; } }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<scan>(vec![1, 2, 3]).await?;
/// run.outcome().await?;
/// let position = run.info().await?.position.ok_or("it has not ended")?;
/// let bar = |items: &ItemProgress| format!("{} of {} pages", items.done, items.all);
/// assert_eq!(position.items.as_ref().map(bar), Some("2 of 3 pages".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ItemProgress {
    /// The node with which an item of it was done last, without the number of the item: `digest/summarise` for
    /// `[search => summarise]`.
    pub path: String,
    /// So many items are done.
    pub done: u64,
    /// Of so many.
    pub all: u64,
}

impl Position {
    /// By the last records of a run.
    fn of(workflow: &str, last: &[Stored]) -> Option<Position> {
        let at = last.iter().rev().find(|stored| stored.record.path != workflow)?;
        let attempt = match at.record.kind {
            EventKind::NodeStarted { attempt, .. } => Some(attempt),
            _ => None,
        };
        let next_attempt = match &at.record.kind {
            EventKind::NodeFailed { attempt, cause, then: AfterFailure::RetryAt { time }, .. } => {
                Some(NextAttempt { number: attempt.saturating_add(1), at: *time, failure: first_line(cause) })
            }
            _ => None,
        };
        Some(Position {
            path: at.record.path.clone(),
            attempt,
            since: at.time,
            next_attempt,
            items: items_around(&at.record.path, last),
        })
    }
}

/// How far the `[..]` is in which a path is, or another one of the same graph, by the last records.
fn items_around(path: &str, last: &[Stored]) -> Option<ItemProgress> {
    last.iter().rev().find_map(|stored| {
        let EventKind::NodeCompleted { items: Some(ItemsDone { done, all }), .. } = stored.record.kind else {
            return None;
        };
        let (node, _) = stored.record.path.rsplit_once('[')?;
        let at = path.strip_prefix(&node[..=node.rfind('/')?])?;
        at.split('/').next()?.contains('[').then(|| ItemProgress { path: node.to_owned(), done, all })
    })
}

/// The names of signals that are awaited by the last records of a run.
fn awaited(last: &[Stored]) -> Vec<String> {
    let ends_around = |at: &Stored, path: &str| closes(&at.record.kind) && below(path, &at.record.path);
    let is_open = |kind: &EventKind| {
        matches!(kind, EventKind::SignalAwaited { .. } | EventKind::SignalRejected { .. } | EventKind::RequestReopened)
    };
    // The second of two programs may say of a wait that had got its signal between them that it waits in another way.
    let was_delivered = |at: usize, path: &str| {
        let before = last[..at].iter().rev().find(|stored| stored.record.path == path);
        before.is_some_and(|stored| matches!(stored.record.kind, EventKind::SignalDelivered { .. }))
    };
    let is_left = |at: usize, path: &str| {
        let later = &last[at + 1..];
        let of_it = later.iter().rev().find(|stored| stored.record.path == path);
        of_it.is_none_or(|stored| is_open(&stored.record.kind)) && !later.iter().any(|stored| ends_around(stored, path))
    };
    let waits = last.iter().enumerate().filter_map(|(at, stored)| match &stored.record.kind {
        EventKind::SignalAwaited { name, .. }
            if is_left(at, &stored.record.path) && !was_delivered(at, &stored.record.path) =>
        {
            Some(name.clone())
        }
        _ => None,
    });
    waits.collect()
}

impl From<RunOverview> for RunInfo {
    fn from(overview: RunOverview) -> Self {
        let RunOverview { header, last, open, question } = overview;
        let is_over = header.status.is_over();
        let (last, unreadable) = match last {
            Ok(last) => (last, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let awaited_signals = if is_over { Vec::new() } else { awaited(&last) };
        let position = if is_over { None } else { Position::of(&header.workflow, &last) };
        let failure = last.last().and_then(|stored| match &stored.record.kind {
            EventKind::RunFailed { failure } => Some(first_line(failure)),
            _ => None,
        });
        RunInfo {
            key: header.key,
            id: header.id,
            workflow: header.workflow,
            status: header.status,
            created: header.created,
            updated: header.updated,
            ended: Some(header.updated).filter(|_| is_over),
            records: header.records,
            wake_at: header.wake_at,
            forked_from: header.forked_from,
            started_by: header.started_by,
            previous: header.previous,
            next: header.next,
            tags: header.tags,
            position,
            open_questions: open,
            question: question.map(|open| open.question),
            awaited_signals,
            failure,
            unreadable,
        }
    }
}
