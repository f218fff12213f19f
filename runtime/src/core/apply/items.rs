//! The graphs inside a node: one for a nested workflow, one for each item of `[..]`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use crate::core::ScopeKind;
use crate::core::event::Entered;
use crate::core::impossible::{Applied, Impossible};
use crate::core::items::{ItemPace, Items};
use crate::core::path::ScopePath;
use crate::core::program::{NodeKind, Program};
use crate::core::run_state::{Gate, RunState};
use crate::core::scope::Parent;
use crate::core::task::{Execution, Task};
use crate::core::task_id::TaskId;
use crate::core::token::Arrived;
use crate::fault::Failure;
use crate::sorted::SortedSet;

impl<V> RunState<V> {
    /// The inputs of the graphs inside a node were made.
    pub(super) fn enter(&mut self, program: &Program, task: TaskId, entered: Entered<V>) -> Applied {
        let Entered { inputs, pace, limit } = entered;
        let NodeKind::Scope(kind, layout) = self.node(program, task)?.kind else { return Err(no_items()) };
        let count = inputs.len();
        let state = self.state_of(self.tasks.expect(task)?.scope)?.inside();
        let entry_state = (pace == ItemPace::InTurn).then(|| state.snapshot());
        let work = self.tasks.expect_mut(task)?.attempts.work_mut().ok_or_else(no_items)?;
        *work = Execution::Inside(Box::new(Items {
            kind,
            layout,
            pace,
            limit,
            pending: inputs.into_iter().enumerate().collect(),
            children: vec![None; count],
            ends: std::iter::repeat_with(|| None).take(count).collect(),
            open: 0,
            lent: 0,
            state,
            entry_state,
            has_cut: false,
            failed: None,
            places: HashMap::new(),
            idle: SortedSet::new(),
        }));
        if pace == ItemPace::AtOnce {
            for _ in 0..count {
                self.start_item(program, task)?;
            }
        } else {
            self.news.queued.push(task);
        }
        Ok(())
    }

    /// The next item begins.
    pub(super) fn start_item(&mut self, program: &Program, task: TaskId) -> Applied {
        let outer = self.tasks.expect(task)?.scope;
        let items = self.items_mut(task)?;
        let Some((item, emitted)) = items.pending.pop_front() else { return Err(no_items()) };
        items.open += 1;
        let (kind, layout, entry_state) = (items.kind, items.layout, items.entry_state.clone());
        if items.pace != ItemPace::AtOnce && !items.pending.is_empty() {
            self.news.queued.push(task);
        }
        let (item_name, each) = match kind {
            ScopeKind::Nested => (None, self.scope(outer)?.each),
            ScopeKind::Each => (Some(item), Some(task)),
        };
        let inside = Arc::clone(&program.layouts[layout]);
        let path = Arc::new(ScopePath { layout: inside, around: self.place_of(task), prefix: None, item: item_name });
        let parent = Parent { task, item, each, entry_state };
        self.open_scope(program, layout, path, Some(parent), emitted)
    }

    pub(in crate::core) fn items_mut(&mut self, task: TaskId) -> Applied<&mut Items<V>> {
        self.tasks.expect_mut(task)?.items_mut().ok_or_else(no_items)
    }

    pub(super) fn item_finished(
        &mut self,
        program: &Program,
        task: TaskId,
        item: usize,
        output: Arrived<V>,
    ) -> Applied {
        self.items_mut(task)?.ends[item] = Some(output);
        self.item_over(program, task, item)
    }

    /// Stops the items above the one that failed. Those below continue as long as they do not only wait, and may fail
    /// as well: the failure of the lowest is reported.
    pub(super) fn item_failed(&mut self, program: &Program, task: TaskId, item: usize, failure: Failure) -> Applied {
        let items = self.items_mut(task)?;
        if items.failed.as_ref().is_none_or(|(lowest, _)| item < *lowest) {
            items.failed = Some((item, failure));
        }
        items.pending.clear();
        items.children[item] = None;
        self.news.with_failed_items.push(task);
        let items = self.items_mut(task)?;
        let above: Vec<usize> = items.children[item..].iter().flatten().copied().collect();
        // This item still counts as open, so that the last of these does not end the attempt before this function does.
        for scope in above {
            self.cancel_scope(program, scope)?;
        }
        self.item_over(program, task, item)
    }

    /// Stops an item that only waits.
    pub(super) fn cancel_item(&mut self, program: &Program, task: TaskId, item: usize) -> Applied {
        match self.items_mut(task)?.children.get(item).copied().flatten() {
            Some(scope) => self.cancel_scope(program, scope),
            None => Err(no_items()),
        }
    }

    /// Nothing of an item is under way any more. When that is so of all, the node's attempt is over.
    pub(super) fn item_over(&mut self, program: &Program, task: TaskId, item: usize) -> Applied {
        let items = self.items_mut(task)?;
        items.children[item] = None;
        items.open -= 1;
        let had_place = !items.idle.remove(&item);
        let (are_idle, are_pending) = (!items.idle.is_empty(), !items.pending.is_empty());
        if items.pace == ItemPace::Bounded && are_pending {
            self.news.queued.push(task);
        }
        if had_place && are_idle {
            self.news.freed.push(Gate::Items(task));
        }
        self.look_at_items(program, task)
    }

    pub(super) fn look_at_items(&mut self, program: &Program, task: TaskId) -> Applied {
        let at = self.tasks.expect(task)?;
        if !at.items().ok_or_else(no_items)?.is_over() {
            return Ok(());
        }
        if at.stopping.is_some() {
            return self.stopped(program, task);
        }
        self.news.changed.push_back(task);
        Ok(())
    }

    /// Stops the graphs inside a node.
    pub(super) fn stop_items(&mut self, program: &Program, task: TaskId) -> Applied {
        let items = self.items_mut(task)?;
        items.pending.clear();
        let children: Vec<usize> = items.children.iter().flatten().copied().collect();
        if children.is_empty() {
            return self.look_at_items(program, task);
        }
        // The last of them ends the task.
        for scope in children {
            self.cancel_scope(program, scope)?;
        }
        Ok(())
    }

    /// The time limits of the run, and of graphs that are under way, begin anew.
    pub(super) fn restart_time_limits(&mut self, from: SystemTime) {
        if let Some(limit) = &mut self.limit
            && let Some(until) = from.checked_add(limit.after)
        {
            limit.until = until;
        }
        for task in self.tasks.ids() {
            if let Some(items) = self.tasks.get_mut(task).and_then(Task::items_mut)
                && let Some(limit) = &mut items.limit
                && let Some(until) = from.checked_add(limit.after)
            {
                limit.until = until;
                self.news.changed.push_back(task);
            }
        }
    }
}

pub(super) fn no_items() -> Box<Impossible> {
    Box::new(Impossible { event: "", found: "its node has no graph inside that is under way".to_owned() })
}
