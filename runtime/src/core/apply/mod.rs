//! Applying events: the function that defines every change of the state of a run, live and at resume. `in_place.rs` and
//! `lent.rs` make some of the same changes in fewer steps.
//!
//! It reads no clock and decides nothing: decisions are in the event. Of the options it reads `at_most_once`, for a cut
//! (`stopped`), and `max_parallel`, for the places of a graph that opens (`places_in`). The consequences of an event (a
//! node that is skipped, a turn that begins, a graph that closes) are applied here and not recorded.
//!
//! Ends and failures go up the tree of scopes, stops go down:
//!
//! ```text
//!   attempts.rs  complete, fail, stop, stopped   a task     ──> scope_stopped, fail_scope     ^   │
//!   scopes.rs    fail_scope, cancel_scope        a scope    ──> item_failed, item_over        │   │ stop
//!   items.rs     item_failed, item_over          the items  ──> wanted is Conclude            up  v
//! ```
//!
//! A scope is over when its last task is; a node with graphs inside concludes when its last item is. If the node is
//! being stopped, the end of its last item is `stopped` at once, except after its time limit: then it concludes with
//! that. The files are those of this directory. `core/mod.rs` follows a failure through all of them.

mod attempts;
mod in_place;
mod items;
mod lent;
mod places;
mod scopes;

pub(crate) use in_place::Walk;
pub(crate) use lent::{Lent, LentNodes, LentOf};

use std::sync::Arc;

use super::attempts::{AttemptEvent, AttemptState};
use super::event::{Event, Then};
use super::impossible::{Applied, Impossible};
use super::path::ScopePath;
use super::program::Program;
use super::run_state::{RunState, Work};
use super::task::{Execution, Task};
use super::task_id::{StopReason, TaskId};
use crate::fault::{Cause, Failure, Fault};

/// The transition table: which events a task allows in which state.
fn is_allowed<V>(task: &Task<V>, event: &Event<V>) -> bool {
    let is_free = task.stopping.is_none();
    let work = match (task.attempts.state(), event) {
        (AttemptState::Due, Event::Started { .. }) => return is_free,
        (AttemptState::Backoff { .. }, Event::TimerFired { .. }) => return true,
        (AttemptState::UnderWay(work), _) => work,
        _ => return false,
    };
    match (work, event) {
        (
            Execution::Body,
            Event::Completed { .. } | Event::Collecting { .. } | Event::Failed { .. } | Event::StartingOver { .. },
        ) => is_free,
        (Execution::Body, Event::Stopped { .. }) => !is_free,
        (Execution::Inside(items), Event::ItemStarted { item, .. }) => is_free && items.next_item() == Some(*item),
        (Execution::Inside(items), Event::ItemCancelled { item, .. }) => is_free && items.is_before_failed(*item),
        (Execution::Inside(items), Event::Completed { .. }) => is_free && items.is_over() && items.failed.is_none(),
        (Execution::Inside(items), Event::Failed { .. }) => items.is_over(),
        (Execution::Inside(_), Event::TimerFired { .. }) => is_free,
        (Execution::Exhausted { .. }, Event::Failed { .. }) => true,
        _ => false,
    }
}

impl<V> RunState<V> {
    /// THE definition of how an event changes the state of a run.
    ///
    /// # Errors
    /// If the event is impossible in this state: the error has the name of the event and the state of its task.
    pub(super) fn apply(&mut self, program: &Program, root: &Arc<ScopePath>, event: Event<V>) -> Applied {
        let name = event.name();
        self.take(program, root, event).and_then(|()| self.drain_work(program)).map_err(|mut impossible| {
            impossible.event = name;
            impossible
        })
    }

