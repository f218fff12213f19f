//! The open questions of all runs.

use std::time::SystemTime;

use super::header::RunHeader;
use super::ids::RunKey;
use super::open_question::OpenQuestion;
use crate::event::Tags;

/// An open question, with the run that asks it.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{MemoryStore, QuestionQuery, Store};
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<publish>().build()?;
/// engine.start::<publish>(()).id("poem").await?.outcome().await?;
/// let asked = store.open_questions(QuestionQuery::default()).await?.remove(0);
/// assert_eq!((&*asked.id, &*asked.workflow, &*asked.question.question.prompt), ("poem", "publish", "Ship it?"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AskedQuestion {
    /// The number of the run.
    pub run: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its labels.
    pub tags: Tags,
    /// The question.
    pub question: OpenQuestion,
}

impl AskedQuestion {
    /// A question of the run with this header.
    pub fn new(header: &RunHeader, question: OpenQuestion) -> Self {
        let RunHeader { key, id, workflow, tags, .. } = header;
        AskedQuestion { run: *key, id: id.clone(), workflow: workflow.clone(), tags: tags.clone(), question }
    }

    /// Its place among all open questions, for [`QuestionQuery::after`].
    pub fn place(&self) -> QuestionPlace {
        QuestionPlace { asked: self.question.asked, run: self.run, question: self.question.question.id.clone() }
    }
}

/// The place of an open question among all of them.
///
/// Pages of a long list, of which each begins behind the last question of the one before:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::QuestionFilter;
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// for id in ["first", "second", "third"] {
///     engine.start::<publish>(()).id(id).await?.outcome().await?;
/// }
/// let (mut filter, mut seen) = (QuestionFilter::default().limit(2), Vec::new());
/// while let page = engine.questions(filter.clone()).await?
///     && let Some(last) = page.last()
/// {
///     filter.after = Some(last.place.clone()); // also as JSON, in the address of the next page
///     seen.push(page.len());
/// }
/// assert_eq!(seen, [2, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct QuestionPlace {
    /// When it was asked, to the millisecond.
    #[serde(with = "crate::event::millis")]
    pub asked: SystemTime,
    /// The number of its run.
    pub run: RunKey,
    /// Its id.
    pub question: String,
}

impl QuestionPlace {
    /// That of a question of a run.
    pub fn new(asked: SystemTime, run: RunKey, question: impl Into<String>) -> Self {
        QuestionPlace { asked, run, question: question.into() }
    }
}

/// Which open questions to list; the default is all.
///
/// ```
/// use graphweft::store::{MemoryStore, QuestionQuery, Store};
///
/// # graphweft::block_on(async {
/// let mut query = QuestionQuery::default();
/// query.workflows = vec!["publish".into()];
/// query.name = Some("approve".into());
/// assert!(MemoryStore::new().open_questions(query).await?.is_empty());
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QuestionQuery {
    /// Of runs whose ids begin with this.
    pub id_prefix: String,
    /// Of runs of one of these workflows; empty: any.
    pub workflows: Vec<String>,
    /// Of runs with all of these labels.
    pub tags: Tags,
    /// With this name; without its key.
    pub name: Option<String>,
    /// Behind this one: for the next page.
    pub after: Option<QuestionPlace>,
    /// At most this many; 0: no limit.
    pub limit: usize,
}
