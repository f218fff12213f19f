//! Folding the records of a run into the core, so that it stands where it stood when the last of them was made. No code
//! of a node runs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foldhash::HashMap;
use serde_json::Value;

use super::catch::caught;
use super::recorded::{Inside, entered, given, unreadable};
use super::run::Driver;
use super::timers::Timer;
use crate::core::{Arrived, Command, Ended, Event, Note, Place, RunEnd, Sees, TaskId, TimerId, WriteSet, Writes};
use crate::engine::Halt;
use crate::event::{Entered, EventKind};
use crate::fault::{Cause, Fault};
use crate::state::StateWrite;
use crate::store::Stored;
use crate::table::{BoxValue, Token, Unreadable};

/// How many items may have entered a `[..]` without anybody looking whether there are as many.
const UNCOUNTED: u64 = 10_000;

/// What is known of the run while its records are folded.
#[derive(Default)]
pub(super) struct Fold {
    /// By path: the last task there.
    tasks: HashMap<String, Known>,
    paths: Paths,
    timers: HashMap<String, (TimerId, Duration)>,
    /// The inputs of tasks that may be tried again.
    kept: HashMap<TaskId, Arrived>,
    entered: HashMap<TaskId, Arc<Inside>>,
    /// Nodes that were skipped: by the record, and by the graph as it is now.
    skipped: BTreeSet<String>,
    skips: BTreeSet<String>,
    /// Those that are on record, also where the graph no longer leads to them.
    recorded_skips: BTreeSet<String>,
    /// Whether records may speak of nodes that the graph no longer leads to: before a retry.
    is_lenient: bool,
    /// Before a retry: failures that no record has yet shown to be taken up by anything. What led to the end of the run
    /// stays here, and does not count.
    deferred: Vec<Deferred>,
    end: Option<RunEnd<Token>>,
}

/// Something that stopped a part of the run.
enum Deferred {
    Failed { task: TaskId, place: Place, cause: Box<Cause> },
    TimedOut { place: Place, timer: TimerId },
}

impl Deferred {
    /// Whether it stopped something in the graph inside a node, or the node itself.
    fn is_within(&self, node: &Place) -> bool {
        let (Deferred::Failed { place, .. } | Deferred::TimedOut { place, .. }) = self;
        place.is_within(node)
    }
}

struct Known {
    task: TaskId,
    place: Place,
    stage: Stage,
    /// Whether it is on record that it has begun, once at least.
    has_begun: bool,
}

/// The paths of tasks, by their places in the core.
#[derive(Default)]
struct Paths(Vec<Option<(TaskId, String)>>);

impl Paths {
    fn insert(&mut self, task: TaskId, path: String) {
        if self.0.len() <= task.place() {
            self.0.resize_with(task.place() + 1, || None);
        }
        self.0[task.place()] = Some((task, path));
    }

    fn get(&self, task: TaskId) -> Option<&str> {
        let (of, path) = self.0.get(task.place())?.as_ref()?;
        (*of == task).then_some(path)
    }

    fn remove(&mut self, task: TaskId) -> Option<String> {
        let (_, path) = self.0.get_mut(task.place())?.take_if(|(of, _)| *of == task)?;
        Some(path)
    }
}

enum Stage {
    /// It has fired, and no record says that it has begun.
    Waits,
    /// An attempt is under way.
    Runs(Pending),
    /// A graph inside is to be entered.
    Enters(Pending),
    Inside,
    /// A graph inside has ended.
    Leaves(Vec<Arrived>),
    Over,
}

struct Pending {
    attempt: u32,
    may_repeat: bool,
    arrived: Option<Arrived>,
    sees: Option<Sees>,
}

