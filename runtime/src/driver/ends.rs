//! What other tasks tell the driver of.

use std::sync::PoisonError;
use std::task::Waker;

use crate::sync::{AtomicWaker, Mutex, MutexGuard};

/// A list that many add to and the driver takes from.
pub(super) struct Ends<T> {
    list: Mutex<List<T>>,
    waker: AtomicWaker,
}

struct List<T> {
    items: Vec<T>,
    /// Whether the driver is gone: what is added then is dropped.
    is_closed: bool,
}

impl<T> Default for Ends<T> {
    fn default() -> Self {
        Ends { list: Mutex::new(List { items: Vec::new(), is_closed: false }), waker: AtomicWaker::new() }
    }
}

impl<T> Ends<T> {
    fn list(&self) -> MutexGuard<'_, List<T>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds something, of which the driver is to be [told](Self::tell).
    pub(super) fn push(&self, item: T) {
        let mut list = self.list();
        if list.is_closed {
            // Not under the lock: its destructor is the user's.
            drop(list);
            return drop(item);
        }
        list.items.push(item);
    }

    /// Wakes the driver, if there is something for it.
    pub(super) fn tell(&self) {
        if !self.list().items.is_empty() {
            self.waker.wake();
        }
    }

    /// Takes all that was added, in that order. `waker` is woken by the next [`tell`](Self::tell) that has something.
    pub(super) fn take(&self, waker: &Waker) -> Vec<T> {
        self.waker.register(waker);
        std::mem::take(&mut self.list().items)
    }

    /// The driver takes nothing any more. Drops what is there.
    pub(super) fn close(&self) {
        let items = {
            let mut list = self.list();
            list.is_closed = true;
            std::mem::take(&mut list.items)
        };
        drop(items);
    }
}
