//! Calls the store itself without any time passing.

use std::sync::Arc;
use std::task::{Context as Waker, Poll, Wake};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Waits on this thread, so that no other task runs and the clock does not advance meanwhile.
pub(super) fn at_once<T>(future: BoxFuture<'_, T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    // Without this, tokio would make a task that has used up its budget wait until this thread polls again, which it
    // does not.
    let mut future = tokio::task::coop::unconstrained(future);
    loop {
        match future.poll_unpin(&mut Waker::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}