    fn take(&mut self, program: &Program, root: &Arc<ScopePath>, event: Event<V>) -> Applied {
        self.check(&event)?;
        if let Event::Failed { task, cause, .. } = &event
            && cause.is_cut_short()
        {
            let scope = self.tasks.expect(*task)?.scope;
            self.scope_mut(scope)?.has_cut = true;
        }
        match event {
            Event::Begun { emitted, limit } => {
                self.has_begun = true;
                self.limit = limit;
                self.open_scope(program, 0, Arc::clone(root), None, emitted)
            }
            Event::Started { task, entered } => self.start(program, task, entered.map(|entered| *entered)),
            Event::ItemStarted { task, .. } => {
                self.take_places(program, task)?;
                self.start_item(program, task)
            }
            Event::ItemCancelled { task, item } => self.cancel_item(program, task, item),
            Event::Completed { task, emitted, writes } => {
                self.fold(task, &writes)?;
                self.fold_inside(task)?;
                self.complete(program, task, emitted)
            }
            Event::Collecting { task, writes } => self.collecting(program, task, &writes),
            Event::Failed { task, then: Then::RetryAt(until), .. } => self.back_off(program, task, until),
            Event::Failed { task, then: Then::Routed(emitted), .. } => self.complete(program, task, emitted),
            Event::Failed { task, cause, then: Then::Fails(error) } => self.fail(program, task, *cause, error),
            Event::TimerFired { task } => match self.tasks.expect(task)?.items() {
                None => self.queue(task),
                Some(_) => self.stop(program, task, StopReason::TimedOut),
            },
            Event::Stopped { task } => self.stopped(program, task),
            Event::StartingOver { task, next } => self.start_over(program, task, next),
            Event::Cancelling => self.cancel_run(program),
            Event::TimedOut => {
                let after = self.limit.map(|limit| limit.after).unwrap_or_default();
                let cause = Cause::from(Fault::Timeout { after });
                self.fail_scope(program, 0, Failure::at(root.to_string(), 1, cause))
            }
            Event::Retried { at } => {
                self.restart_time_limits(at);
                self.take_places_away(program)
            }
        }
    }

    fn check(&self, event: &Event<V>) -> Applied {
        let Some(task) = event.task() else { return self.check_of_run(event) };
        let at = self.tasks.expect(task)?;
        if is_allowed(at, event) { Ok(()) } else { Err(Box::new(Impossible { event: "", found: at.in_words() })) }
    }

    /// Checks an event of the whole run, and not of a task.
    fn check_of_run(&self, event: &Event<V>) -> Applied {
        match event {
            Event::Begun { .. } => impossible_if(self.has_begun, "the run has begun"),
            Event::Retried { .. } => impossible_if(!self.has_begun, "the run has not begun"),
            Event::TimedOut => impossible_if(self.open_limit().is_none(), "the run has no time limit, or is ending"),
            Event::Cancelling => {
                impossible_if(self.scopes.first().is_none_or(Option::is_none), "nothing of the run is under way")
            }
            // Those of a task are checked by `is_allowed`.
            Event::Started { .. }
            | Event::ItemStarted { .. }
            | Event::ItemCancelled { .. }
            | Event::Completed { .. }
            | Event::Collecting { .. }
            | Event::Failed { .. }
            | Event::TimerFired { .. }
            | Event::Stopped { .. }
            | Event::StartingOver { .. } => Ok(()),
        }
    }

    /// Does the work that is left within one event.
    fn drain_work(&mut self, program: &Program) -> Applied {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Token { scope, frame, edge, value } => self.token(program, scope, frame, edge, value)?,
                Work::Close { scope, frame } => self.close_frame(program, scope, frame)?,
            }
        }
        Ok(())
    }

    /// The delay before another attempt is over: the task waits to be admitted.
    fn queue(&mut self, task: TaskId) -> Applied {
        self.tasks.expect_mut(task)?.attempts.apply(AttemptEvent::DelayOver)?;
        self.news.changed.push_back(task);
        self.news.queued.push(task);
        Ok(())
    }
}

fn impossible_if(is_impossible: bool, found: &str) -> Applied {
    if is_impossible { Err(Box::new(Impossible { event: "", found: found.to_owned() })) } else { Ok(()) }
}
