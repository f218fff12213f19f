//! Writes to the state that the nodes of a run share, as they are recorded.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// How a write changes the value of its key.
///
/// As JSON, an operation and what it has for its value:
///
/// ```
/// use graphweft::json;
/// use graphweft::state::{StateOp, StateWrite};
///
/// let write: StateWrite = serde_json::from_value(json!({ "key": "cost", "op": "add", "value": 5 }))?;
/// assert_eq!(write.op, StateOp::Add(5.into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StateOp {
    /// Replaces it. Rejected if another node has written the key since this attempt began.
    Set(Value),
    /// Adds to the end of an array.
    Append(Vec<Value>),
    /// Adds to the end of an array the values that are not in it yet.
    Union(Vec<Value>),
    /// Adds to a number.
    Add(Number),
    /// Keeps the smaller number.
    Min(Number),
    /// Keeps the greater number.
    Max(Number),
    /// Puts entries into an object; the last write of an entry wins.
    Merge(Map<String, Value>),
}

/// One write.
///
/// Which node has changed a key, from the history of a run:
///
/// ```
/// use graphweft::prelude::*;
///
/// const TITLE: StateKey<String> = StateKey::new("title");
///
/// #[node]
/// async fn draft(text: String, #[writes(TITLE)] title: StateWriter<String>) -> String {
///     title.set("A draft".into());
///     text
/// }
/// workflow! { pub blog(String) -> String { START => draft; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.start::<blog>("ants".into()).id("mine").await?.result().await?;
/// let mut writers = Vec::new();
/// for event in engine.history("mine").await?.ok_or("it was started")? {
///     if let EventKind::NodeCompleted { state, .. } = event.kind {
///         writers.extend(state.into_iter().map(|write| (write.key, event.path.clone())));
///     }
/// }
/// assert_eq!(writers, [("title".to_owned(), "blog/draft".to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StateWrite {
    /// The key.
    pub key: String,
    /// The change.
    #[serde(flatten)]
    pub op: StateOp,
}
