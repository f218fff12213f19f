//! Functions of an error, as options name them.

/// An option whose value is a function of the error.
pub(super) struct FunctionOfError {
    pub(super) example: &'static str,
    pub(super) method: &'static str,
    pub(super) returns: &'static str,
}

/// Of `retry(when = ..)`.
pub(super) const WHEN: FunctionOfError =
    FunctionOfError { example: "CardError::is_transient", method: "is_transient", returns: "whether to retry" };

/// Of `retry(after = ..)`.
pub(super) const AFTER: FunctionOfError = FunctionOfError {
    example: "ApiError::retry_after",
    method: "retry_after",
    returns: "the delay before the next attempt, an `Option<Duration>`",
};
