//! Work for a request that is done outside of the body.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::future::BoxFuture;

/// How many bytes of stack must be left when a child is polled, for its body and everything that it calls.
const STACK_LEFT: usize = 256 << 10;

/// How many bytes of stack are added if less is left.
const STACK_MORE: usize = 2 << 20;

/// Work for a request that is done outside of the body: a child, a timer. It is dropped with the request.
#[derive(Clone)]
pub(crate) struct RequestTask(Arc<Mutex<Work>>);

struct Work {
    future: Option<BoxFuture<'static, ()>>,
    waker: Option<Waker>,
}

impl RequestTask {
    pub(super) fn new(work: BoxFuture<'static, ()>) -> Self {
        RequestTask(Arc::new(Mutex::new(Work { future: Some(work), waker: None })))
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn abort(&self) {
        let (future, waker) = {
            let mut work = self.work();
            (work.future.take(), work.waker.take())
        };
        drop(future);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for RequestTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<()> {
        let mut work = self.work();
        let Some(future) = &mut work.future else { return Poll::Ready(()) };
        // This recurses for a child of a child, and so on, and the stack of a thread may be small.
        let polled = stacker::maybe_grow(STACK_LEFT, STACK_MORE, || future.as_mut().poll(waker));
        if polled.is_ready() {
            work.future = None;
        } else if !work.waker.as_ref().is_some_and(|known| known.will_wake(waker.waker())) {
            work.waker = Some(waker.waker().clone());
        }
        polled
    }
}
