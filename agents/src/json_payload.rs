//! The bound of all values that a model reads or writes.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value that a model reads or writes: a [`Payload`](graphweft::Payload) whose serde and schema are in reach of generic code.
///
/// Implemented for every payload: `#[graphweft::value]` derives what it needs.
///
/// An agent with any output, in a function of your own:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, JsonPayload};
///
/// /// The house style, for whatever is to be written.
/// fn writer<Out: JsonPayload>(what: &str) -> Agent<String, Out> {
///     Agent::new(format!("You write {what}. Plain words, short sentences.")).temperature(0.2)
/// }
///
/// #[value]
/// struct Post { title: String, text: String }
///
/// let posts: Agent<String, Post> = writer("posts");
/// let titles: Agent<String, Vec<String>> = writer("titles");
/// # drop((posts, titles));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written or read by a model",
    label = "put `#[value]` on `{Self}`",
    note = "the inputs and outputs of agents, classifiers and tools are `Serialize + DeserializeOwned + JsonSchema + Send + \
            'static`"
)]
pub trait JsonPayload: Serialize + DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> JsonPayload for T {}
