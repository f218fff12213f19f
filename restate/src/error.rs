//! What goes wrong, as users see it.

use graphweft::PayloadError;

/// A worker was not made.
///
/// ```
/// use graphweft_restate::{Worker, WorkerError};
///
/// let keys = Worker::builder().resource("key of the shop").resource("key of the bank");
/// let Err(error) = keys.build() else { panic!("which of them is it?") };
/// assert!(matches!(error, WorkerError::Engine(_)));
/// assert_eq!(error.to_string(), "two resources are of type `&str`; wrap one of them in a type of its own");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// Its engine was not made.
    #[error(transparent)]
    Engine(#[from] graphweft::BuildError),
    /// [`WorkerBuilder::streams`](crate::WorkerBuilder::streams) was called with 0.
    #[error("`streams(0)` would let no run reach the worker; leave it out for 64")]
    ZeroStreams,
    /// A key of `WorkerBuilder::identity_key` cannot be read.
    #[error(
        "the identity key `{key}` cannot be read: {message}; it is what the server logs when it starts, `publickeyv1_..`"
    )]
    IdentityKey {
        /// The key.
        key: String,
        /// Why.
        message: String,
    },
}

/// A request to Restate has failed.
///
/// What a program does with it:
///
/// ```
/// use graphweft_restate::ClientError;
///
/// fn status_of_my_own_api(error: &ClientError) -> u16 {
///     match error {
///         ClientError::NotFound { .. } => 404,
///         ClientError::Refused { status, .. } => *status, // what was wrong with the request is in the message
///         _ => 503,
///     }
/// }
///
/// let refused = ClientError::Refused { status: 422, message: "invalid answer to `approve`".into() };
/// assert_eq!(status_of_my_own_api(&refused), 422);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no such run, or it has not begun, or no worker has registered its workflow.
    #[error("{message}")]
    NotFound {
        /// What Restate says.
        message: String,
    },
    /// The request is not taken, and would not be if it were made again: another input for the same id, an answer that does not fit, a
    /// run that has ended.
    #[error("{message}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// Why.
        message: String,
    },
    /// A request is larger than Restate takes. Put large values elsewhere, and pass where they are.
    #[error(
        "a request of {bytes} bytes is larger than Restate takes, {limit}: put large values elsewhere, and pass where they are"
    )]
    TooLarge {
        /// Its size, in bytes.
        bytes: usize,
        /// The largest that is taken, in bytes.
        limit: usize,
    },
    /// No server has answered, though all were tried again and again, or no worker has begun with what was asked for.
    #[error("Restate has not done it, at {}: {message}", .addresses.join(", "))]
    Unreachable {
        /// The addresses.
        addresses: Vec<String>,
        /// The last error.
        message: String,
    },
    /// A value is not what its type says: the client and the workers may be of different versions.
    #[error("{what} cannot be read: {message}")]
    Mismatch {
        /// Which value.
        what: String,
        /// What is wrong with it.
        message: String,
    },
}

impl ClientError {
    pub(crate) fn of_payload(what: &str, error: &PayloadError) -> Self {
        ClientError::Mismatch { what: what.to_owned(), message: error.to_string() }
    }

    pub(crate) fn of_json(what: &str, error: &serde_json::Error) -> Self {
        ClientError::Mismatch { what: what.to_owned(), message: error.to_string() }
    }
}
