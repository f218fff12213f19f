//! What has to be true of a run whose processes were killed: its history held against the ledger, and against itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use graphweft::{AfterFailure, Event, EventKind, Fault};
use serde_json::Value;

use crate::ledger::{Line, What};

/// What is known of a run so far.
#[derive(Default)]
pub(crate) struct Judge {
    run: String,
    /// As it was when it was last looked at.
    history: Vec<Event>,
    /// How many lines the ledger had then.
    lines: usize,
    /// How many attempts a death has cut short, by path and attempt.
    cut_short: BTreeMap<(String, u32), usize>,
}

/// Whether somebody alive may be at the run while it is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scene {
    /// Nobody is: it stands still.
    Still,
    Moving,
}

type Verdict = Result<(), String>;

impl Judge {
    pub(crate) fn of(run: String) -> Judge {
        Judge { run, ..Judge::default() }
    }

    /// Looks at the run after a death, or at its end. `ledger` was read after `history`.
    pub(crate) fn look(&mut self, history: Vec<Event>, ledger: &[Line], scene: Scene) -> Verdict {
        let lines: Vec<&Line> = ledger.iter().filter(|line| line.run == self.run).collect();
        let verdict = self.judge(&history, &lines, scene);
        self.history = history;
        self.lines = lines.len();
        verdict
    }

    fn judge(&mut self, history: &[Event], lines: &[&Line], scene: Scene) -> Verdict {
        self.nothing_is_lost(history)?;
        self.nothing_recorded_runs_again(history, lines)?;
        self.nothing_begins_that_is_cancelled(history, lines)?;
        recorded_once(history)?;
        nothing_follows_below(history)?;
        at_most_once(lines)?;
        if scene == Scene::Still {
            begun_is_on_record(history, lines)?;
            given_is_on_record(history, lines)?;
            self.count_what_is_cut_short(history, lines)?;
        }
        Ok(())
    }

    /// The history is a prefix of every later one, numbered without gaps.
    fn nothing_is_lost(&self, history: &[Event]) -> Verdict {
        for (at, event) in history.iter().enumerate() {
            if event.seq != at as u64 {
                return Err(format!("record {at} has the number {}", event.seq));
            }
        }
        match self.history.iter().zip(history).position(|(before, now)| before != now) {
            Some(at) => Err(format!("record {at} was {:?} and is {:?}", self.history[at], history[at])),
            None if history.len() < self.history.len() => {
                Err(format!("there were {} records and are {}", self.history.len(), history.len()))
            }
            None => Ok(()),
        }
    }

    /// What was on record when the run was last looked at has not begun since.
    fn nothing_recorded_runs_again(&self, history: &[Event], lines: &[&Line]) -> Verdict {
        let is_retried = history.iter().skip(self.history.len()).any(is_retry);
        let last_retry = self.history.iter().rposition(is_retry).unwrap_or_default();
        // What had failed is tried again by a retry, what was completed is not.
        let counts = |(at, event): &(usize, &Event)| is_completion(event) || (!is_retried && *at >= last_retry);
        let events = self.history.iter().enumerate().filter(counts);
        let settled: BTreeSet<(&str, Option<u32>)> = events.filter_map(|(_, event)| settles_for_good(event)).collect();
        for line in lines.iter().skip(self.lines).filter(|line| line.what == What::Begin) {
            let path = line.path.as_str();
            if settled.contains(&(path, None)) || settled.contains(&(path, Some(line.attempt))) {
                return Err(format!("`{path}` was on record, and began again in process {}", line.process));
            }
        }
        Ok(())
    }

    /// Where it was on record, when the run was last looked at, that the run is to end, nothing has begun since.
    fn nothing_begins_that_is_cancelled(&self, history: &[Event], lines: &[&Line]) -> Verdict {
        let is_cancelled = |event: &Event| matches!(event.kind, EventKind::CancelRequested);
        if !self.history.iter().any(is_cancelled) || history.iter().any(is_retry) {
            return Ok(());
        }
        match lines.iter().skip(self.lines).find(|line| line.what == What::Begin) {
            Some(line) => Err(format!("`{}` began in process {}, in a cancelled run", line.path, line.process)),
            None => Ok(()),
        }
    }

    /// At most the attempts in flight repeat: each that has begun is on record, or was cut short by a death, and of each
    /// no more than one is open at a time.
    fn count_what_is_cut_short(&mut self, history: &[Event], lines: &[&Line]) -> Verdict {
        let mut begun: BTreeMap<(&str, u32), usize> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.what == What::Begin) {
            *begun.entry((&line.path, line.attempt)).or_default() += 1;
        }
        let settled = settled(history);
        for ((path, attempt), begun) in begun {
            let settled = match attempt {
                // A step is not told which attempt it is.
                0 => settled.range((path, 0)..=(path, u32::MAX)).map(|(_, settled)| settled).sum(),
                _ => settled.get(&(path, attempt)).copied().unwrap_or_default(),
            };
            let cut_short = self.cut_short.entry((path.to_owned(), attempt)).or_default();
            match begun.checked_sub(settled + *cut_short) {
                Some(open) if open <= 1 + stopped(history, path) => *cut_short += open,
                // An interrupted one is on record without having begun again.
                None if is_once(path) => {}
                _ => {
                    return Err(format!(
                        "attempt {attempt} at `{path}` has begun {begun} times; {settled} of them are on record and {cut_short} were cut short"
                    ));
                }
            }
        }
        Ok(())
    }

    /// What was looked at last.
    pub(crate) fn history(&self) -> &[Event] {
        &self.history
    }
}

