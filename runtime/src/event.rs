//! The events of a run.

mod position;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use position::{EventPosition, ParseEventPositionError};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::fault::{Cause, Failure};
use crate::state_write::StateWrite;

/// Labels of a run, by which it is found: `tenant` is `acme`.
pub type Tags = BTreeMap<String, String>;

/// One event of a run.
///
/// As JSON it is flat: `{"version":1,"run_id":"..","seq":3,"time":1763762400123,"path":"checkout/charge",
/// "type":"node_started","attempt":1}`, `time` in milliseconds since 1970.
///
/// A progress line for each event, as a terminal or a chat shows it:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::Event;
///
/// #[node]
/// async fn charge(cents: u32, ctx: &Context) -> u32 {
///     ctx.message("the card is fine");
///     cents
/// }
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// fn line(event: &Event) -> Option<String> {
///     match &event.kind {
///         EventKind::NodeStarted { attempt, .. } => Some(format!("{} (attempt {attempt})", event.path)),
///         EventKind::Message { text, .. } => Some(format!("{}: {text}", event.path)),
///         _ => None,
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<pay>(40).id("order-7").await?.result().await?;
/// let history = engine.history("order-7").await?.ok_or("it was started")?;
/// let lines: Vec<String> = history.iter().filter_map(line).collect();
/// assert_eq!(lines, ["pay/charge (attempt 1)", "pay/charge: the card is fine"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The format of this event, [`Event::VERSION`] for new ones. Older ones stay readable.
    pub version: u32,
    /// The run.
    pub run_id: String,
    /// Its number in the run, from 0, without gaps. An event that is not recorded, such as
    /// [`Progress`](EventKind::Progress), has the number of the recorded event before it.
    pub seq: u64,
    /// When it was recorded, by the engine's clock.
    #[serde(with = "millis")]
    pub time: SystemTime,
    /// The node, as in `checkout/charge`, or the workflow for events of the whole run.
    pub path: String,
    /// Whether this is not recorded but follows from the record with the same number: a node is skipped, or is
    /// cancelled before it has started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
