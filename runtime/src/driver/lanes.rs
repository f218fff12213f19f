//! Attempts that are polled by other tasks than the driver's.
//!
//! Attempts that are ready at the same time wait in a queue. A *lane* takes one after another out of it and polls each
//! once: a node that is done by then costs no task. One that is not gets a task of its own at once. A lane polls the
//! nodes of a [`Batch`] first, for which no attempts were made.
//!
//! Nodes that compute run on all threads of the runtime: as long as the queue is not empty, a *standby* waits for the
//! next free thread, and begins another lane there. The driver is woken when a lane has ended, and when the standby has
//! got a thread; not for each attempt by itself.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::task::{Context as Waker, Poll};
use std::time::{Duration, Instant};

use super::attempt::Running;
use super::batch::{AfterTurn, Batch, Left, LeftState};
use super::ends::Ends;
use crate::attempt::Attempt;
use crate::catch::caught;
use crate::core::TaskId;
use crate::shared::Shared;
use crate::sync::{Mutex, MutexGuard};
use crate::table::Finished;

/// How long a lane polls before it yields the thread to other tasks. Unlimited in the simulator, whose results must not
/// depend on how long something takes.
const TURN: Duration = if cfg!(test) { Duration::MAX } else { Duration::from_micros(100) };

/// How many attempts it polls before it looks at the clock again, which it does after the first.
const POLLS_BETWEEN_LOOKS: u32 = 4;

pub(super) struct Lanes {
    run: Arc<Shared>,
    /// Whether the runtime has a single thread. Then the standby polls as the only lane.
    has_one_thread: bool,
    queue: Mutex<Queue>,
    pub(super) ends: Ends<Ended>,
}

#[derive(Default)]
struct Queue {
    attempts: VecDeque<Begun>,
    /// Nodes that are polled before the attempts.
    batch: Option<Arc<Batch>>,
    /// Whether the standby lives. It does while there is something to poll.
    has_standby: bool,
}

/// An attempt that has not been polled yet, or not by a task of its own.
pub(super) struct Begun {
    pub(super) task: TaskId,
    pub(super) running: Running<'static, Finished>,
    pub(super) attempt: Arc<Attempt>,
}

pub(super) enum Ended {
    /// An attempt with its result; `None` if it was dropped before its end.
    Attempt(TaskId, Option<Finished>),
    /// The batch is to be taken back.
    Batch,
    /// The runtime has dropped a standby or a lane: it is being shut down.
    Lost,
}

