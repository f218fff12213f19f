//! How a child fails.

use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The error of a child or a step: after its last attempt, or because it was not run at all.
///
/// `?` returns it from a node whose error is a `String`, this type, or a type that is `From` it. For any other error the node
/// has to say what becomes of it:
///
/// ```
/// # use graphweft::prelude::*;
/// # #[node] async fn charge(cents: u64) -> Result<String, String> { Ok(format!("receipt over {cents}")) }
/// #[node]
/// async fn pay(cents: u64, ctx: &Context) -> Result<String, std::io::Error> {
///     ctx.call::<charge>(cents).await.map_err(|error| std::io::Error::other(error.to_string()))
/// }
/// # workflow! { shop(u64) -> String { START => pay; } }
/// # assert_eq!(graphweft::block_on(shop(5)).unwrap(), "receipt over 5");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildError<E> {
    /// Its own error, of the last attempt.
    Error(E),
    /// Any other error: a time limit, a panic, an interrupted `at_most_once` attempt ([`Fault::Interrupted`]); or the
    /// reason why it was not run ([`Fault::Context`]), such as an identity that is used twice.
    Fault(Fault),
}

impl<E> From<Fault> for ChildError<E> {
    fn from(fault: Fault) -> Self {
        ChildError::Fault(fault)
    }
}

/// Its text, so that `?` works in a node whose error is a `String`.
impl<E: fmt::Display> From<ChildError<E>> for String {
    fn from(error: ChildError<E>) -> Self {
        error.to_string()
    }
}

impl<E: fmt::Display> fmt::Display for ChildError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChildError::Error(error) => error.fmt(f),
            ChildError::Fault(fault) => fault.fmt(f),
        }
    }
}

/// Text and source are those of the error inside.
impl<E: Error> Error for ChildError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ChildError::Error(error) => error.source(),
            ChildError::Fault(fault) => fault.source(),
        }
    }
}

impl<E> ChildError<E> {
    /// The same with another type of error.
    pub(super) fn map<O>(self, change: impl FnOnce(E) -> O) -> ChildError<O> {
        match self {
            ChildError::Error(error) => ChildError::Error(change(error)),
            ChildError::Fault(fault) => ChildError::Fault(fault),
        }
    }

    /// Its own error; `None` for a fault.
    pub fn into_inner(self) -> Option<E> {
        match self {
            ChildError::Error(error) => Some(error),
            ChildError::Fault(_) => None,
        }
    }
}