///
/// The state of a run is the fold of its recorded events. A path below that of a node without a graph inside is a
/// child, a step, a question, a signal or a timer of that node (`checkout/plan/search:rust`).
///
/// As JSON its name is the `type` of the event, beside what it has. More kinds may come, and a kind may get more fields: a
/// program that reads events of a later version as JSON is to leave out what it cannot read.
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn double(n: u32) -> u32 { 2 * n }
/// workflow! { pub doubled(u32) -> u32 { START => double; } }
///
/// # graphweft::block_on(async {
/// let mut events = Engine::builder().build()?.start::<doubled>(4).await?.events();
/// let mut kinds = Vec::new();
/// while let Some(event) = events.next().await {
///     if let EventKind::NodeCompleted { output, .. } = &event.kind {
///         assert_eq!(output, &Some(8.into()));
///     }
///     kinds.push(event.kind.name());
/// }
/// assert_eq!(kinds, ["run_started", "node_started", "node_completed", "run_completed"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run has started.
    #[non_exhaustive]
    RunStarted {
        /// The name of the workflow.
        workflow: String,
        /// Its input.
        input: Value,
        /// The run's initial state.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        state: Map<String, Value>,
        /// Its [tags](crate::Start::tag).
        #[serde(default, skip_serializing_if = "Tags::is_empty")]
        tags: Tags,
        /// The run that it follows, which has [started over](crate::Context::start_over).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<String>,
        /// When it begins, if not at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begins: Option<Begins>,
        /// The time limit of the workflow, `#[timeout = ".."]`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    /// A process took the run over: after a restart, or after its owner died. Later writes by a previous owner are
    /// rejected.
    #[non_exhaustive]
    RunResumed {
        /// The number of the owner, in the store.
        owner: u64,
    },
    /// Later events are recorded under another graph of the same workflow.
    #[non_exhaustive]
    GraphChanged {
        /// The hash of the graph before.
        from: u64,
        /// The hash of the graph from here on.
        to: u64,
    },
    /// A retry of a failed or cancelled run was requested. All records before this are reused, except those that it
    /// voids.
    #[non_exhaustive]
    RunRetried {
        /// The numbers of the voided records, as half-open ranges: those that led to the end of the run, and those of
        /// nodes that run again.
        voids: Vec<Range<u64>>,
        /// Nodes that run again as if they had never started, and all nodes after them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from_nodes: Vec<String>,
        /// Nodes, steps and children that run again, with their recorded answers, steps and children.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rerun: Vec<String>,
        /// Whether it was requested through an engine that did not know the workflow. It then voids the end of the run
        /// only. The engine that carries it out records another one, which voids the rest, before it resumes the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        requested: bool,
    },
    /// An attempt at a node, a child or a step has started. An attempt at a node that was interrupted by the death of
    /// its process starts again without another record. The start of a child or a step is recorded with what comes next, or after
    /// 200 ms, so its first [`Progress`](Self::Progress) may be sent before: a page that shows a text as it arrives begins it
    /// anew with [`RunResumed`](Self::RunResumed) and with a failed attempt.
    #[non_exhaustive]
    NodeStarted {
        /// From 1.
        attempt: u32,
        /// For a node with a graph inside: its items.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inside: Option<Entered>,
        /// For a child: its input.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        input: Option<Value>,
        /// For a child or a step: when it began, if this was recorded later. Unless an attempt may run only once, its
        /// start is recorded with what comes next, and after 200 ms if nothing comes.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        began: Option<SystemTime>,
    },
    /// The next item of a `[..]` with `max_parallel` has started.
    #[non_exhaustive]
    ItemStarted {
        /// Its index.
        item: u64,
    },
    /// An item of a `[..]` was cancelled: one behind it had failed, and all that was left of this one waited: for an
    /// answer, a timer, its next attempt, or a place of a node that waits.
    #[non_exhaustive]
    ItemCancelled {
        /// Its index.
        item: u64,
    },
    /// A node is done, and its successors may start.
    #[non_exhaustive]
    NodeCompleted {
        /// The arm that it took, as written, `low | medium`; `None` for an unrouted node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Its output.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        output: Option<Value>,
        /// Its writes to the run's state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
        /// If it was the last node of an item of a `[..]`, none of whose items has failed: how many of the items are done. A list
        /// shows this without reading the records of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<ItemsDone>,
    },
    /// A collecting node has processed an arrival and waits for another.
    #[non_exhaustive]
    NodeCollecting {
        /// Its writes to the run's state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
        /// Its writes to its [`collector_state`](crate::Context::collector_state).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        local: Vec<StateWrite>,
    },
    /// An attempt has failed.
    #[non_exhaustive]
    NodeFailed {
        /// From 1.
        attempt: u32,
        /// The error.
        cause: Cause,
        /// What follows.
        then: AfterFailure,
        /// The error itself, if no attempt is left and no arm takes it: a child or a step returns it as a value, and a run
        /// that fails with it has it as [`Failure::error_as`]. `None` for an error without a recorded form, and for a node
        /// with a graph inside, whose failure is that of a node there.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        error: Option<Value>,
    },
    /// No route leads to the node any more. Always [derived](Event::derived); none for the other entry nodes of a
    /// hand-over loop.
    NodeSkipped,
    /// The node was cancelled: the run was cancelled, a sibling failed, or nothing needs its output any more.
    /// [Derived](Event::derived) unless an attempt of its own was running.
    NodeCancelled,
    /// The recorded result of a child, a step, a question or a wait was returned instead of executing it again. Sent to current
    /// subscribers, not recorded.
    ResultReused,
    /// A message, `ctx.message(..)`.
    #[non_exhaustive]
    Message {
        /// Its text.
        text: String,
    },
    /// A note, `ctx.note(..)`: data that the node has recorded, for those who watch the run.
    #[non_exhaustive]
    Note {
        /// Its name.
        name: String,
        /// The data, as plain JSON.
        payload: Value,
    },
    /// Progress, `ctx.progress(..)`. Sent to current subscribers, not recorded.
    #[non_exhaustive]
    Progress {
        /// The data that the node sent.
        data: Value,
        /// Its number among the progress that was sent since the run began or continued in its process, from 1.
        number: u64,
    },
    /// A node asked a question, `ctx.ask(..)`. The path is the question's.
    ///
    /// It is recorded again if the node asks the same question with another text, other data or another type: when it
    /// starts again under a later version of the program, in a later attempt, or after it has dropped the question.
    /// From then on this is what is asked.
    #[non_exhaustive]
    QuestionAsked {
        /// The text of the question.
        prompt: String,
        /// Data to show with it.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        payload: Value,
        /// Until when the node waits for an answer, [`within`](crate::Ask::within).
        #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        until: Option<SystemTime>,
        /// The JSON Schema of the answer.
        schema: Value,
        /// Whether the node had asked it before: whether it is open or answered is as it was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// A question was answered. The path is the question's.
    #[non_exhaustive]
    Answered {
        /// The answer.
        answer: Value,
        /// Who gave it, [`Answering::by`](crate::Answering::by).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// A comment on it, [`Answering::comment`](crate::Answering::comment).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        /// Whether it was checked against the schema of the question only, and not against its type: it came through an
        /// engine that did not execute the run, or before the node had asked again after a restart. Then
        /// [`AnswerAccepted`](Self::AnswerAccepted) or [`AnswerRejected`](Self::AnswerRejected) follows, and
        /// `answer()` waits for that; if the question is withdrawn before, the answer does not count.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unchecked: bool,
    },
    /// An answer that was recorded unchecked has the type that the node asks for. The path is the question's.
    AnswerAccepted,
    /// A recorded answer does not have the type that the node asks for: the question is open again. The path is the
    /// question's.
    #[non_exhaustive]
    AnswerRejected {
        /// Where in the answer: `lines[2].price`; `.` for the whole.
        #[serde(default = "whole")]
        field: String,
        /// The mismatch.
        message: String,
    },
    /// A timer was set, `ctx.sleep(..)`. The path is the timer's.
    #[non_exhaustive]
    TimerSet {
        /// When it fires at the latest.
        #[serde(with = "millis")]
        until: SystemTime,
    },
    /// A timer has fired: one that a node had set, the delay before another attempt, or the time limit of a node with a
    /// graph inside. One that a node had set may fire [before its time](crate::Sleep::or_when).
    TimerFired,
    /// The run has got a signal, [`Engine::signal`](crate::Engine::signal). The path is that of the workflow.
    #[non_exhaustive]
    SignalReceived {
        /// The name of the signal.
        name: String,
        /// Its payload.
        payload: Value,
        /// When it came to this run, or to the one that has started over. By the clock of the process that
        /// has sent it. A wait whose time was up by then does not get it, unless it is opened again.
        #[serde(with = "millis")]
        at: SystemTime,
        /// Its id, [`Signalling::id`](crate::Signalling::id): another one with this name and id is not counted,
        /// unless this one is [rejected](Self::SignalRejected).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Who sent it, [`Signalling::by`](crate::Signalling::by).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Whether the payload is plain JSON from outside, [`Engine::signal_json`](crate::Engine::signal_json).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        plain: bool,
    },
    /// Signals that the runs before this one have got, which do not count when they are sent again: the last 1,024 that
    /// came with an id and do not go over to this run. The path is that of the workflow.
    #[non_exhaustive]
    SignalsKnown {
        /// The name and the id of each, in the order in which they came.
        signals: Vec<(String, String)>,
    },
    /// A node waits for a signal, `ctx.wait(..)`. The path is that of the wait.
    ///
    /// It is recorded again if the node waits for a payload of another type when it starts again, under a later version of
    /// the program.
    #[non_exhaustive]
    SignalAwaited {
        /// The name of the signal.
        name: String,
        /// Until when the node waits for it, [`within`](crate::Wait::within).
        #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        until: Option<SystemTime>,
        /// The nodes of `[..]` around the node. If one of them starts anew, the signal counts as not taken.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inside: Vec<String>,
        /// The JSON Schema of the payload. `None` if it is that of the wait for this signal before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    /// A wait has got a signal. The path is that of the wait. If the node drops the wait, or ends, without having taken
    /// the signal, the next wait gets it.
    #[non_exhaustive]
    SignalDelivered {
        /// The number of the [`SignalReceived`](Self::SignalReceived).
        signal: u64,
    },
    /// The node has taken the signal that was delivered. The path is that of the wait.
    SignalTaken,
    /// The payload of a delivered signal does not have the type that the node waits for: the signal is dropped, and the
    /// node waits for the next one. It does not count: another one with its id may come. The path is that of the wait.
    #[non_exhaustive]
    SignalRejected {
        /// Where in the payload: `lines[2].price`; `.` for the whole.
        #[serde(default = "whole")]
        field: String,
        /// The mismatch.
        message: String,
    },
    /// A node does not wait any more for a question, a signal, a child, a step or a timer: it has dropped the future. The
    /// path is that of the request. A question that was withdrawn cannot be answered, and an answer to it that was
    /// recorded unchecked, and not accepted before, does not count. A signal that was delivered and not taken goes to the
    /// next wait.
    RequestWithdrawn,
    /// A node waits again for a request that was withdrawn. A child or a step that was not done starts anew.
    RequestReopened,
    /// Cancellation of the run was requested.
    CancelRequested,
    /// The cancellation has begun: everything that is under way is stopped.
    RunCancelling,
    /// The run has taken longer than its workflow may (`#[timeout = ".."]`): everything that is under way is stopped,
    /// and the run fails.
    RunTimedOut,
    /// A node has [started over](crate::Context::start_over): the run ends, so that another one follows, and everything
    /// else that is under way is stopped. The path is that of the node.
    #[non_exhaustive]
    RunStartingOver {
        /// The input of the next run.
        input: Value,
        /// Its initial state.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        state: Map<String, Value>,
    },
    /// The run has its output.
    #[non_exhaustive]
    RunCompleted {
        /// The output.
        output: Value,
    },
    /// The run has failed.
    #[non_exhaustive]
    RunFailed {
        /// Which node, after how many attempts, and why.
        failure: Failure,
    },
    /// The run was cancelled.
    RunCancelled,
    /// The run has started over: another one follows, which began in the same commit.
    #[non_exhaustive]
    RunStartedOver {
        /// The id of the next run.
        next: String,
    },
}

/// The items of a node with a graph inside.
///
/// A bar for a `[..]` needs the number of its items before the first is done:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn fetch(page: String) -> usize { page.len() }
/// workflow! { pub crawl(Vec<String>) -> Vec<usize> { START => [fetch]; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<crawl>(vec!["a".into(), "bcd".into()]).id("mine").await?.result().await?;
/// let history = engine.history("mine").await?.ok_or("it was started")?;
/// let items = history.iter().find_map(|event| match &event.kind {
///     EventKind::NodeStarted { inside: Some(entered), .. } => Some(entered.items),
///     _ => None,
/// });
/// assert_eq!(items, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entered {
    /// How many items; 1 for a nested workflow.
    pub items: u64,
    /// The arm that each item took at START inside; empty if START is not routed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whether `max_parallel` limits how many items run at once. Then each has an
    /// [`ItemStarted`](EventKind::ItemStarted).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bounded: bool,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// For a child that is a workflow: the hash of its graph, which is in no graph of the run. The store has it:
    /// [`Engine::stored_graph`](crate::Engine::stored_graph).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<u64>,
}

/// How many items of a `[..]` are done.
///
/// How far a `[..]` is, from events alone:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::ItemsDone;
///
/// #[node]
/// async fn fetch(page: String) -> usize { page.len() }
/// workflow! { pub crawl(Vec<String>) -> Vec<usize> { START => [fetch]; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<crawl>(vec!["a".into(), "bcd".into()]).id("mine").await?.result().await?;
/// let mut far = Vec::new();
/// for event in engine.history("mine").await?.ok_or("it was started")? {
///     if let EventKind::NodeCompleted { items: Some(ItemsDone { done, all, .. }), .. } = event.kind {
///         far.push(format!("{done} of {all}"));
///     }
/// }
/// assert_eq!(far, ["1 of 2", "2 of 2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ItemsDone {
    /// So many are done.
    pub done: u64,
    /// Of so many.
    pub all: u64,
}

