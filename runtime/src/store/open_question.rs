//! The open questions of a run.

use std::time::SystemTime;

use crate::asked::Question;

/// A question that waits for an answer.
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
}

/// What changes in the open questions of a run; the default is nothing.
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

    /// How many it opens and closes. A change that lists all of them only repeats what is known.
    pub(crate) fn counts(&self) -> (usize, usize) {
        if self.is_all { (0, 0) } else { (self.open.len(), self.closed.len()) }
    }
}
