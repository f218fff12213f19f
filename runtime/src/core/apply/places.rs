//! The places that `max_parallel` limits: those of the nodes of a graph, those of a node in the items of a `[..]`, and
//! those of the items of a `[..]`.
//!
//! A task keeps its place until it is gone. Only a retry takes places away: it reopens graphs that were over, and may
//! reopen more of them than there are places. So all wait again for a place, and get it with the first task that begins
//! in them. So a task with a place inside a graph always has the places around it too, and there is no deadlock.

use std::collections::HashSet;

use crate::core::impossible::Applied;
use crate::core::items::ItemPace;
use crate::core::program::Program;
use crate::core::run_state::{Gate, RunState};
use crate::core::task_id::TaskId;

impl<V> RunState<V> {
    /// An attempt at a node begins, or an item of it: it takes its place, and the places that nodes and items around it
    /// have lost.
    pub(super) fn take_places(&mut self, program: &Program, task: TaskId) -> Applied {
        self.take_place(program, task)?;
        if !self.has_reopened {
            return Ok(());
        }
        let mut scope = self.tasks.expect(task)?.scope;
        while let Some((around, item)) = self.scope(scope)?.parent {
            self.items_mut(around)?.idle.remove(&item);
            self.take_place(program, around)?;
            scope = self.tasks.expect(around)?.scope;
        }
        Ok(())
    }

    fn take_place(&mut self, program: &Program, task: TaskId) -> Applied {
        if self.tasks.expect(task)?.holds_place || !self.needs_place(program, task) {
            return Ok(());
        }
        if let Some((each, layout, node)) = self.place_key(program, task) {
            *self.items_mut(each)?.places.entry((layout, node)).or_default() += 1;
        }
        let at = self.tasks.expect_mut(task)?;
        at.holds_place = true;
        let scope = at.scope;
        self.scope_mut(scope)?.taken += 1;
        Ok(())
    }

    pub(super) fn give_back_place(&mut self, program: &Program, task: TaskId) -> Applied {
        if !self.tasks.expect(task)?.holds_place {
            return Ok(());
        }
        if let Some(key @ (each, layout, node)) = self.place_key(program, task) {
            if let Some(inside) = self.items_mut(each)?.places.get_mut(&(layout, node)) {
                *inside -= 1;
            }
            self.news.freed.push(Gate::Node(key));
        }
        let at = self.tasks.expect_mut(task)?;
        at.holds_place = false;
        let graph = at.scope;
        let scope = self.scope_mut(graph)?;
        scope.taken -= 1;
        if scope.places.is_some() {
            self.news.freed.push(Gate::Graph(graph));
        }
        Ok(())
    }

    /// The run is retried: only attempts that are under way keep their places, and the nodes and items around them.
    pub(super) fn take_places_away(&mut self, program: &Program) -> Applied {
        let mut busy: HashSet<TaskId> = HashSet::new();
        let mut busy_items: HashSet<(TaskId, usize)> = HashSet::new();
        for task in self.tasks.ids() {
            let at = self.tasks.expect(task)?;
            if !at.is_running() {
                continue;
            }
            busy.insert(task);
            let mut scope = at.scope;
            while let Some((around, item)) = self.scope(scope)?.parent
                && busy_items.insert((around, item))
            {
                busy.insert(around);
                scope = self.tasks.expect(around)?.scope;
            }
        }
        for task in self.tasks.ids() {
            if !busy.contains(&task) && self.tasks.expect(task)?.holds_place {
                self.give_back_place(program, task)?;
                self.has_reopened = true;
            }
            let Some(items) = self.tasks.expect_mut(task)?.items_mut() else { continue };
            if items.pace == ItemPace::Bounded {
                let open = items.children.iter().enumerate().filter(|(_, scope)| scope.is_some());
                items.idle = open.map(|(item, _)| item).filter(|item| !busy_items.contains(&(task, *item))).collect();
                self.has_reopened |= !items.idle.is_empty();
            }
        }
        Ok(())
    }
}
