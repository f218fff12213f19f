//! A run: the interface of the core for its driver.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::admission::{Admissions, keep_last};
use super::attempts::{Process, Resumable, Resumption};
use super::event::{Admission, Conclusion, Derived, Event, RunEnd};
use super::impossible::Applied;
use super::path::{Place, ScopePath};
use super::program::{NodeKind, Program, ScopeKind};
use super::run_state::RunState;
use super::scope::ScopeExit;
use super::state_map::{StateMap, Writes};
use super::task::{Execution, Task, Wanted};
use super::task_id::{StopReason, TaskId};
use super::token::Arrived;
use crate::fault::Fault;
use crate::options::RetryPolicy;
use crate::state_write::StateWrite;

/// One run.
pub(crate) struct Run<V> {
    pub(super) program: Arc<Program>,
    pub(super) root: Arc<ScopePath>,
    pub(super) state: RunState<V>,
    pub(super) admissions: Admissions,
}

/// The state of a run from a snapshot of it.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct ThawedRun<V>(RunState<V>);

/// Of its state: all else is made of the program.
impl<V: Serialize> Serialize for Run<V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        debug_assert!(self.state.work.is_empty(), "an event does all of its work");
        self.state.serialize(to)
    }
}

/// The values of a state by key.
pub(crate) type Values = Arc<Map<String, Value>>;

impl<V> Run<V> {
    /// A run that has not begun. `is_watched`: whether [`Derived`] events are needed; `max_concurrency`: how many
    /// attempts at nodes may be under way at once, 0 for no limit; `prefix`: the prefix of all paths, if that is not
    /// the workflow's name.
    pub(crate) fn new(
        program: Arc<Program>,
        max_concurrency: usize,
        is_watched: bool,
        state: Map<String, Value>,
        prefix: Option<String>,
    ) -> Self {
        let root = Arc::new(ScopePath { layout: Arc::clone(&program.layouts[0]), around: None, prefix, item: None });
        let state = if root.prefix.is_some() { StateMap::of_child(state) } else { StateMap::new(state) };
        let state = RunState::new(is_watched, state);
        Run { program, root, state, admissions: Admissions::new(max_concurrency) }
    }

    /// The next task whose [`Wanted`] may have changed.
    pub(crate) fn next_changed(&mut self) -> Option<TaskId> {
        self.state.news.changed.pop_front()
    }

    pub(crate) fn has_changes(&self) -> bool {
        !self.state.news.changed.is_empty()
    }

    /// Whether applied events may still have effects: changed tasks, or tasks to admit.
    pub(crate) fn has_more_to_begin(&self) -> bool {
        let news = &self.state.news;
        !(news.changed.is_empty() && news.queued.is_empty() && self.admissions.is_empty())
    }

    /// From here on, [`next_fired`](Self::next_fired) returns the tasks that are made.
    pub(crate) fn index_fired(&mut self) {
        self.state.news.fired = Some(Vec::new());
    }

    pub(crate) fn stop_indexing(&mut self) {
        self.state.news.fired = None;
    }

    /// A task that the last events have made.
    pub(crate) fn next_fired(&mut self) -> Option<TaskId> {
        self.state.news.fired.as_mut()?.pop()
    }

    /// The next consequence of the last events that is not recorded, in no order.
    pub(crate) fn next_derived(&mut self) -> Option<(Place, Derived)> {
        self.state.news.derived.pop()
    }

    /// Whether a task is that of a node without a graph inside.
    pub(crate) fn is_leaf(&self, task: TaskId) -> bool {
        self.state.is_leaf(&self.program, task).unwrap_or(false)
    }

    /// Whether an attempt at it may run at most once.
    pub(crate) fn is_once_only(&self, task: TaskId) -> bool {
        self.state.node(&self.program, task).is_ok_and(|spec| spec.options.at_most_once)
    }

