//! Answers to the questions of a run.

use futures::FutureExt;
use graphweft::store::StoreError;
use graphweft::{AnswerError, Run};
use serde_json::Value;

/// What has become of an answer.
pub(super) enum Answered {
    /// The question is not open any more: by this answer or by another one.
    Closed,
    /// Why it is no answer. The question is still open.
    Rejected(String),
}

/// Answers a question of a run.
pub(super) async fn answer(
    run: &Run<Value>,
    question: &str,
    answer: Value,
    by: Option<String>,
) -> Result<Answered, AnswerError> {
    let mut answering = run.answer(question, answer);
    if let Some(who) = by {
        answering = answering.by(who);
    }
    match answering.await {
        Ok(()) => Ok(Answered::Closed),
        // One that is not read yet is waited for with the run.
        Err(AnswerError::Unread { .. } | AnswerError::AlreadyAnswered { .. } | AnswerError::Withdrawn { .. }) => {
            Ok(Answered::Closed)
        }
        Err(error @ AnswerError::Invalid { .. }) => Ok(Answered::Rejected(error.to_string())),
        Err(error) => Err(error),
    }
}

/// The last of the runs that follow a run which has started over: the one that asks.
pub(super) async fn last(run: &Run<Value>) -> Result<Run<Value>, StoreError> {
    let mut last = run.clone();
    while let Some(next) = last.next().await? {
        last = next;
    }
    Ok(last)
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