/// When a run begins that was started for later.
///
/// The first event of a run that waits for its time says when that is:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn remind(who: String) -> String { format!("Dear {who}") }
/// workflow! { pub reminder(String) -> String { START => remind; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<reminder>().build()?;
/// engine.start::<reminder>("Ada".into()).id("bill-7").after(Duration::from_secs(3600)).await?;
/// let first = engine.history("bill-7").await?.ok_or("it was started")?.remove(0);
/// let EventKind::RunStarted { begins: Some(begins), .. } = first.kind else { panic!("it begins later") };
/// assert_eq!(begins.after, Some(Duration::from_secs(3600)));
/// assert!(begins.at > first.time);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Begins {
    /// When.
    #[serde(with = "millis")]
    pub at: SystemTime,
    /// How long after its start that is, if [`Start::after`](crate::Start::after) has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
}

/// What becomes of a run that a node has [started](crate::Context::start) when the run of that node ends: is completed, fails, is
/// cancelled, or starts over.
///
/// A search that is not needed any more when its order has ended:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{OnClose, StartRunError};
///
/// #[node]
/// async fn look(ctx: &Context) { ctx.cancelled().await } // as long as it may
/// workflow! { pub search() { START => look; } }
///
/// #[node]
/// async fn order(ctx: &Context) -> Result<String, StartRunError> {
///     Ok(ctx.start::<search>(()).on_close(OnClose::Cancel).await?.id().to_owned())
/// }
/// workflow! { pub shop() -> String { START => order; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<shop>().register::<search>().build()?;
/// let search = engine.start::<shop>(()).await?.result().await?;
/// let search = engine.get_run(&search).await?.ok_or("it was started")?;
/// assert_eq!(search.outcome().await?, Outcome::Cancelled);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnClose {
    /// Nothing.
    #[default]
    Leave,
    /// Its cancellation is requested, before the end of the other run is recorded.
    Cancel,
    /// The other run ends only when this one has ended, also if the other one is cancelled meanwhile, or the `#[timeout]` of its
    /// workflow is over. One that no program can resume does not wait: its cancellation ends it.
    Wait,
}

