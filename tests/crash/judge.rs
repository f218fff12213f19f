//! What has to be true of a run whose processes were killed: its history held against the ledger, and against itself.

use std::collections::{BTreeMap, BTreeSet};

use graphweft::{Event, EventKind};

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
        self.nothing_recorded_runs_again(lines)?;
        recorded_once(history)?;
        at_most_once(lines)?;
        if scene == Scene::Still {
            begun_is_on_record(history, lines)?;
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
    fn nothing_recorded_runs_again(&self, lines: &[&Line]) -> Verdict {
        let settled: BTreeSet<(&str, Option<u32>)> = self.history.iter().filter_map(settles_for_good).collect();
        for line in lines.iter().skip(self.lines).filter(|line| line.what == What::Begin) {
            let path = line.path.as_str();
            if settled.contains(&(path, None)) || settled.contains(&(path, Some(line.attempt))) {
                return Err(format!("`{path}` was on record, and began again in process {}", line.process));
            }
        }
        Ok(())
    }

    /// At most the attempts in flight repeat: each that has begun is on record, or was cut short by a death, and of each
    /// no more than one is open at a time.
    fn count_what_is_cut_short(&mut self, history: &[Event], lines: &[&Line]) -> Verdict {
        let mut begun: BTreeMap<(String, u32), usize> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.what == What::Begin) {
            *begun.entry((line.path.clone(), line.attempt)).or_default() += 1;
        }
        let settled = settled(history);
        for ((path, attempt), begun) in begun {
            let settled = settled.get(&(path.as_str(), attempt)).copied().unwrap_or_default();
            let cut_short = self.cut_short.entry((path.clone(), attempt)).or_default();
            match begun.checked_sub(settled + *cut_short) {
                Some(0) => {}
                Some(1) => *cut_short += 1,
                // An interrupted one is on record without having begun again.
                None if is_once(&path) => {}
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
            // Where it goes on by the arm `err`, it has failed before.
            EventKind::NodeCompleted { output: None, .. } => continue,
            EventKind::NodeCompleted { .. } | EventKind::NodeWaiting { .. } => {
                under_way.get(path).copied().unwrap_or(1)
            }
            _ => continue,
        };
        *settled.entry((path, attempt)).or_default() += 1;
    }
    settled
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
            EventKind::Answered { .. } => ("answered", 0),
            EventKind::NodeSkipped => ("skipped", 0),
            kind if kind.is_terminal() => ("over", 0),
            _ => continue,
        };
        if !seen.insert((event.path.as_str(), what)) {
            return Err(format!("`{}` is {} twice on record", event.path, what.0));
        }
    }
    match history.iter().position(Event::is_terminal) {
        Some(end) if end + 1 < history.len() => Err(format!("records follow the end of the run, record {end}")),
        _ => Ok(()),
    }
}

/// The attempt is recorded before it begins.
fn begun_is_on_record(history: &[Event], lines: &[&Line]) -> Verdict {
    let on_record: BTreeSet<(&str, u32)> = history
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::NodeStarted { attempt, .. } => Some((event.path.as_str(), *attempt)),
            _ => None,
        })
        .collect();
    let missing = lines.iter().find(|line| !on_record.contains(&(line.path.as_str(), line.attempt)));
    match missing {
        Some(line) => Err(format!("attempt {} at `{}` has begun and is not on record", line.attempt, line.path)),
        None => Ok(()),
    }
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
        if line.what == What::Kill {
            killed.insert(line.process);
            continue;
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
