//! What the driver hears of attempts that others poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use crate::attempt::{At, Attempt};
use crate::core::TaskId;
use crate::driver::attempt::Running;
use crate::driver::lanes::{Begun, Ended, Lanes};
use crate::fault::Fault;
use crate::shared::{Env, Shared};
use crate::table::{AttemptBody, Finished};

/// Dropped with the body of a node, it looks whether the driver was told already.
struct Held {
    lanes: Arc<Lanes>,
    was_first: Arc<AtomicBool>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.was_first.store(self.lanes.ends.take(Waker::noop()).is_empty(), Ordering::Relaxed);
    }
}

#[tokio::test]
async fn the_driver_hears_that_an_attempt_was_dropped_when_nothing_of_it_is_left() {
    for polls in 0..3 {
        let run = Arc::new(Shared::in_memory(Arc::clone(Env::plain())));
        let lanes = Arc::new(Lanes::new(&run, true));
        let was_first = Arc::new(AtomicBool::new(false));
        let held = Held { lanes: Arc::clone(&lanes), was_first: Arc::clone(&was_first) };
        let body = async move {
            let _held = held;
            std::future::pending::<()>().await;
            Finished::from(Fault::Interrupted)
        };
        let attempt = Attempt::new(Arc::clone(&run), At::Child("w/a".into()), 1, Arc::default(), None);
        let attempt = Arc::new(attempt);
        let running = Running::new(AttemptBody::new(body), None, None, None);
        let task = TaskId::default();
        lanes.begin_alone(Begun { task, running, attempt: Arc::clone(&attempt) });
        for _ in 0..polls {
            tokio::task::yield_now().await;
        }

        attempt.own_task.abort();
        tokio::task::yield_now().await;

        assert!(was_first.load(Ordering::Relaxed), "after {polls} polls");
        let ended = lanes.ends.take(Waker::noop());
        assert!(matches!(ended[..], [Ended::Attempt(of, None)] if of == task), "after {polls} polls");
    }
}
