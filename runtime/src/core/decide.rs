//! Decides which event a report becomes. Reads the state, the options, the clock and random numbers; changes nothing.

use serde_json::Value as Json;

use super::attempts::AttemptState;
use super::event::{Chance, Event, Report, Then};
use super::run::Run;
use super::task_id::{StopReason, TaskId};
use super::token::Emitted;
use crate::fault::{Cause, Fault};
use crate::options::Retryable;

impl<V> Run<V> {
    /// The event that a report becomes; `None` if it comes too late to matter.
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
            Report::Failed { task, cause, retryable, routed, error } => match self.live(task)? {
                None | Some(StopReason::TimedOut) => {
                    let then = self.after_failure(task, retryable, (routed, error), chance);
                    Some(Event::Failed { task, cause, then })
                }
                Some(_) => self.stopped(task),
            },
            Report::Stopped { task } => match self.live(task)? {
                Some(_) => self.stopped(task),
                None => {
                    let then = self.after_failure(task, Retryable::No, (None, None), chance);
                    Some(Event::Failed { task, cause: Box::new(Cause::from(Fault::Interrupted)), then })
                }
            },
            Report::TimerFired { task } => {
                let at = self.state.tasks.get(task)?;
                let counts = match (at.attempts.state(), at.items()) {
                    (AttemptState::Backoff { .. }, _) => true,
                    (_, Some(items)) => at.stopping.is_none() && !items.is_over(),
                    (_, None) => false,
                };
                counts.then_some(Event::TimerFired { task })
            }
            Report::WaitingItem { task, item } => {
                let at = self.state.tasks.get(task)?;
                let is_wanted = at.stopping.is_none() && at.items()?.is_before_failed(item);
                is_wanted.then_some(Event::ItemCancelled { task, item })
            }
            Report::StartsOver { task, next } => match self.live(task)? {
                None => Some(Event::StartingOver { task, next }),
                Some(_) => self.stopped(task),
            },
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

    /// The event that an attempt has stopped, if it was running.
    fn stopped(&self, task: TaskId) -> Option<Event<V>> {
        self.is_running(task).then_some(Event::Stopped { task })
    }

    fn after_failure(
        &self,
        task: TaskId,
        retryable: Retryable,
        (routed, error): (Option<Emitted<V>>, Option<Box<Json>>),
        chance: impl FnOnce() -> Chance,
    ) -> Then<V> {
        let next = self.state.tasks.get(task).zip(self.policy(task));
        match next.and_then(|(at, policy)| at.attempts.next_attempt(policy, retryable, chance)) {
            Some(time) => Then::RetryAt(time),
            None => routed.map_or(Then::Fails(error), Then::Routed),
        }
    }
}