    /// Whether an attempt that may be made at most once was cut short in the graphs inside a node.
    pub(crate) fn has_cut_inside(&self, task: TaskId) -> bool {
        self.state.tasks.get(task).and_then(|at| at.items()).is_some_and(|items| items.has_cut)
    }

    /// The same of the graph itself, once it is over.
    pub(crate) fn has_cut(&self) -> bool {
        self.state.has_cut
    }

    /// The node that the graph of a task is inside of, and how many attempts that has begun.
    pub(crate) fn parent_of(&self, task: TaskId) -> Option<(TaskId, u32)> {
        let scope = self.state.scope(self.state.tasks.get(task)?.scope).ok()?;
        let (parent, _) = scope.parent?;
        Some((parent, self.attempts(parent)))
    }

    /// The `[..]` around a node, and the item that the node is in.
    pub(crate) fn item_of(&self, task: TaskId) -> Option<(TaskId, usize)> {
        let (around, item) = self.state.scope(self.state.tasks.get(task)?.scope).ok()?.parent?;
        let items = self.state.tasks.get(around)?.items()?;
        (items.kind == ScopeKind::Each).then_some((around, item))
    }

    /// How many items of a `[..]` are done, and how many there are, if this one is done. `None` where one has failed: of
    /// those that are not under way then, some are cancelled and some have never begun.
    pub(crate) fn items_done(&self, around: TaskId, item: usize) -> Option<(usize, usize)> {
        let items = self.state.tasks.get(around)?.items()?;
        let is_done = items.children.get(item)?.is_none() && items.failed.is_none();
        is_done.then(|| (items.children.len() - items.open - items.lent - items.pending.len(), items.children.len()))
    }

    /// Why a task is being stopped.
    pub(crate) fn stopping(&self, task: TaskId) -> Option<StopReason> {
        self.state.tasks.get(task)?.stopping
    }

    /// The consequences of the last events that are not recorded.
    pub(crate) fn take_derived(&mut self) -> Vec<(Place, Derived)> {
        std::mem::take(&mut self.state.news.derived)
    }

    pub(crate) fn has_derived(&self) -> bool {
        !self.state.news.derived.is_empty()
    }

    /// The work that has to be under way for a task.
    pub(crate) fn wanted(&self, task: TaskId) -> Wanted {
        self.state.tasks.get(task).map_or(Wanted::Nothing, Task::wanted)
    }

    /// Whether a task is not done yet.
    pub(crate) fn is_live(&self, task: TaskId) -> bool {
        self.state.tasks.get(task).is_some()
    }

    /// Whether a body is executed, or entering the graph inside has failed and that failure follows.
    pub(crate) fn is_running(&self, task: TaskId) -> bool {
        self.state.tasks.get(task).is_some_and(Task::is_running)
    }

    /// Whether graphs inside the node are under way.
    pub(crate) fn is_inside(&self, task: TaskId) -> bool {
        self.state.tasks.get(task).is_some_and(|at| at.items().is_some())
    }

    pub(crate) fn tasks(&self) -> Vec<TaskId> {
        self.state.tasks.ids()
    }

    pub(crate) fn place_of(&self, task: TaskId) -> Option<Place> {
        self.state.place_of(task)
    }

    /// How many attempts have begun.
    pub(crate) fn attempts(&self, task: TaskId) -> u32 {
        self.state.tasks.get(task).map_or(0, |at| at.attempts.number())
    }

    /// Whether another attempt may follow the present one, or the next one if none is under way: that needs the same
    /// input.
    pub(crate) fn may_be_followed(&self, task: TaskId) -> bool {
        let at = self.state.tasks.get(task).zip(self.policy(task));
        at.is_some_and(|(at, policy)| at.attempts.may_be_followed(policy))
    }

    /// Whether the input of the present attempt, or of the next one if none is under way, is needed behind it: by
    /// another attempt, or by the error that is made of a fault.
    pub(crate) fn keeps_input(&self, task: TaskId) -> bool {
        self.may_be_followed(task) || self.state.node(&self.program, task).is_ok_and(|node| node.keeps_input)
    }

