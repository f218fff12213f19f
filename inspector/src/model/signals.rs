//! Signals that runs wait for.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::millis;

/// A signal that a node waits for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AwaitedSignal {
    /// Its name.
    pub name: String,
    /// The node that waits.
    pub path: String,
    /// Until when it waits, in milliseconds since 1970.
    pub until: Option<u64>,
    /// The JSON Schema of its payload; null if that is not known.
    pub schema: Option<Value>,
}

impl From<graphweft::AwaitedSignal> for AwaitedSignal {
    fn from(awaited: graphweft::AwaitedSignal) -> Self {
        let graphweft::AwaitedSignal { name, path, until, schema, .. } = awaited;
        AwaitedSignal { name, path, until: until.map(millis), schema }
    }
}
