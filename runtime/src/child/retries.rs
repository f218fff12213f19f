//! Which errors of a child or a step may be followed by another attempt, and when.

use std::time::Duration;

use crate::node::Node;
use crate::options::Retryable;

/// The functions that a call sets. Without them, those of the node hold for a child, and every error of a step may be
/// followed by another attempt.
pub(super) struct Retries<E> {
    pub(super) when: Option<fn(&E) -> bool>,
    pub(super) after: Option<fn(&E) -> Option<Duration>>,
}

impl<E> Clone for Retries<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Retries<E> {}

impl<E> Default for Retries<E> {
    fn default() -> Self {
        Retries { when: None, after: None }
    }
}

impl<E> Retries<E> {
    /// For an error of a child.
    pub(super) fn retryable<N: Node<Error = E>>(self, node: &N, error: &E) -> Retryable {
        let when = self.when.map_or_else(|| node.retry_when(error), |when| when(error));
        Retryable::of(when, || self.after.map_or_else(|| node.retry_after(error), |after| after(error)))
    }

    /// For an error of a step.
    pub(super) fn of_step(self, error: &E) -> Retryable {
        Retryable::of(self.when.is_none_or(|when| when(error)), || self.after.and_then(|after| after(error)))
    }
}
