//! Questions of nodes to people.

mod states;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::states::{State, States, closes};
use crate::asked::Question;
use crate::event::EventKind;
use crate::field::at_field;
use crate::run_error::RunError;
use crate::schema::fits_schema;
use crate::sorted::SortedMap;
use crate::store::StoreError;

/// An answer, as its record has it.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) answer: Value,
    /// Who gave it.
    pub(crate) by: Option<String>,
    pub(crate) comment: Option<String>,
}

/// An answer was not accepted. An open question is still open, except after [`Unread`](Self::Unread) and
/// [`Store`](Self::Store), where the answer may be recorded.
///
/// A page for people says what became of their answer:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::AnswerError;
///
/// #[node]
/// async fn review(text: String, ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").payload(text).await }
/// workflow! { pub publish(String) -> bool { START => review; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<publish>().build()?;
/// let run = engine.start::<publish>("a poem".into()).id("poem").await?;
/// # run.outcome().await?;
/// let invalid = engine.answer("poem", "approve", "perhaps").await.unwrap_err();
/// assert!(matches!(invalid, AnswerError::Invalid { .. })); // still open: show the form again
///
/// engine.answer("poem", "approve", true).await?;
/// let late = engine.answer("poem", "approve", false).await.unwrap_err();
/// assert!(matches!(late, AnswerError::AlreadyAnswered { .. })); // another person was faster
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// There is no such run.
    #[error("there is no run `{run}`")]
    UnknownRun {
        /// The id that was asked for.
        run: String,
    },
    /// The run has never asked this.
    #[error("run `{run}` has not asked `{question}`; {}", listed(open))]
    UnknownQuestion {
        /// The run.
        run: String,
        /// The question that was to be answered.
        question: String,
        /// The ids of the open questions.
        open: Vec<String>,
    },
    /// More than one open question has this name.
    #[error("run `{run}` asks `{question}` in several places; answer one of {}", quoted(open))]
    Ambiguous {
        /// The run.
        run: String,
        /// The name.
        question: String,
        /// The ids of the questions that have it.
        open: Vec<String>,
    },
    /// The question has an answer.
    #[error("`{question}` of run `{run}` is already answered")]
    AlreadyAnswered {
        /// The run.
        run: String,
        /// The id of the question.
        question: String,
    },
    /// The node that asked no longer waits for an answer: it was cancelled, failed, or completed without it, or the time of
    /// the question ([`within`](crate::Ask::within)) is over. The answer
    /// is void, even if it was recorded before that was known; if the node asks again, the question is open again.
    #[error("`{question}` of run `{run}` was withdrawn: the node that asked it no longer waits")]
    Withdrawn {
        /// The run.
        run: String,
        /// The id of the question.
        question: String,
    },
    /// The answer does not have the type that was asked for. The question is still open.
    #[error("invalid answer to `{question}`: {}{message}", at_field(field))]
    Invalid {
        /// The id of the question.
        question: String,
        /// Where in the answer: `lines[2].price`; `.` for the whole.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// The answer is recorded, and its node has not read it for 10 s: the node is busy and has not asked again, or its
    /// engine has no capacity to run it; or this engine was shut down while the caller waited for that. The type of the answer is checked when the node asks: then the answer is
    /// accepted ([`EventKind::AnswerAccepted`]), or the question is open again ([`EventKind::AnswerRejected`]). Until
    /// then a second answer is [`AlreadyAnswered`](Self::AlreadyAnswered). In a child workflow that begins anew, since its
    /// attempt has failed, it is void.
    #[error(
        "the answer to `{question}` of run `{run}` is recorded, but its node has not read it yet, so it may be rejected"
    )]
    Unread {
        /// The run.
        run: String,
        /// The id of the question.
        question: String,
    },
    /// The workflow of the run is not registered in this engine, so it does not know the type of the answer. A program with the
    /// feature `json-schema` of graphweft checks such answers against the recorded schema.
    #[error(
        "the type of an answer to run `{run}` is not known here: register its workflow `{workflow}`, or switch on the feature \
         `json-schema` of graphweft"
    )]
    NotRegistered {
        /// The run.
        run: String,
        /// Its workflow.
        workflow: String,
    },
    /// No living engine can resume the run, this one included, and so the type that the answer must have is not known.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store has failed. The answer may be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn quoted(ids: &[String]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

fn listed(open: &[String]) -> String {
    if open.is_empty() { "it has no open question".to_owned() } else { format!("open: {}", quoted(open)) }
}

/// The questions that a run has asked so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Questions {
    asked: SortedMap<String, Question>,
    states: States,
}

impl Questions {
    /// Applies a record of any kind.
    pub(crate) fn apply(&mut self, path: &str, kind: &EventKind) {
        let is_asked = matches!(kind, EventKind::QuestionAsked { .. });
        if !is_asked && self.states.is_empty() {
            return;
        }
        self.states.apply(path, kind);
        if let Some(question) = Question::of(path, kind) {
            self.asked.insert(path.to_owned(), question);
        }
    }

