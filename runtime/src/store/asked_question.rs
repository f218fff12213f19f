//! The open questions of all runs.

use std::time::SystemTime;

use super::header::RunHeader;
use super::ids::RunKey;
use super::open_question::OpenQuestion;
use crate::event::Tags;

/// An open question, with the run that asks it.
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
#[derive(Clone, Debug, Default)]
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
