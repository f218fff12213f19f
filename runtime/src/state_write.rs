//! Writes to the state that the nodes of a run share, as they are recorded.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// How a write changes the value of its key.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StateWrite {
    /// The key.
    pub key: String,
    /// The change.
    #[serde(flatten)]
    pub op: StateOp,
}
