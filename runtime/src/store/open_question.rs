//! The open questions of a run.

use std::borrow::Cow;
use std::time::SystemTime;

use crate::asked::{Question, name_without_key};

/// A question that waits for an answer.
///
/// How long a person has not answered:
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use graphweft::prelude::*;
/// use graphweft::store::{MemoryStore, OpenQuestion, QuestionQuery, Store};
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// fn is_late(open: &OpenQuestion, now: SystemTime) -> bool {
///     now.duration_since(open.asked).is_ok_and(|open| open > Duration::from_secs(24 * 3600))
/// }
///
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<publish>().build()?;
/// engine.start::<publish>(()).await?.outcome().await?;
/// let asked = store.open_questions(QuestionQuery::default()).await?.remove(0);
/// assert!(!is_late(&asked.question, SystemTime::now()));
/// assert!(is_late(&asked.question, SystemTime::now() + Duration::from_secs(48 * 3600)));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The question.
    pub question: Question,
    /// When it was asked; exact to the millisecond.
    #[serde(with = "crate::event::millis")]
    pub asked: SystemTime,
}

impl OpenQuestion {
    /// A question, and when it was asked.
    pub fn new(question: Question, asked: SystemTime) -> Self {
        OpenQuestion { question, asked }
    }

    /// Its name without its key, for [`QuestionQuery::name`](super::QuestionQuery::name).
    pub fn name(&self) -> Cow<'_, str> {
        name_without_key(&self.question.id)
    }
}

/// What changes in the open questions of a run; the default is nothing.
///
/// What a store that keeps an index of open questions does with it:
///
/// ```
/// use std::collections::BTreeMap;
/// use graphweft::store::{OpenQuestion, QuestionChange};
///
/// fn apply(change: QuestionChange, index: &mut BTreeMap<String, OpenQuestion>) {
///     index.retain(|id, _| !change.is_all && !change.closed.contains(id));
///     for mut open in change.open {
///         if let Some(before) = index.get(&open.question.id) {
///             open.asked = before.asked;
///         }
///         index.insert(open.question.id.clone(), open);
///     }
/// }
///
/// let mut index = BTreeMap::new();
/// assert!(QuestionChange::default().is_empty());
/// apply(QuestionChange::default(), &mut index);
/// assert!(index.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QuestionChange {
    /// Whether [`open`](Self::open) has all open questions: others are not open any more.
    pub is_all: bool,
    /// Questions that are open from now on. If one is open already, this is what it asks now, and it keeps the time
    /// when it was asked.
    pub open: Vec<OpenQuestion>,
    /// Ids of questions that are not open any more.
    pub closed: Vec<String>,
}

impl QuestionChange {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        !self.is_all && self.open.is_empty() && self.closed.is_empty()
    }
}