impl Lanes {
    pub(super) fn new(run: &Arc<Shared>, has_one_thread: bool) -> Self {
        Lanes { run: Arc::clone(run), has_one_thread, queue: Mutex::default(), ends: Ends::default() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has each of these polled.
    pub(super) fn begin(self: &Arc<Self>, attempts: impl Iterator<Item = Begun>) {
        self.fill(|queue| queue.attempts.extend(attempts));
    }

    /// Has the nodes of a batch polled. The driver is notified when it has to [end](Self::end_batch).
    pub(super) fn begin_batch(self: &Arc<Self>, batch: &Arc<Batch>) {
        self.fill(|queue| queue.batch = Some(Arc::clone(batch)));
    }

    pub(super) fn end_batch(&self) {
        let batch = self.queue().batch.take();
        drop(batch);
    }

    fn fill(self: &Arc<Self>, add: impl FnOnce(&mut Queue)) {
        let needs_standby = {
            let mut queue = self.queue();
            add(&mut queue);
            !std::mem::replace(&mut queue.has_standby, true)
        };
        if needs_standby {
            self.spawn(|lanes| async move { lanes.stand_by().await });
        }
    }

    /// Gives an attempt a task of its own.
    pub(super) fn begin_alone(self: &Arc<Self>, begun: Begun) {
        let Begun { task, running, attempt } = begun;
        let end = End { lanes: Arc::clone(self), task, finished: None };
        let alone = Alone { running, attempt: Arc::clone(&attempt), end };
        let handle = tokio::spawn(self.run.track(async move { alone.until_over().await }));
        attempt.own_task.set(handle.abort_handle());
    }

    /// Takes an attempt back that has not been polled.
    pub(super) fn take_back(&self, task: TaskId) -> Option<Begun> {
        let mut queue = self.queue();
        let at = queue.attempts.iter().position(|begun| begun.task == task)?;
        queue.attempts.remove(at)
    }

    /// Drops all attempts that are left, with the user's values in them.
    pub(super) fn close(&self) {
        let (attempts, batch) = {
            let mut queue = self.queue();
            (std::mem::take(&mut queue.attempts), queue.batch.take())
        };
        if let Some(batch) = batch {
            batch.close();
        }
        drop(attempts);
        self.ends.close();
    }

    fn spawn<F>(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (alive, work) = (Alive { lanes: Arc::clone(self), is_done: false }, work(Arc::clone(self)));
        tokio::spawn(self.run.track(async move {
            let mut alive = alive;
            work.await;
            alive.is_done = true;
        }));
    }

    async fn stand_by(self: Arc<Self>) {
        while self.is_wanted() {
            if self.has_one_thread {
                self.take_turn();
            } else {
                self.spawn(|lanes| async move { lanes.take_turn() });
            }
            self.ends.tell();
            // Lets the lane run, which this thread polls first, or the driver. Another thread may take the standby
            // meanwhile.
            let_others().await;
        }
        self.ends.tell();
    }

    /// Whether the standby continues, since there is something to poll.
    fn is_wanted(&self) -> bool {
        let mut queue = self.queue();
        let has_batch = queue.batch.as_ref().is_some_and(|batch| batch.has_pending());
        queue.has_standby = has_batch || !queue.attempts.is_empty();
        queue.has_standby
    }

    /// Polls one attempt after another, each once. After a turn's time the standby begins another lane.
    fn take_turn(self: &Arc<Self>) {
        let batch = self.queue().batch.clone();
        if let Some(batch) = batch {
            self.poll_batch(&batch);
        }
        let began = Instant::now();
        for polled in 0u32.. {
            let Some(begun) = self.queue().attempts.pop_front() else { break };
            self.poll_once(begun);
            // Reading the clock takes as long as a quick node.
            if polled.is_multiple_of(POLLS_BETWEEN_LOOKS) && began.elapsed() >= TURN {
                break;
            }
        }
        self.ends.tell();
    }

    fn poll_batch(self: &Arc<Self>, batch: &Batch) {
        match batch.take_turn(TURN) {
            AfterTurn::Nothing => {}
            AfterTurn::TakeBack => self.ends.push(Ended::Batch),
            AfterTurn::Goes(task, Left { attempt, state, .. }) => match state {
                LeftState::Waits(running) => self.begin_alone(Begun { task, running, attempt }),
                LeftState::Ended(finished) => {
                    drop(attempt);
                    self.ends.push(Ended::Attempt(task, Some(finished)));
                }
            },
        }
    }

    fn poll_once(self: &Arc<Self>, mut begun: Begun) {
        let task = begun.task;
        if begun.attempt.own_task.is_dropped() {
            drop(begun);
            return self.ends.push(Ended::Attempt(task, None));
        }
        // If it does not end, the task that it gets polls it again.
        let mut waker = Waker::from_waker(std::task::Waker::noop());
        match begun.running.poll(Some(&begun.attempt), &mut waker) {
            Poll::Ready(finished) => {
                // The driver reuses the memory of the attempt, if it holds the only reference.
                drop(begun);
                self.ends.push(Ended::Attempt(task, Some(finished)));
            }
            Poll::Pending => self.begin_alone(begun),
        }
    }
}

/// Yields once to the tasks that this thread polls next. Unlike tokio's `yield_now`, it does not have the runtime poll
/// its sockets and timers.
async fn let_others() {
    let mut is_over = false;
    std::future::poll_fn(|waker| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        waker.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// An attempt with a task of its own. The fields are dropped in this order, so that the driver is notified of the drop
/// only when nothing of the attempt is left, also if its task was never polled.
struct Alone {
    running: Running<'static, Finished>,
    attempt: Arc<Attempt>,
    end: End,
}

impl Alone {
    async fn until_over(self) {
        let Alone { running, attempt, mut end } = self;
        end.finished = Some(running.until_over(Some(attempt)).await);
    }
}

/// Reports the result of an attempt with a task of its own to the driver, when it is dropped.
struct End {
    lanes: Arc<Lanes>,
    task: TaskId,
    finished: Option<Finished>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.lanes.ends.push(Ended::Attempt(self.task, self.finished.take()));
        self.lanes.ends.tell();
    }
}

/// Reports to the driver if the runtime drops a lane or a standby.
struct Alive {
    lanes: Arc<Lanes>,
    is_done: bool,
}

impl Drop for Alive {
    fn drop(&mut self) {
        if !self.is_done {
            self.lanes.ends.push(Ended::Lost);
            self.lanes.ends.tell();
        }
    }
}

/// The values in it are the user's, and their destructors may panic.
impl Drop for Ended {
    fn drop(&mut self) {
        if let Ended::Attempt(_, finished @ Some(_)) = self {
            let _ = caught(|| drop(finished.take()));
        }
    }
}
