//! The open questions of all runs.

use serde::Serialize;

use super::inner::Engine;
use crate::asked::Question;
use crate::event::millis;
use crate::store::{AskedQuestion, QuestionPlace, QuestionQuery, StoreError, Tags};

/// Which open questions to list; the default is all, of which a hundred are listed.
///
/// ```
/// use graphweft::QuestionFilter;
///
/// let mine = QuestionFilter::default().workflow("checkout").name("approve").tag("tenant", "acme").limit(20);
/// # assert_eq!(mine.limit, 20);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "a filter does nothing alone: pass it to `engine.questions`"]
pub struct QuestionFilter {
    /// Questions of runs whose ids begin with this.
    pub id_prefix: String,
    /// Questions of runs of one of these workflows; empty: all.
    pub workflow: Vec<String>,
    /// Questions of runs with all of these [tags](crate::Start::tag).
    pub tags: Tags,
    /// Questions with this name, whatever their keys.
    pub name: Option<String>,
    /// Questions behind this one: [`PendingQuestion::place`] of the last one of a page gives the next page.
    pub after: Option<QuestionPlace>,
    /// The maximum number of questions that are listed; 0 for none.
    pub limit: usize,
}

impl Default for QuestionFilter {
    fn default() -> Self {
        QuestionFilter {
            id_prefix: String::new(),
            workflow: Vec::new(),
            tags: Tags::new(),
            name: None,
            after: None,
            limit: 100,
        }
    }
}

impl QuestionFilter {
    /// Questions of runs whose ids begin with this.
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.id_prefix = prefix.into();
        self
    }

    /// Questions of runs of a workflow. Called several times: of one of these workflows.
    pub fn workflow(mut self, name: impl Into<String>) -> Self {
        self.workflow.push(name.into());
        self
    }

    /// Questions of runs with this tag. Called several times: with all of these tags.
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(key.into(), value.into());
        self
    }

    /// Questions with this name, the first argument of `ctx.ask`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Questions behind this one.
    pub fn after(mut self, place: QuestionPlace) -> Self {
        self.after = Some(place);
        self
    }

    /// At most this many questions; 0 for none.
    pub fn limit(mut self, questions: usize) -> Self {
        self.limit = questions;
        self
    }
}

/// A question that waits for an answer, and the run that asks it. Times are milliseconds since 1970 in JSON.
///
/// The inbox of a person, whatever the runs are and wherever they are executed:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{PendingQuestion, QuestionFilter};
///
/// # #[node] async fn review(text: String, ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").payload(text).await }
/// # workflow! { pub publish(String) -> bool { START => review; } }
/// fn line(pending: &PendingQuestion) -> String {
///     format!("{} ({}): {}", pending.run, pending.workflow, pending.question.prompt)
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<publish>("a poem".into()).id("poem").tag("desk", "poetry").await?;
/// # run.outcome().await?;
/// let inbox = engine.questions(QuestionFilter::default().tag("desk", "poetry")).await?;
/// assert_eq!(line(&inbox[0]), "poem (publish): Ship it?");
/// engine.answer(&inbox[0].run, &inbox[0].question.id, true).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PendingQuestion {
    /// The id of the run.
    pub run: String,
    /// The name of its workflow.
    pub workflow: String,
    /// The [tags](crate::Start::tag) of the run.
    pub tags: Tags,
    /// The question.
    pub question: Question,
    /// When it was asked.
    #[serde(with = "millis")]
    pub asked: std::time::SystemTime,
    /// Its place among all open questions, for [`QuestionFilter::after`].
    pub place: QuestionPlace,
}

impl From<AskedQuestion> for PendingQuestion {
    fn from(asked: AskedQuestion) -> Self {
        let place = asked.place();
        let AskedQuestion { id, workflow, tags, question, .. } = asked;
        PendingQuestion { run: id, workflow, tags, question: question.question, asked: question.asked, place }
    }
}

impl Engine {
    /// The open questions of all runs of the store, whatever process executes them: the one that has been open for the
    /// longest time first, a page at a time. It reads an index, and no records of runs.
    ///
    /// A question is in the list from when it is recorded until an answer to it is recorded, or its node does not wait
    /// for it any more.
    ///
    /// ```
    /// # use graphweft::{QuestionFilter, prelude::*};
    /// # #[node] async fn review(text: String, ctx: &Context) -> String {
    /// #     if ctx.ask::<bool>("approve", "Ship it?").await { text } else { "nothing".to_owned() }
    /// # }
    /// # workflow! { pub publish(String) -> String { START => review; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<publish>().build()?;
    /// let run = engine.start::<publish>("a poem".into()).id("poem").await?;
    /// run.outcome().await?;
    /// let inbox = engine.questions(QuestionFilter::default().name("approve")).await?;
    /// assert_eq!((inbox[0].run.as_str(), inbox[0].question.prompt.as_str()), ("poem", "Ship it?"));
    /// engine.answer(&inbox[0].run, &inbox[0].question.id, true).await?;
    /// assert!(engine.questions(QuestionFilter::default()).await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn questions(&self, filter: QuestionFilter) -> Result<Vec<PendingQuestion>, StoreError> {
        let QuestionFilter { id_prefix, workflow, tags, name, after, limit } = filter;
        if limit == 0 {
            return Ok(Vec::new());
        }
        let query = QuestionQuery { id_prefix, workflows: workflow, tags, name, after, limit };
        Ok(self.0.store.open_questions(query).await?.into_iter().map(PendingQuestion::from).collect())
    }
}
