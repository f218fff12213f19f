//! A node's future with its permit, its time limit, its requests and its panics.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use crate::around::Attempted;
use crate::attempt::Attempt;
use crate::catch::caught;
use crate::fault::Fault;
use crate::halt::Halt;
use crate::meter::{Queued, Stopwatch};
use crate::requests::{RequestTask, Requests};
use crate::table::{AttemptBody, Finished};
use crate::trace::{SpanOutcome, Traced};

/// One attempt under way, at a node, a child or a step. A node's is polled by the run itself where it is alone, by a
/// task of its own otherwise, and may move from the one to the other. Never panics, neither when polled nor when
/// dropped.
pub(crate) struct Running<'n, T> {
    body: Option<AttemptBody<'n, T>>,
    turn: Turn,
    limit: Limit,
    /// From the first request on.
    requesting: Option<Box<Requesting>>,
    /// Its spans, if anything wants them.
    traced: Option<Box<Traced>>,
    stopwatch: Stopwatch,
}

/// The result of polling an attempt that is reused from node to node.
pub(super) enum Advanced {
    /// Its node is pending.
    Pending,
    /// Its next node is polled later: what led to it is recorded before, or the turn is over, and other tasks run.
    Later,
    /// Its node has ended like this, and the driver has to process it.
    Ended(Finished),
}

/// Whether the attempt may be polled, where the engine limits how many may.
enum Turn {
    /// It waits for a permit, first come, first served.
    Waits(
        BoxFuture<'static, Result<OwnedSemaphorePermit, AcquireError>>,
        #[allow(dead_code, reason = "held, not read")] Queued,
    ),
    /// It has one, where one is needed; the permit goes back with the attempt, or when that waits for a request.
    Has(#[allow(dead_code, reason = "held, not read")] Option<OwnedSemaphorePermit>),
    /// It has released its permit.
    Returned,
}

impl Turn {
    fn waits(permits: &Arc<Semaphore>) -> Self {
        Turn::Waits(Box::pin(Arc::clone(permits).acquire_owned()), Queued::new())
    }
}

/// How long the attempt may run, counted from its first permit.
enum Limit {
    None,
    Of(Duration),
    Counts(Pin<Box<Sleep>>, Duration),
}

/// The work beside a body that has made requests, or has cloned its context.
struct Requesting {
    /// Whether the body is polled with the waker of its requests, which shows who wakes it. Set from its first request
    /// on.
    has_own_waker: bool,
    requests: Arc<Requests>,
    permits: Option<Arc<Semaphore>>,
    /// Children and timers.
    tasks: FuturesUnordered<RequestTask>,
    /// The flush under way, and the number of the last push that it covers.
    recording: Option<(u64, BoxFuture<'static, Result<(), Halt>>)>,
}

impl<'n, T> Running<'n, T> {
    /// `limit` counts from the permit, or from now if no permit is needed. With a limit the runtime must have its timer
    /// enabled.
    pub(crate) fn new(
        body: AttemptBody<'n, T>,
        limit: Option<Duration>,
        permits: Option<&Arc<Semaphore>>,
        traced: Option<Box<Traced>>,
    ) -> Self {
        let turn = match permits {
            Some(permits) => Turn::waits(permits),
            None => Turn::Has(None),
        };
        let limit = limit.map_or(Limit::None, Limit::Of);
        let mut running =
            Running { body: Some(body), turn, limit, requesting: None, traced, stopwatch: Stopwatch::none() };
        if let Turn::Has(_) = running.turn {
            running.start_clock();
        }
        running
    }

    /// Has it measured as the attempt at this path.
    pub(crate) fn measured(mut self, path: impl FnOnce() -> String) -> Self {
        self.stopwatch = Stopwatch::of(path);
        self
    }

    /// One without a body, until [`go_on_as`](Self::go_on_as) gives it one. It has no limit and no spans.
    pub(super) fn without_body() -> Self {
        Running {
            body: None,
            turn: Turn::Has(None),
            limit: Limit::None,
            requesting: None,
            traced: None,
            stopwatch: Stopwatch::none(),
        }
    }

    /// Reuses it for the attempt at another node, which has no limit. It, or at least its body, must have ended.
    #[inline]
    pub(super) fn go_on_as(
        &mut self,
        body: impl FnOnce(Option<AttemptBody<'n, T>>) -> AttemptBody<'n, T>,
    ) -> &mut AttemptBody<'n, T> {
        self.limit = Limit::None;
        let spare = self.body.take();
        self.body.insert(body(spare))
    }

    fn start_clock(&mut self) {
        if let Limit::Of(after) = self.limit {
            self.limit = Limit::Counts(Box::pin(tokio::time::sleep(after)), after);
        }
    }

