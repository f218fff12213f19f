//! The fold of the records of a run, its values not decoded: the state of the core, the requests of nodes, and what else
//! resuming needs. It is made when a run is resumed, and for a snapshot of a run that is driven.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event_codec::{OfRequests, Replay, Taken, no_output};
use super::lazy_value::{RecordedValues, ReplayedValues};
use super::run::Driver;
use super::run_snapshot::RunSnapshot;
use crate::core::{Derived, Run, ThawedRun, TimeLimit, thaw};
use crate::event::EventKind;
use crate::halt::Halt;
use crate::question::States;
use crate::shared::{Desk, ThawedDesk};
use crate::store::{Record, Stored};
use crate::table::{Definition, Emitted, Executable, Token};

pub(super) struct Fold {
    executable: Arc<Executable>,
    definition: Arc<Definition>,
    pub(super) replay: Replay<Token>,
    pub(super) facts: Facts,
}

/// What the records come to besides the states of the core and of the requests.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) values: RecordedValues,
    /// As the store has to have them.
    pub(super) questions: States,
    /// Whether a cancellation was requested.
    pub(super) wants_cancel: bool,
    /// Whether a record is that of a retry.
    pub(super) was_retried: bool,
}

impl Fold {
    /// Begins with the emission of START.
    ///
    /// # Errors
    /// If the run has begun.
    pub(super) fn begin(
        run: Run<Token>,
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
        started: Emitted,
        limit: Option<TimeLimit>,
    ) -> Result<Fold, Halt> {
        let replay = Replay::new(run, executable, definition, started, limit)?;
        let (executable, definition) = (Arc::clone(executable), Arc::clone(definition));
        Ok(Fold { executable, definition, replay, facts: Facts::default() })
    }

    /// Continues from a snapshot, in the places of a run and a desk without any record.
    ///
    /// # Errors
    /// If it is not one of this program: then all records are to be folded.
    pub(super) fn thaw(
        snapshot: &RunSnapshot,
        mut run: Run<Token>,
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
        desk: Option<&Desk>,
    ) -> Result<Fold, Halt> {
        let thawed = thaw::<(ThawedRun<Token>, ThawedDesk, Facts)>(&executable.program, &snapshot.text);
        let (state, requests, facts) = thawed.map_err(|error| Halt::Unreadable {
            path: definition.name.clone(),
            field: ".".to_owned(),
            message: format!("the snapshot of its state cannot be read: {error}"),
        })?;
        run.thaw(state);
        if let Some(desk) = desk {
            desk.thaw(requests);
        }
        let replay = Replay::thawed(run, executable, definition);
        let (executable, definition) = (Arc::clone(executable), Arc::clone(definition));
        Ok(Fold { executable, definition, replay, facts })
    }

    /// Folds one record. `desk`: for a run and not for the graph of a child, whose requests are folded with those of the
    /// run.
    ///
    /// # Errors
    /// If it does not fit the graph, or those before it.
    pub(super) fn take(&mut self, stored: Stored, driver: Option<&Driver>, desk: Option<&Desk>) -> Result<(), Halt> {
        let Fold { executable, definition, replay, facts } = self;
        let kind = &stored.record.kind;
        facts.wants_cancel |= matches!(kind, EventKind::CancelRequested);
        if matches!(kind, EventKind::QuestionAsked { .. }) || !facts.questions.is_empty() {
            facts.questions.apply(&stored.record.path, kind);
        }
        if let Some(desk) = desk {
            desk.follow_signals(&stored);
        }
        if let EventKind::Note { .. } = kind {
            let task = replay.task_at(&stored.record.path);
            // A note of an attempt that is over, or was voided by a retry, is not looked for.
            match (task.filter(|task| replay.run.is_live(*task)), desk) {
                (Some(task), _) if !replay.run.is_running(task) => {}
                (at, Some(desk)) => restore_note(desk, stored, at.is_some()),
                (_, None) => {}
            }
            return Ok(());
        }
        let mut values = ReplayedValues { executable, driver, values: &mut facts.values };
        match (replay.take(stored, &mut values)?, desk) {
            (Taken::Request { node, stored, .. }, Some(desk)) => {
                restore_request(desk, definition, node, *stored, facts.was_retried)?;
            }
            (Taken::Applied(Some((path, Some(of_requests)))), Some(desk)) => of_requests.settle(desk, &path),
            _ => {}
        }
        while let Some((place, what)) = replay.run.next_derived() {
            if let (Derived::Cancelled, Some(desk)) = (what, desk) {
                OfRequests::Forgotten.settle(desk, &place.path());
            }
        }
        Ok(())
    }

    /// Drops what no record behind the last one can change.
    pub(super) fn forget_gone(&mut self) {
        self.replay.run.forget_news();
        self.facts.values.inputs.retain(|task, _| self.replay.run.is_live(*task));
    }
}

pub(super) fn is_retry(stored: &Stored) -> bool {
    matches!(stored.record.kind, EventKind::RunRetried { .. })
}

fn restore_note(desk: &Desk, stored: Stored, is_node: bool) {
    if let Record { path, kind: EventKind::Note { name, payload } } = stored.record {
        desk.restore_note(&path, (name, payload), is_node);
    }
}

/// `was_retried`: what a retry begins anew has no begin in these records, and what it has requested is reused.
fn restore_request(
    desk: &Desk,
    definition: &Arc<Definition>,
    node: usize,
    stored: Stored,
    was_retried: bool,
) -> Result<(), Halt> {
    let changed = |what: String| Halt::GraphChanged { workflow: definition.name.clone(), changes: vec![what] };
    if !was_retried && !desk.can_restore(&stored.record, &stored.record.path[..node]) {
        return Err(changed(format!("`{}` has run, and nothing around it had begun", stored.record.path)));
    }
    // The values of a child workflow are decoded by its own types, when its node asks for it. No type can decode
    // this one.
    if let EventKind::NodeCompleted { output: None, .. } = &stored.record.kind {
        return Err(no_output(&stored.record.path));
    }
    let path = stored.record.path.clone();
    desk.restore(stored)
        .map_err(|impossible| changed(format!("the record of `{path}` does not fit those before it: {impossible}")))
}
