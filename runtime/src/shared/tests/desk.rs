//! What becomes of an answer that crosses the withdrawal of its question, and of a step that its node has dropped.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::json;

use super::super::{Desk, Fits, Receiver};
use crate::core::{Resumable, Resumption};
use crate::event::EventKind;
use crate::fault::Fault;
use crate::options::NodeOptions;
use crate::question::AnswerError;
use crate::store::{Record, Stored};

const QUESTION: &str = "flow/a/amount";

struct Attempt;

impl Receiver for Attempt {
    fn deliver(&self, _: &str, _: bool) {}

    fn undone(&self, _: &str, _: &str) {}

    fn only_waits(&self) -> bool {
        true
    }

    fn is_idle(&self) -> bool {
        true
    }
}

fn asked() -> EventKind {
    EventKind::QuestionAsked {
        prompt: "?".to_owned(),
        payload: json!(null),
        until: None,
        schema: json!({}),
        again: false,
    }
}

fn unchecked() -> EventKind {
    EventKind::Answered { answer: json!(1), by: None, comment: None, unchecked: true }
}

fn checked() -> EventKind {
    EventKind::Answered { answer: json!(1), by: None, comment: None, unchecked: false }
}

fn record(kind: &EventKind) -> Record {
    Record { path: QUESTION.to_owned(), kind: kind.clone() }
}

/// A question, as it is known after these records in a process that has only read them.
fn read(records: &[EventKind]) -> Desk {
    let desk = Desk::default();
    for (seq, kind) in records.iter().enumerate() {
        desk.restore(Stored { seq: seq as u64, time: SystemTime::UNIX_EPOCH, record: record(kind) }).unwrap();
    }
    desk
}

/// The same in the process that executes the node: it has noted some of them before `crossing`, which somebody else has
/// recorded before these.
fn crossed(before: &[EventKind], noted: &[EventKind], crossing: &EventKind) -> (Desk, Vec<EventKind>) {
    let desk = read(before);
    noted.iter().for_each(|kind| desk.note(QUESTION, kind, None));
    let fits = Fits { read: |_| Ok(()), read_recorded: |_| Ok(()), schema: || json!({}) };
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
fn a_question_that_is_dropped_while_a_rejection_is_being_recorded_cannot_be_answered() {
    let desk = read(&[asked(), unchecked()]);
    let rejected = EventKind::AnswerRejected { field: ".".to_owned(), message: "no number".to_owned() };
    desk.note(QUESTION, &rejected, None);
    desk.note(QUESTION, &EventKind::RequestWithdrawn, None);
    let _none = desk.recorded(&record(&rejected), 2);
    let answered = desk.take_answer("run", QUESTION, &json!(2));
    assert!(matches!(answered, Err(AnswerError::Withdrawn { .. })), "{answered:?}");
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

const NODE: &str = "flow/a";
const STEP: &str = "flow/a/pay";

fn once() -> NodeOptions {
    NodeOptions { at_most_once: true, ..NodeOptions::default() }
}

fn started(attempt: u32) -> EventKind {
    EventKind::NodeStarted { attempt, inside: None, input: None, began: None }
}

/// What becomes of an interrupted step that may run at most once.
fn resumed(desk: &Desk) -> Option<Resumption> {
    let item = desk.item(STEP).unwrap();
    item.attempts.resumption(&once(), Resumable::FromItsTop, item.process)
}

/// A step that has started: in the process that executes it, and in one that has only read its record.
fn with_step_under_way() -> [Desk; 2] {
    let (live, read) = (Desk::default(), Desk::default());
    live.note(STEP, &started(1), None);
    let record = Record { path: STEP.to_owned(), kind: started(1) };
    read.restore(Stored { seq: 0, time: SystemTime::UNIX_EPOCH, record }).unwrap();
    [live, read]
}

#[test]
fn a_step_that_a_failed_attempt_of_its_node_has_dropped_stays_dropped_after_a_crash() {
    let dropped = Some(Resumption::Fail { number: 1, fault: Fault::Dropped });
    let [live, read] = with_step_under_way();
    assert_eq!(resumed(&read), Some(Resumption::Fail { number: 1, fault: Fault::Interrupted }));
    for desk in [&live, &read] {
        desk.caller_retries_below(NODE);
        assert_eq!(resumed(desk), dropped);
    }
    assert_eq!(live.snapshot(), read.snapshot());
}

#[test]
fn a_step_that_was_dropped_is_not_under_way() {
    let [live, _] = with_step_under_way();
    assert!(!live.only_waits_below(NODE), "the step is at work");
    live.note(STEP, &EventKind::RequestWithdrawn, None);
    assert!(live.only_waits_below(NODE));
}

#[test]
fn records_of_a_step_that_cannot_follow_each_other_are_an_error() {
    let [_, desk] = with_step_under_way();
    let record = Record { path: STEP.to_owned(), kind: started(3) };
    let impossible = desk.restore(Stored { seq: 1, time: SystemTime::UNIX_EPOCH, record }).unwrap_err();
    assert_eq!(impossible.to_string(), "`Begun` is impossible while attempt 1 is under way");
}
