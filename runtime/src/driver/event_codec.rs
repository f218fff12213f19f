//! Between the events of the core and the records of a run: paths for tasks, labels for choices, JSON for values.

use std::borrow::Cow;
use std::sync::Arc;

use foldhash::HashMap;
use serde_json::Value;

use super::labels::{Labels, LabelsInCode};
use crate::core::{
    Derived, Emitted, Entered, Event, Impossible, ItemPace, NextRun, Place, Program, Run, TaskId, Then, TimeLimit,
    WriteSet, Writes,
};
use crate::event::{self, AfterFailure, EventKind, Limit};
use crate::fault::Cause;
use crate::field::Unreadable;
use crate::fingerprint::FormerNames;
use crate::halt::Halt;
use crate::shared::Desk;
use crate::sorted::SortedSet;
use crate::state_write::StateWrite;
use crate::store::{Record, Stored};
use crate::table::{Definition, Executable};

/// The output or error of a node, as JSON if its run is recorded.
pub(super) enum Given {
    Output(Option<Value>),
    Error(Option<Value>),
}

/// The record of an event that is about to be applied; `None` for an event that is recorded elsewhere.
pub(super) fn encode<V>(
    run: &Run<V>,
    (executable, definition): (&Executable, &Arc<Definition>),
    event: &Event<V>,
    given: Option<Given>,
) -> Option<Record> {
    let place = event.task().and_then(|task| run.place_of(task));
    let kind = match event {
        Event::Begun { .. } | Event::Retried { .. } => return None,
        Event::Cancelling => {
            return Some(Record { path: run.path(), kind: EventKind::RunCancelling });
        }
        Event::TimedOut => return Some(Record { path: run.path(), kind: EventKind::RunTimedOut }),
        Event::Started { task, entered } => {
            let inside = entered.as_ref().map(|entered| {
                let labels = place.as_ref().map(|place| executable.labels_inside(definition, place));
                entered_of(entered, labels.unwrap_or_default())
            });
            EventKind::NodeStarted { attempt: run.attempts(*task) + 1, inside, input: None, began: None }
        }
        Event::ItemStarted { item, .. } => EventKind::ItemStarted { item: *item as u64 },
        Event::ItemCancelled { item, .. } => EventKind::ItemCancelled { item: *item as u64 },
        Event::Completed { emitted, writes, .. } => {
            let label = place.as_ref().and_then(|place| executable.label(definition, place, emitted.choice));
            let output = match given {
                Some(Given::Output(output)) => output,
                Some(Given::Error(_)) | None => None,
            };
            let (state, _) = split(writes);
            EventKind::NodeCompleted { label: label.map(str::to_owned), output, state, items: None }
        }
        Event::Collecting { writes, .. } => {
            let (state, local) = split(writes);
            EventKind::NodeCollecting { state, local }
        }
        Event::Failed { task, cause, then } => {
            let mut own = None;
            let then = match then {
                Then::RetryAt(time) => AfterFailure::RetryAt { time: *time },
                Then::Routed(emitted) => {
                    let label = place.as_ref().and_then(|place| executable.label(definition, place, emitted.choice));
                    debug_assert!(label.is_some(), "an arm of a route has a label");
                    let error = match given {
                        Some(Given::Error(error)) => error,
                        Some(Given::Output(_)) | None => None,
                    };
                    AfterFailure::Routed {
                        label: label.unwrap_or_default().to_owned(),
                        error: error.unwrap_or_default(),
                    }
                }
                Then::Fails(error) => {
                    own = error.as_deref().cloned();
                    AfterFailure::Fails
                }
            };
            let attempt = run.attempts(*task);
            EventKind::NodeFailed { attempt, cause: Cause::clone(cause), then, error: own }
        }
        Event::TimerFired { .. } => EventKind::TimerFired,
        Event::Stopped { .. } => EventKind::NodeCancelled,
        Event::StartingOver { next, .. } => {
            let NextRun { input, state } = NextRun::clone(next);
            EventKind::RunStartingOver { input, state }
        }
    };
    Some(Record { path: place?.path(), kind })
}