/// How many attempts that began have come to their ends, by path and attempt.
fn settled(history: &[Event]) -> BTreeMap<(&str, u32), usize> {
    let mut under_way: BTreeMap<&str, u32> = BTreeMap::new();
    let mut settled: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    for event in history {
        let path = event.path.as_str();
        let attempt = match &event.kind {
            EventKind::NodeStarted { attempt, .. } => {
                under_way.insert(path, *attempt);
                continue;
            }
            EventKind::NodeFailed { attempt, .. } => *attempt,
            EventKind::NodeCompleted { .. } | EventKind::NodeCollecting { .. } => {
                under_way.get(path).copied().unwrap_or(1)
            }
            _ => continue,
        };
        *settled.entry((path, attempt)).or_default() += 1;
    }
    settled
}

/// How often something at a path may have been stopped without a record of its own: with the node, or by it.
fn stopped(history: &[Event], path: &str) -> usize {
    let is_below = |event: &Event| path.strip_prefix(&event.path).is_some_and(|rest| rest.starts_with('/'));
    let stops = |event: &&Event| match event.kind {
        EventKind::NodeCancelled => event.path == path || is_below(event),
        EventKind::NodeFailed { .. } => is_below(event),
        _ => false,
    };
    history.iter().filter(stops).count()
}

fn is_retry(event: &Event) -> bool {
    matches!(event.kind, EventKind::RunRetried { .. })
}

fn is_completion(event: &Event) -> bool {
    matches!(event.kind, EventKind::NodeCompleted { .. })
}

/// A path that never begins again, or an attempt at one.
fn settles_for_good(event: &Event) -> Option<(&str, Option<u32>)> {
    match &event.kind {
        EventKind::NodeCompleted { .. } => Some((&event.path, None)),
        EventKind::NodeFailed { attempt, .. } => Some((&event.path, Some(*attempt))),
        _ => None,
    }
}

fn recorded_once(history: &[Event]) -> Verdict {
    let mut seen = BTreeSet::new();
    for event in history {
        let what = match &event.kind {
            EventKind::NodeCompleted { .. } => ("completed", 0),
            EventKind::NodeFailed { attempt, .. } => ("failed", *attempt),
            EventKind::QuestionAsked { .. } => ("asked", 0),
            EventKind::Answered { .. } => ("answered", 0),
            EventKind::NodeSkipped => ("skipped", 0),
            EventKind::TimerSet { .. } => ("set", 0),
            EventKind::TimerFired if is_sleep(&event.path) => ("fired", 0),
            EventKind::RunRetried { .. } => {
                seen.retain(|(_, what): &(&str, (&str, u32))| !matches!(what.0, "failed" | "over"));
                continue;
            }
            kind if kind.is_terminal() => ("over", 0),
            _ => continue,
        };
        if !seen.insert((event.path.as_str(), what)) {
            return Err(format!("`{}` is {} twice on record", event.path, what.0));
        }
    }
    match history.windows(2).find(|pair| pair[0].is_terminal() && !is_retry(&pair[1])) {
        Some(pair) => Err(format!("records follow the end of the run, record {}", pair[0].seq)),
        None => Ok(()),
    }
}

