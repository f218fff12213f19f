//! The open questions of a run as its store has them, so that each append reports what changes.

use std::time::SystemTime;

use crate::asked::Question;
use crate::event::EventKind;
use crate::question::{States, closes};
use crate::sorted::{SortedMap, SortedSet};
use crate::store::{OpenQuestion, QuestionChange, Record};

/// Which questions are open by the records that were appended, or are being appended.
#[derive(Default)]
pub(super) struct QuestionIndex {
    states: States,
    /// Those that the store has as open.
    reported: SortedSet<String>,
    /// What the last change has done to the set of those, if it may have to be undone: whether each was in it.
    replaced: Vec<(String, bool)>,
}

impl QuestionIndex {
    /// After the records that a run had before it was resumed. `are_reported`: whether the store knows of them.
    pub(super) fn resumed(states: States, are_reported: bool) -> QuestionIndex {
        let reported = states.open().filter(|_| are_reported).map(str::to_owned).collect();
        QuestionIndex { states, reported, replaced: Vec::new() }
    }

    /// Applies records of another process, which has reported what they change.
    pub(super) fn follow(&mut self, record: &Record) {
        self.states.apply(&record.path, &record.kind);
        if !self.states.is_open(&record.path) {
            self.reported.remove(&record.path);
        }
    }

    /// Whether a question is open.
    pub(super) fn has_open(&self) -> bool {
        self.states.open().next().is_some()
    }

    /// The append of the last change is refused: it is as before.
    pub(super) fn undo(&mut self) {
        self.states.undo();
        for (id, was_in) in std::mem::take(&mut self.replaced).into_iter().rev() {
            if was_in {
                self.reported.insert(id);
            } else {
                self.reported.remove(&id);
            }
        }
    }

    /// How many questions the last change opens and closes. One that is asked again is open already.
    pub(super) fn counts(&self) -> (usize, usize) {
        let closed = self.replaced.iter().filter(|(_, was_in)| *was_in).count();
        (self.replaced.len() - closed, closed)
    }

    /// What an append of these records changes. `is_all`: it is not known what the store has, and so all open questions
    /// are reported. `text` gives the text of a question that was asked before them.
    pub(super) fn report(
        &mut self,
        records: &[Record],
        time: SystemTime,
        is_all: bool,
        text: impl Fn(&str) -> Option<Question>,
    ) -> QuestionChange {
        let QuestionChange { mut open, .. } = match self.change(records, time, &text) {
            change if !is_all => return change,
            change => change,
        };
        let reported: SortedSet<&str> = open.iter().map(|open| open.question.id.as_str()).collect();
        let others = self.states.open().filter(|id| !reported.contains(id)).filter_map(text);
        let others: Vec<_> = others.map(|question| OpenQuestion { question, asked: time }).collect();
        open.extend(others);
        self.reported = open.iter().map(|open| open.question.id.clone()).collect();
        QuestionChange { is_all, open, closed: Vec::new() }
    }

    fn change(
        &mut self,
        records: &[Record],
        time: SystemTime,
        text: &impl Fn(&str) -> Option<Question>,
    ) -> QuestionChange {
        self.states.begin();
        self.replaced.clear();
        let mut touched = SortedMap::<String, Option<Question>>::new();
        for Record { path, kind } in records {
            let is_of_question = matches!(
                kind,
                EventKind::QuestionAsked { .. }
                    | EventKind::Answered { .. }
                    | EventKind::AnswerRejected { .. }
                    | EventKind::RequestWithdrawn
                    | EventKind::RequestReopened
            );
            let may_close = closes(kind) && !self.states.is_empty();
            if !is_of_question && !may_close {
                continue;
            }
            self.states.apply(path, kind);
            if is_of_question {
                // The text of this record, or that of one before it.
                let asked = Question::of(path, kind);
                let before = touched.remove(path).flatten();
                touched.insert(path.clone(), asked.or(before));
            }
            if may_close {
                let from = format!("{path}/");
                let below = self.reported.range(from.clone()..).take_while(|id| id.starts_with(&from));
                let below: Vec<String> = below.filter(|id| !touched.contains_key(*id)).cloned().collect();
                touched.extend(below.into_iter().map(|id| (id, None)));
            }
        }
        let mut change = QuestionChange::default();
        for (id, asked) in touched.into_pairs() {
            if !self.states.is_open(&id) {
                if self.reported.remove(&id) {
                    self.replaced.push((id.clone(), true));
                    change.closed.push(id);
                }
                continue;
            }
            let is_new = !self.reported.contains(&id);
            // One that the store has already changes only if it is asked again.
            if let Some(question) = asked.or_else(|| if is_new { text(&id) } else { None }) {
                if is_new {
                    self.replaced.push((id.clone(), false));
                    self.reported.insert(id);
                }
                change.open.push(OpenQuestion { question, asked: time });
            }
        }
        change
    }
}