/// The node that has started a run.
///
/// From a run to the one that it belongs to:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{OnClose, StartRunError};
///
/// #[node]
/// async fn pack(order: u32) -> u32 { order }
/// workflow! { pub ship(u32) -> u32 { START => pack; } }
///
/// #[node]
/// async fn fulfil(order: u32, ctx: &Context) -> Result<(), StartRunError> {
///     ctx.start::<ship>(order).id(format!("parcel-{order}")).await.map(|_| ())
/// }
/// workflow! { pub checkout(u32) { START => fulfil; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<checkout>().register::<ship>().build()?;
/// engine.start::<checkout>(7).id("order-7").await?.result().await?;
/// let parcel = engine.get_run("parcel-7").await?.ok_or("it was started")?;
/// let started_by = parcel.info().await?.started_by.ok_or("a node has started it")?;
/// assert_eq!((&*started_by.run, started_by.on_close), ("order-7", OnClose::Leave));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StartedBy {
    /// The run of the node.
    pub run: String,
    /// The path of the request: `checkout/fulfil/start:ship`.
    pub path: String,
    /// What becomes of this run when the other one ends.
    pub on_close: OnClose,
}

impl StartedBy {
    /// A request of a run, by its path.
    pub fn new(run: impl Into<String>, path: impl Into<String>, on_close: OnClose) -> Self {
        StartedBy { run: run.into(), path: path.into(), on_close }
    }
}