/// A node that is done has nothing more to ask for, and a timer has not fired before its time.
fn nothing_follows_below(history: &[Event]) -> Verdict {
    let mut done = BTreeSet::new();
    let mut until = BTreeMap::new();
    for event in history {
        let mut above = event.path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            if done.contains(above) {
                return Err(format!("`{}` is on record after `{above}` was done", event.path));
            }
        }
        match &event.kind {
            EventKind::NodeCompleted { .. } => {
                done.insert(event.path.as_str());
            }
            EventKind::TimerSet { until: then, .. } => {
                until.insert(event.path.as_str(), *then);
            }
            // The clocks that are waited for and that are recorded are two.
            EventKind::TimerFired => match until.get(event.path.as_str()) {
                Some(until) if event.time + Duration::from_millis(5) < *until => {
                    return Err(format!("`{}` has fired before its time", event.path));
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

/// The attempt is recorded before it begins. For steps and children that is promised where they may not be repeated.
fn begun_is_on_record(history: &[Event], lines: &[&Line]) -> Verdict {
    let mut on_record: BTreeSet<(&str, u32)> = BTreeSet::new();
    let mut leaves: BTreeSet<&str> = BTreeSet::new();
    for event in history {
        let path = event.path.as_str();
        if let EventKind::NodeStarted { attempt, inside, .. } = &event.kind {
            on_record.extend([(path, *attempt), (path, 0)]);
            if inside.is_none() {
                leaves.insert(path);
            }
        }
    }
    let is_asked_for = |path: &str| path.rmatch_indices('/').any(|(at, _)| leaves.contains(&path[..at]));
    let is_promised = |line: &Line| is_once(&line.path) || !is_asked_for(&line.path);
    let is_missing = |line: &&&Line| {
        line.what == What::Begin && is_promised(line) && !on_record.contains(&(line.path.as_str(), line.attempt))
    };
    match lines.iter().find(is_missing) {
        Some(line) => Err(format!("attempt {} at `{}` has begun and is not on record", line.attempt, line.path)),
        None => Ok(()),
    }
}

/// Nobody goes on with what is not on record, and what is given back is what was given before. What a node does while it
/// cleans up after it was told to end is not recorded.
fn given_is_on_record(history: &[Event], lines: &[&Line]) -> Verdict {
    let mut on_record: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for event in history {
        let value = match &event.kind {
            EventKind::NodeCompleted { output, .. } => output.as_ref().map(Value::to_string),
            EventKind::NodeFailed { then: AfterFailure::Fails | AfterFailure::Routed { .. }, .. } => {
                Some("null".to_owned())
            }
            _ => continue,
        };
        on_record.insert(&event.path, value);
    }
    let is_cancelled = history.iter().any(|event| matches!(event.kind, EventKind::CancelRequested));
    for line in lines.iter().filter(|line| line.what == What::Given) {
        match on_record.get(line.path.as_str()) {
            Some(recorded) if *recorded == line.value => {}
            None if is_cancelled => {}
            recorded => {
                return Err(format!("`{}` has given {:?}, and on record is {recorded:?}", line.path, line.value));
            }
        }
    }
    Ok(())
}

fn is_sleep(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("sleep:"))
}

fn is_once(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("once"))
}

fn at_most_once(lines: &[&Line]) -> Verdict {
    let mut begun = BTreeSet::new();
    for line in lines.iter().filter(|line| line.what == What::Begin && is_once(&line.path)) {
        if !begun.insert(&line.path) {
            return Err(format!("`{}` is `at_most_once` and has begun twice", line.path));
        }
    }
    Ok(())
}

/// Each run is executed by one process at a time: another one's line comes only after the death of the one before, which
/// then writes no more.
pub(crate) fn one_process_at_a_time(ledger: &[Line]) -> Verdict {
    let mut killed = BTreeSet::new();
    let mut at_work: BTreeMap<&str, u64> = BTreeMap::new();
    for line in ledger {
        match line.what {
            What::Kill => {
                killed.insert(line.process);
                continue;
            }
            // Who answers or cancels need not have the run.
            What::Answered | What::Cancelled => continue,
            What::Begin | What::End | What::Given => {}
        }
        let before = at_work.insert(&line.run, line.process).filter(|before| *before != line.process);
        if let Some(before) = before.filter(|before| !killed.contains(before)) {
            return Err(format!(
                "{} was at `{}` in process {} while process {before} lived",
                line.run, line.path, line.process
            ));
        }
    }
    Ok(())
}

/// What a process was told that it is recorded, is: its answers, each the only one to its question.
pub(crate) fn answers_are_heard(run: &str, history: &[Event], ledger: &[Line]) -> Verdict {
    let mut answered = BTreeSet::new();
    for line in ledger.iter().filter(|line| line.run == run && line.what == What::Answered) {
        if !answered.insert(&line.path) {
            return Err(format!("`{}` has taken two answers", line.path));
        }
        let is_it = |event: &Event| event.path == line.path && matches!(event.kind, EventKind::Answered { .. });
        if !history.iter().any(is_it) {
            return Err(format!("the answer of process {} to `{}` is not on record", line.process, line.path));
        }
    }
    Ok(())
}

/// What is recorded as interrupted was cut short by the death of its process.
pub(crate) fn interrupted_by_a_death(run: &str, history: &[Event], ledger: &[Line]) -> Verdict {
    let killed: BTreeSet<u64> = ledger.iter().filter(|line| line.what == What::Kill).map(|line| line.process).collect();
    let is_interrupted = |event: &&Event| match &event.kind {
        EventKind::NodeFailed { cause, .. } => cause.fault == Some(Fault::Interrupted),
        _ => false,
    };
    for event in history.iter().filter(is_interrupted) {
        let is_begin = |line: &&Line| line.run == run && line.path == event.path && line.what == What::Begin;
        if let Some(begun) = ledger.iter().rfind(is_begin).filter(|begun| !killed.contains(&begun.process)) {
            let process = begun.process;
            return Err(format!("`{}` was interrupted, and process {process} lived, which ran it", event.path));
        }
    }
    Ok(())
}
