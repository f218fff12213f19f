//! Spans of a subscriber that may panic, which changes nothing in what it observes.

use tracing::Span;
use tracing::span::Entered;

use crate::catch::caught;

/// A span. A panic of its subscriber goes no further.
pub(crate) struct GuardedSpan(Span);

impl GuardedSpan {
    pub(crate) fn none() -> Self {
        GuardedSpan(Span::none())
    }

    /// None, if making it panics.
    pub(super) fn of(make: impl FnOnce() -> Span) -> Self {
        GuardedSpan(caught(make).unwrap_or_else(|_| Span::none()))
    }

    /// Calls what may call its subscriber; `None` after a panic.
    pub(super) fn with<T>(&self, call: impl FnOnce(&Span) -> T) -> Option<T> {
        caught(|| call(&self.0)).ok()
    }

    pub(super) fn id(&self) -> Option<tracing::Id> {
        self.0.id()
    }

    pub(super) fn is_disabled(&self) -> bool {
        self.0.is_disabled()
    }

    pub(super) fn enter(&self) -> Inside<'_> {
        let entered = caught(|| self.0.enter()).ok();
        if entered.is_none() {
            // The subscriber may have entered it before one of its layers panicked.
            self.with(|span| span.with_subscriber(|(id, subscriber)| subscriber.exit(id)));
        }
        Inside(entered)
    }
}

impl Clone for GuardedSpan {
    fn clone(&self) -> Self {
        GuardedSpan::of(|| self.0.clone())
    }
}

impl Drop for GuardedSpan {
    fn drop(&mut self) {
        let span = std::mem::replace(&mut self.0, Span::none());
        if !span.is_disabled() {
            let _ended = caught(|| drop(span));
        }
    }
}

/// What runs now is in a span, until this is dropped.
pub(crate) struct Inside<'s>(Option<Entered<'s>>);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Some(entered) = self.0.take() {
            let _left = caught(|| drop(entered));
        }
    }
}