/// A consequence of an event, as an event that watchers see.
pub(crate) fn derived_record(place: &Place, what: Derived) -> Record {
    let kind = match what {
        Derived::Skipped => EventKind::NodeSkipped,
        Derived::Cancelled => EventKind::NodeCancelled,
    };
    Record { path: place.path(), kind }
}

fn entered_of<V>(entered: &Entered<V>, labels: &[&'static str]) -> event::Entered {
    let label = |input: &Emitted<V>| labels.get(input.choice).map(|label| (*label).to_owned());
    event::Entered {
        items: entered.inputs.len() as u64,
        labels: entered.inputs.iter().filter_map(label).collect(),
        bounded: entered.pace == ItemPace::Bounded,
        limit: entered.limit.map(Limit::from),
        graph: None,
    }
}

impl From<TimeLimit> for Limit {
    fn from(TimeLimit { after, until }: TimeLimit) -> Self {
        Limit { after, until }
    }
}

impl From<&Limit> for TimeLimit {
    fn from(Limit { after, until }: &Limit) -> Self {
        TimeLimit { after: *after, until: *until }
    }
}

fn split(writes: &Writes) -> (Vec<StateWrite>, Vec<StateWrite>) {
    writes.0.as_ref().map(|set| (set.shared.clone(), set.local.clone())).unwrap_or_default()
}

/// Makes the values of a run from its records: real values for nodes, or `()` if only the state of the run is needed.
pub(crate) trait Values<V> {
    /// The emission of a node: its output, or the error that the arm `err` takes.
    fn emitted(&mut self, place: &Place, json: Value, is_error: bool, choice: usize) -> Emitted<V>;

    /// Whether so many items can have entered a node with a graph inside.
    ///
    /// # Errors
    /// As with [`entered`](Self::entered).
    fn are_items(&mut self, run: &mut Run<V>, task: TaskId, place: &Place, items: usize) -> Result<bool, Halt>;

    /// The emission of START for each item of a node with a graph inside; `choices` has the choice of each item.
    ///
    /// # Errors
    /// If the inputs of the node cannot be read.
    fn entered(
        &mut self,
        run: &mut Run<V>,
        task: TaskId,
        place: &Place,
        choices: Vec<usize>,
    ) -> Result<Vec<Emitted<V>>, Halt>;
}

/// Up to this many items of a record are not checked against the inputs. Above it they are, so that a damaged record
/// does not fill the memory.
const UNCOUNTED: usize = 1000;

/// How many items of a record are taken for possible where no input can be counted.
pub(super) const MOST_ITEMS: usize = 1 << 24;

/// Makes no values: every value is `()`.
pub(crate) struct NoValues(pub(crate) Arc<Program>);

impl Values<()> for NoValues {
    fn emitted(&mut self, place: &Place, _: Value, _: bool, choice: usize) -> Emitted<()> {
        empty(choice, place.edges(choice))
    }

    fn are_items(&mut self, _: &mut Run<()>, _: TaskId, _: &Place, items: usize) -> Result<bool, Halt> {
        Ok(items < MOST_ITEMS)
    }

    fn entered(
        &mut self,
        _: &mut Run<()>,
        _: TaskId,
        place: &Place,
        choices: Vec<usize>,
    ) -> Result<Vec<Emitted<()>>, Halt> {
        Ok(choices.into_iter().map(|choice| empty(choice, place.edges_inside(&self.0, choice))).collect())
    }
}

pub(crate) fn empty(choice: usize, edges: usize) -> Emitted<()> {
    use crate::core::Tokens;
    let tokens = match edges {
        0 => Tokens::None,
        1 => Tokens::One(()),
        edges => Tokens::Many(vec![(); edges]),
    };
    Emitted { choice, tokens }
}

/// A run that is folded from its records.
pub(crate) struct Replay<V> {
    pub(crate) run: Run<V>,
    labels: Arc<dyn Labels>,
    /// The last task at each path.
    tasks: HashMap<String, TaskId>,
    /// The names that the records had, for errors, if the nodes have others now.
    pub(super) former: Option<Arc<FormerNames>>,
}

/// How a record was used.
pub(crate) enum Taken {
    /// An event of the graph, which was applied. For an event of a node: its path, and whether its requests are
    /// forgotten or retried.
    Applied(Option<(String, Option<OfRequests>)>),
    /// A request that a node has made through its context.
    Request {
        task: TaskId,
        /// The length of the node's path, which is a prefix of the record's.
        node: usize,
        stored: Box<Stored>,
    },
    /// It came too late to matter, or does not change the state.
    Nothing,
}

impl<V> Replay<V> {
    /// Begins the fold with the emission of START. `limit`: the time limit of the run, from its first record.
    ///
    /// # Errors
    /// If the run has already begun.
    pub(crate) fn new(
        run: Run<V>,
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
        started: Emitted<V>,
        limit: Option<TimeLimit>,
    ) -> Result<Self, Halt> {
        Replay::by_labels(run, LabelsInCode::shared(executable, definition), started, limit)
    }

    /// The same by labels alone.
    ///
    /// # Errors
    /// If the run has already begun.
    pub(crate) fn by_labels(
        mut run: Run<V>,
        labels: Arc<dyn Labels>,
        started: Emitted<V>,
        limit: Option<TimeLimit>,
    ) -> Result<Self, Halt> {
        run.index_fired();
        let mut replay = Replay { run, labels: Arc::clone(&labels), tasks: HashMap::default(), former: None };
        replay.apply(labels.workflow(), Event::Begun { emitted: started, limit })?;
        Ok(replay)
    }

    /// Continues a fold from a snapshot. Tasks that were gone by then are not known: a late record of one is an error.
    pub(crate) fn thawed(mut run: Run<V>, executable: &Arc<Executable>, definition: &Arc<Definition>) -> Self {
        run.index_fired();
        let at = |task: TaskId| Some((run.place_of(task)?.path(), task));
        let tasks = run.tasks().into_iter().filter_map(at).collect();
        Replay { run, labels: LabelsInCode::shared(executable, definition), tasks, former: None }
    }

    /// The last task at a path, which may be gone.
    pub(crate) fn task_at(&self, path: &str) -> Option<TaskId> {
        self.tasks.get(path).copied()
    }

    /// Folds one record.
    ///
    /// # Errors
    /// If it does not fit the graph, or the state of the run.
    pub(crate) fn take(&mut self, stored: Stored, values: &mut impl Values<V>) -> Result<Taken, Halt> {
        let Stored { seq, time, record: Record { path, kind } } = stored;
        let of_run = match &kind {
            EventKind::RunStarted { .. }
            | EventKind::RunResumed { .. }
            | EventKind::GraphChanged { .. }
            | EventKind::CancelRequested
            | EventKind::SignalReceived { .. }
            | EventKind::SignalsKnown { .. }
            | EventKind::Message { .. }
            | EventKind::Note { .. }
            | EventKind::ResultReused
            | EventKind::Progress { .. }
            | EventKind::NodeSkipped
            | EventKind::RunCompleted { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled
            | EventKind::RunStartedOver { .. } => return Ok(Taken::Nothing),
            EventKind::RunCancelling if path == self.run.path() => Some(Event::Cancelling),
            EventKind::RunTimedOut => Some(Event::TimedOut),
            EventKind::RunRetried { .. } => Some(Event::Retried { at: time }),
            _ => None,
        };
        if let Some(event) = of_run {
            self.apply(&path, event)?;
            return Ok(Taken::Applied(None));
        }
        let Some(task) = self.tasks.get(path.as_str()).copied() else {
            let Some((task, node)) = self.request(&path)? else { return Ok(Taken::Nothing) };
            let stored = Box::new(Stored { seq, time, record: Record { path, kind } });
            return Ok(Taken::Request { task, node, stored });
        };
        let Some(place) = self.run.place_of(task) else { return Ok(Taken::Nothing) };
        let Some(event) = self.decode(task, &place, kind, values)? else { return Ok(Taken::Nothing) };
        let of_requests = OfRequests::after(&event).map(|(_, of_requests)| of_requests);
        self.apply(&path, event)?;
        Ok(Taken::Applied(Some((path, of_requests))))
    }

    fn apply(&mut self, path: &str, event: Event<V>) -> Result<(), Halt> {
        let completed = match &event {
            Event::Completed { task, .. } => Some(*task),
            _ => None,
        };
        self.run.apply(event).map_err(|impossible| {
            let left = completed.map(|task| self.left_inside(task)).unwrap_or_default();
            if left.is_empty() { self.does_not_fit(path, &impossible) } else { self.has_grown(path, &left) }
        })?;
        while let Some(task) = self.run.next_fired() {
            if let Some(place) = self.run.place_of(task) {
                self.tasks.insert(place.path(), task);
            }
        }
        Ok(())
    }

    /// The event of a node that a record holds; `None` if it does not change the state.
    fn decode(
        &mut self,
        task: TaskId,
        place: &Place,
        kind: EventKind,
        values: &mut impl Values<V>,
    ) -> Result<Option<Event<V>>, Halt> {
        Ok(Some(match kind {
            EventKind::NodeStarted { inside, .. } => {
                let entered = match inside {
                    Some(inside) => Some(Box::new(self.entered(task, place, &inside, values)?)),
                    None => None,
                };
                Event::Started { task, entered }
            }
            EventKind::ItemStarted { item } => Event::ItemStarted { task, item: item as usize },
            EventKind::ItemCancelled { item } => Event::ItemCancelled { task, item: item as usize },
            EventKind::NodeCompleted { label, output, state, items: _ } => {
                let choice = self.choice(place, label.as_deref())?;
                let output = output.ok_or_else(|| no_output(&place.path()))?;
                let emitted = values.emitted(place, output, false, choice);
                Event::Completed { task, emitted, writes: writes(state, Vec::new()) }
            }
            EventKind::NodeCollecting { state, local } => Event::Collecting { task, writes: writes(state, local) },
            EventKind::NodeFailed { cause, then, error: own, .. } => {
                let then = match then {
                    AfterFailure::RetryAt { time } => Then::RetryAt(time),
                    AfterFailure::Routed { label, error } => {
                        let choice = self.choice(place, Some(&label))?;
                        Then::Routed(values.emitted(place, error, true, choice))
                    }
                    AfterFailure::Fails => Then::Fails(own.map(Box::new)),
                };
                Event::Failed { task, cause: Box::new(cause), then }
            }
            EventKind::TimerFired => Event::TimerFired { task },
            EventKind::NodeCancelled => Event::Stopped { task },
            EventKind::RunStartingOver { input, state } => {
                Event::StartingOver { task, next: Box::new(NextRun { input, state }) }
            }
            _ => return Ok(None),
        }))
    }

    /// The node that made the request at this path, and the length of the node's path; `None` if that node is over. An
    /// error if the path belongs to no request and to no node of the graph.
    fn request(&self, path: &str) -> Result<Option<(TaskId, usize)>, Halt> {
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            match self.tasks.get(above).copied() {
                Some(task) if !self.run.is_live(task) => return Ok(None),
                Some(task) if self.run.is_leaf(task) => return Ok(Some((task, above.len()))),
                Some(_) => break,
                None => {}
            }
        }
        Err(self.does_not_fit(path, &Impossible { event: "", found: "nothing leads to it there".to_owned() }))
    }

    fn entered(
        &mut self,
        task: TaskId,
        place: &Place,
        inside: &event::Entered,
        values: &mut impl Values<V>,
    ) -> Result<Entered<V>, Halt> {
        let is_too_much = || {
            let message = format!("its record says that {} items entered, and there are not so many", inside.items);
            unreadable(place, Unreadable::whole(message))
        };
        let items = usize::try_from(inside.items).map_err(|_| is_too_much())?;
        if items > UNCOUNTED && !values.are_items(&mut self.run, task, place, items)? {
            return Err(is_too_much());
        }
        let choice_of = |item: usize| match inside.labels.get(item) {
            None => Some(0),
            Some(label) => self.labels.choice_inside(place, label),
        };
        let Some(choices) = (0..items).map(choice_of).collect::<Option<Vec<usize>>>() else {
            let found = "START inside has no such arm now".to_owned();
            return Err(self.does_not_fit(&place.path(), &Impossible { event: "Started", found }));
        };
        let inputs = values.entered(&mut self.run, task, place, choices)?;
        let pace = if inside.bounded { ItemPace::Bounded } else { ItemPace::AtOnce };
        let limit = inside.limit.as_ref().map(TimeLimit::from);
        Ok(Entered { inputs, pace, limit })
    }

    fn choice(&self, place: &Place, label: Option<&str>) -> Result<usize, Halt> {
        self.labels.choice(place, label).ok_or_else(|| {
            let found = format!("it has no arm `{}` now", label.unwrap_or("without a label"));
            self.does_not_fit(&place.path(), &Impossible { event: "Completed", found })
        })
    }

    /// The names of the nodes inside a node that are to be executed and have not begun.
    fn left_inside(&self, task: TaskId) -> SortedSet<String> {
        let is_inside = |left: TaskId| {
            std::iter::successors(Some(left), |at| self.run.parent_of(*at).map(|(around, _)| around))
                .any(|at| at == task)
        };
        let left = self
            .run
            .tasks()
            .into_iter()
            .filter(|left| *left != task && self.run.attempts(*left) == 0 && is_inside(*left));
        left.filter_map(|left| self.run.place_of(left)?.address().2.pop()).collect()
    }

    fn does_not_fit(&self, path: &str, impossible: &Impossible) -> Halt {
        let Impossible { event, found } = impossible;
        let event = if event.is_empty() { String::new() } else { format!(" (`{event}`)") };
        let path = self.recorded(path);
        self.changed(format!("the record of `{path}`{event} does not fit the graph as it is now: {found}"))
    }

    /// A node was completed when it was recorded, and its graph has nodes now behind those that were its last.
    fn has_grown(&self, path: &str, left: &SortedSet<String>) -> Halt {
        let nodes = left.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        self.changed(format!(
            "node `{}`: it was completed when it was recorded, and {nodes} would have to be executed inside it now, behind what was \
             recorded there (keep the version before by `register_earlier`, or add nodes behind all that such runs have reached)",
            self.recorded(path)
        ))
    }

    fn changed(&self, what: String) -> Halt {
        Halt::GraphChanged { workflow: self.labels.workflow().to_owned(), changes: vec![what] }
    }

    /// A path as it was recorded.
    fn recorded<'p>(&self, path: &'p str) -> Cow<'p, str> {
        self.former.as_ref().map_or(Cow::Borrowed(path), |former| former.path(path))
    }
}

