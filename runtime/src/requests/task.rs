//! Work for a request that is done outside of the body.

use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;

use crate::error_text::stack_address;

/// How many bytes of the stack children within children may take, from the outermost one on. What lies deeper is polled by a
/// task of its own, and so on another stack.
const STACK: usize = 256 << 10;

thread_local! {
    /// Where the stack was when the outermost child under way was polled.
    static BEGUN_AT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Work for a request that is done outside of the body: a child, a timer. It is dropped with the request.
#[derive(Clone)]
pub(crate) struct RequestTask(Arc<Mutex<Work>>);

struct Work {
    future: Option<BoxFuture<'static, ()>>,
    waker: Option<Waker>,
    /// Whether it has a task of its own, which polls it.
    has_own_task: bool,
    /// What it panicked with there.
    panicked: Option<Box<dyn Any + Send>>,
}

impl RequestTask {
    pub(super) fn new(work: BoxFuture<'static, ()>) -> Self {
        RequestTask(Arc::new(Mutex::new(Work { future: Some(work), waker: None, has_own_task: false, panicked: None })))
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
        let mut guard = self.work();
        let work = &mut *guard;
        if let Some(panicked) = work.panicked.take() {
            drop(guard);
            resume_unwind(panicked);
        }
        let Some(future) = &mut work.future else { return Poll::Ready(()) };
        if !work.has_own_task {
            let level = Level::enter();
            if !level.is_too_deep() {
                let polled = future.as_mut().poll(waker);
                if polled.is_ready() {
                    work.future = None;
                } else {
                    work.wakes(waker);
                }
                return polled;
            }
            work.has_own_task = true;
            tokio::spawn(OwnTask(self.clone()));
        }
        work.wakes(waker);
        Poll::Pending
    }
}

impl Work {
    /// Keeps whom it wakes when it is over.
    fn wakes(&mut self, waker: &Context<'_>) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker.waker())) {
            self.waker = Some(waker.waker().clone());
        }
    }
}

/// One child in the poll of another, and so on.
struct Level {
    before: Option<usize>,
    here: usize,
}

impl Level {
    fn enter() -> Self {
        let local = 0_u8;
        let here = stack_address(&local);
        let before = BEGUN_AT.get();
        BEGUN_AT.set(before.or(Some(here)));
        Level { before, here }
    }

    fn is_too_deep(&self) -> bool {
        self.before.is_some_and(|begun_at| begun_at.abs_diff(self.here) > STACK)
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        BEGUN_AT.set(self.before);
    }
}

/// The task of a child that lies deep within others. It ends when the child does, or is aborted.
struct OwnTask(RequestTask);

impl Future for OwnTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<()> {
        let mut work = self.0.work();
        let Some(future) = &mut work.future else { return Poll::Ready(()) };
        let level = Level::enter();
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(waker)));
        drop(level);
        match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {}
            Err(panicked) => work.panicked = Some(panicked),
        }
        work.future = None;
        let over = work.waker.take();
        drop(work);
        if let Some(waker) = over {
            waker.wake();
        }
        Poll::Ready(())
    }
}