    /// Drops the body and the work beside it. Their destructors are the user's and may panic.
    fn end(&mut self) -> Option<Fault> {
        // Dropping the body must not withdraw its requests.
        if let Some(beside) = &self.requesting {
            beside.requests.over();
        }
        let (body, requesting) = (self.body.take(), self.requesting.take());
        let piece = self.traced.as_ref().and_then(|traced| traced.open());
        let _entered = piece.as_ref().map(|piece| piece.enter());
        caught(|| drop((body, requesting))).err()
    }
}

impl<T: Attempted> Running<'_, T> {
    /// Runs a step, or the graph of a child. Neither makes requests of its own.
    pub(crate) async fn until_over(mut self, attempt: Option<Arc<Attempt>>) -> T {
        poll_fn(|waker| self.poll(attempt.as_ref(), waker)).await
    }

    /// Polls it as this attempt; `None` if it makes no requests.
    pub(crate) fn poll(&mut self, attempt: Option<&Arc<Attempt>>, waker: &mut Waker<'_>) -> Poll<T> {
        let polled = match requesting(attempt) {
            Some((attempt, requests)) => self.poll_requesting(attempt, requests, false, waker),
            None => match self.poll_plainly(waker) {
                Poll::Pending => return self.go_on_after_first_poll(attempt, waker),
                ready => ready,
            },
        };
        self.settle(polled, attempt, waker)
    }

    /// Completes a poll in which the body returned `Pending`: it may just have made its first request.
    pub(super) fn go_on_after_first_poll(&mut self, attempt: Option<&Arc<Attempt>>, waker: &mut Waker<'_>) -> Poll<T> {
        let polled = match requesting(attempt) {
            Some((attempt, requests)) => self.poll_requesting(attempt, requests, true, waker),
            None => Poll::Pending,
        };
        self.settle(polled, attempt, waker)
    }

    fn settle(&mut self, polled: Poll<T>, attempt: Option<&Arc<Attempt>>, waker: &mut Waker<'_>) -> Poll<T> {
        let finished = match polled {
            Poll::Ready(finished) => finished,
            Poll::Pending => {
                let Limit::Counts(sleep, after) = &mut self.limit else { return Poll::Pending };
                if self.body.is_none() || sleep.as_mut().poll(waker).is_pending() {
                    return Poll::Pending;
                }
                T::from(Fault::Timeout { after: *after })
            }
        };
        Poll::Ready(self.finish(attempt, finished))
    }

    /// Ends the attempt with this result. Drops the rest of it; if that panics, the attempt fails with the panic.
    pub(super) fn finish(&mut self, attempt: Option<&Arc<Attempt>>, finished: T) -> T {
        if let (None, Some((_, requests))) = (&self.requesting, requesting(attempt)) {
            requests.over();
        }
        let is_left = self.body.is_some() || self.requesting.is_some();
        let ended = if is_left { self.end() } else { None };
        self.turn = Turn::Has(None);
        let finished = ended.map_or(finished, T::from);
        self.stopwatch.ends(|| finished.error().is_none());
        if let Some(mut traced) = self.traced.take() {
            traced.end(finished.error().map_or(SpanOutcome::Completed, SpanOutcome::Failed));
        }
        finished
    }

    #[inline]
    fn poll_plainly(&mut self, waker: &mut Waker<'_>) -> Poll<T> {
        if !self.has_turn(None, waker) {
            return Poll::Pending;
        }
        self.poll_body(waker)
    }

    #[inline]
    fn poll_body(&mut self, waker: &mut Waker<'_>) -> Poll<T> {
        let Running { body: future @ Some(_), traced, stopwatch, .. } = self else { return Poll::Pending };
        stopwatch.runs();
        let piece = traced.as_mut().and_then(|traced| traced.poll());
        let _entered = piece.as_ref().map(|piece| piece.enter());
        let polled = caught(|| {
            let polled = future.as_mut().map_or(Poll::Pending, |body| body.poll(waker));
            if polled.is_ready() {
                *future = None;
            }
            polled
        });
        if let Some(traced) = traced {
            traced.was_polled();
        }
        polled.unwrap_or_else(|fault| Poll::Ready(T::from(fault)))
    }

    #[inline]
    fn has_turn(&mut self, permits: Option<&Arc<Semaphore>>, waker: &mut Waker<'_>) -> bool {
        matches!(self.turn, Turn::Has(_)) || self.takes_turn(permits, waker)
    }

    fn takes_turn(&mut self, permits: Option<&Arc<Semaphore>>, waker: &mut Waker<'_>) -> bool {
        if let Turn::Returned = self.turn {
            self.turn = match permits {
                Some(permits) => Turn::waits(permits),
                None => Turn::Has(None),
            };
        }
        if let Turn::Waits(permit, _) = &mut self.turn {
            let Poll::Ready(permit) = permit.as_mut().poll(waker) else { return false };
            self.turn = Turn::Has(permit.ok());
            self.start_clock();
        }
        true
    }