    /// When the attempts at a node are repeated.
    pub(super) fn policy(&self, task: TaskId) -> Option<&RetryPolicy> {
        self.state.node(&self.program, task).ok().map(|spec| &spec.options.retry)
    }

    /// The action for a task when its run is resumed; `None` if it is being stopped.
    pub(crate) fn resumption(&self, task: TaskId) -> Option<Resumption> {
        let at = self.state.tasks.get(task).filter(|at| at.stopping.is_none())?;
        let spec = self.state.node(&self.program, task).ok()?;
        let how = match (at.attempts.work(), spec.kind) {
            (Some(Execution::Body), NodeKind::Leaf) => Resumable::FromItsTop,
            _ => Resumable::FromRecords,
        };
        at.attempts.resumption(&spec.options, how, Process::Earlier)
    }

    /// The tokens that fired a task, until they are taken.
    pub(crate) fn input(&self, task: TaskId) -> Option<&Arrived<V>> {
        self.state.tasks.get(task)?.input.as_ref()
    }

    /// Takes the tokens that fired a task, once.
    pub(crate) fn take_input(&mut self, task: TaskId) -> Option<Arrived<V>> {
        self.state.tasks.get_mut(task)?.input.take()
    }

    /// The run's state as an attempt sees it, and the state that a collecting node has kept from earlier arrivals.
    pub(crate) fn sees(&self, task: TaskId) -> (Values, Option<Values>) {
        let at = self.state.tasks.get(task);
        debug_assert!(at.is_none_or(|at| at.sees.is_some()), "an attempt that has begun sees a state");
        let seen = at.and_then(|at| at.sees.as_ref());
        let seen = seen.map_or(&self.state.shared.values, |sees| &sees.values);
        (Arc::clone(seen), self.state.collector_state_of(&self.program, task))
    }

    /// The writes to the state of a child.
    pub(crate) fn writes(&self) -> Vec<StateWrite> {
        self.state.shared.writes()
    }

    /// Checks that the writes of an attempt can be folded.
    ///
    /// # Errors
    /// If they conflict with writes that another node has made since, or do not fit the values.
    pub(crate) fn check_writes(&self, task: TaskId, writes: &Writes) -> Result<(), Fault> {
        let (Some(set), Some(at)) = (&writes.0, self.state.tasks.get(task)) else { return Ok(()) };
        let Ok(state) = self.state.state_of(at.scope) else {
            debug_assert!(false, "a task is in a scope");
            return Ok(());
        };
        let writer = |_: &str| self.state.place_of(task).map_or_else(String::new, |place| place.path());
        self.state.check_collector_writes(&self.program, task, &set.local)?;
        let seen = at.sees.as_ref().map_or(state.version, |sees| sees.version);
        state.check(&set.shared, seen, &self.program.totals, writer)
    }

    /// Takes the conclusion of a task whose attempt is not a call of the driver's.
    pub(crate) fn take_conclusion(&mut self, task: TaskId) -> Option<Conclusion<V>> {
        let inside = self.check_inside(task);
        let at = self.state.tasks.get_mut(task)?;
        let stopping = at.stopping;
        match at.attempts.work_mut()? {
            Execution::Body => None,
            Execution::Exhausted { arrivals } => Some(Conclusion::NothingCollected(*arrivals)),
            Execution::Inside(items) if stopping == Some(StopReason::TimedOut) => {
                Some(Conclusion::TimedOut(items.limit.map_or_else(Default::default, |limit| limit.after)))
            }
            Execution::Inside(items) => Some(match (&items.failed, inside) {
                (Some((_, failure)), _) => Conclusion::Failed(failure.clone()),
                (None, Err(fault)) => Conclusion::Unfit(fault),
                (None, Ok(())) => {
                    debug_assert!(items.ends.iter().all(Option::is_some), "no item has failed, and all are over");
                    Conclusion::Leave(std::mem::take(&mut items.ends).into_iter().flatten().collect())
                }
            }),
        }
    }

