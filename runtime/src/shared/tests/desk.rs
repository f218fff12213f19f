//! What becomes of an answer that crosses the withdrawal of its question.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::json;

use super::super::{Desk, Fits, Receiver};
use crate::event::EventKind;
use crate::question::AnswerError;
use crate::store::{Record, Stored};

const QUESTION: &str = "flow/a/amount";

struct Attempt;

impl Receiver for Attempt {
    fn deliver(&self, _: &str, _: bool) {}

    fn only_waits(&self) -> bool {
        true
    }

    fn is_idle(&self) -> bool {
        true
    }
}

fn asked() -> EventKind {
    EventKind::QuestionAsked { prompt: "?".to_owned(), payload: json!(null), schema: json!({}) }
}

fn unchecked() -> EventKind {
    EventKind::Answered { answer: json!(1), unchecked: true }
}

fn checked() -> EventKind {
    EventKind::Answered { answer: json!(1), unchecked: false }
}

fn record(kind: &EventKind) -> Record {
    Record { path: QUESTION.to_owned(), kind: kind.clone() }
}

/// A question, as it is known after these records in a process that has only read them.
fn read(records: &[EventKind]) -> Desk {
    let desk = Desk::default();
    for (seq, kind) in records.iter().enumerate() {
        desk.restore(Stored { seq: seq as u64, time: SystemTime::UNIX_EPOCH, record: record(kind) });
    }
    desk
}

/// The same in the process that executes the node: it has noted some of them before `crossing`, which somebody else has
/// recorded before these.
fn crossed(before: &[EventKind], noted: &[EventKind], crossing: &EventKind) -> (Desk, Vec<EventKind>) {
    let desk = read(before);
    noted.iter().for_each(|kind| desk.note(QUESTION, kind, None));
    let fits: Fits = |_| Ok(());
    let _item = desk.hold(&Arc::from(QUESTION), Arc::new(Attempt), Some(fits));
    let behind: Vec<EventKind> = [crossing].into_iter().chain(noted).cloned().collect();
    let mut accepted = 0;
    for (at, kind) in behind.iter().enumerate() {
        accepted += u32::from(desk.recorded(&record(kind), (before.len() + at) as u64).is_some());
    }
    assert_eq!(accepted, 0, "an answer to a question that is withdrawn is not accepted");
    (desk, before.iter().cloned().chain(behind).collect())
}

#[test]
fn an_unchecked_answer_that_crosses_a_withdrawal_is_void_however_far_its_node_is() {
    let withdrawals: [&[EventKind]; 4] = [
        &[EventKind::RequestWithdrawn],
        &[EventKind::RequestWithdrawn, EventKind::RequestReopened],
        &[EventKind::RequestWithdrawn, EventKind::RequestReopened, EventKind::RequestWithdrawn],
        &[
            EventKind::RequestWithdrawn,
            EventKind::RequestReopened,
            EventKind::RequestWithdrawn,
            EventKind::RequestReopened,
        ],
    ];
    for noted in withdrawals {
        let (desk, records) = crossed(&[asked()], noted, &unchecked());
        assert_eq!(desk.snapshot(), read(&records).snapshot(), "{records:?}");
        assert_eq!(desk.result(QUESTION), None);
        let again = desk.take_answer("run", QUESTION, &json!(2));
        match noted.last() {
            Some(EventKind::RequestReopened) => assert!(again.is_ok(), "{again:?}"),
            _ => assert!(matches!(again, Err(AnswerError::Withdrawn { .. })), "{again:?}"),
        }
        // The next one counts.
        desk.note(QUESTION, &EventKind::RequestReopened, None);
        let _none = desk.recorded(&record(&EventKind::RequestReopened), 8);
        assert_eq!(desk.recorded(&record(&unchecked()), 9), Some(record(&EventKind::AnswerAccepted)));
        assert_eq!(desk.result(QUESTION), Some(9));
    }
}

#[test]
fn a_checked_answer_outlives_the_withdrawal_that_it_crosses() {
    let noted = [EventKind::RequestWithdrawn, EventKind::RequestReopened];
    let (desk, records) = crossed(&[asked()], &noted, &checked());
    assert_eq!(desk.snapshot(), read(&records).snapshot());
    assert_eq!(desk.result(QUESTION), Some(3), "its node has it from when it asks again");
    let again = desk.take_answer("run", QUESTION, &json!(2));
    assert!(matches!(again, Err(AnswerError::AlreadyAnswered { .. })), "{again:?}");
}

#[test]
fn an_answer_that_was_accepted_outlives_a_withdrawal() {
    let records = [asked(), unchecked(), EventKind::AnswerAccepted, EventKind::RequestWithdrawn];
    let desk = read(&records);
    let again = desk.take_answer("run", QUESTION, &json!(2));
    assert!(matches!(again, Err(AnswerError::AlreadyAnswered { .. })), "{again:?}");
    assert_eq!(desk.item(QUESTION).unwrap().answer, Some(json!(1)));
}
