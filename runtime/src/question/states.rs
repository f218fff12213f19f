//! Which questions of a run are open: the fold of its records.

use serde::{Deserialize, Serialize};

use crate::event::{AfterFailure, EventKind};
use crate::sorted::SortedMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    Open,
    /// This process is about to record an answer.
    Answering,
    /// It has an answer that was recorded unchecked. If its node stops waiting before the answer is accepted, it is
    /// void.
    Unchecked,
    Answered,
    /// Its node no longer waits for it.
    Withdrawn,
    /// Its node is done.
    Over,
}

impl State {
    /// The states in which no caller has got the result that its answer is accepted.
    const UNSETTLED: [State; 3] = [State::Open, State::Answering, State::Unchecked];
}

/// The states of the questions that a run has asked so far, by their ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct States {
    by_id: SortedMap<String, State>,
    /// What the last changes have replaced, if they may have to be undone.
    #[serde(skip)]
    replaced: Option<Vec<(String, Option<State>)>>,
}

impl States {
    /// Applies a record of any kind.
    pub(crate) fn apply(&mut self, path: &str, kind: &EventKind) {
        match kind {
            EventKind::QuestionAsked { again, .. } => {
                // An answer may have come before the node asked again: the node checks it against its present type.
                let before = self.get(path);
                self.note(path, before);
                self.by_id.insert(path.to_owned(), before.filter(|_| *again).unwrap_or(State::Open));
            }
            EventKind::Answered { unchecked: true, .. } => self.set(path, State::Unchecked),
            EventKind::Answered { unchecked: false, .. } => self.set(path, State::Answered),
            EventKind::AnswerAccepted => self.replace(path, State::Unchecked, State::Answered),
            // Its node may have dropped it, or have ended, while this was being appended.
            EventKind::AnswerRejected { .. } if matches!(self.get(path), Some(State::Withdrawn | State::Over)) => {}
            EventKind::AnswerRejected { .. } => self.set(path, State::Open),
            EventKind::RequestWithdrawn => {
                self.withdraw(Some(path));
                for unsettled in State::UNSETTLED {
                    self.replace(path, unsettled, State::Withdrawn);
                }
            }
            EventKind::RequestReopened => self.replace(path, State::Withdrawn, State::Open),
            kind if closes(kind) => self.withdraw(Some(path)),
            kind if kind.is_terminal() => self.withdraw(None),
            _ => {}
        }
    }

    /// Withdraws the questions below a path, or all of them.
    pub(crate) fn withdraw(&mut self, below: Option<&str>) {
        if self.by_id.is_empty() {
            return;
        }
        let from = below.map_or(String::new(), |path| format!("{path}/"));
        let below = self.by_id.range(from.clone()..).take_while(|(id, _)| id.starts_with(&from));
        let unsettled: Vec<String> =
            below.filter(|(_, state)| State::UNSETTLED.contains(state)).map(|(id, _)| id.clone()).collect();
        for id in unsettled {
            self.set(&id, State::Over);
        }
    }

    fn replace(&mut self, id: &str, from: State, to: State) {
        if self.get(id) == Some(from) {
            self.set(id, to);
        }
    }

    pub(crate) fn set(&mut self, id: &str, to: State) {
        if let Some(state) = self.by_id.get_mut(id) {
            let before = std::mem::replace(state, to);
            self.note(id, Some(before));
        }
    }

    fn note(&mut self, id: &str, before: Option<State>) {
        if let Some(replaced) = &mut self.replaced {
            replaced.push((id.to_owned(), before));
        }
    }

    /// From here on changes can be [undone](Self::undo).
    pub(crate) fn begin(&mut self) {
        self.replaced.get_or_insert_default().clear();
    }

    /// Undoes the changes since [`begin`](Self::begin).
    pub(crate) fn undo(&mut self) {
        for (id, before) in self.replaced.take().unwrap_or_default().into_iter().rev() {
            match before {
                Some(state) => self.by_id.insert(id, state),
                None => self.by_id.remove(&id),
            };
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<State> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.get(id) == Some(State::Open)
    }

    /// The ids of those that are open, in order.
    pub(crate) fn open(&self) -> impl Iterator<Item = &str> {
        self.by_id.iter().filter(|(_, state)| **state == State::Open).map(|(id, _)| id.as_str())
    }

    /// Whether nothing was asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

/// Whether this record ends the wait for answers to the questions at its path, or below it. A graph that is entered once
/// more, in a later attempt of a child, begins from its start, and asks anew.
pub(crate) fn closes(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RequestWithdrawn
            | EventKind::NodeStarted { inside: Some(_), .. }
            | EventKind::NodeCompleted { .. }
            | EventKind::NodeCancelled
            | EventKind::NodeFailed { then: AfterFailure::Routed { .. } | AfterFailure::Fails, .. }
            | EventKind::NodeCollecting { .. }
            | EventKind::RunStartingOver { .. }
    )
}