impl Driver {
    /// Takes the records, and then begins again what was under way. The core has begun, and is told to replay.
    pub(super) fn replay(&mut self, history: Vec<Stored>) -> Result<(), Halt> {
        let fold = self.fold(history)?;
        if let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) {
            journal.desk.has_folded();
        }
        self.go_on(fold)
    }

    /// Takes the records.
    pub(super) fn fold(&mut self, history: Vec<Stored>) -> Result<Fold, Halt> {
        self.replayed = true;
        let mut fold = Fold::default();
        let last_retry = history.iter().rposition(|stored| matches!(stored.record.kind, EventKind::RunRetried { .. }));
        self.drain(&mut fold, self.shared.env.clock.now());
        let mut history = history.into_iter().enumerate().peekable();
        while let Some((at, stored)) = history.next() {
            fold.is_lenient = last_retry.is_some_and(|last| at < last);
            let mut follows = |path: &str| match history.peek() {
                Some((_, next)) if next.record.path == path => match &next.record.kind {
                    EventKind::NodeCompleted { label, output, error, .. } => {
                        Some((label.clone(), output.clone(), error.clone()))
                    }
                    _ => None,
                },
                _ => None,
            };
            let routed = match &stored.record.kind {
                EventKind::NodeFailed { retry_in: None, .. } => follows(&stored.record.path),
                _ => None,
            };
            let is_routed = routed.is_some();
            if self.take_record(&mut fold, stored, routed)? && is_routed {
                history.next();
            }
        }
        if let Some(path) = fold.skipped.difference(&fold.skips).next() {
            return Err(self.does_not_fit(path, "was skipped, and is not skipped in the graph as it is now"));
        }
        Ok(fold)
    }

    /// A node with a graph inside has failed, and that was taken up: so what stopped the graph inside did count.
    fn take_deferred(&mut self, fold: &mut Fold, node: &Place, time: SystemTime) {
        let all = std::mem::take(&mut fold.deferred);
        let (within, others) = all.into_iter().partition(|deferred| deferred.is_within(node));
        fold.deferred = others;
        for deferred in within {
            match deferred {
                Deferred::Failed { task, cause, .. } => {
                    self.core.apply(Event::Judged { task, cause, retry_in: None, routed: None });
                }
                Deferred::TimedOut { timer, .. } => self.core.apply(Event::Fired { timer, random: 0.0 }),
            }
            self.drain(fold, time);
            self.stop_cancelled(fold, node, time);
        }
    }

    /// What was under way in a graph that has failed has been stopped.
    fn stop_cancelled(&mut self, fold: &mut Fold, node: &Place, time: SystemTime) {
        let stops = |known: &&Known| matches!(known.stage, Stage::Runs(_)) && known.place.is_within(node);
        let mut left: Vec<TaskId> = fold.tasks.values().filter(stops).map(|known| known.task).collect();
        left.retain(|task| self.core.is_stopping(*task));
        for task in left {
            self.end(fold, task, Ended::Stopped, Writes::default());
            self.drain(fold, time);
        }
    }

    fn does_not_fit(&self, path: &str, what: &str) -> Halt {
        Halt::GraphChanged { workflow: self.definition.name.clone(), changes: vec![format!("`{path}` {what}")] }
    }

    /// Folds one record. Whether it was one of a node that the graph has.
    fn take_record(
        &mut self,
        fold: &mut Fold,
        stored: Stored,
        routed: Option<(Option<String>, Option<Value>, Option<Value>)>,
    ) -> Result<bool, Halt> {
        let time = stored.time;
        let path = stored.record.path.as_str();
        let known = fold.tasks.get(path).map(|known| (known.task, known.place.clone()));
        let Some((task, place)) = known else {
            return self.take_other(fold, stored).map(|()| false);
        };
        self.settle_desk(path, &stored.record.kind);
        match stored.record.kind {
            EventKind::NodeStarted { inside, .. } => {
                fold.begins(path);
                self.core.apply(Event::Started { task });
                self.drain(fold, time);
                if let Some(inside) = inside {
                    self.enter_again(fold, task, &place, inside)?;
                }
            }
            EventKind::NodeCompleted { label, output, error, state } => {
                if !self.expect_under_way(fold, &stored.record.path, "was completed")? {
                    return Ok(true);
                }
                let emitted = self.emission(&place, label.as_deref(), output, error)?;
                let writes = writes(state, Vec::new());
                self.end(fold, task, Ended::Emitted(emitted), writes);
            }
            EventKind::NodeWaiting { state, local } => {
                if !self.expect_under_way(fold, &stored.record.path, "waited for more")? {
                    return Ok(true);
                }
                self.end(fold, task, Ended::Waiting, writes(state, local));
            }
            EventKind::NodeFailed { cause, retry_in: None, .. } if fold.is_lenient && routed.is_none() => {
                fold.deferred.push(Deferred::Failed { task, place, cause: Box::new(cause) });
            }
            EventKind::NodeFailed { cause, retry_in, .. } => {
                self.take_deferred(fold, &place, time);
                let routed = match routed {
                    Some((label, output, error)) => Some(self.emission(&place, label.as_deref(), output, error)?),
                    None => None,
                };
                self.keep_for_retry(fold, task);
                self.core.apply(Event::Judged { task, cause: Box::new(cause), retry_in, routed });
            }
            EventKind::NodeCancelled if self.core.is_stopping(task) => {
                self.end(fold, task, Ended::Stopped, Writes::default());
            }
            EventKind::TimerFired if fold.is_lenient && place.is_scope() && !fold.is_delayed(path) => {
                if let Some((timer, _)) = fold.timers.get(path) {
                    fold.deferred.push(Deferred::TimedOut { place, timer: *timer });
                }
            }
            EventKind::TimerFired => {
                if let Some((timer, _)) = fold.timers.remove(path) {
                    self.timers.unset(Timer::Core(timer));
                    self.core.apply(Event::Fired { timer, random: 0.0 });
                }
            }
            EventKind::NodeSkipped => fold.skipped(stored.record.path),
            _ => {}
        }
        self.drain(fold, time);
        Ok(true)
    }

    /// What a node had asked its context for is done with when the node is. What had failed for good is tried again by
    /// its next attempt.
    fn settle_desk(&self, path: &str, kind: &EventKind) {
        let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) else { return };
        match kind {
            EventKind::NodeCompleted { .. } | EventKind::NodeWaiting { .. } => journal.desk.forget_below(path),
            EventKind::NodeFailed { .. } => journal.desk.forgive_below(path),
            _ => {}
        }
    }

    /// Folds a record that is not one of a node that has fired.
    fn take_other(&mut self, fold: &mut Fold, stored: Stored) -> Result<(), Halt> {
        match &stored.record.kind {
            EventKind::NodeSkipped if !fold.is_asked_for(&stored.record.path) => {
                fold.skipped(stored.record.path);
                return Ok(());
            }
            EventKind::CancelRequested if fold.is_lenient => return Ok(()),
            EventKind::CancelRequested => {
                self.core.apply(Event::CancelRequested);
                self.drain(fold, stored.time);
                return Ok(());
            }
            EventKind::RunRetried { .. } => {
                for deferred in std::mem::take(&mut fold.deferred) {
                    if let Deferred::Failed { task, .. } = deferred {
                        self.core.apply(Event::Forgiven { task });
                        fold.forgiven(task);
                    }
                }
                self.drain(fold, stored.time);
                // What limits the time of nodes that go on counts from here.
                for (timer, after) in fold.timers.values() {
                    self.timers.set_at(Timer::Core(*timer), stored.time + *after, &self.shared.env.clock);
                }
                return Ok(());
            }
            EventKind::RunStarted { .. }
            | EventKind::RunResumed { .. }
            | EventKind::GraphChanged { .. }
            | EventKind::Said { .. }
            | EventKind::RunCompleted { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled => return Ok(()),
            _ => {}
        }
        // Something that a node has asked its context for, or a node that the graph does not lead to.
        let mut above = stored.record.path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            match fold.tasks.get(above).map(|known| &known.stage) {
                Some(Stage::Runs(_)) => {
                    let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) else { return Ok(()) };
                    if !fold.is_lenient && !journal.desk.can_restore(&stored.record, above) {
                        return Err(self.does_not_fit(&stored.record.path, "has run, and nothing around it had begun"));
                    }
                    journal.desk.restore(stored);
                    return Ok(());
                }
                // Without the record that it has begun, what is below it cannot have happened.
                Some(Stage::Waits) if !fold.is_lenient && !fold.has_begun(above) => break,
                // It came too late to matter.
                Some(Stage::Over | Stage::Waits) => return Ok(()),
                Some(Stage::Enters(_) | Stage::Inside | Stage::Leaves(_)) | None => {}
            }
        }
        if fold.is_lenient {
            return Ok(());
        }
        Err(self.does_not_fit(&stored.record.path, "has run, and nothing leads to it there in the graph as it is now"))
    }

    fn expect_under_way(&self, fold: &Fold, path: &str, what: &str) -> Result<bool, Halt> {
        match fold.tasks.get(path).map(|known| &known.stage) {
            Some(Stage::Runs(_) | Stage::Leaves(_)) => Ok(true),
            _ if fold.is_lenient => Ok(false),
            _ => Err(self.does_not_fit(path, &format!("{what}, and is not under way there in the graph as it is now"))),
        }
    }

    fn end(&mut self, fold: &mut Fold, task: TaskId, ended: Ended<Token>, writes: Writes) {
        let is_repeated = matches!(ended, Ended::Waiting);
        if let Some(known) = fold.known(task) {
            known.stage = Stage::Over;
        }
        if is_repeated && let Some(path) = fold.paths.remove(task) {
            fold.tasks.remove(&path);
        }
        self.core.apply(Event::Ended { task, ended, writes, random: 0.0 });
    }

    /// What a node emitted, as it is on record.
    fn emission(
        &self,
        place: &Place,
        label: Option<&str>,
        output: Option<Value>,
        error: Option<Value>,
    ) -> Result<crate::core::Emitted<Token>, Halt> {
        let choice = self.executable.choice(&self.definition, place, label).ok_or_else(|| {
            let label = label.unwrap_or("no label");
            self.does_not_fit(&place.to_string(), &format!("went on by `{label}`, which it does not have now"))
        })?;
        let (json, is_error) = match (output, error) {
            (Some(output), _) => (output, false),
            (None, Some(error)) => (error, true),
            (None, None) => return Err(unreadable(place, Unreadable::whole("its record holds no output"))),
        };
        Ok(given(place, json, is_error, choice))
    }

    fn enter_again(&mut self, fold: &mut Fold, task: TaskId, place: &Place, what: Entered) -> Result<(), Halt> {
        let Some(known) = fold.tasks.get_mut(&place.to_string()) else { return Ok(()) };
        let pending = match &mut known.stage {
            Stage::Enters(_) => std::mem::replace(&mut known.stage, Stage::Inside),
            Stage::Runs(_) => {
                return Err(self.does_not_fit(&place.to_string(), "was entered, and is no workflow and no `[..]` now"));
            }
            _ => return Ok(()),
        };
        let Stage::Enters(pending) = pending else { return Ok(()) };
        let inside = match pending.arrived {
            Some(arrived) => Arc::new(Inside::new(place.clone(), pending.may_repeat, arrived)),
            None => match fold.entered.get(&task) {
                Some(inside) => Arc::clone(inside),
                None => return Err(unreadable(place, Unreadable::whole("its inputs are not on record"))),
            },
        };
        if pending.may_repeat {
            fold.entered.insert(task, Arc::clone(&inside));
        }
        // The items themselves are read when they are needed; so many that a damaged record could fill the memory are
        // counted first.
        if what.items > UNCOUNTED && u64::try_from(self.items_of(&inside)?) != Ok(what.items) {
            let message = format!("its record says that {} items entered, and there are not so many", what.items);
            return Err(unreadable(place, Unreadable::whole(message)));
        }
        let labels = self.executable.labels_inside(&self.definition, place);
        let mut inputs = Vec::new();
        for item in 0..usize::try_from(what.items).unwrap_or(usize::MAX) {
            let choice = match what.labels.get(item) {
                None => Some(0),
                Some(label) => labels.iter().position(|known| known == label),
            };
            let choice = choice.ok_or_else(|| {
                self.does_not_fit(&place.to_string(), "was entered by an arm that START does not have now")
            })?;
            inputs.push(entered(&inside, item, choice, self.executable.program.edges_inside(place, choice)));
        }
        self.core.apply(Event::Entered { task, inputs });
        Ok(())
    }

    /// The input of an attempt that has failed, for the next one.
    fn keep_for_retry(&mut self, fold: &mut Fold, task: TaskId) {
        let Some(known) = fold.known(task) else { return };
        if let Stage::Runs(pending) | Stage::Enters(pending) = std::mem::replace(&mut known.stage, Stage::Waits)
            && let Some(arrived) = pending.arrived
        {
            fold.kept.insert(task, arrived);
        }
    }

    /// Takes what the core asks for in answer to a record.
    fn drain(&mut self, fold: &mut Fold, time: SystemTime) {
        while let Some(command) = self.core.next_command() {
            match command {
                Command::Awaits { task, place } => {
                    fold.is_there(task, place, Stage::Waits);
                }
                Command::Run { task, place, attempt, may_repeat, arrived, sees } => {
                    let arrived = arrived.or_else(|| fold.kept.remove(&task));
                    fold.stage(task, place, Stage::Runs(Pending { attempt, may_repeat, arrived, sees: Some(sees) }));
                }
                Command::Enter { task, place, attempt, may_repeat, arrived } => {
                    let arrived = arrived.or_else(|| fold.kept.remove(&task));
                    fold.stage(task, place, Stage::Enters(Pending { attempt, may_repeat, arrived, sees: None }));
                }
                Command::Leave { task, place, ends } => fold.stage(task, place, Stage::Leaves(ends)),
                Command::SetTimer { timer, place, after } => {
                    self.timers.set_at(Timer::Core(timer), time + after, &self.shared.env.clock);
                    fold.timers.insert(place.to_string(), (timer, after));
                }
                Command::DropTimer(timer) => self.timers.unset(Timer::Core(timer)),
                Command::Forget(task) => {
                    fold.kept.remove(&task);
                    fold.entered.remove(&task);
                }
                Command::Note { task, place, note } => {
                    self.gather(&note);
                    fold.note(task, &place, &note);
                }
                Command::End(end) => fold.end = Some(*end),
                Command::Cancel(_) | Command::Route { .. } => {}
            }
        }
    }

    /// What the first record alone leads to may not have been recorded with it.
    fn record_skips(&self, fold: &Fold) {
        for path in fold.skips.difference(&fold.recorded_skips) {
            self.shared.record(|| path.clone(), || EventKind::NodeSkipped);
        }
    }

    /// No record is left.
    fn go_on(&mut self, mut fold: Fold) -> Result<(), Halt> {
        self.record_skips(&fold);
        if let Some(end) = fold.end.take() {
            self.ended = Some(end);
            return Ok(());
        }
        let is_left = |(_, known): &(String, Known)| !matches!(known.stage, Stage::Over);
        let mut left: Vec<(String, Known)> = fold.tasks.drain().filter(is_left).collect();
        left.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.keep_inputs(&mut fold, &left)?;
        self.core.apply(Event::Replayed);
        for (path, known) in left {
            let Known { task, place, stage, .. } = known;
            match stage {
                Stage::Runs(_) if self.core.is_stopping(task) => self.tell(task, Ended::Stopped, Writes::default()),
                Stage::Runs(pending) => self.run_again(task, place, pending),
                Stage::Enters(pending) => {
                    let Pending { attempt, may_repeat, arrived, .. } = pending;
                    self.begin_inside(task, &place, attempt, may_repeat, arrived);
                }
                Stage::Leaves(ends) => self.leave_inside(task, &place, ends),
                Stage::Waits | Stage::Inside | Stage::Over => drop(path),
            }
            if let Some(halt) = self.halt.take() {
                return Err(halt);
            }
        }
        Ok(())
    }

    /// An attempt was under way when the process died: it begins again, unless it may not.
    fn run_again(&mut self, task: TaskId, place: Place, pending: Pending) {
        let Pending { attempt, may_repeat, arrived, sees } = pending;
        let once_only = self.executable.entry(&self.definition, &place).is_some_and(|entry| entry.options.at_most_once);
        if once_only {
            return self.tell(task, Ended::Fault(Box::new(Fault::Interrupted)), Writes::default());
        }
        self.core.apply(Event::Started { task });
        // It sees all that is on record by now, and not what it saw before.
        let sees = Sees { state: Arc::clone(self.core.state()), local: sees.and_then(|sees| sees.local) };
        self.run(task, place, attempt, may_repeat, arrived, sees);
    }

    /// What the next attempts at nodes will run on that have failed before.
    fn keep_inputs(&mut self, fold: &mut Fold, left: &[(String, Known)]) -> Result<(), Halt> {
        for (_, known) in left {
            let (task, place) = (known.task, &known.place);
            if let Some(inside) = fold.entered.remove(&task) {
                let inputs = self.inputs_of(&inside)?;
                self.kept.insert(task, inputs);
            } else if let Some(arrived) = fold.kept.remove(&task) {
                let arrived = self.read(arrived)?;
                let inputs = self.prepared(place, arrived)?;
                self.kept.insert(task, inputs);
            }
        }
        Ok(())
    }

    fn prepared(&self, place: &Place, arrived: Arrived) -> Result<Vec<BoxValue>, Halt> {
        let fault = |fault: Fault| unreadable(place, Unreadable::whole(fault.to_string()));
        let entry = self.executable.entry(&self.definition, place);
        let missing = || unreadable(place, Unreadable::whole("there is no such node"));
        let entry = entry.ok_or_else(missing)?;
        match (&entry.scope, &entry.node) {
            (Some(scope), _) if place.is_scope() => {
                caught(|| scope.enter(arrived)).and_then(|inputs| inputs).map_err(fault)
            }
            (_, Some(node)) => {
                let input = caught(|| node.prepare(arrived)).and_then(|input| input).map_err(fault)?;
                Ok(vec![input])
            }
            _ => Err(missing()),
        }
    }
}

