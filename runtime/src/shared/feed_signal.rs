//! Wakes the feeds of an engine when one of its runs has recorded something.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Waker;

use futures_util::task::AtomicWaker;

/// The feeds of an engine.
#[derive(Default)]
pub(crate) struct FeedSignal {
    /// How many there are, so that an append without any takes no lock.
    count: AtomicUsize,
    feeds: Mutex<Vec<Weak<Listener>>>,
}

/// The place of one feed in the signal.
pub(crate) struct Listener {
    signal: Arc<FeedSignal>,
    waker: AtomicWaker,
    has_news: AtomicBool,
}

impl FeedSignal {
    pub(crate) fn listen(self: &Arc<Self>) -> Arc<Listener> {
        let listener =
            Listener { signal: Arc::clone(self), waker: AtomicWaker::new(), has_news: AtomicBool::new(false) };
        let listener = Arc::new(listener);
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&listener));
        // Before the feed reads: an append that sees no feed was committed before that.
        self.count.fetch_add(1, Ordering::SeqCst);
        listener
    }

    /// Whether there are feeds.
    pub(crate) fn is_heard(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Something is committed.
    pub(crate) fn notify(&self) {
        if !self.is_heard() {
            return;
        }
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|feed| {
            let Some(feed) = feed.upgrade() else { return false };
            feed.has_news.store(true, Ordering::Release);
            feed.waker.wake();
            true
        });
    }
}

impl Listener {
    /// Whether something was committed since the last call. If not, the task is woken when it is.
    pub(crate) fn take_news(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        self.has_news.swap(false, Ordering::AcqRel)
    }

    /// What has been committed so far is about to be read.
    pub(crate) fn clear(&self) {
        self.has_news.store(false, Ordering::Release);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.signal.count.fetch_sub(1, Ordering::SeqCst);
    }
}
