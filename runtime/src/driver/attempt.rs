//! A node's future with its time limit and its panics.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Sleep;

use super::catch::caught;
use crate::fault::Fault;
use crate::table::Finished;

/// One attempt under way. Polled by the run itself where it is alone, by a task of its own otherwise, and may move from
/// the one to the other. Never panics, neither when polled nor when dropped.
pub(super) struct Running {
    node: Option<BoxFuture<'static, Finished>>,
    limit: Option<(Pin<Box<Sleep>>, Duration)>,
    span: tracing::Span,
}

impl Running {
    /// `limit` counts from now; the runtime must have a clock where there is one.
    pub(super) fn new(node: BoxFuture<'static, Finished>, limit: Option<Duration>, span: tracing::Span) -> Self {
        let limit = limit.map(|after| (Box::pin(tokio::time::sleep(after)), after));
        Running { node: Some(node), limit, span }
    }

    /// Drops the node's future. Its destructors are the user's.
    fn end(&mut self) -> Option<Fault> {
        let node = self.node.take();
        let _entered = self.span.enter();
        caught(|| drop(node)).err()
    }
}

impl Future for Running {
    type Output = Finished;

    fn poll(mut self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<Finished> {
        let Running { node: Some(node), span, limit } = &mut *self else { return Poll::Pending };
        let polled = {
            let _entered = span.enter();
            caught(|| node.as_mut().poll(waker))
        };
        let finished = match polled {
            Ok(Poll::Ready(finished)) => finished,
            Err(fault) => Finished::Fault(fault),
            Ok(Poll::Pending) => {
                let Some((sleep, after)) = limit else { return Poll::Pending };
                if sleep.as_mut().poll(waker).is_pending() {
                    return Poll::Pending;
                }
                Finished::Fault(Fault::Timeout { after: *after })
            }
        };
        match self.end() {
            Some(fault) => Poll::Ready(Finished::Fault(fault)),
            None => Poll::Ready(finished),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.node.is_some() {
            self.end();
        }
    }
}
