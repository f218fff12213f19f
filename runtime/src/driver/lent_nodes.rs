//! Nodes that complete before the core knows of them: when a batch begins, and what is reported to the core. See
//! [`Batch`].

use std::collections::VecDeque;
use std::sync::Arc;

use super::batch::{Batch, Left, LeftState, TakenBack};
use super::lanes::Begun;
use super::run::Driver;
use super::spawned::Spawned;
use crate::attempt::Attempt;
use crate::core::{Impossible, Lent, LentNodes, LentOf, Run, TaskId};
use crate::meter;
use crate::table::{Emitted, Token, Tokens};
use crate::trace;

impl Driver {
    /// Begins a batch with the items of a node, if nothing else is under way. Returns whether it has.
    pub(super) fn begin_items(&mut self, task: TaskId) -> bool {
        let lent = if self.may_begin_batch() { self.run.lend_items(task) } else { None };
        lent.map(|(lent, pending)| self.begin_batch(lent, pending)).is_some()
    }

    /// The same for branches that wait to be admitted.
    pub(super) fn begin_branches(&mut self) -> bool {
        let lent = if self.may_begin_batch() { self.run.lend_branches() } else { None };
        lent.map(|(lent, pending)| self.begin_batch(lent, pending)).is_some()
    }

    fn may_begin_batch(&self) -> bool {
        if !self.is_bare || self.batch.is_some() {
            return false;
        }
        let is_alone = self.ready.is_empty() && self.alone.is_none() && self.spawned.is_empty();
        // Each attempt has a span of its own where it is traced.
        is_alone && !meter::IS_ON && !trace::is_wanted()
    }

    fn begin_batch(&mut self, lent: LentNodes, pending: VecDeque<Lent<Token>>) {
        let definition = self.executable.definition(&self.definition, lent.place.scope.layout.index);
        let batch = Arc::new(Batch::new(&self.shared, definition, lent, pending));
        self.lanes().begin_batch(&batch);
        self.batch = Some(batch);
    }

    /// Takes the batch back, if there is one: the results of its nodes are applied, and nodes of it that are under way
    /// become attempts like any other.
    pub(super) fn take_batch_back(&mut self) {
        let Some(batch) = self.batch.take() else { return };
        self.lanes().end_batch();
        if let Err(impossible) = self.apply_batch(&batch) {
            self.halt = Some(self.halt_for(&impossible));
        }
    }

    fn apply_batch(&mut self, batch: &Batch) -> Result<(), Box<Impossible>> {
        let TakenBack { done, pending, left } = batch.take_back(|at, attempt| {
            let task = task_of(&mut self.run, batch.of(), at)?;
            self.poll_elsewhere(task, attempt);
            Ok::<_, Box<Impossible>>(task)
        })?;
        let mut ended = Vec::new();
        for Left { at, attempt, state } in left {
            let task = task_of(&mut self.run, batch.of(), at)?;
            match state {
                LeftState::Ended(finished) => ended.push((task, attempt, finished)),
                LeftState::Waits(running) => {
                    self.poll_elsewhere(task, &attempt);
                    self.lanes().begin_alone(Begun { task, running, attempt });
                }
            }
        }
        match batch.of() {
            LentOf::Items(node) => self.run.return_items(*node, done, pending)?,
            LentOf::Branches(tasks) => {
                for lent in pending {
                    self.run.return_branch(tasks[lent.at], lent.value)?;
                }
                for (at, token) in done {
                    self.branch_is_done(tasks[at], Emitted { choice: 0, tokens: Tokens::One(token) });
                }
            }
        }
        for (task, attempt, finished) in ended {
            self.ended(task, attempt, finished);
        }
        Ok(())
    }

    fn poll_elsewhere(&mut self, task: TaskId, attempt: &Arc<Attempt>) {
        self.spawned.insert(Spawned { task, attempt: Arc::clone(attempt), beat: None, is_dropped: false });
    }
}

/// The task of a lent node that is under way.
fn task_of(run: &mut Run<Token>, of: &LentOf, at: usize) -> Result<TaskId, Box<Impossible>> {
    match of {
        LentOf::Items(node) => run.begin_lent_item(*node, at),
        LentOf::Branches(tasks) => Ok(tasks[at]),
    }
}