impl Fold {
    fn known(&mut self, task: TaskId) -> Option<&mut Known> {
        self.tasks.get_mut(self.paths.get(task)?)
    }

    /// It is on record that an attempt has begun.
    fn begins(&mut self, path: &str) {
        if let Some(known) = self.tasks.get_mut(path) {
            known.has_begun = true;
        }
    }

    fn has_begun(&self, path: &str) -> bool {
        self.tasks.get(path).is_some_and(|known| known.has_begun)
    }

    /// Whether a node waits for its next attempt.
    fn is_delayed(&self, path: &str) -> bool {
        self.tasks.get(path).is_some_and(|known| matches!(known.stage, Stage::Waits))
    }

    /// Whether a path is that of something that a node has asked its context for, or stands in the graph of a child.
    fn is_asked_for(&self, path: &str) -> bool {
        let above = std::iter::successors(path.rsplit_once('/'), |(above, _)| above.rsplit_once('/'));
        let nearest = above.filter_map(|(above, _)| self.tasks.get(above)).next();
        nearest.is_some_and(|known| !known.place.is_scope())
    }

    /// A record says so of a node.
    fn skipped(&mut self, path: String) {
        if !self.is_lenient {
            self.skipped.insert(path.clone());
        }
        self.recorded_skips.insert(path);
    }

