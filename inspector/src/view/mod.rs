//! The view of a run: what has become of its nodes and of everything else in it, moment by moment.
//!
//! [`RunView`] is a fold of the events of a run, with its graphs. The page, the command line and tests show what is in it, and fold
//! no events themselves. It only grows: every state that a thing ever had is in it with the number of the event, so a reader that
//! has it all shows any moment by what has `seq <= S`, and one that has a part asks for what was added since.
//!
//! [`Conversations`] is another fold of the same events, with their values: what agents, models and tools have said.

mod changes;
mod conversation;
mod detail;
mod fold;
mod gen_ai;
mod numbers;
mod part;
mod place;
mod resolve;
mod run_view;
mod said;
mod shapes;
mod thing;

pub use changes::Mark;
pub use conversation::{Conversation, Conversations};
pub use detail::{Detail, What};
pub(crate) use numbers::EventNumbers;
pub use part::{Progress, RunMove, Things, ViewPart};
pub use run_view::RunView;
pub use said::{Said, ToolCall, What as SaidWhat};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of a thing. In a [`ViewPart`] it is its index here.
///
/// What has become of each node, at the end or at any moment before:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::view::{RunView, State};
///
/// #[node]
/// async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// workflow! { pub publish(()) -> bool { START => review; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<publish>(()).id("poem").await?.outcome().await?;
/// let mut view = RunView::new("publish", None);
/// let mut states = Vec::new();
/// for event in engine.history("poem").await?.ok_or("it was started")? {
///     view.apply(&event);
///     states.push(view.state_of("publish/review"));
/// }
/// assert_eq!((states[0], states[states.len() - 1]), (State::NotReached, State::Waiting));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StateName)]
pub enum State {
    /// Nothing has happened yet, or a retry or a new attempt around it has made it as if nothing had.
    NotReached,
    /// It may start, and waits for its turn.
    Queued,
    /// It is under way.
    Running,
    /// It waits for an answer or a signal, and so does everything that is under way in it.
    Waiting,
    /// It waits for a timer.
    Sleeping,
    /// A collecting node waits for its next arrival.
    Collecting,
    /// An attempt has failed, and the next one comes later.
    WaitsToRetry,
    /// It is done; a question is answered, a timer has fired, a signal has come.
    Completed,
    /// Its last attempt has failed. Whether an arm takes the error is in the details.
    Failed,
    /// It was stopped, or its node does not wait for it any more.
    Cancelled,
    /// No route leads to it any more.
    Skipped,
    /// A run that has ended so that another one follows it.
    StartedOver,
}

/// All states, in the order of their numbers.
pub const STATES: [State; 12] = [
    State::NotReached,
    State::Queued,
    State::Running,
    State::Waiting,
    State::Sleeping,
    State::Collecting,
    State::WaitsToRetry,
    State::Completed,
    State::Failed,
    State::Cancelled,
    State::Skipped,
    State::StartedOver,
];

/// The kind of a thing. In a [`ViewPart`] it is its index here.
///
/// ```
/// use graphweft_inspector::view::{KINDS, Kind, RunView};
///
/// let part = RunView::new("publish", None).part(None);
/// assert_eq!(KINDS[usize::from(part.things.kind[0])], Kind::Run); // thing 0 is the run
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = KindName)]
pub enum Kind {
    /// The run.
    Run,
    /// A node that is a function.
    Node,
    /// A node that is a workflow.
    Workflow,
    /// `[..]`.
    Each,
    /// An item of a `[..]` around several nodes.
    Item,
    /// A node or a workflow that a node has called.
    Child,
    /// A step of a node, or something in a child workflow whose graph is not known.
    Step,
    /// A question.
    Question,
    /// A timer.
    Timer,
    /// A wait for a signal.
    Wait,
}

/// All kinds, in the order of their numbers.
pub const KINDS: [Kind; 10] = [
    Kind::Run,
    Kind::Node,
    Kind::Workflow,
    Kind::Each,
    Kind::Item,
    Kind::Child,
    Kind::Step,
    Kind::Question,
    Kind::Timer,
    Kind::Wait,
];