    /// Withdraws the questions below a path.
    pub(crate) fn withdraw(&mut self, below: &str) {
        self.states.withdraw(Some(below));
    }

    pub(crate) fn set(&mut self, id: &str, to: State) {
        self.states.set(id, to);
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Question> {
        self.asked.get(id)
    }

    /// The full id of an open question, if an answer to it passes a check. Other answers are refused from here on.
    pub(crate) fn take_answer(
        &mut self,
        run: &str,
        wanted: &str,
        check: impl FnOnce(&Question) -> Result<(), AnswerError>,
    ) -> Result<String, AnswerError> {
        let question = self.find(run, wanted)?;
        check(question)?;
        let id = question.id.clone();
        self.states.set(&id, State::Answering);
        Ok(id)
    }

    pub(crate) fn is_being_answered(&self, id: &str) -> bool {
        self.states.get(id) == Some(State::Answering)
    }

    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.states.is_open(id)
    }

    pub(crate) fn open(&self) -> Vec<Question> {
        self.states.open().filter_map(|id| self.asked.get(id).cloned()).collect()
    }

    pub(crate) fn has_open(&self) -> bool {
        self.states.open().next().is_some()
    }

    /// The open question with an id, or with a name.
    fn find(&self, run: &str, wanted: &str) -> Result<&Question, AnswerError> {
        let (run, wanted_id) = (run.to_owned(), wanted.to_owned());
        let by_name = || self.asked.values().filter(|question| question.name == wanted);
        let open: Vec<&Question> = by_name().filter(|question| self.is_open(&question.id)).collect();
        let question = match (self.asked.get(wanted), open.as_slice()) {
            (Some(found), _) => found,
            (None, [one]) => return Ok(one),
            (None, []) => match by_name().next_back() {
                Some(closed) => closed,
                None => {
                    let open = self.open().into_iter().map(|question| question.id).collect();
                    return Err(AnswerError::UnknownQuestion { run, question: wanted_id, open });
                }
            },
            (None, several) => {
                let open = several.iter().map(|question| question.id.clone()).collect();
                return Err(AnswerError::Ambiguous { run, question: wanted_id, open });
            }
        };
        match self.states.get(&question.id) {
            Some(State::Open) => Ok(question),
            Some(State::Answering | State::Unchecked | State::Answered) => {
                Err(AnswerError::AlreadyAnswered { run, question: question.id.clone() })
            }
            Some(State::Withdrawn | State::Over) | None => {
                Err(AnswerError::Withdrawn { run, question: question.id.clone() })
            }
        }
    }
}

/// The result, by a record, of an answer to this question that was recorded unchecked before it; `None` if the record
/// has no effect on it.
pub(crate) fn verdict(run: &str, question: &str, path: &str, kind: &EventKind) -> Option<Result<(), AnswerError>> {
    let is_it = path == question;
    let is_around = || question.strip_prefix(path).is_some_and(|below| below.starts_with('/'));
    match kind {
        EventKind::AnswerAccepted if is_it => Some(Ok(())),
        EventKind::AnswerRejected { field, message } if is_it => {
            let (question, field, message) = (question.to_owned(), field.clone(), message.clone());
            Some(Err(AnswerError::Invalid { question, field, message }))
        }
        kind if kind.is_terminal() || (is_it || is_around()) && closes(kind) => {
            Some(Err(AnswerError::Withdrawn { run: run.to_owned(), question: question.to_owned() }))
        }
        _ => None,
    }
}

impl Question {
    /// Whether an answer fits the [schema](Self::schema) of the question, which is all that can be said without the code of its
    /// node. Without the feature `json-schema`, every answer does.
    ///
    /// For a program that passes answers on, and says at once what is wrong with one:
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::json;
    ///
    /// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
    /// # workflow! { pub publish(()) -> bool { START => review; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let Outcome::Waiting(open) = engine.start::<publish>(()).await?.outcome().await? else { panic!("it asks") };
    /// assert!(open[0].check(&json!(true)).is_ok());
    /// # #[cfg(feature = "json-schema")]
    /// assert!(open[0].check(&json!("perhaps")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`AnswerError::Invalid`], with the field that does not fit.
    pub fn check(&self, answer: &Value) -> Result<(), AnswerError> {
        check_schema(&self.id, &self.schema, answer)
    }
}

/// Validates an answer to the question of this id against a JSON Schema.
pub(crate) fn check_schema(id: &str, schema: &Value, answer: &Value) -> Result<(), AnswerError> {
    let invalid = |(field, message)| AnswerError::Invalid { question: id.to_owned(), field, message };
    fits_schema(schema, answer).map_err(invalid)
}
