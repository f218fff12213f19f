//! A queue from other tasks to the driver.

use std::sync::PoisonError;
use std::task::Waker;

use crate::sync::{AtomicWaker, Mutex, MutexGuard};

/// A list with many producers, from which the driver takes.
pub(super) struct Ends<T> {
    list: Mutex<List<T>>,
    waker: AtomicWaker,
}

struct List<T> {
    items: Vec<T>,
    /// Whether the driver is gone: items added after that are dropped.
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

    /// Adds an item. The driver is woken by the next [`tell`](Self::tell).
    pub(super) fn push(&self, item: T) {
        let mut list = self.list();
        if list.is_closed {
            // Dropped outside the lock: its destructor is the user's.
            drop(list);
            return drop(item);
        }
        list.items.push(item);
    }

    /// Wakes the driver if the list is not empty.
    pub(super) fn tell(&self) {
        if !self.list().items.is_empty() {
            self.waker.wake();
        }
    }

    /// Takes all items, in the order in which they were added. The next [`tell`](Self::tell) with an item wakes
    /// `waker`.
    pub(super) fn take(&self, waker: &Waker) -> Vec<T> {
        self.waker.register(waker);
        std::mem::take(&mut self.list().items)
    }

    /// The driver takes no more items. Drops those that are left.
    pub(super) fn close(&self) {
        let items = {
            let mut list = self.list();
            list.is_closed = true;
            std::mem::take(&mut list.items)
        };
        drop(items);
    }
}
