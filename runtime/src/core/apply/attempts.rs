//! The attempts at a node that has fired, from the first to its end.

use std::time::SystemTime;

use graphweft_graph::NodeIx;

use crate::core::attempts::{AttemptEvent, Attempts};
use crate::core::event::{Derived, Entered, NextRun};
use crate::core::impossible::{Applied, Impossible};
use crate::core::program::Program;
use crate::core::run_state::RunState;
use crate::core::state_map::Writes;
use crate::core::task::{Execution, Task};
use crate::core::task_id::{StopReason, TaskId};
use crate::core::token::{Arrived, Emitted};
use crate::fault::{Cause, Failure};
use serde_json::Value as Json;

impl<V> RunState<V> {
    /// A node has fired.
    pub(in crate::core) fn fire_task(
        &mut self,
        scope: usize,
        frame: usize,
        node: NodeIx,
        attempts: Attempts<Execution<V>>,
        input: Option<Arrived<V>>,
    ) -> Applied {
        let at = self.scope_mut(scope)?;
        let (listed, sees) = (at.tasks.len(), at.entry_state.clone());
        let is_queued = attempts.is_due();
        let task = self.tasks.insert(Task {
            scope,
            frame,
            node,
            listed,
            attempts,
            stopping: None,
            input,
            sees,
            holds_place: false,
        });
        self.scope_mut(scope)?.tasks.push(task);
        if let Some(fired) = &mut self.news.fired {
            fired.push(task);
        }
        if is_queued {
            self.news.queued.push(task)
        } else {
            self.news.changed.push_back(task)
        }
        Ok(())
    }

    /// An attempt begins.
    pub(super) fn start(&mut self, program: &Program, task: TaskId, entered: Option<Entered<V>>) -> Applied {
        let is_leaf = self.is_leaf(program, task)?;
        if is_leaf && entered.is_some() {
            return Err(Box::new(Impossible { event: "", found: "its node has no graph inside".to_owned() }));
        }
        self.take_places(program, task)?;
        let snapshot = self.state_of(self.tasks.expect(task)?.scope)?.snapshot();
        let at = self.tasks.expect_mut(task)?;
        let number = at.attempts.number() + 1;
        at.attempts.apply(AttemptEvent::Begun { number, work: Execution::Body })?;
        // An item that began in turn sees what all items see, the first time.
        if at.sees.is_none() || number > 1 {
            at.sees = Some(snapshot);
        }
        self.running += usize::from(is_leaf);
        self.news.changed.push_back(task);
        match entered {
            Some(entered) => self.enter(program, task, entered),
            None => Ok(()),
        }
    }

    /// A node is done: its tokens are put on their way.
    pub(super) fn complete(&mut self, program: &Program, task: TaskId, emitted: Emitted<V>) -> Applied {
        let at = self.end_task(program, task)?;
        self.stop_what_only_feeds(program, at.scope, at.frame, at.node)?;
        self.emit(program, at.scope, at.frame, at.node, emitted)?;
        self.finish_node(program, at.scope, at.frame, at.node)
    }

    /// Folds the writes of an attempt into the run's state.
    pub(super) fn fold(&mut self, task: TaskId, writes: &Writes) -> Applied {
        let Some(set) = &writes.0 else { return Ok(()) };
        let place = self.place_of(task);
        let state = self.state_of_mut(self.tasks.expect(task)?.scope)?;
        state.fold(&set.shared, || place.as_ref().map_or_else(String::new, |place| place.path())).map_err(misfit)
    }

    /// A node is done: the state around it takes over the writes inside it.
    pub(super) fn fold_inside(&mut self, task: TaskId) -> Applied {
        let at = self.tasks.expect_mut(task)?;
        let scope = at.scope;
        let Some(items) = at.items_mut() else { return Ok(()) };
        let inside = std::mem::take(&mut items.state);
        self.state_of_mut(scope)?.take_over(inside).map_err(misfit)
    }

    /// An attempt at a collecting node has ended without an output.
    pub(super) fn collecting(&mut self, program: &Program, task: TaskId, writes: &Writes) -> Applied {
        self.fold(task, writes)?;
        if let Some(set) = &writes.0 {
            self.fold_collector_writes(program, task, &set.local).map_err(misfit)?;
        }
        let at = self.end_task(program, task)?;
        self.wait_for_arrival(program, at.scope, at.frame, at.node)
    }

    /// Another attempt follows at this time.
    pub(super) fn back_off(&mut self, program: &Program, task: TaskId, until: SystemTime) -> Applied {
        self.stop_counting(program, task)?;
        let at = self.tasks.expect_mut(task)?;
        at.stopping = None;
        at.attempts.apply(AttemptEvent::RetryAt(until))?;
        self.news.changed.push_back(task);
        Ok(())
    }