    /// Polls a body that has made requests, and the work beside it, until neither makes progress. See
    /// `requests/mod.rs`.
    fn poll_requesting(
        &mut self,
        attempt: &Arc<Attempt>,
        requests: &Arc<Requests>,
        is_polled: bool,
        waker: &mut Waker<'_>,
    ) -> Poll<T> {
        let mut requesting = self.requesting.take().unwrap_or_else(|| {
            requests.push_batch();
            Box::new(Requesting {
                has_own_waker: false,
                requests: Arc::clone(requests),
                permits: attempt.run.permits.clone(),
                tasks: FuturesUnordered::new(),
                recording: None,
            })
        });
        if let (None, Some(work)) = (&self.traced, attempt.work.get()) {
            // What covers a part of the body has made it.
            self.traced = Some(Traced::new(Arc::clone(work), true));
        }
        if !requesting.has_own_waker && !is_polled {
            requests.waker.keep_woken();
        }
        requests.waker.register(waker.waker());
        let polled = self.poll_in_turns(&mut requesting, attempt, requests, waker);
        self.requesting = Some(requesting);
        polled
    }

    fn poll_in_turns(
        &mut self,
        beside: &mut Requesting,
        attempt: &Arc<Attempt>,
        requests: &Requests,
        waker: &mut Waker<'_>,
    ) -> Poll<T> {
        // A body that wakes itself is polled again after other tasks have run.
        let mut may_poll = true;
        loop {
            let is_recording = beside.poll_recording(attempt, requests, waker);
            beside.tasks.extend(requests.take_tasks());
            let polled = caught(|| while let Poll::Ready(Some(())) = beside.tasks.poll_next_unpin(waker) {});
            if let Err(fault) = polled {
                return Poll::Ready(T::from(fault));
            }
            // Results become ready one at a time, and none while the attempt waits for a permit.
            if !matches!(self.turn, Turn::Waits(..)) {
                may_poll |= requests.settle();
            }
            if !beside.has_own_waker && requests.holds_any() {
                // Polled once more, so that everything it waits for has this waker.
                beside.has_own_waker = true;
                may_poll = true;
                requests.waker.keep_woken();
            }
            if requests.waker.take_woken() {
                if !may_poll || !self.has_turn(beside.permits.as_ref(), waker) {
                    requests.waker.keep_woken();
                    if !may_poll {
                        waker.waker().wake_by_ref();
                    }
                    return Poll::Pending;
                }
                may_poll = false;
                let own = requests.begin_poll(beside.has_own_waker);
                let polled = match &own {
                    Some(own) => self.poll_body(&mut Waker::from_waker(own)),
                    None => self.poll_body(waker),
                };
                if let Some(own) = own {
                    requests.end_with_own(own);
                }
                if polled.is_ready() {
                    return polled;
                }
                requests.push_batch();
                continue;
            }
            if is_recording {
                return Poll::Pending;
            }
            if requests.has_more() {
                if requests.wants_flush().is_some() {
                    continue;
                }
                requests.waker.end_waiting();
                return Poll::Pending;
            }
            let is_in_step = requests.is_in_step();
            let is_idle = || beside.has_own_waker && !is_in_step && requests.is_idle();
            if requests.reopen() || (is_idle() && requests.withdraw_left(|| attempt.path())) {
                continue;
            }
            if is_in_step || !requests.has_open() {
                requests.waker.end_waiting();
                return Poll::Pending;
            }
            if requests.waker.begin_waiting() {
                self.turn = Turn::Returned;
                self.stopwatch.pauses();
                if let Some(traced) = &mut self.traced {
                    traced.pause();
                }
                return Poll::Pending;
            }
        }
    }
}

/// A task that the node has spawned may still hold a request. It must not keep the work for that request alive.
impl Drop for Requesting {
    fn drop(&mut self) {
        self.tasks.iter().for_each(RequestTask::abort);
    }
}

impl Requesting {
    /// Has everything pushed so far recorded. Returns whether that is still under way.
    fn poll_recording(&mut self, attempt: &Arc<Attempt>, requests: &Requests, waker: &mut Waker<'_>) -> bool {
        loop {
            if let Some((up_to, flush)) = &mut self.recording {
                let Poll::Ready(flushed) = flush.as_mut().poll(waker) else { return true };
                let up_to = *up_to;
                if flushed.is_err() {
                    // Nothing can be recorded any more: the run stops.
                    attempt.run.pulse.say();
                    self.recording = Some((up_to, std::future::pending().boxed()));
                    return true;
                }
                self.recording = None;
                requests.flushed(up_to);
            }
            if requests.wants_flush().is_none() {
                return false;
            }
            // Requests dropped by tasks that the node has spawned.
            requests.push_batch();
            let Some(up_to) = requests.wants_flush() else { return false };
            let Some(journal) = &attempt.run.journal else {
                requests.flushed(up_to);
                continue;
            };
            let journal = Arc::clone(journal);
            self.recording = Some((up_to, async move { journal.flush().await }.boxed()));
        }
    }
}

fn requesting(attempt: Option<&Arc<Attempt>>) -> Option<(&Arc<Attempt>, &Arc<Requests>)> {
    let attempt = attempt?;
    Some((attempt, attempt.requests.get()?))
}

impl<T> Drop for Running<'_, T> {
    fn drop(&mut self) {
        if self.body.is_some() || self.requesting.is_some() {
            self.end();
        }
        if let Some(traced) = &mut self.traced {
            traced.end(SpanOutcome::Dropped);
        }
    }
}
