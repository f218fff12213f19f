// Of several definitions of a link the first counts: in the pages themselves they lead to files of the repository.
#![doc = include_str!("../docs/links.md")]
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod around;
mod ask;
mod asked;
mod attempt;
mod block_on;
mod box_value;
mod catch;
mod child;
mod clock;
mod collectors;
mod compile;
mod context;
mod core;
mod draft;
mod driver;
mod engine;
mod error_text;
mod event;
mod executor;
mod fault;
mod field;
mod fingerprint;
mod graph;
pub mod guide;
mod halt;
#[cfg(test)]
mod json_graphs;
mod lazy;
mod mapped;
mod meter;
mod node;
mod node_facts;
mod node_info;
mod options;
mod pool;
mod pool_requests;
mod question;
mod replacement;
mod requests;
mod resource;
mod route;
mod run_error;
mod run_id;
mod schema;
pub mod scope;
mod shared;
mod signal;
#[cfg(test)]
mod sim;
mod sorted;
#[cfg(feature = "sqlite")]
mod sqlite_transactions;
pub mod state;
mod state_write;
pub mod store;
mod sync;
#[doc(hidden)]
pub mod table;
#[cfg(feature = "test-util")]
pub mod testing;
mod trace;
mod typed;
mod value;
mod workflow;

pub use around::{Call, Done, Next};
pub use ask::{Ask, AskHuman, Elapsed, Wait, Within};
pub use asked::Question;
pub use block_on::block_on;
pub use child::{
    AsPayload, AsText, Child, ChildError, DynCall, DynError, DynNode, ErrorForm, ErrorText, Sleep, StartOver, StartRun,
    StartRunError, Step, StepContext,
};
pub use collectors::{First, FirstN};
pub use context::{Context, StateWriter};
#[cfg(feature = "test-util")]
pub use engine::MockWith;
pub use engine::{
    Answering, BuildError, CancelError, Check, CheckedVersion, DeleteError, Engine, EngineBuilder, Events,
    ExecuteError, Execution, Feed, FeedCursor, FeedError, FeedEvent, FeedFrom, Fork, ForkError, InvalidFeedCursor,
    ItemProgress, NextAttempt, NoLogs, Outcome, PendingQuestion, Position, QuestionFilter, RecordedNames, Recovery,
    Retention, Retry, RetryError, Run, RunFilter, RunInfo, RunToEndError, Signalling, Start, StartError, StartWithin,
    WatchError,
};
pub use event::{
    AfterFailure, Begins, Entered, Event, EventKind, EventPosition, ItemsDone, Limit, OnClose, ParseEventPositionError,
    StartedBy,
};
pub use executor::{Executor, NodeOutcome, NodeReport, NodeResult, NodeRetry, NodeTask, ProgressSender};
pub use fault::{Cause, Failure, Fault, FromFault, Never};
pub use graph::{Graph, GraphEdge, GraphLoop, GraphNode, GraphNodeKind, GraphUse, GraphWay, Graphs};
#[doc = include_str!("../docs/route.md")]
#[doc(inline)]
pub use graphweft_macros::Route;
#[doc = include_str!("../docs/node.md")]
#[doc(inline)]
pub use graphweft_macros::node;
#[doc = include_str!("../docs/value.md")]
#[doc(inline)]
pub use graphweft_macros::value;
pub use node::{Collector, Node, Payload, PayloadError};
pub use node_facts::NodeFacts;
pub use node_info::NodeInfo;
pub use options::{NodeOptions, RetryPolicy};
pub use pool::PoolContext;
pub use question::AnswerError;
pub use resource::{MissingResource, MissingResources, ResourceNeed};
pub use route::{Route, RouteOf};
// At the root, so that rustc's messages contain only their names.
#[doc(hidden)]
pub use route::{OptionLabel, ResultLabel};
pub use run_error::RunError;
#[doc(hidden)]
pub use schema::schema_part;
pub use serde_json::json;
pub use signal::{AwaitedSignal, Signal, SignalError, Signalled};
#[cfg(feature = "sqlite")]
pub use sqlite_transactions::{SqliteContext, SqliteStart};
pub use state::StateKey;
pub use store::RunStatus;
pub use trace::TraceContext;
pub use typed::{END, START};
pub use workflow::{Flow, Workflow};
// Traits and types of other crates that are in signatures are re-exported one by one: with `serde_json`, `futures`, `serde` or
// `schemars` in reach, rustc's messages say `std::option::Option` and `std::string::String`.
#[doc(no_inline)]
pub use futures_util::Stream;

/// The JSON of `start_json`, events and schemas.
// An alias and no re-export: with the variant of that name in scope, rustc would print every `String` as
// `std::string::String`.
pub type Json = serde_json::Value;

#[doc = include_str!("../docs/workflow.md")]
#[macro_export]
macro_rules! workflow {
    ($($tokens:tt)*) => {
        $crate::__::workflow! { @crate $crate; $($tokens)* }
    };
}

/// The items that most programs need, in one `use`.
pub mod prelude {
    #[cfg(feature = "sqlite")]
    pub use crate::store::SqliteStore;
    pub use crate::{ChildError, EventKind, RetryPolicy, Run, RunError, RunFilter, RunStatus};
    pub use crate::{
        Collector, Context, Engine, Failure, Fault, Never, Node, Outcome, PoolContext, Route, Signal, StateKey,
        StateWriter,
    };
    pub use crate::{node, value, workflow};
}

/// Limits that the project's other crates share. Without any promise of stability.
#[doc(hidden)]
pub mod __limits {
    pub use crate::shared::MAX_ID;
    pub use crate::value::MAX_DEPTH;
}

/// The items that macro expansions use. Not for use by hand, and without any promise of stability.
#[doc(hidden)]
pub mod __ {
    pub use crate::context::Context;
    pub use crate::fault::Failure;
    pub use crate::graph::Graph;
    pub use crate::mapped::{Mapped, map};
    pub use crate::node::{Collector, Node};
    pub use crate::node_facts::NodeFacts;
    pub use crate::node_info::NodeInfo;
    pub use crate::options::NodeOptions;
    pub use crate::requests::UNIQUE_KEY;
    pub use crate::resource::ResourceNeed;
    pub use crate::route::{Literal, OptionLabel, PayloadOf, ResultLabel, Route};
    pub use crate::state::{StateFacts, StateKey, StateKeyFact};
    pub use crate::table::{Definition, Entry, Moment};
    pub use crate::trace::Cover;
    pub use crate::typed::*;
    pub use crate::value::MaxSize;
    pub use crate::workflow::{Defined, Workflow, run_in_memory, run_within};
    pub use graphweft_macros::{compiled, editor_view, editor_view_of_node, workflow};
    pub use {schemars, serde};
}