    /// Checks that the writes inside a node that is done can be folded into the state around it.
    fn check_inside(&self, task: TaskId) -> Result<(), Fault> {
        match self.state.tasks.get(task).map(|at| (at.items(), self.state.state_of(at.scope))) {
            Some((Some(items), Ok(state))) if items.failed.is_none() => {
                state.check_inside(&items.state, &self.program.totals)
            }
            _ => Ok(()),
        }
    }

    /// Takes the end of the run, once.
    pub(crate) fn take_end(&mut self) -> Option<RunEnd<V>> {
        self.state.end.take()
    }

    /// The prefix of the paths of all its nodes: the name of the workflow, or the path of the child that it is.
    pub(crate) fn path(&self) -> String {
        self.root.to_string()
    }

    /// When the time limit of the run is over; `None` if it has none, or is ending.
    pub(crate) fn limit(&self) -> Option<SystemTime> {
        self.state.open_limit().map(|limit| limit.until)
    }

    /// When the next time limit is over, of the run or of graphs inside nodes.
    pub(crate) fn next_limit(&self) -> Option<SystemTime> {
        let limit_of = |task: TaskId| match self.wanted(task) {
            Wanted::Inside(until) => until,
            _ => None,
        };
        self.tasks().into_iter().filter_map(limit_of).chain(self.limit()).min()
    }

    /// Whether it is to end, or has.
    pub(crate) fn is_ending(&self) -> bool {
        self.state.scopes.first().is_none_or(|root| root.as_ref().is_none_or(|root| root.closing.is_some()))
    }

    /// Whether it is to end so that another one follows. A cancellation may still come before that.
    pub(crate) fn is_starting_over(&self) -> bool {
        let root = self.state.scopes.first().and_then(Option::as_ref);
        root.is_some_and(|root| matches!(root.closing, Some(ScopeExit::StartsOver(_))))
    }

    /// The run's state, as a node of its own graph that starts now sees it.
    pub(crate) fn state(&self) -> &Arc<Map<String, Value>> {
        &self.state.shared.values
    }

    /// The prefix of all paths, if that is not the workflow's name.
    #[cfg(test)]
    pub(crate) fn prefix(&self) -> Option<&str> {
        self.root.prefix.as_deref()
    }

    /// The next attempt or item that may begin now.
    pub(crate) fn admit(&mut self, waiting: usize) -> Option<Admission<V>> {
        self.admissions.next(&self.program, &mut self.state, waiting)
    }

    /// After the last record: all waiting tasks are examined, in the order in which they would have been admitted.
    pub(crate) fn resume(&mut self) {
        self.admissions.resume(&mut self.state);
    }

    /// Forgets the news of events that are applied, but for what [`resume`](Self::resume) needs, so that what is left is
    /// as large as the state.
    pub(crate) fn forget_news(&mut self) {
        let RunState { tasks, news, .. } = &mut self.state;
        news.changed.clear();
        news.freed.clear();
        news.queued.retain(|task| tasks.get(*task).is_some());
        keep_last(&mut news.queued);
        news.with_failed_items.retain(|task| tasks.get(*task).is_some());
    }

    /// Continues from a snapshot of the state, in the place of a run that has not begun.
    pub(crate) fn thaw(&mut self, thawed: ThawedRun<V>) {
        let is_watched = self.state.news.is_watched;
        self.state = thawed.0;
        self.state.news.is_watched = is_watched;
    }

    /// Applies one event.
    ///
    /// # Errors
    /// If it is impossible in the state of the run, which cannot be used any more then.
    pub(crate) fn apply(&mut self, event: Event<V>) -> Applied {
        self.state.apply(&self.program, &self.root, event)
    }
}