pub(super) fn no_output(path: &str) -> Halt {
    Halt::Unreadable { path: path.to_owned(), field: ".".to_owned(), message: "its record holds no output".to_owned() }
}

fn writes(shared: Vec<StateWrite>, local: Vec<StateWrite>) -> Writes {
    if shared.is_empty() && local.is_empty() {
        return Writes::default();
    }
    Writes(Some(Box::new(WriteSet { shared, local })))
}

/// The effect of a node's event on the requests of the node.
#[derive(Clone, Copy)]
pub(crate) enum OfRequests {
    /// The node is done, and its requests with it.
    Forgotten,
    /// Requests that had failed for good are made again by the node's next attempt.
    Forgiven,
}

impl OfRequests {
    /// After an event of a node.
    pub(super) fn after<V>(event: &Event<V>) -> Option<(TaskId, OfRequests)> {
        match event {
            Event::Completed { task, .. }
            | Event::Collecting { task, .. }
            | Event::StartingOver { task, .. }
            | Event::Stopped { task } => Some((*task, OfRequests::Forgotten)),
            Event::Failed { task, then: Then::RetryAt(_), .. } => Some((*task, OfRequests::Forgiven)),
            Event::Failed { task, then: Then::Routed(_) | Then::Fails(_), .. } => Some((*task, OfRequests::Forgotten)),
            Event::Begun { .. }
            | Event::Started { .. }
            | Event::ItemStarted { .. }
            | Event::ItemCancelled { .. }
            | Event::TimerFired { .. }
            | Event::Cancelling
            | Event::TimedOut
            | Event::Retried { .. } => None,
        }
    }

    pub(crate) fn settle(self, desk: &Desk, path: &str) {
        match self {
            OfRequests::Forgotten => desk.forget_below(path),
            OfRequests::Forgiven => desk.caller_retries_below(path),
        }
    }
}

pub(super) fn unreadable(place: &Place, error: Unreadable) -> Halt {
    Halt::Unreadable { path: place.to_string(), field: error.field, message: error.message }
}