/// The time limit of a node with a graph inside, or of a run.
///
/// Until when a run with a time limit may take:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn double(n: u32) -> u32 { 2 * n }
/// workflow! {
///     #[timeout = "5m"]
///     pub doubled(u32) -> u32 { START => double; }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<doubled>(4).id("mine").await?.result().await?;
/// let first = engine.history("mine").await?.ok_or("it was started")?.remove(0);
/// let EventKind::RunStarted { limit: Some(limit), .. } = first.kind else { panic!("it has a limit") };
/// assert_eq!(limit.after, Duration::from_secs(300));
/// assert!(limit.until > first.time);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limit {
    /// How long it is.
    pub after: Duration,
    /// When the time is up.
    #[serde(with = "millis")]
    pub until: SystemTime,
}

/// What follows a failed attempt. Decided once, and recorded with the failure.
///
/// A log tells an attempt that is repeated from one that has failed the run:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::AfterFailure;
///
/// #[node(retry(max_attempts = 2, initial_delay = "1ms"))]
/// async fn charge(cents: u32) -> Result<u32, String> { Err(format!("{cents} cents are declined")) }
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<pay>(40).id("order-7").await?.outcome().await?;
/// let mut log = Vec::new();
/// for event in engine.history("order-7").await?.ok_or("it was started")? {
///     if let EventKind::NodeFailed { attempt, then, .. } = event.kind {
///         log.push((attempt, if then == AfterFailure::Fails { "failed" } else { "again" }));
///     }
/// }
/// assert_eq!(log, [(1, "again"), (2, "failed")]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AfterFailure {
    /// Another attempt.
    RetryAt {
        /// When it may start.
        #[serde(with = "millis")]
        time: SystemTime,
    },
    /// The arm `err`.
    Routed {
        /// The arm, as written.
        label: String,
        /// The error that the arm carries.
        error: Value,
    },
    /// The graph around the node fails; a child or a step returns its error to its node.
    Fails,
}

