//! Who watches a run that is driven here.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use tokio::sync::mpsc;

use super::journal::Journal;
use super::pending::Inner;
use super::sent::Sent;
use crate::event::{Event, EventKind};
use crate::store::Record;

/// The channel of a watcher, and the number of the first event in it. There is no channel after the last record.
pub(crate) struct Watch {
    pub(crate) from: u64,
    /// The progress that nodes under way have sent before.
    pub(crate) recent: Vec<Arc<Event>>,
    pub(crate) live: Option<mpsc::UnboundedReceiver<Sent>>,
}

impl Journal {
    /// Sends an event that is not recorded to the present watchers.
    pub(crate) fn show(self: &Arc<Self>, path: impl FnOnce() -> String, kind: EventKind) {
        if !self.is_watched() {
            return;
        }
        self.catch_up_now();
        let mut inner = self.inner();
        if inner.watchers.is_empty() {
            return;
        }
        let event = self.event(inner.last_seq(), self.clock.now(), path(), kind, false);
        self.send(&mut inner, &Sent::One(event));
    }

    /// Sends progress to the present watchers, and keeps it for those that come while its node is under way.
    pub(crate) fn show_progress(self: &Arc<Self>, path: String, data: serde_json::Value) {
        self.catch_up_now();
        let mut inner = self.inner();
        if inner.ended || inner.halted.is_some() {
            return;
        }
        let number = inner.recent.next();
        let kind = EventKind::Progress { data, number };
        let event = self.event(inner.last_seq(), self.clock.now(), path, kind, false);
        inner.recent.keep(&event);
        self.send(&mut inner, &Sent::One(event));
    }

    pub(super) fn send(&self, inner: &mut Inner, sent: &Sent) {
        inner.watchers.retain(|watcher| watcher.send(sent.clone()).is_ok());
        if sent.has_end() {
            inner.watchers.clear();
        }
        self.watchers.store(inner.watchers.len(), Ordering::Relaxed);
    }

    pub(super) fn event(&self, seq: u64, time: SystemTime, path: String, kind: EventKind, derived: bool) -> Arc<Event> {
        Arc::new(Event { version: Event::VERSION, run_id: self.run_id.clone(), seq, time, path, derived, kind })
    }

    pub(super) fn publish(&self, inner: &mut Inner, seq: u64, time: SystemTime, record: &Record, derived: bool) {
        if inner.watchers.is_empty() {
            return;
        }
        let event = self.event(seq, time, record.path.clone(), record.kind.clone(), derived);
        self.send(inner, &Sent::One(event));
    }

    /// Begins to watch: the channel receives every event from here on.
    pub(crate) fn watch(&self) -> Watch {
        let mut inner = self.inner();
        if inner.halted.is_some() || (inner.ended && inner.durable == inner.pushed) {
            return Watch { from: inner.length, recent: Vec::new(), live: None };
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        inner.watchers.push(sender);
        self.watchers.store(inner.watchers.len(), Ordering::Relaxed);
        Watch { from: inner.length, recent: inner.recent.all(), live: Some(receiver) }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }
}