    /// A node that had failed is to begin anew.
    fn forgiven(&mut self, task: TaskId) {
        let Some(known) = self.known(task) else { return };
        if let Stage::Runs(pending) | Stage::Enters(pending) = std::mem::replace(&mut known.stage, Stage::Waits)
            && let Some(arrived) = pending.arrived
        {
            self.kept.insert(task, arrived);
        }
    }

    fn stage(&mut self, task: TaskId, place: Place, stage: Stage) {
        match self.known(task) {
            Some(known) => (known.place, known.stage) = (place, stage),
            None => self.is_there(task, place, stage),
        }
    }

    /// A task that has fired, or has had an attempt and waits for the next.
    fn is_there(&mut self, task: TaskId, place: Place, stage: Stage) {
        let path = place.to_string();
        let has_begun = self.tasks.get(&path).is_some_and(|known| known.task == task && known.has_begun);
        self.paths.insert(task, path.clone());
        self.tasks.insert(path, Known { task, place, stage, has_begun });
    }

    fn note(&mut self, task: Option<TaskId>, place: &Place, note: &Note) {
        match (note, task) {
            (Note::Skipped, _) => {
                self.skips.insert(place.to_string());
            }
            (Note::Completed { .. } | Note::Cancelled, Some(task)) => {
                if let Some(known) = self.known(task) {
                    known.stage = Stage::Over;
                }
            }
            _ => {}
        }
    }
}

fn writes(shared: Vec<StateWrite>, local: Vec<StateWrite>) -> Writes {
    if shared.is_empty() && local.is_empty() {
        return Writes::default();
    }
    Writes(Some(Box::new(WriteSet { shared, local })))
}