    /// No attempt is left, and nothing takes the failure: the graph around the node fails.
    pub(super) fn fail(&mut self, program: &Program, task: TaskId, cause: Cause, error: Option<Box<Json>>) -> Applied {
        let path = self.place_of(task).map_or_else(String::new, |place| place.path());
        let mut at = self.end_task(program, task)?;
        let is_free = at.stopping.is_none();
        let failed = at.items_mut().filter(|_| is_free).and_then(|items| items.failed.take());
        let failure = match failed {
            Some((_, failure)) => failure,
            None => Failure { path, attempts: at.attempts.number(), cause, error },
        };
        self.fail_scope(program, at.scope, failure)
    }

    /// An attempt has ended the run, so that another one follows: all others are stopped.
    pub(super) fn start_over(&mut self, program: &Program, task: TaskId, next: Box<NextRun>) -> Applied {
        self.end_task(program, task)?;
        self.stop_for_next_run(program, next)
    }

    /// Stops a task before its end. A waiting task is removed at once; a running attempt must be reported as stopped
    /// first.
    pub(in crate::core) fn stop(&mut self, program: &Program, task: TaskId, why: StopReason) -> Applied {
        let at = self.tasks.expect_mut(task)?;
        match (at.stopping, why) {
            (None, _) => {}
            (Some(StopReason::ScopeClosed), _)
            | (Some(_), StopReason::TimedOut)
            | (Some(StopReason::OutputUnneeded), StopReason::OutputUnneeded) => return Ok(()),
            // From here on it does not fail any more, and no attempt follows.
            (Some(_), StopReason::ScopeClosed | StopReason::OutputUnneeded) => {
                at.stopping = Some(why);
                // If only the conclusion is left, there is nothing more to wait for.
                return match at.items() {
                    Some(items) if items.open == 0 => self.stopped(program, task),
                    _ => Ok(()),
                };
            }
        }
        at.stopping = Some(why);
        match at.attempts.work() {
            None | Some(Execution::Exhausted { .. }) => self.stopped(program, task),
            Some(Execution::Body) => {
                self.news.changed.push_back(task);
                Ok(())
            }
            Some(Execution::Inside(_)) => self.stop_items(program, task),
        }
    }

    /// Nothing of a task that was stopped runs any more.
    pub(in crate::core) fn stopped(&mut self, program: &Program, task: TaskId) -> Applied {
        let at = self.tasks.expect(task)?;
        if at.stopping == Some(StopReason::TimedOut) {
            // It has failed, which a driver reports.
            self.news.changed.push_back(task);
            return Ok(());
        }
        let (scope, frame, node) = (at.scope, at.frame, at.node);
        if !at.is_running() {
            self.derive(scope, frame, node, Derived::Cancelled)?;
        } else if self.node(program, task)?.options.at_most_once {
            self.scope_mut(scope)?.has_cut = true;
        }
        let at = self.end_task(program, task)?;
        if at.stopping == Some(StopReason::ScopeClosed) {
            return self.scope_stopped(program, scope);
        }
        self.stop_what_only_feeds(program, scope, frame, node)?;
        self.emit_dead(program, scope, frame, node)?;
        self.finish_node(program, scope, frame, node)
    }

    /// Stops counting an attempt as running, if it was.
    fn stop_counting(&mut self, program: &Program, task: TaskId) -> Applied {
        let is_leaf = self.is_leaf(program, task)?;
        let is_running = self.tasks.expect(task)?.is_running();
        if is_leaf && is_running {
            self.running -= 1;
        }
        Ok(())
    }

    /// Takes a task out of every list.
    pub(super) fn end_task(&mut self, program: &Program, task: TaskId) -> Applied<Task<V>> {
        self.stop_counting(program, task)?;
        self.give_back_place(program, task)?;
        let at = self.unlist(task)?;
        if at.items().is_some_and(|items| items.has_cut) {
            self.scope_mut(at.scope)?.has_cut = true;
        }
        self.news.changed.push_back(task);
        Ok(at)
    }

    /// The same, for one that holds nothing.
    pub(super) fn unlist(&mut self, task: TaskId) -> Applied<Task<V>> {
        let at = self.tasks.remove(task)?;
        let scope = self.scope_mut(at.scope)?;
        scope.tasks.swap_remove(at.listed);
        let moved = scope.tasks.get(at.listed).copied();
        if let Some(moved) = moved.and_then(|moved| self.tasks.get_mut(moved)) {
            moved.listed = at.listed;
        }
        Ok(at)
    }
}

/// A recorded write that does not fit what its key holds.
fn misfit(fault: crate::fault::Fault) -> Box<Impossible> {
    Box::new(Impossible { event: "", found: fault.to_string() })
}
