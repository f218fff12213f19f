//! The records of a run as a stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use crate::driver::Watch;
use crate::event::Event;

/// The events of a run: those that were, and then each as it comes. Ends after the run's last one.
///
/// An event is kept for the stream until it is read, so a stream that is held and never read grows with its run.
pub struct Events {
    watch: Watch,
    from: u64,
}

impl Events {
    pub(super) fn new(watch: Watch, from: u64) -> Self {
        Events { watch, from }
    }

    /// The next event; `None` after the last one. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|waker| Pin::new(&mut *self).poll_next(waker)).await
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.watch.before.next() {
            return Poll::Ready(Some(Arc::unwrap_or_clone(event)));
        }
        let from = self.from;
        let Some(live) = &mut self.watch.live else { return Poll::Ready(None) };
        loop {
            match live.poll_recv(waker) {
                Poll::Ready(Some(event)) if event.seq < from => {}
                Poll::Ready(event) => return Poll::Ready(event.map(Arc::unwrap_or_clone)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}
