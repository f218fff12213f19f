//! What a report comes to. Reads the state, the options, the clock and the dice; changes nothing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::event::{Chance, Event, Report, Then};
use super::run::Run;
use super::task::TaskState;
use super::task_id::{StopReason, TaskId};
use super::token::Emitted;
use crate::fault::{Cause, Fault};
use crate::options::RetryPolicy;

impl<V> Run<V> {
    /// The event that a report comes to; `None` where it comes too late to matter.
    pub(crate) fn decide(&self, report: Report<V>, chance: impl FnOnce() -> Chance) -> Option<Event<V>> {
        match report {
            Report::Begin { emitted, limit } => Some(Event::Begun { emitted, limit }),
            Report::Entered { task, entered } => self.is_live(task).then_some(Event::Started { task, entered }),
            Report::Succeeded { task, emitted, writes } => match self.live(task)? {
                None => Some(Event::Completed { task, emitted, writes }),
                Some(_) => self.stopped(task),
            },
            Report::Collecting { task, writes } => match self.live(task)? {
                None => Some(Event::Collecting { task, writes }),
                Some(_) => self.stopped(task),
            },
            Report::Failed { task, cause, retryable, routed } => match self.live(task)? {
                None | Some(StopReason::TimedOut) => {
                    let then = self.after_failure(task, retryable, routed, chance);
                    Some(Event::Failed { task, cause, then })
                }
                Some(_) => self.stopped(task),
            },
            Report::Stopped { task } => match self.live(task)? {
                Some(_) => self.stopped(task),
                None => {
                    let then = self.after_failure(task, false, None, chance);
                    Some(Event::Failed { task, cause: Box::new(Cause::from(Fault::Interrupted)), then })
                }
            },
            Report::TimerFired { task } => {
                let at = self.state.tasks.get(task)?;
                let counts = match &at.state {
                    TaskState::Backoff { .. } => true,
                    TaskState::Inside(items) => at.stopping.is_none() && !items.is_over(None),
                    _ => false,
                };
                counts.then_some(Event::TimerFired { task })
            }
            Report::Cancel => {
                let is_under_way = self.state.scopes.first().is_some_and(Option::is_some);
                is_under_way.then_some(Event::Cancelling)
            }
            Report::TimeIsUp => self.limit().map(|_| Event::TimedOut),
        }
    }

    /// Why a task that is not gone is being stopped, if it is.
    fn live(&self, task: TaskId) -> Option<Option<StopReason>> {
        self.state.tasks.get(task).map(|at| at.stopping)
    }

    /// Only what ran is said to have stopped.
    fn stopped(&self, task: TaskId) -> Option<Event<V>> {
        self.is_running(task).then_some(Event::Stopped { task })
    }

    fn after_failure(
        &self,
        task: TaskId,
        retryable: bool,
        routed: Option<Emitted<V>>,
        chance: impl FnOnce() -> Chance,
    ) -> Then<V> {
        let policy = self.state.node(&self.program, task).ok().map(|spec| &spec.options.retry);
        match policy.and_then(|policy| next_attempt(policy, self.attempts(task), retryable, chance)) {
            Some(time) => Then::RetryAt(time),
            None => routed.map_or(Then::Fails, Then::Routed),
        }
    }
}

/// When the next attempt at something begins of which so many have failed; `None` if there is no other.
pub(crate) fn next_attempt(
    policy: &RetryPolicy,
    failed: u32,
    retryable: bool,
    chance: impl FnOnce() -> Chance,
) -> Option<SystemTime> {
    if !retryable || failed >= policy.max_attempts {
        return None;
    }
    let Chance { now, random } = chance();
    Some(after(now, policy.delay_after(failed, random)))
}

/// A time as a record can hold it: to the millisecond, and not before it is due.
pub(crate) fn after(now: SystemTime, delay: Duration) -> SystemTime {
    let far_off = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default() + delay.min(far_off);
    let millis = u64::try_from(since.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    UNIX_EPOCH + Duration::from_millis(millis)
}
