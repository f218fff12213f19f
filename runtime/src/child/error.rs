//! How a child fails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The error of a child or a step: after its last attempt, or because it was not run at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildError<E> {
    /// Its own error, of the last attempt.
    #[error("{0}")]
    Error(E),
    /// Any other error: a time limit, a panic, an interrupted `at_most_once` attempt ([`Fault::Interrupted`]); or the
    /// reason why it was not run ([`Fault::Context`]): an identity used twice, an input other than the recorded one, an
    /// unreadable record.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl<E> ChildError<E> {
    /// Its own error; `None` for a fault.
    pub fn into_inner(self) -> Option<E> {
        match self {
            ChildError::Error(error) => Some(error),
            ChildError::Fault(_) => None,
        }
    }
}
