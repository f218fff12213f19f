//! Scopes: graphs under way, how they end, and how they are stopped.

use std::sync::Arc;

use graphweft_graph::START;

use super::frame::Frame;
use super::layout::Program;
use super::machine::{Machine, Work};
use super::message::{Command, RunEnd};
use super::path::ScopePath;
use super::task::{Stop, TaskId};
use super::token::{Arrived, Emitted};
use crate::fault::{Cause, Failure, Fault};

/// A graph under way.
pub(super) struct Scope<V> {
    /// Its place in the program.
    pub(super) layout: usize,
    pub(super) path: Arc<ScopePath>,
    /// The node that it is inside of, and which of that node's items it is.
    pub(super) parent: Option<(TaskId, usize)>,
    /// The nearest `[..]` around, whose items share their nodes' `max_parallel`.
    pub(super) each: Option<TaskId>,
    /// The first stands outside loops; the others are turns, or free.
    pub(super) frames: Vec<Frame<V>>,
    pub(super) free_frames: Vec<usize>,
    /// Its nodes that are not settled.
    pub(super) tasks: Vec<TaskId>,
    pub(super) closing: Option<Closing>,
    pub(super) output: Option<Arrived<V>>,
    /// Whether it is an item of `[..]` that was opened from records, and that none of them says has begun.
    pub(super) held: bool,
}

/// What a scope that is over has allocated. Holds nothing of what was in it.
pub(super) struct Spare<V> {
    root: Frame<V>,
    tasks: Vec<TaskId>,
}

/// What is left of a scope that is over.
struct Removed<V> {
    path: Arc<ScopePath>,
    parent: Option<(TaskId, usize)>,
    closing: Option<Closing>,
    output: Option<Arrived<V>>,
}

/// Why a scope ends before its graph has.
pub(super) enum Closing {
    Failed(Failure),
    Cancelled,
}

impl<V> Machine<V> {
    /// Begins a graph with what its START has emitted.
    pub(super) fn open_scope(
        &mut self,
        program: &Program,
        layout: usize,
        path: Arc<ScopePath>,
        parent: Option<(TaskId, usize, Option<TaskId>)>,
        emitted: Emitted<V>,
    ) {
        let Spare { mut root, tasks } =
            self.spare.take().unwrap_or_else(|| Spare { root: Frame::new(), tasks: Vec::new() });
        root.reset(0, &program.layouts[layout].frames[0], 0, 1);
        let nothing_to_do = root.open == 0;
        let scope = Scope {
            layout,
            path,
            parent: parent.map(|(task, item, _)| (task, item)),
            each: parent.and_then(|(_, _, each)| each),
            frames: vec![root],
            free_frames: Vec::new(),
            tasks,
            closing: None,
            output: None,
            held: self.replaying && parent.is_some_and(|(task, _, each)| each == Some(task)),
        };
        let at = self.free_scopes.pop().unwrap_or_else(|| {
            self.scopes.push(None);
            self.scopes.len() - 1
        });
        self.scopes[at] = Some(scope);
        if let Some((task, item, _)) = parent
            && let Some(group) = self.tasks.get_mut(task).and_then(|task| task.group.as_mut())
        {
            group.children[item] = Some(at);
        }
        self.emit(program, at, 0, START, emitted);
        if nothing_to_do {
            self.work.push_back(Work::Close { scope: at, frame: 0 });
        }
    }

    fn remove_scope(&mut self, scope: usize) -> Option<Removed<V>> {
        self.unhold(scope);
        let Scope { path, parent, mut frames, mut tasks, closing, output, .. } = self.scopes.get_mut(scope)?.take()?;
        self.free_scopes.push(scope);
        frames.truncate(1);
        if let Some(mut root) = frames.pop() {
            root.clear();
            tasks.clear();
            self.spare = Some(Spare { root, tasks });
        }
        Some(Removed { path, parent, closing, output })
    }

    /// Nothing in the graph can move any more.
    pub(super) fn scope_finished(&mut self, program: &Program, scope: usize) {
        let Some(at) = self.remove_scope(scope) else { return };
        match (at.parent, at.output) {
            (None, Some(output)) => self.end(RunEnd::Completed(output)),
            (Some((task, item)), Some(output)) => self.item_finished(program, task, item, output),
            (None, None) => self.end(RunEnd::Failed(without_output(&at.path))),
            (Some((task, item)), None) => self.item_failed(program, task, item, without_output(&at.path)),
        }
    }

    fn end(&mut self, end: RunEnd<V>) {
        self.over = true;
        self.out.push_back(Command::End(Box::new(end)));
    }

    /// A node of it has failed and nothing takes that up: its siblings are stopped, and then it has failed.
    pub(super) fn fail_scope(&mut self, program: &Program, scope: usize, failure: Failure) {
        self.stop_scope(program, scope, Closing::Failed(failure));
    }

    pub(super) fn cancel_scope(&mut self, program: &Program, scope: usize) {
        self.stop_scope(program, scope, Closing::Cancelled);
    }

    fn stop_scope(&mut self, program: &Program, scope: usize, why: Closing) {
        let Some(at) = self.scope_mut(scope) else { return };
        if at.closing.is_some() {
            return;
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
            self.stop(program, task, Stop::Abandoned);
        }
    }

    /// After each task of a closing scope that has ended: the last one ends the scope.
    pub(super) fn scope_stopped(&mut self, program: &Program, scope: usize) {
        if !self.scope(scope).is_some_and(|at| at.closing.is_some() && at.tasks.is_empty()) {
            return;
        }
        let Some(at) = self.remove_scope(scope) else { return };
        match (at.parent, at.closing) {
            (Some((task, item)), Some(Closing::Failed(failure))) => self.item_failed(program, task, item, failure),
            (Some((task, item)), _) => self.item_cancelled(program, task, item),
            (None, Some(Closing::Failed(failure))) => self.end(RunEnd::Failed(failure)),
            (None, _) => self.end(RunEnd::Cancelled),
        }
    }
}

/// No proven graph does this.
fn without_output(path: &ScopePath) -> Failure {
    let message = "nothing reached END; the graph was not proven".to_owned();
    Failure { path: path.to_string(), attempts: 1, cause: Cause::from(Fault::Context { message }) }
}
