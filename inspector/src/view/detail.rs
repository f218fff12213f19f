//! What a view has of an event beside the states that it leads to.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How many bytes of a text are in a view. The whole is in the values of its thing.
pub(super) const TEXT: usize = 240;

/// Something of an event that is not a state.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::view::{Detail, RunView, What};
///
/// #[node]
/// async fn charge(ctx: &Context) -> u32 {
///     ctx.message("the card is fine");
///     40
/// }
/// workflow! { pub pay(()) -> u32 { START => charge; } }
///
/// fn line(detail: &Detail) -> Option<&str> {
///     match &detail.what {
///         What::Message { text, .. } => Some(text),
///         _ => None,
///     }
/// }
///
/// # graphweft::block_on(async {
/// # let engine = Engine::builder().build()?;
/// # engine.start::<pay>(()).id("mine").await?.result().await?;
/// # let mut view = RunView::new("pay", None);
/// # for event in engine.history("mine").await?.ok_or("it was started")? { view.apply(&event) }
/// let details = view.part(None).details;
/// assert_eq!(details.iter().filter_map(line).collect::<Vec<_>>(), ["the card is fine"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Detail {
    /// The number of the event.
    pub seq: u64,
    /// The thing that it is about; 0 for the run.
    pub thing: u32,
    /// What it is.
    #[serde(flatten)]
    pub what: What,
}

/// What a [`Detail`] is. Texts are cut after 240 bytes; `cut` says so, and the whole is among the values of the thing. Times are
/// milliseconds since 1970.
///
/// As JSON, its name in snake case beside what it has:
///
/// ```
/// use graphweft_inspector::view::What;
///
/// let what = What::Message { text: "the card is fine".into(), cut: false };
/// let json = serde_json::to_value(&what)?;
/// assert_eq!(json["text"], "the card is fine");
/// assert_eq!(serde_json::from_value::<What>(json)?, what);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// `ctx.message(..)`.
    Message {
        /// The text.
        text: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// `ctx.note(..)`.
    Note {
        /// Its name.
        name: String,
    },
    /// An attempt has failed.
    Error {
        /// Which one.
        attempt: u32,
        /// The error, without its sources.
        message: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// When the next attempt may start, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<u64>,
        /// The arm that takes the error, if one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        routed: Option<String>,
        /// Whether the thing is a model call: what it is in has a [`Conversation`](crate::view::Conversation).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        model_call: bool,
    },
    /// A `[..]`, a child with a graph inside, or a nested workflow with a time limit has started.
    Entered {
        /// How many items it has; 1 for a workflow.
        items: u64,
        /// Whether `max_parallel` limits how many run at once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bounded: bool,
        /// Until when it may take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// For a child: the hash of its graph, for `GET /api/graphs/{hash}`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        graph: Option<String>,
    },
    /// A model has replied: the thing is a model call, and what it is in has a [`Conversation`](crate::view::Conversation).
    Replied {
        /// The model, as its provider names it.
        model: String,
        /// The tokens of the request.
        input_tokens: u64,
        /// The tokens of the reply.
        output_tokens: u64,
        /// How many tools it calls.
        calls: u64,
    },
    /// The arm that a node has taken whose graph is not known.
    Label {
        /// As written.
        label: String,
    },
    /// A question was asked.
    Asked {
        /// The text of the question.
        prompt: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// Until when the node waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
    },
    /// A question was answered.
    Answered {
        /// By whom.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// A comment on the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        /// Whether its type is not checked yet.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unchecked: bool,
    },
    /// An answer, or the payload of a signal, does not have the type that the node asks for.
    Rejected {
        /// Where in the value; `.` for the whole.
        field: String,
        /// The mismatch.
        message: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A timer was set.
    Timer {
        /// When it fires.
        until: u64,
    },
    /// A node waits for a signal.
    Awaits {
        /// The name of the signal.
        signal: String,
        /// Until when it waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
    },
    /// A wait has got a signal.
    Delivered {
        /// The number of the event in which the signal came.
        signal: u64,
    },
    /// The run has got a signal.
    Signal {
        /// Its name.
        name: String,
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Who sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The recorded result of a child, a step, a question or a wait was returned again. Not recorded.
    Reused,
    /// The run begins later.
    Begins {
        /// When.
        at: u64,
    },
    /// The run has a time limit.
    Limit {
        /// When the time is up.
        until: u64,
    },
    /// A process took the run over.
    Resumed {
        /// The number of the owner in the store.
        owner: u64,
    },
    /// Later events are recorded under another graph.
    GraphChanged,
    /// The run was retried. What the voided events have led to does not count from here on.
    Retried {
        /// The numbers of the voided events, as half-open ranges.
        #[schema(value_type = Vec<Stretch>)]
        voids: Vec<Range<u64>>,
        /// Nodes that run again, and all after them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from_nodes: Vec<String>,
        /// Nodes, steps and children that run again with what is recorded for them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rerun: Vec<String>,
    },
    /// The node ends the run, so that another one follows.
    StartsOver,
    /// Another run follows this one.
    Next {
        /// Its id.
        run: String,
    },
    /// Cancellation was requested.
    CancelRequested,
    /// The cancellation has begun.
    Cancelling,
    /// The run has taken longer than it may.
    TimedOut,
    /// The run has failed. The thing is the one that the failure names.
    RunFailed {
        /// The path in the failure.
        path: String,
        /// The number of attempts there.
        attempts: u32,
        /// The error, without its sources.
        message: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
}

/// Numbers of events: from `start` on, and before `end`.
#[derive(ToSchema)]
#[allow(dead_code, reason = "the form of a range in JSON, for the document of the API")]
pub(crate) struct Stretch {
    start: u64,
    end: u64,
}

/// The beginning of a text, and whether something was cut off.
pub(super) fn beginning(text: &str) -> (String, bool) {
    let end = text.floor_char_boundary(TEXT.min(text.len()));
    (text[..end].to_owned(), end < text.len())
}