/// The note of an attempt that was sent to a pool: `{"pool": "gpu", "task": "..", "run": ".."}`.
pub(crate) const SENT_TO_POOL: &str = "graphweft.pool";

/// Whether the payload of such a note says that this run has sent the task, and not the one that it is a fork of.
pub(crate) fn is_sent_by(note: &Value, run: &str) -> bool {
    note.get("run").and_then(Value::as_str) == Some(run)
}

impl EventKind {
    /// Whether it is the note that an attempt was sent to the [executor](crate::Executor) of its pool. Until the node ends, the run waits for what
    /// is in no record; a store that has runs resumed by themselves has to have it [woken](crate::Engine::wake).
    pub fn is_sent_to_pool(&self) -> bool {
        matches!(self, EventKind::Note { name, .. } if name == SENT_TO_POOL)
    }

    /// A [`Message`](Self::Message), which is an event for the tests of a store: all others come from runs, or from JSON.
    ///
    /// ```
    /// use graphweft::EventKind;
    /// use graphweft::store::Record;
    ///
    /// let record = Record::new("pay/charge", EventKind::message("the bank is asked again"));
    /// assert_eq!(record.kind.name(), "message");
    /// ```
    pub fn message(text: impl Into<String>) -> EventKind {
        EventKind::Message { text: text.into() }
    }

