//! Questions of nodes to people, as data.

use std::borrow::Cow;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::unescaped;
use crate::event::{EventKind, optional_millis};

/// An open question.
///
/// A form for the person who answers is made of it:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn review(text: String, ctx: &Context) -> bool {
///     ctx.ask("approve", "Ship it?").payload(&text).await
/// }
///
/// workflow! { pub publish(String) -> bool { START => review; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<publish>("a poem".into()).await?;
/// let Outcome::Waiting(questions) = run.outcome().await? else { panic!("it asks") };
/// let question = &questions[0];
/// assert_eq!((&*question.name, &*question.prompt), ("approve", "Ship it?"));
/// assert_eq!(question.payload, "a poem"); // shown beside the text
/// assert_eq!(question.schema["type"], "boolean"); // two buttons
///
/// run.answer(&question.id, true).await?; // by its id, which is unique in the run
/// assert!(run.result().await?);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// Its identity in the run: `checkout/review#2/approve`. The name alone is enough to answer it if no other open
    /// question has that name. In a URL, percent-encode it as a whole, like any text:
    /// `checkout%2Freview%232%2Fapprove`.
    pub id: String,
    /// Its name, `approve`; with its key, `approve:4711`. As the node wrote them, where the id has characters such as
    /// `/` in them encoded.
    pub name: String,
    /// The node that asks, `checkout/review#2`.
    pub path: String,
    /// The text.
    pub prompt: String,
    /// Data to show with it; null if there is none.
    pub payload: Value,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// Until when the node waits for an answer, [`within`](crate::Ask::within).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
    pub until: Option<SystemTime>,
}

impl Question {
    /// The question that a record asks.
    pub(crate) fn of(path: &str, kind: &EventKind) -> Option<Question> {
        let EventKind::QuestionAsked { prompt, payload, until, schema, again: _ } = kind else { return None };
        let (node, name) = path.rsplit_once('/').unwrap_or(("", path));
        Some(Question {
            id: path.to_owned(),
            name: unescaped(name).into_owned(),
            path: node.to_owned(),
            prompt: prompt.clone(),
            payload: payload.clone(),
            schema: schema.clone(),
            until: *until,
        })
    }
}

/// The name of the question with this id, without its key.
pub(crate) fn name_without_key(id: &str) -> Cow<'_, str> {
    let last = id.rsplit_once('/').map_or(id, |(_, last)| last);
    unescaped(last.split_once(':').map_or(last, |(name, _)| name))
}
