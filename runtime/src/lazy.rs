//! Futures with builder methods: `ctx.call::<search>(topic).key("rust")` is built by several calls, and is a future all
//! the same, so that `join!` accepts it.

use std::task::{Context as Waker, Poll};

use futures_util::future::BoxFuture;

/// A future that is still being described until it is polled for the first time.
pub(crate) enum Lazy<'c, B, T> {
    Described(B),
    Running(BoxFuture<'c, T>),
    Over,
}

impl<'c, B, T> Lazy<'c, B, T> {
    /// The same description, of a future with another output. From the first poll on it never ends.
    pub(crate) fn with_output<O>(self) -> Lazy<'c, B, O> {
        match self {
            Lazy::Described(description) => Lazy::Described(description),
            Lazy::Running(_) | Lazy::Over => Lazy::Over,
        }
    }

    /// The description; `None` from the first poll on.
    pub(crate) fn description(&self) -> Option<&B> {
        match self {
            Lazy::Described(description) => Some(description),
            Lazy::Running(_) | Lazy::Over => None,
        }
    }

    /// Changes the description. Without effect from the first poll on.
    pub(crate) fn describe(&mut self, change: impl FnOnce(&mut B)) {
        if let Lazy::Described(description) = self {
            change(description);
        }
    }

    pub(crate) fn poll(&mut self, waker: &mut Waker<'_>, begin: impl FnOnce(B) -> BoxFuture<'c, T>) -> Poll<T> {
        if let Lazy::Described(_) = self
            && let Lazy::Described(description) = std::mem::replace(self, Lazy::Over)
        {
            *self = Lazy::Running(begin(description));
        }
        let Lazy::Running(future) = self else { return Poll::Pending };
        let polled = future.as_mut().poll(waker);
        if polled.is_ready() {
            *self = Lazy::Over;
        }
        polled
    }
}