    /// Its name, which is the `type` in its JSON: `node_started`.
    pub fn name(&self) -> &'static str {
        match self {
            EventKind::RunStarted { .. } => "run_started",
            EventKind::RunResumed { .. } => "run_resumed",
            EventKind::GraphChanged { .. } => "graph_changed",
            EventKind::RunRetried { .. } => "run_retried",
            EventKind::NodeStarted { .. } => "node_started",
            EventKind::ItemStarted { .. } => "item_started",
            EventKind::ItemCancelled { .. } => "item_cancelled",
            EventKind::NodeCompleted { .. } => "node_completed",
            EventKind::NodeCollecting { .. } => "node_collecting",
            EventKind::NodeFailed { .. } => "node_failed",
            EventKind::NodeSkipped => "node_skipped",
            EventKind::NodeCancelled => "node_cancelled",
            EventKind::ResultReused => "result_reused",
            EventKind::Message { .. } => "message",
            EventKind::Note { .. } => "note",
            EventKind::Progress { .. } => "progress",
            EventKind::QuestionAsked { .. } => "question_asked",
            EventKind::Answered { .. } => "answered",
            EventKind::AnswerAccepted => "answer_accepted",
            EventKind::AnswerRejected { .. } => "answer_rejected",
            EventKind::TimerSet { .. } => "timer_set",
            EventKind::TimerFired => "timer_fired",
            EventKind::SignalReceived { .. } => "signal_received",
            EventKind::SignalsKnown { .. } => "signals_known",
            EventKind::SignalAwaited { .. } => "signal_awaited",
            EventKind::SignalDelivered { .. } => "signal_delivered",
            EventKind::SignalTaken => "signal_taken",
            EventKind::SignalRejected { .. } => "signal_rejected",
            EventKind::RequestWithdrawn => "request_withdrawn",
            EventKind::RequestReopened => "request_reopened",
            EventKind::CancelRequested => "cancel_requested",
            EventKind::RunCancelling => "run_cancelling",
            EventKind::RunTimedOut => "run_timed_out",
            EventKind::RunStartingOver { .. } => "run_starting_over",
            EventKind::RunCompleted { .. } => "run_completed",
            EventKind::RunFailed { .. } => "run_failed",
            EventKind::RunCancelled => "run_cancelled",
            EventKind::RunStartedOver { .. } => "run_started_over",
        }
    }

    /// Whether the run ends with this event.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            EventKind::RunCompleted { .. }
                | EventKind::RunFailed { .. }
                | EventKind::RunCancelled
                | EventKind::RunStartedOver { .. }
        )
    }

    /// Whether this is a result of a request, with which a waiting node continues.
    pub(crate) fn is_result(&self) -> bool {
        matches!(
            self,
            EventKind::Answered { .. }
                | EventKind::TimerFired
                | EventKind::SignalDelivered { .. }
                | EventKind::NodeCompleted { .. }
                | EventKind::NodeFailed { then: AfterFailure::Fails, .. }
        )
    }

    /// Whether an attempt at a node, child or step is over, or the whole run.
    pub(crate) fn ends_attempt(&self) -> bool {
        self.is_terminal()
            || matches!(
                self,
                EventKind::NodeCompleted { .. }
                    | EventKind::NodeCollecting { .. }
                    | EventKind::NodeFailed { .. }
                    | EventKind::NodeCancelled
                    | EventKind::RunStartingOver { .. }
                    | EventKind::RequestWithdrawn
            )
    }

    /// Whether this is recorded, and not only sent to current subscribers.
    pub fn is_recorded(&self) -> bool {
        !matches!(self, EventKind::Progress { .. } | EventKind::ResultReused | EventKind::NodeSkipped)
    }
}

/// The field of an error that concerns a value as a whole.
pub(crate) fn whole() -> String {
    ".".to_owned()
}

/// `null` is a value, and not its absence.
pub(crate) fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Event {
    /// The format of the events that this version records.
    pub const VERSION: u32 = 1;

    /// Whether the run ends with this event.
    pub fn is_terminal(&self) -> bool {
        self.kind.is_terminal()
    }

    /// Its position among the events of the run, to continue behind it.
    pub fn position(&self) -> EventPosition {
        let progress = match self.kind {
            EventKind::Progress { number, .. } => number,
            _ => 0,
        };
        EventPosition::new(self.seq, progress)
    }
}

/// A time as it is read back from a record.
pub(crate) fn whole_millis(time: SystemTime) -> SystemTime {
    let below = time.duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos() % 1_000_000;
    time - Duration::from_nanos(u64::from(below))
}

/// Times as JSON: milliseconds since 1970.
pub(crate) mod millis {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        to.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let millis = u64::deserialize(from)?;
        UNIX_EPOCH
            .checked_add(Duration::from_millis(millis))
            .ok_or_else(|| serde::de::Error::custom("a time outside the range of this machine"))
    }
}

/// The same for a time that may be missing.
pub(crate) mod optional_millis {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::event::millis;

    #[allow(clippy::ref_option, reason = "serde gives a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => millis::serialize(time, to),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SystemTime>, D::Error> {
        #[derive(Deserialize)]
        struct Millis(#[serde(with = "millis")] SystemTime);

        Ok(Option::<Millis>::deserialize(from)?.map(|Millis(time)| time))
    }
}
