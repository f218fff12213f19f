//! What is known of a run while its records are folded.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;

use super::recorded::Inside;
use crate::core::{Arrived, Note, Place, RunEnd, Sees, TaskId, TimerId};
use crate::fault::Cause;
use crate::table::Token;

/// What is known of the run while its records are folded.
#[derive(Default)]
pub(super) struct Fold {
    pub(super) nodes: Nodes,
    pub(super) timers: HashMap<String, (TimerId, Duration)>,
    /// The inputs of tasks that may be tried again.
    pub(super) kept: HashMap<TaskId, Arrived>,
    pub(super) entered: HashMap<TaskId, Arc<Inside>>,
    /// Nodes that were skipped: by the record, and by the graph as it is now.
    pub(super) skipped: BTreeSet<String>,
    pub(super) skips: BTreeMap<String, Place>,
    /// Those that are on record, also where the graph no longer leads to them.
    pub(super) recorded_skips: BTreeSet<String>,
    /// Since it is on record that the run is to end: the nodes that are cancelled, and those of them that are so on record.
    pub(super) cancels: Option<Cancels>,
    /// Whether records may speak of nodes that the graph no longer leads to: before a retry.
    pub(super) is_lenient: bool,
    /// Before a retry: failures that no record has yet shown to be taken up by anything. What led to the end of the run
    /// stays here, and does not count.
    pub(super) deferred: Vec<Deferred>,
    pub(super) end: Option<RunEnd<Token>>,
}

#[derive(Default)]
pub(super) struct Cancels {
    /// In their order: what is inside a node before the node.
    pub(super) all: Vec<String>,
    pub(super) recorded: BTreeSet<String>,
}

/// Something that stopped a part of the run.
pub(super) enum Deferred {
    Failed { task: TaskId, place: Place, cause: Box<Cause> },
    TimedOut { place: Place, timer: TimerId },
}

impl Deferred {
    /// Whether it stopped something in the graph inside a node, or the node itself.
    pub(super) fn is_within(&self, node: &Place) -> bool {
        let (Deferred::Failed { place, .. } | Deferred::TimedOut { place, .. }) = self;
        place.is_within(node)
    }
}

pub(super) struct Known {
    pub(super) task: TaskId,
    pub(super) place: Place,
    pub(super) stage: Stage,
    /// Whether it is on record that it has begun, once at least.
    pub(super) has_begun: bool,
}

/// The nodes that have fired: each is found by its path, and by its task.
#[derive(Default)]
pub(super) struct Nodes {
    all: Vec<Known>,
    by_path: HashMap<String, usize>,
    /// By their places in the core.
    by_task: Vec<Option<(TaskId, usize)>>,
}

impl Nodes {
    /// The last one there.
    pub(super) fn at(&self, path: &str) -> Option<&Known> {
        Some(&self.all[*self.by_path.get(path)?])
    }

    pub(super) fn of(&mut self, task: TaskId) -> Option<&mut Known> {
        let (of, at) = (*self.by_task.get(task.place())?)?;
        (of == task).then(|| &mut self.all[at])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Known> {
        self.all.iter()
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = Known> {
        self.all.into_iter()
    }

    /// A task is not found any more. What is known of it stays.
    pub(super) fn forget(&mut self, task: TaskId) {
        if let Some(place) = self.by_task.get_mut(task.place())
            && let Some((_, at)) = place.take_if(|(of, _)| *of == task)
        {
            self.by_path.remove(&self.all[at].place.path());
        }
    }

    /// A task that has fired, or has had an attempt and waits for the next.
    pub(super) fn insert(&mut self, task: TaskId, place: Place, stage: Stage) {
        let path = place.path();
        let new = Known { task, place, stage, has_begun: false };
        let at = match self.by_path.entry(path) {
            Entry::Occupied(entry) => {
                let known = &mut self.all[*entry.get()];
                let has_begun = known.task == task && known.has_begun;
                *known = Known { has_begun, ..new };
                *entry.get()
            }
            Entry::Vacant(entry) => {
                self.all.push(new);
                *entry.insert(self.all.len() - 1)
            }
        };
        if self.by_task.len() <= task.place() {
            self.by_task.resize(task.place() + 1, None);
        }
        self.by_task[task.place()] = Some((task, at));
    }
}

pub(super) enum Stage {
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

pub(super) struct Pending {
    pub(super) attempt: u32,
    pub(super) may_repeat: bool,
    pub(super) arrived: Option<Arrived>,
    pub(super) sees: Option<Sees>,
}

impl Fold {
    /// Whether it is on record that an attempt has begun.
    pub(super) fn has_begun(&self, path: &str) -> bool {
        self.nodes.at(path).is_some_and(|known| known.has_begun)
    }

    /// Whether a node waits for its next attempt.
    pub(super) fn is_delayed(&self, path: &str) -> bool {
        self.nodes.at(path).is_some_and(|known| matches!(known.stage, Stage::Waits))
    }

    /// Whether a path is that of something that a node has asked its context for, or stands in the graph of a child.
    pub(super) fn is_asked_for(&self, path: &str) -> bool {
        let above = std::iter::successors(path.rsplit_once('/'), |(above, _)| above.rsplit_once('/'));
        let nearest = above.filter_map(|(above, _)| self.nodes.at(above)).next();
        nearest.is_some_and(|known| !known.place.is_scope())
    }

    /// A record says so of a node.
    pub(super) fn skipped(&mut self, path: String) {
        if !self.is_lenient {
            self.skipped.insert(path.clone());
        }
        self.recorded_skips.insert(path);
    }

    /// A graph begins from its start: what was skipped in it before may be skipped again.
    pub(super) fn forget_skips_in(&mut self, around: &Place) {
        let Fold { skips, recorded_skips, .. } = self;
        recorded_skips.retain(|path| !skips.get(path).is_some_and(|place| place.is_within(around)));
    }

    /// A node that had failed is to begin anew.
    pub(super) fn forgiven(&mut self, task: TaskId) {
        let Some(known) = self.nodes.of(task) else { return };
        if let Stage::Runs(pending) | Stage::Enters(pending) = std::mem::replace(&mut known.stage, Stage::Waits)
            && let Some(arrived) = pending.arrived
        {
            self.kept.insert(task, arrived);
        }
    }

    pub(super) fn stage(&mut self, task: TaskId, place: Place, stage: Stage) {
        match self.nodes.of(task) {
            Some(known) => (known.place, known.stage) = (place, stage),
            None => self.nodes.insert(task, place, stage),
        }
    }

    pub(super) fn note(&mut self, task: Option<TaskId>, place: &Place, note: &Note) {
        match (note, task) {
            (Note::Skipped, _) => {
                self.skips.insert(place.path(), place.clone());
            }
            (Note::Completed { .. } | Note::Cancelled, Some(task)) => {
                if let (Note::Cancelled, Some(cancels)) = (note, &mut self.cancels) {
                    cancels.all.push(place.path());
                }
                if let Some(known) = self.nodes.of(task) {
                    known.stage = Stage::Over;
                }
            }
            _ => {}
        }
    }
}
