//! Events. What is sent is the JSON of [`graphweft::Event`]; this type describes it.

use std::collections::HashMap;

use serde_json::Value;
use utoipa::ToSchema;

/// An event of a run, [`graphweft::Event`]: these fields, and those of its type.
#[derive(ToSchema)]
#[allow(dead_code, reason = "the form of an event in JSON, for the document")]
pub(crate) struct RunEvent {
    /// The format.
    version: u32,
    /// The id of the run.
    run_id: String,
    /// Its number in the run.
    seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    time: u64,
    /// The path of what it is about.
    path: String,
    /// Whether it is not recorded but follows from the record with the same number.
    #[schema(required = false)]
    derived: bool,
    /// What happened: `node_started`.
    r#type: String,
    /// The fields of its type.
    #[schema(additional_properties)]
    #[serde(flatten)]
    more: HashMap<String, Value>,
}
