//! A node's future with its turn, its time limit and its panics.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use super::catch::caught;
use crate::fault::Fault;

/// One attempt under way, at a node, a child or a step. A node's is polled by the run itself where it is alone, by a task
/// of its own otherwise, and may move from the one to the other. Never panics, neither when polled nor when dropped.
pub(crate) struct Running<'n, T> {
    node: Option<BoxFuture<'n, T>>,
    turn: Turn,
    limit: Limit,
    span: tracing::Span,
}

/// Whether the attempt may run, where the engine limits how many may.
enum Turn {
    /// It waits for its turn, first come, first served.
    Waits(BoxFuture<'static, Result<OwnedSemaphorePermit, AcquireError>>),
    /// It has it; the permit goes back with the attempt.
    Has(#[allow(dead_code, reason = "held, not read")] Option<OwnedSemaphorePermit>),
}

/// How long the attempt may run, counted from its turn.
enum Limit {
    None,
    Of(Duration),
    Counts(Pin<Box<Sleep>>, Duration),
}

impl<'n, T> Running<'n, T> {
    /// `limit` counts from its turn, which is now where nothing has to be waited for; the runtime must have a clock where
    /// there is one.
    pub(crate) fn new(
        node: BoxFuture<'n, T>,
        limit: Option<Duration>,
        permits: Option<&Arc<Semaphore>>,
        span: tracing::Span,
    ) -> Self {
        let turn = match permits {
            Some(permits) => Turn::Waits(Box::pin(Arc::clone(permits).acquire_owned())),
            None => Turn::Has(None),
        };
        let mut running = Running { node: Some(node), turn, limit: limit.map_or(Limit::None, Limit::Of), span };
        if let Turn::Has(_) = running.turn {
            running.start_clock();
        }
        running
    }

    /// Becomes the attempt at another node, which has no limit. Only for one that has ended.
    pub(crate) fn go_on_as(&mut self, node: BoxFuture<'n, T>) {
        self.node = Some(node);
        self.limit = Limit::None;
    }

    fn start_clock(&mut self) {
        if let Limit::Of(after) = self.limit {
            self.limit = Limit::Counts(Box::pin(tokio::time::sleep(after)), after);
        }
    }

    /// Drops the node's future. Its destructors are the user's.
    fn end(&mut self) -> Option<Fault> {
        let node = self.node.take();
        let _entered = self.span.enter();
        caught(|| drop(node)).err()
    }
}

impl<T: From<Fault>> Future for Running<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<T> {
        if let Turn::Waits(permit) = &mut self.turn {
            let Poll::Ready(permit) = permit.as_mut().poll(waker) else { return Poll::Pending };
            self.turn = Turn::Has(permit.ok());
            self.start_clock();
        }
        let Running { node: future @ Some(_), span, limit, .. } = &mut *self else { return Poll::Pending };
        let polled = {
            let _entered = span.enter();
            caught(|| {
                let polled = future.as_mut().map_or(Poll::Pending, |node| node.as_mut().poll(waker));
                if polled.is_ready() {
                    *future = None;
                }
                polled
            })
        };
        let finished = match polled {
            Ok(Poll::Ready(finished)) => finished,
            Err(fault) => T::from(fault),
            Ok(Poll::Pending) => {
                let Limit::Counts(sleep, after) = limit else { return Poll::Pending };
                if sleep.as_mut().poll(waker).is_pending() {
                    return Poll::Pending;
                }
                T::from(Fault::Timeout { after: *after })
            }
        };
        let ended = if self.node.is_some() { self.end() } else { None };
        self.turn = Turn::Has(None);
        match ended {
            Some(fault) => Poll::Ready(T::from(fault)),
            None => Poll::Ready(finished),
        }
    }
}

impl<T> Drop for Running<'_, T> {
    fn drop(&mut self) {
        if self.node.is_some() {
            self.end();
        }
    }
}
