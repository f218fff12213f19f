//! Open questions.

use std::collections::BTreeMap;

use graphweft::PendingQuestion;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::millis;

/// An open question.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Question {
    /// Its id in the run: `checkout/review#2/approve`. In a URL it is percent-encoded as a whole.
    pub id: String,
    /// Its name, with its key: `approve:4711`.
    pub name: String,
    /// The node that asks.
    pub path: String,
    /// The text.
    pub prompt: String,
    /// Data to show with it.
    pub payload: Value,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// Until when the node waits for an answer, in milliseconds since 1970.
    pub until: Option<u64>,
}

impl From<graphweft::Question> for Question {
    fn from(question: graphweft::Question) -> Self {
        Question {
            id: question.id,
            name: question.name,
            path: question.path,
            prompt: question.prompt,
            payload: question.payload,
            schema: question.schema,
            until: question.until.map(millis),
        }
    }
}

/// An open question with the run that asks it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AskedQuestion {
    /// The id of the run.
    pub run: String,
    /// The name of its workflow.
    pub workflow: String,
    /// The tags of the run.
    pub tags: BTreeMap<String, String>,
    /// When it was asked, in milliseconds since 1970.
    pub asked: u64,
    /// The question.
    pub question: Question,
}

impl From<PendingQuestion> for AskedQuestion {
    fn from(pending: PendingQuestion) -> Self {
        AskedQuestion {
            run: pending.run,
            workflow: pending.workflow,
            tags: pending.tags,
            asked: millis(pending.asked),
            question: pending.question.into(),
        }
    }
}

/// A page of open questions, the one that has been open for the longest time first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Questions {
    /// The questions.
    pub questions: Vec<AskedQuestion>,
    /// The `cursor` of the next page; null if this is the last one.
    pub next: Option<String>,
}
