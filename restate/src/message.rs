//! What is sent to a run while it is driven, wherever that is: signals of Restate, which the invocation that drives the run
//! takes in the order in which they came. Each attempt gets all of them again.
//!
//! Their name has the number of a mailbox. A run that is suspended waits for signals of the name of the last one, and one that has
//! taken a message from it opens the next before it is suspended: what has come already does not resume it. A handler that has
//! written to a mailbox that was closed in that moment hears nothing, and writes to the next one. So a message may come
//! twice, and is known by the invocation of its handler: that is in the value of the append that records it, or
//! in the [`Driver`](crate::object::Driver) if it was refused.

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::{AnswerError, CancelError, Engine, EventKind, Json, RunError, SignalError};
use serde::{Deserialize, Serialize};

/// The name of the signals to a mailbox.
pub(crate) fn mailbox(number: u64) -> String {
    format!("graphweft.{number}")
}

/// The name of the signal that says what became of a message.
pub(crate) const REPLY: &str = "graphweft.reply";

/// A status of HTTP, and why.
pub(crate) type Refusal = (u16, String);

/// What became of a message: nothing more to say, or why it was refused.
pub(crate) type Verdict = Result<(), Refusal>;

/// A message, and the invocation that waits for its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) message: Message,
    pub(crate) reply_to: String,
}

/// Where a message has come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// From a handler, which waits for a verdict in this invocation.
    Handler(String),
    /// From Restate: its command line, or its page.
    Server,
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
    /// Whether this is what is recorded for the message. One message is processed at a time.
    pub(crate) fn is_recorded_by(&self, path: &str, kind: &EventKind) -> bool {
        match (self, kind) {
            // By its id: the handler has looked it up.
            (Message::Answer { question, .. }, EventKind::Answered { .. }) => path == question,
            (Message::Signal { name, .. }, EventKind::SignalReceived { name: received, .. }) => name == received,
            (Message::Cancel, EventKind::CancelRequested) => true,
            _ => false,
        }
    }

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
                        Err(error @ (AnswerError::Store(_) | AnswerError::Run(RunError::Store(_)))) => {
                            Err(error.to_string())
                        }
                        // It is recorded, and the run needs no other attempt.
                        Err(error @ AnswerError::Unread { .. }) => Ok(Err((408, error.to_string()))),
                        Err(error @ AnswerError::Invalid { .. }) => Ok(Err((422, error.to_string()))),
                        // Also that this program cannot continue the run: what has come behind the answer, such as a cancel, is
                        // processed nevertheless.
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
                    Err(error) => Ok(Err((409, error.to_string()))),
                    Ok(()) => Ok(Ok(())),
                },
            }
        }
        .boxed()
    }
}
