//! Questions of nodes to people.

mod states;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::states::{State, States, closes};
use crate::asked::Question;
use crate::event::EventKind;
use crate::field::{at_field, field_of};
use crate::run_error::RunError;
use crate::store::{Record, StoreError};

/// An answer, as its record has it.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) answer: Value,
    /// Who gave it.
    pub(crate) by: Option<String>,
    pub(crate) comment: Option<String>,
}

/// An answer was not accepted. An open question is still open, except after [`Unread`](Self::Unread).
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
    /// The node that asked no longer waits for an answer: it was cancelled, failed, or completed without it. The answer
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
    /// engine has no capacity to run it. The type of the answer is checked when the node asks: then the answer is
    /// accepted ([`EventKind::AnswerAccepted`]), or the question is open again ([`EventKind::AnswerRejected`]). Until
    /// then a second answer is [`AlreadyAnswered`](Self::AlreadyAnswered).
    #[error(
        "the answer to `{question}` of run `{run}` is recorded, but its node has not read it yet, so it may be rejected"
    )]
    Unread {
        /// The run.
        run: String,
        /// The id of the question.
        question: String,
    },
    /// No living engine can resume the run, this one included, and so the type that the answer must have is not known.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The answer cannot be recorded.
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
    asked: BTreeMap<String, Question>,
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
pub(crate) fn verdict(run: &str, question: &str, record: &Record) -> Option<Result<(), AnswerError>> {
    let Record { path, kind } = record;
    let is_it = path == question;
    let is_around = || question.strip_prefix(path.as_str()).is_some_and(|below| below.starts_with('/'));
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

/// Validates an answer to the question of this id against a JSON Schema.
pub(crate) fn check_schema(id: &str, schema: &Value, answer: &Value) -> Result<(), AnswerError> {
    let invalid = |(field, message)| AnswerError::Invalid { question: id.to_owned(), field, message };
    fits_schema(schema, answer).map_err(invalid)
}

/// Validates a value from outside against a JSON Schema.
///
/// # Errors
/// Where in the value, and what is wrong with it.
pub(crate) fn fits_schema(schema: &Value, value: &Value) -> Result<(), (String, String)> {
    let validator = jsonschema::options()
        .with_keyword("format", |_, format, _| Ok(Box::new(ExactInteger::of(format))))
        .build(schema)
        .map_err(|error| (".".to_owned(), format!("its schema is not valid: {error}")))?;
    match validator.iter_errors(value).next() {
        None => Ok(()),
        Some(error) => Err((field_of(&error.instance_path().to_string()), error.to_string())),
    }
}

/// The integers of a Rust type, by the `format` that schemars writes for it. JSON Schema alone is not exact: `5.0` is
/// an integer there, and only the narrow types have a `maximum`. `None` for every other format.
struct ExactInteger(Option<(i128, i128)>);

impl ExactInteger {
    fn of(format: &Value) -> Self {
        ExactInteger(match format.as_str().unwrap_or_default() {
            "int8" => Some((i8::MIN.into(), i8::MAX.into())),
            "int16" => Some((i16::MIN.into(), i16::MAX.into())),
            "int32" => Some((i32::MIN.into(), i32::MAX.into())),
            "int64" => Some((i64::MIN.into(), i64::MAX.into())),
            "int" => Some((isize::MIN as i128, isize::MAX as i128)),
            "int128" => Some((i128::MIN, i128::MAX)),
            "uint8" => Some((0, u8::MAX.into())),
            "uint16" => Some((0, u16::MAX.into())),
            "uint32" => Some((0, u32::MAX.into())),
            "uint64" => Some((0, u64::MAX.into())),
            "uint" => Some((0, usize::MAX as i128)),
            // JSON has no larger ones here.
            "uint128" => Some((0, i128::MAX)),
            _ => None,
        })
    }
}

impl jsonschema::Keyword for ExactInteger {
    fn validate<'i>(&self, answer: &'i Value) -> Result<(), jsonschema::ValidationError<'i>> {
        match self.0 {
            Some((least, greatest)) if !self.is_valid(answer) => {
                let message = format!("{answer} is not an integer from {least} to {greatest}");
                Err(jsonschema::ValidationError::custom(message))
            }
            _ => Ok(()),
        }
    }

    fn is_valid(&self, answer: &Value) -> bool {
        let (Some((least, greatest)), Value::Number(number)) = (self.0, answer) else { return true };
        number.as_i128().is_some_and(|number| (least..=greatest).contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn takes<T: schemars::JsonSchema>(answer: Value) -> bool {
        check_schema("w/a/q", &schemars::schema_for!(T).to_value(), &answer).is_ok()
    }

    /// Asserts that the schema accepts exactly the values that serde reads.
    fn agrees<T: schemars::JsonSchema + serde::de::DeserializeOwned>() {
        let edges = [0, 8, 16, 32, 64].map(|bits| 1i128 << bits);
        let around = edges.into_iter().flat_map(|edge| [edge, edge / 2].map(|edge| [edge - 1, edge, -edge, -edge - 1]));
        let whole = around.flatten().filter_map(|number| serde_json::Number::from_i128(number).map(Value::Number));
        for answer in whole.chain([json!(5.0), json!(-0.0), json!(1e30), json!(0.5), json!("5"), json!(null)]) {
            let is_read = serde_json::from_value::<T>(answer.clone()).is_ok();
            assert_eq!(takes::<T>(answer.clone()), is_read, "{answer} as {}", std::any::type_name::<T>());
        }
    }

    #[test]
    fn the_schema_of_an_integer_takes_what_the_integer_reads() {
        agrees::<u8>();
        agrees::<u16>();
        agrees::<u32>();
        agrees::<u64>();
        agrees::<u128>();
        agrees::<usize>();
        agrees::<i8>();
        agrees::<i16>();
        agrees::<i32>();
        agrees::<i64>();
        agrees::<i128>();
        agrees::<isize>();
        agrees::<std::num::NonZeroU32>();
        agrees::<Option<u32>>();
    }

    #[test]
    fn integers_inside_are_held_against_their_type() {
        assert!(takes::<Vec<(u32, f64)>>(json!([[5, 5.0], [0, 5]])));
        assert!(!takes::<Vec<(u32, f64)>>(json!([[5.0, 5.0]])));
        assert!(!takes::<std::collections::BTreeMap<String, u32>>(json!({"a": 4294967296u64})));
    }

    #[test]
    fn a_refused_integer_is_named_with_its_bounds() {
        let schema = schemars::schema_for!(u32).to_value();
        let refused = check_schema("w/a/q", &schema, &json!(5.0)).unwrap_err();
        assert_eq!(refused.to_string(), "invalid answer to `w/a/q`: 5.0 is not an integer from 0 to 4294967295");
    }
}
