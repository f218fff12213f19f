//! What is sent to a run while it is driven, wherever that is: signals of Restate with one name, which the invocation that drives
//! the run takes in the order in which they came. Each attempt gets all of them again, so the object says how many were processed.

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::{AnswerError, CancelError, Engine, Json, SignalError};
use serde::{Deserialize, Serialize};

/// The name of the signals.
pub(crate) const MESSAGES: &str = "graphweft";

/// The name of the signal that says what became of a message.
pub(crate) const REPLY: &str = "graphweft.reply";

/// What became of a message: nothing more to say, or a status of HTTP with why it was refused.
pub(crate) type Verdict = Result<(), (u16, String)>;

/// A message, and the invocation that waits for its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) message: Message,
    pub(crate) reply_to: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Message {
    Answer {
        question: String,
        answer: Json,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    Signal {
        name: String,
        payload: Json,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    Cancel,
}

impl Message {
    /// Has the engine of the run record it. An error is one of the engine or of its store: then the message is processed again
    /// by the next attempt.
    pub(crate) fn process(self, engine: Engine, run: String) -> BoxFuture<'static, Result<Verdict, String>> {
        async move {
            match self {
                Message::Answer { question, answer, by, comment } => {
                    let mut answering = engine.answer(&run, &question, answer);
                    if let Some(by) = by {
                        answering = answering.by(by);
                    }
                    if let Some(comment) = comment {
                        answering = answering.comment(comment);
                    }
                    match answering.await {
                        Err(error @ (AnswerError::Store(_) | AnswerError::Run(_) | AnswerError::Unread { .. })) => {
                            Err(error.to_string())
                        }
                        Err(error @ AnswerError::Invalid { .. }) => Ok(Err((422, error.to_string()))),
                        Err(error) => Ok(Err((409, error.to_string()))),
                        Ok(()) => Ok(Ok(())),
                    }
                }
                Message::Signal { name, payload, id, by } => {
                    let mut signalling = engine.signal_json(&run, name, payload);
                    if let Some(id) = id {
                        signalling = signalling.id(id);
                    }
                    if let Some(by) = by {
                        signalling = signalling.by(by);
                    }
                    match signalling.await {
                        Err(SignalError::Store(error)) => Err(error.to_string()),
                        Err(error @ (SignalError::Invalid { .. } | SignalError::NotRecordable { .. })) => {
                            Ok(Err((422, error.to_string())))
                        }
                        Err(error) => Ok(Err((409, error.to_string()))),
                        Ok(_) => Ok(Ok(())),
                    }
                }
                Message::Cancel => match engine.cancel(&run).await {
                    Err(CancelError::Store(error)) => Err(error.to_string()),
                    _ => Ok(Ok(())),
                },
            }
        }
        .boxed()
    }
}
