//! How graphs begin, how they end, and how they are stopped.

use std::sync::Arc;

use graphweft_graph::START;

use crate::core::event::{NextRun, RunEnd};
use crate::core::impossible::Applied;
use crate::core::path::ScopePath;
use crate::core::program::Program;
use crate::core::run_state::{RunState, Work, scope_gone};
use crate::core::scope::{Parent, Removed, Scope, ScopeExit, Spare};
use crate::core::task_id::StopReason;
use crate::core::token::Emitted;
use crate::fault::{Cause, Failure, Fault};

impl<V> RunState<V> {
    /// Begins a graph with the emission of its START.
    pub(super) fn open_scope(
        &mut self,
        program: &Program,
        layout: usize,
        path: Arc<ScopePath>,
        parent: Option<Parent>,
        emitted: Emitted<V>,
    ) -> Applied {
        let Spare { mut frames, tasks } = self.spare.take().unwrap_or_default();
        let root = &mut frames[0];
        root.reset(0, &program.layouts[layout].frames[0], 0, 1);
        let nothing_to_do = root.open == 0;
        let (around, each, entry_state) = match parent {
            Some(Parent { task, item, each, entry_state }) => (Some((task, item)), each, entry_state),
            None => (None, None, None),
        };
        let is_in_turn = entry_state.is_some();
        let places = self.places_in(program, layout, around.map(|(task, _)| task))?;
        let scope = Scope {
            layout,
            path,
            parent: around,
            each,
            frames,
            free_frames: Vec::new(),
            tasks,
            places,
            taken: 0,
            closing: None,
            output: None,
            has_cut: false,
            entry_state,
        };
        let at = free_scope(&mut self.scopes, &mut self.free_scopes);
        self.scopes[at] = Some(scope);
        if let Some((task, item)) = around {
            self.items_mut(task)?.children[item] = Some(at);
        }
        self.emit(program, at, 0, START, emitted)?;
        if nothing_to_do {
            self.work.push_back(Work::Close { scope: at, frame: 0 });
        }
        if is_in_turn {
            self.drain_work(program)?;
            if let Ok(scope) = self.scope_mut(at) {
                scope.entry_state = None;
            }
        }
        Ok(())
    }

    pub(super) fn remove_scope(&mut self, scope: usize) -> Applied<Removed<V>> {
        let removed = self.scopes.get_mut(scope).and_then(Option::take).ok_or_else(scope_gone)?;
        let Scope { path, parent, mut frames, mut tasks, closing, output, has_cut, .. } = removed;
        match parent {
            _ if !has_cut => {}
            Some((task, _)) => self.items_mut(task)?.has_cut = true,
            None => self.has_cut = true,
        }
        self.free_scopes.push(scope);
        frames.truncate(1);
        if let [root] = &mut frames[..] {
            root.clear();
            tasks.clear();
            self.spare = Some(Spare { frames, tasks });
        }
        Ok(Removed { path, parent, closing, output })
    }

    /// Nothing in the graph can move any more.
    pub(in crate::core) fn scope_finished(&mut self, program: &Program, scope: usize) -> Applied {
        let at = self.remove_scope(scope)?;
        match (at.parent, at.output) {
            (None, Some(output)) => self.run_over(RunEnd::Completed(output)),
            (Some((task, item)), Some(output)) => self.item_finished(program, task, item, output),
            (None, None) => self.run_over(RunEnd::Failed(without_output(&at.path))),
            (Some((task, item)), None) => self.item_failed(program, task, item, without_output(&at.path)),
        }
    }

    fn run_over(&mut self, end: RunEnd<V>) -> Applied {
        self.end = Some(end);
        Ok(())
    }

    /// A node of it has failed and no arm takes the failure, or the time limit of the run is over: what is under way in
    /// it is stopped, and then it has failed.
    pub(super) fn fail_scope(&mut self, program: &Program, scope: usize, failure: Failure) -> Applied {
        self.stop_scope(program, scope, ScopeExit::Failed(failure))
    }

    pub(super) fn cancel_scope(&mut self, program: &Program, scope: usize) -> Applied {
        self.stop_scope(program, scope, ScopeExit::Cancelled)
    }

    /// The run is cancelled, even if another one was to follow.
    pub(super) fn cancel_run(&mut self, program: &Program) -> Applied {
        if let Some(root @ ScopeExit::StartsOver(_)) = &mut self.scope_mut(0)?.closing {
            *root = ScopeExit::Cancelled;
        }
        self.cancel_scope(program, 0)
    }

    /// All of the run is stopped, so that another one follows.
    pub(super) fn stop_for_next_run(&mut self, program: &Program, next: Box<NextRun>) -> Applied {
        self.stop_scope(program, 0, ScopeExit::StartsOver(next))
    }

    fn stop_scope(&mut self, program: &Program, scope: usize, why: ScopeExit) -> Applied {
        let at = self.scope_mut(scope)?;
        if at.closing.is_some() {
            return Ok(());
        }
        at.closing = Some(why);
        let tasks = at.tasks.clone();
        self.work.retain(|work| {
            let (Work::Token { scope: of, .. } | Work::Close { scope: of, .. }) = work;
            *of != scope
        });
        if tasks.is_empty() {
            return self.scope_stopped(program, scope);
        }
        for task in tasks {
            // Stopping one of them may have ended this one.
            if self.tasks.get(task).is_some() {
                self.stop(program, task, StopReason::ScopeClosed)?;
            }
        }
        Ok(())
    }

    /// After each task of a closing scope that has ended: the last one ends the scope.
    pub(super) fn scope_stopped(&mut self, program: &Program, scope: usize) -> Applied {
        let at = self.scope(scope)?;
        if at.closing.is_none() || !at.tasks.is_empty() {
            return Ok(());
        }
        let at = self.remove_scope(scope)?;
        match (at.parent, at.closing) {
            (Some((task, item)), Some(ScopeExit::Failed(failure))) => self.item_failed(program, task, item, failure),
            (Some((task, item)), _) => self.item_over(program, task, item),
            (None, Some(ScopeExit::Failed(failure))) => self.run_over(RunEnd::Failed(failure)),
            (None, Some(ScopeExit::StartsOver(next))) => self.run_over(RunEnd::StartsOver(next)),
            (None, _) => self.run_over(RunEnd::Cancelled),
        }
    }
}

/// The slot for a scope that opens.
pub(super) fn free_scope<V>(scopes: &mut Vec<Option<Scope<V>>>, free: &mut Vec<usize>) -> usize {
    free.pop().unwrap_or_else(|| {
        // Most runs have one.
        if scopes.capacity() == 0 {
            *scopes = Vec::with_capacity(1);
        }
        scopes.push(None);
        scopes.len() - 1
    })
}

/// The failure of a graph without output, which no proven graph has.
fn without_output(path: &ScopePath) -> Failure {
    let message = "nothing reached END; the graph was not proven".to_owned();
    Failure::at(path.to_string(), 1, Cause::from(Fault::Context { message }))
}
