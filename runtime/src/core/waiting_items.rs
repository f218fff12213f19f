//! Items of `[..]` that only wait, before one that has failed.
//!
//! An item before the failed one continues, since it may fail as well, and then its failure is the one that is
//! reported. An item that waits for a person, or for a timer, would delay the failure for as long as that takes: it is
//! cancelled, and so is one the rest of which waits for the places of such nodes.

use super::admission::closed_gate;
use super::attempts::AttemptState;
use super::run::Run;
use super::run_state::Gate;
use super::task::{Execution, Task};
use super::task_id::TaskId;

impl<V> Run<V> {
    /// Whether there may be such an item.
    pub(crate) fn has_failed_items(&mut self) -> bool {
        let (tasks, news) = (&self.state.tasks, &mut self.state.news);
        news.with_failed_items.retain(|task| {
            let at = tasks.get(*task).filter(|at| at.stopping.is_none());
            at.and_then(Task::items).is_some_and(|items| items.failed.is_some() && items.open > 0)
        });
        !self.state.news.with_failed_items.is_empty()
    }

    /// Such an item, and its node. `waits`: whether the attempt of a node is under way and waits.
    pub(crate) fn waiting_item(&self, waits: impl Fn(TaskId) -> bool) -> Option<(TaskId, usize)> {
        self.state.news.with_failed_items.iter().find_map(|task| {
            let items = self.state.tasks.get(*task)?.items()?;
            let is_waiting = |(item, scope): &(usize, Option<usize>)| {
                items.is_before_failed(*item) && scope.is_some_and(|scope| self.only_waits(scope, *task, &waits))
            };
            items.children.iter().copied().enumerate().find(is_waiting).map(|(item, _)| (*task, item))
        })
    }

    /// `among`: the node of the item that is looked at.
    fn only_waits(&self, scope: usize, among: TaskId, waits: &impl Fn(TaskId) -> bool) -> bool {
        let Some(at) = self.state.scope(scope).ok().filter(|at| at.closing.is_none()) else { return false };
        let task_waits =
            |id: &TaskId| self.state.tasks.get(*id).is_some_and(|at| self.task_waits(*id, at, among, waits));
        !at.tasks.is_empty() && at.tasks.iter().all(task_waits)
    }

    fn task_waits(&self, id: TaskId, task: &Task<V>, among: TaskId, waits: &impl Fn(TaskId) -> bool) -> bool {
        match task.attempts.state() {
            _ if task.stopping.is_some() => false,
            AttemptState::UnderWay(Execution::Body) => waits(id),
            AttemptState::UnderWay(Execution::Inside(items)) => {
                let mut open = items.children.iter().flatten();
                items.open > 0 && open.all(|scope| self.only_waits(*scope, among, waits))
            }
            AttemptState::Backoff { .. } => true,
            AttemptState::Due => self.is_held_up(id, among, waits),
            AttemptState::UnderWay(Execution::Exhausted { .. }) | AttemptState::CutShort => false,
            AttemptState::Ended(end) => match *end {},
        }
    }

    /// Whether a task that is to begin waits for a place that it does not get before others that only wait are over. The
    /// places that all items of the node share are not such: other items give them back when they are cancelled.
    fn is_held_up(&self, id: TaskId, among: TaskId, waits: &impl Fn(TaskId) -> bool) -> bool {
        let holds_and_moves = |id: &TaskId| {
            self.state.tasks.get(*id).is_some_and(|at| at.holds_place && !self.task_waits(*id, at, among, waits))
        };
        match closed_gate(&self.program, &self.state, id) {
            // It begins as soon as it may.
            None => false,
            Some((Gate::Graph(scope), _)) => {
                self.state.scope(scope).is_ok_and(|scope| !scope.tasks.iter().any(holds_and_moves))
            }
            Some((Gate::Node(key), _)) if key.0 != among => {
                let is_there = |id: &TaskId| self.state.place_key(&self.program, *id) == Some(key);
                !self.state.tasks.ids().iter().any(|id| is_there(id) && holds_and_moves(id))
            }
            Some((Gate::Items(each), _)) if each != among => {
                let items = self.state.tasks.get(each).and_then(Task::items);
                items.is_some_and(|items| {
                    let mut there = items.children.iter().enumerate().filter(|(item, _)| !items.idle.contains(item));
                    there.all(|(_, scope)| scope.is_none_or(|scope| self.only_waits(scope, among, waits)))
                })
            }
            Some((Gate::Node(_) | Gate::Items(_), _)) => false,
        }
    }
}
