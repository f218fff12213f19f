//! The records of a run as a stream.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use futures::future::BoxFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Sleep;

use super::Engine;
use crate::event::Event;
use crate::store::{RunKey, StoreError, Stored};

/// How many records are read at once.
const PAGE: usize = 256;

/// How often a run that another process drives is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// The events of a run: those that were, and then each as it is recorded. Ends after the run's last one, and where the
/// store cannot be read.
///
/// An event is kept for the stream until it is read, so a stream that is held and never read grows with its run.
pub struct Events {
    engine: Engine,
    run_id: String,
    key: RunKey,
    /// The number of the next record.
    next: u64,
    ready: VecDeque<Event>,
    from: From,
    /// Whether the last one was one that a run ends with. A run that was retried goes on behind it.
    saw_end: bool,
    ended: bool,
}

enum From {
    /// Nothing yet: look for the run in this process first.
    Unknown,
    Store {
        reading: BoxFuture<'static, Result<Page, StoreError>>,
        then: Then,
    },
    Live(UnboundedReceiver<Arc<Event>>),
    Sleep(Pin<Box<Sleep>>),
}

/// What a look into the store gives: records, and whether none follow.
type Page = (Vec<Stored>, bool);

/// What follows when the store has been read.
enum Then {
    /// The records of a run of this process, once those up to this number are read.
    Live(u64, Option<UnboundedReceiver<Arc<Event>>>),
    /// Look again later.
    Look,
}

impl Events {
    pub(super) fn new(engine: &Engine, run_id: &str, key: RunKey, from: u64) -> Self {
        let mut events = Events {
            engine: engine.clone(),
            run_id: run_id.to_owned(),
            key,
            next: from,
            ready: VecDeque::new(),
            from: From::Unknown,
            saw_end: false,
            ended: false,
        };
        // What is shown and not recorded is seen from now on, and not only from the first poll on.
        events.from = events.look();
        events
    }

    /// The next event; `None` after the last one. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|waker| Pin::new(&mut *self).poll_next(waker)).await
    }

    fn look(&mut self) -> From {
        let then = match self.engine.0.runs.get(&self.run_id) {
            Some(live) => {
                let watch = live.journal.watch();
                Then::Live(watch.from, watch.live)
            }
            None => Then::Look,
        };
        self.read(then)
    }

    fn read(&self, then: Then) -> From {
        let (store, key, next, id) = (Arc::clone(&self.engine.0.store), self.key, self.next, self.run_id.clone());
        let reading = async move {
            let records = store.read(key, next, PAGE).await?;
            if !records.is_empty() {
                return Ok((records, false));
            }
            let header = store.header(&id).await?;
            Ok((records, header.is_none_or(|header| header.status.is_over() && header.records <= next)))
        };
        From::Store { reading: Box::pin(reading), then }
    }

    fn take(&mut self, stored: Vec<Stored>) {
        for Stored { seq, time, record } in stored {
            self.next = seq + 1;
            let (version, run_id) = (Event::VERSION, self.run_id.clone());
            self.ready.push_back(Event { version, run_id, seq, time, path: record.path, kind: record.kind });
        }
    }

    fn pop(&mut self) -> Option<Event> {
        let event = self.ready.pop_front()?;
        self.saw_end = event.is_terminal() || (self.saw_end && !event.kind.is_recorded());
        Some(event)
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.pop() {
                return Poll::Ready(Some(event));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match std::mem::replace(&mut self.from, From::Unknown) {
                From::Unknown => self.from = self.look(),
                From::Sleep(mut sleep) => {
                    if sleep.as_mut().poll(waker).is_pending() {
                        self.from = From::Sleep(sleep);
                        return Poll::Pending;
                    }
                }
                From::Store { mut reading, then } => match reading.as_mut().poll(waker) {
                    Poll::Pending => {
                        self.from = From::Store { reading, then };
                        return Poll::Pending;
                    }
                    Poll::Ready(Err(error)) => {
                        tracing::warn!(run = self.run_id, %error, "the events of a run cannot be read");
                        self.ended = true;
                    }
                    Poll::Ready(Ok((stored, is_over))) => {
                        let is_end = stored.is_empty();
                        self.take(stored);
                        self.ended = is_over;
                        self.from = match then {
                            Then::Live(until, Some(live)) if self.next >= until => From::Live(live),
                            Then::Look | Then::Live(_, None) if is_end => {
                                From::Sleep(Box::pin(tokio::time::sleep(LOOK)))
                            }
                            then => self.read(then),
                        };
                    }
                },
                From::Live(mut live) => match live.poll_recv(waker) {
                    Poll::Pending => {
                        self.from = From::Live(live);
                        return Poll::Pending;
                    }
                    Poll::Ready(Some(event)) => {
                        self.from = From::Live(live);
                        if !event.kind.is_recorded() || event.seq >= self.next {
                            if event.kind.is_recorded() {
                                self.next = event.seq + 1;
                            }
                            self.ready.push_back(Arc::unwrap_or_clone(event));
                        }
                    }
                    // The run has ended, or has left this process.
                    Poll::Ready(None) => self.ended = self.saw_end,
                },
            }
        }
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}
