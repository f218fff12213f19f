//! How a model call fails.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a model gave no reply.
///
/// An adapter says which errors pass, and the agent tries those again:
///
/// ```
/// use std::time::Duration;
/// use graphweft_agents::ModelError;
///
/// fn of_status(status: u16, message: String) -> ModelError {
///     match status {
///         401 | 403 => ModelError::Unauthorised { message },
///         429 => ModelError::RateLimited { retry_after: Some(Duration::from_secs(20)), message },
///         529 => ModelError::Overloaded { retry_after: None, message },
///         _ => ModelError::Rejected { message },
///     }
/// }
///
/// assert_eq!(of_status(429, "slow down".into()).retry_after(), Some(Duration::from_secs(20)));
/// assert!(of_status(529, "busy".into()).is_passing() && !of_status(401, "no key".into()).is_passing());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelError {
    /// Too many requests. Passing.
    #[error("rate limited{}: {message}", until(retry_after))]
    RateLimited {
        /// The delay that the provider asks for, its `Retry-After`.
        retry_after: Option<Duration>,
        /// The provider's text.
        message: String,
    },
    /// The provider has no capacity at the moment. Passing.
    #[error("overloaded{}: {message}", until(retry_after))]
    Overloaded {
        /// The delay that the provider asks for, its `Retry-After`.
        #[serde(default)]
        retry_after: Option<Duration>,
        /// The provider's text.
        message: String,
    },
    /// The provider cannot be reached, or the connection broke. Passing.
    #[error("unreachable: {message}")]
    Unreachable {
        /// What failed.
        message: String,
    },
    /// The conversation is longer than the model's context.
    #[error("the conversation is too long for the model: {message}")]
    TooLong {
        /// The provider's text.
        message: String,
    },
    /// A filter of the provider refused the request or the reply.
    #[error("refused by the provider's filter: {message}")]
    Filtered {
        /// The provider's text.
        message: String,
    },
    /// The key is missing, wrong, or not enough for this model.
    #[error("unauthorised: {message}")]
    Unauthorised {
        /// The provider's text.
        message: String,
    },
    /// The provider does not accept the request, or its reply cannot be read.
    #[error("rejected: {message}")]
    Rejected {
        /// What is wrong with it.
        message: String,
    },
}

fn until(retry_after: &Option<Duration>) -> String {
    retry_after.map(|delay| format!(", retry after {delay:?}")).unwrap_or_default()
}

impl ModelError {
    /// Whether the same request may succeed later. Only such a call is retried.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Unreachable { .. })
    }

    /// The delay that the provider asks for. Beyond [`Agent::max_retry_after`](crate::Agent::max_retry_after), the call is not retried.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
