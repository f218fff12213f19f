//! Answers to the questions of a run.

use futures::FutureExt;
use graphweft::store::StoreError;
use graphweft::{AnswerError, Engine, EventKind, Run};
use serde_json::Value;

use super::brief::brief;
use crate::problem::shown;

/// What has become of an answer.
pub(super) enum Answered {
    /// It is recorded, by this call or an earlier one.
    Recorded,
    /// Why it does not count: the question was answered otherwise, or was withdrawn.
    NotTaken(String),
    /// Why it is no answer. The question is still open.
    Rejected(String),
}

/// Answers a question of a run.
pub(super) async fn answer(
    engine: &Engine,
    run: &Run<Value>,
    question: &str,
    answer: Value,
    by: Option<String>,
) -> Result<Answered, AnswerError> {
    let mut answering = run.answer(question, answer.clone());
    if let Some(who) = by {
        answering = answering.by(who);
    }
    match answering.await {
        // One that is not read yet is waited for with the run.
        Ok(()) | Err(AnswerError::Unread { .. }) => Ok(Answered::Recorded),
        Err(AnswerError::AlreadyAnswered { question, .. }) => match Recorded::of(engine, run, &question).await? {
            Some(recorded) if recorded.answer == answer => Ok(Answered::Recorded),
            recorded => Ok(Answered::NotTaken(not_taken(&question, recorded.as_ref()))),
        },
        Err(error @ AnswerError::Withdrawn { .. }) => {
            Ok(Answered::NotTaken(brief(&format!("the answer was not taken: {error}"))))
        }
        Err(error @ AnswerError::Invalid { .. }) => Ok(Answered::Rejected(brief(&error.to_string()))),
        Err(error) => Err(error),
    }
}

/// The answer that a run has to a question.
pub(super) struct Recorded {
    pub(super) answer: Value,
    by: Option<String>,
    /// That of the question.
    pub(super) schema: Value,
}

impl Recorded {
    /// The last one: an earlier one was rejected, or the question was asked anew.
    pub(super) async fn of(engine: &Engine, run: &Run<Value>, question: &str) -> Result<Option<Self>, StoreError> {
        let history = engine.history(run.id()).await?.unwrap_or_default();
        let (mut recorded, mut asked) = (None, Value::Null);
        for event in history.into_iter().filter(|event| &*event.path == question) {
            match event.kind {
                EventKind::QuestionAsked { schema, .. } => asked = schema,
                EventKind::Answered { answer, by, .. } => recorded = Some((answer, by)),
                _ => {}
            }
        }
        Ok(recorded.map(|(answer, by)| Recorded { answer, by, schema: asked }))
    }
}

/// Says of an answer that another one was there first.
pub(super) fn not_taken(question: &str, recorded: Option<&Recorded>) -> String {
    let question = shown(question);
    match recorded {
        Some(recorded) => {
            format!("the answer to `{question}` was not taken: the question was answered before, {}", said(recorded))
        }
        None => format!("the answer to `{question}` was not taken: the question is not open any more"),
    }
}

/// Says how a question that was shown was answered elsewhere.
pub(super) fn elsewhere(question: &str, recorded: Option<&Recorded>) -> String {
    let question = shown(question);
    match recorded {
        Some(recorded) => format!("the question `{question}` was answered elsewhere, {}", said(recorded)),
        None => format!("the question `{question}` is not open any more"),
    }
}

fn said(Recorded { answer, by, .. }: &Recorded) -> String {
    let answer = shown(&answer.to_string());
    match by {
        Some(by) => format!("with {answer}, by {}", shown(by)),
        None => format!("with {answer}"),
    }
}

/// Waits until a question is not open any more. Cancel safe.
pub(super) async fn closed(run: &Run<Value>, question: &str) -> Result<(), StoreError> {
    let mut events = run.events();
    loop {
        if !run.questions().await?.iter().any(|open| open.id == question) {
            return Ok(());
        }
        if events.next().await.is_none() {
            return Ok(());
        }
        while let Some(Some(_)) = events.next().now_or_never() {}
    }
}
