//! Which sessions agents of this process have left.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// By the name of a log, for the agents that wait for it. All engines of the process share it, since they may share a store. If
/// two stores have a session of the same name, an agent is woken for nothing, and looks once more.
static WAITED_FOR: LazyLock<Mutex<HashMap<String, WaitedFor>>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct WaitedFor {
    changed: Arc<Notify>,
    /// How many wait.
    agents: usize,
}

fn waited_for() -> MutexGuard<'static, HashMap<String, WaitedFor>> {
    WAITED_FOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The changes of one session, for an agent that waits for it.
pub(super) struct Changes {
    log: String,
    changed: Arc<Notify>,
}

impl Changes {
    pub(super) fn of(log: &str) -> Self {
        let mut all = waited_for();
        let waited_for = all.entry(log.to_owned()).or_default();
        waited_for.agents += 1;
        Changes { log: log.to_owned(), changed: Arc::clone(&waited_for.changed) }
    }

    /// Resolves at the next change from this call on.
    pub(super) fn next(&self) -> Notified<'_> {
        self.changed.notified()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut all = waited_for();
        if let Some(waited_for) = all.get_mut(&self.log) {
            waited_for.agents -= 1;
            if waited_for.agents == 0 {
                all.remove(&self.log);
            }
        }
    }
}

/// Wakes the agents of this process that wait for a session.
pub(super) fn has_changed(log: &str) {
    if let Some(waited_for) = waited_for().get(log) {
        waited_for.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn all_that_wait_for_a_session_are_woken_and_the_last_one_leaves_nothing() {
        let (one, other, elsewhere) = (Changes::of("chat/ada"), Changes::of("chat/ada"), Changes::of("chat/bob"));
        let (first, second, third) = (one.next(), other.next(), elsewhere.next());
        has_changed("chat/ada");
        assert_eq!((first.now_or_never(), second.now_or_never(), third.now_or_never()), (Some(()), Some(()), None));
        drop(one);
        assert!(waited_for().contains_key("chat/ada"));
        drop(other);
        assert!(!waited_for().contains_key("chat/ada"));
        has_changed("chat/ada");
    }
}
