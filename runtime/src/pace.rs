//! How soon a node is done.
//!
//! Several attempts at once have a task each, so that they run in parallel where the runtime has several threads. That
//! costs some microseconds; a node that is done in less when it is polled for the first time is better off where it is.
//! Which nodes these are is learnt from their attempts.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What the way to a task and back takes, about.
const QUICK: Duration = Duration::from_micros(5);

/// So many attempts in a row have to be quick before one goes without a task. Nodes that block their thread to wait for
/// each other are quick by chance, and would wait for ever; not so often one after another.
const TRUSTED: u32 = 32;

/// How many of the last attempts at a node were quick, in a row.
#[derive(Default)]
pub(crate) struct Pace(AtomicU32);

impl Pace {
    pub(crate) fn is_quick(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= TRUSTED
    }

    /// An attempt was polled for the first time: whether it ended, and what that took. Where two threads note something at
    /// once, one of them may be forgotten.
    pub(crate) fn note(&self, ended: bool, took: Duration) {
        let known = self.0.load(Ordering::Relaxed);
        if !(ended && took < QUICK) {
            self.0.store(0, Ordering::Relaxed);
        } else if known < TRUSTED {
            self.0.store(known + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Pace, QUICK, TRUSTED};

    #[test]
    fn a_node_is_quick_once_many_attempts_were_and_no_longer_when_one_is_not() {
        let pace = Pace::default();
        for slow in [(true, QUICK), (false, Duration::ZERO)] {
            for _ in 0..TRUSTED {
                assert!(!pace.is_quick());
                pace.note(true, Duration::ZERO);
            }
            assert!(pace.is_quick());
            pace.note(slow.0, slow.1);
        }
        assert!(!pace.is_quick());
    }
}
