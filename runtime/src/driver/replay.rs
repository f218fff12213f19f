//! Folding the records of a run into the core, so that it stands where it stood when the last of them was made. No code
//! of a node runs.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::fold::{Deferred, Fold, Known, Pending, Stage};
use super::recorded::{Inside, entered, given, unreadable};
use super::run::Driver;
use super::timers::Timer;
use crate::core::{Command, Ended, Event, Place, TaskId, WriteSet, Writes};
use crate::engine::Halt;
use crate::event::{Entered, EventKind};
use crate::state::StateWrite;
use crate::store::Stored;
use crate::table::{Token, Unreadable};

/// How many items may have entered a `[..]` without anybody looking whether there are as many.
const UNCOUNTED: u64 = 10_000;

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
        let is_retry = |stored: &&Stored| matches!(stored.record.kind, EventKind::RunRetried { .. });
        let last_retry = history.iter().rev().find(is_retry).map_or(0, |retry| retry.seq);
        self.drain(&mut fold, self.shared.env.clock.now());
        let mut history = history.into_iter();
        while let Some(stored) = history.next() {
            fold.is_lenient = stored.seq < last_retry;
            let follows = |path: &str| match history.as_slice().first() {
                Some(next) if next.record.path == path => match &next.record.kind {
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
        if let Some(path) = fold.skipped.iter().find(|path| !fold.skips.contains_key(*path)) {
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
                    self.keep_for_retry(fold, task);
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
        let mut left: Vec<TaskId> = fold.nodes.iter().filter(stops).map(|known| known.task).collect();
        left.retain(|task| self.core.is_stopping(*task));
        for task in left {
            self.stopped(fold, task);
            self.drain(fold, time);
        }
    }

    /// A node was cancelled, and what it had asked its context for with it. Where only a retry of the run has it go on, it
    /// was not.
    fn stopped(&mut self, fold: &mut Fold, task: TaskId) {
        if let (Some(journal), Some(known)) = (&self.shared.journal, fold.nodes.of(task))
            && self.is_whole
        {
            journal.desk.forget_below(&known.place.path());
        }
        self.end(fold, task, Ended::Stopped, Writes::default());
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
        let known = fold.nodes.at(path).map(|known| (known.task, known.place.clone()));
        let Some((task, place)) = known else {
            return self.take_other(fold, stored).map(|()| false);
        };
        self.settle_desk(&place, path, &stored.record.kind);
        match stored.record.kind {
            EventKind::NodeStarted { inside, .. } => {
                let had_begun = fold.nodes.of(task).is_some_and(|known| std::mem::replace(&mut known.has_begun, true));
                if had_begun && inside.is_some() {
                    fold.forget_skips_in(&place);
                }
                self.core.apply(Event::Started { task });
                self.drain(fold, time);
                if let Some(inside) = inside {
                    self.enter_again(fold, task, &place, inside)?;
                }
            }
            EventKind::NodeCompleted { label, output, error, state } => {
                if !self.expect_under_way(fold, task, &stored.record.path, "was completed")? {
                    return Ok(true);
                }
                let emitted = self.emission(&place, label.as_deref(), output, error)?;
                let writes = writes(state, Vec::new());
                self.end(fold, task, Ended::Emitted(emitted), writes);
            }
            EventKind::NodeWaiting { state, local } => {
                if !self.expect_under_way(fold, task, &stored.record.path, "waited for more")? {
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
            EventKind::NodeCancelled => {
                if let Some(cancels) = &mut fold.cancels {
                    cancels.recorded.insert(stored.record.path);
                }
                if self.core.is_stopping(task) {
                    self.stopped(fold, task);
                }
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
    fn settle_desk(&mut self, place: &Place, path: &str, kind: &EventKind) {
        let Some(journal) = self.shared.journal.as_ref().filter(|_| self.is_whole) else { return };
        match kind {
            EventKind::NodeCompleted { .. } => {
                journal.desk.forget_below(path);
                self.has_completed(place);
            }
            EventKind::NodeWaiting { .. } => journal.desk.forget_below(path),
            EventKind::NodeFailed { retry_in, .. } => {
                journal.desk.forgive_below(path);
                self.has_failed(place, retry_in.is_some());
            }
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
                fold.cancels.get_or_insert_default();
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
            match fold.nodes.at(above).map(|known| &known.stage) {
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

    fn expect_under_way(&self, fold: &mut Fold, task: TaskId, path: &str, what: &str) -> Result<bool, Halt> {
        match fold.nodes.of(task).map(|known| &known.stage) {
            Some(Stage::Runs(_) | Stage::Leaves(_)) => Ok(true),
            _ if fold.is_lenient => Ok(false),
            _ => Err(self.does_not_fit(path, &format!("{what}, and is not under way there in the graph as it is now"))),
        }
    }

    fn end(&mut self, fold: &mut Fold, task: TaskId, ended: Ended<Token>, writes: Writes) {
        let is_repeated = matches!(ended, Ended::Waiting);
        if let Some(known) = fold.nodes.of(task) {
            known.stage = Stage::Over;
        }
        if is_repeated {
            fold.nodes.forget(task);
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
        let Some(known) = fold.nodes.of(task) else { return Ok(()) };
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
        let Some(known) = fold.nodes.of(task) else { return };
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
                    fold.nodes.insert(task, place, Stage::Waits);
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
                    fold.timers.insert(place.path(), (timer, after));
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
                Command::Cancel(_) | Command::GoOn(_) | Command::Route { .. } => {}
            }
        }
    }
}

fn writes(shared: Vec<StateWrite>, local: Vec<StateWrite>) -> Writes {
    if shared.is_empty() && local.is_empty() {
        return Writes::default();
    }
    Writes(Some(Box::new(WriteSet { shared, local })))
}
