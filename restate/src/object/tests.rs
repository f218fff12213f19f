use std::time::SystemTime;

use bytes::Bytes;
use futures::FutureExt;
use graphweft::EventKind;
use graphweft::store::{Append, NewRun, Record, RunKey, RunStatus, Store};
use serde_json::json;

use super::{Changes, Driver, Object, from_millis};

fn keep(state: &mut Vec<(String, Bytes)>, changes: Changes) {
    for (key, value) in changes {
        state.retain(|(kept, _)| *kept != key);
        state.push((key, value.into()));
    }
    state.sort();
}

/// The state of an object whose run has three appends and waits.
fn waiting() -> (Object, Vec<(String, Bytes)>) {
    let (mut object, mut state) = (Object::read("order-7", Vec::new()).unwrap(), Vec::new());
    let time = from_millis(1_795_727_894_392);
    let mut new = NewRun::new("order-7", "pay", (7, json!({ "graph": 1 })).into(), time);
    new.tags.insert("tenant".into(), "acme".into());
    new.records.push(Record::new("pay", EventKind::CancelRequested));
    let input = Bytes::from("40");
    keep(&mut state, object.create(&new, &input).unwrap());
    object.created(new, input).unwrap();
    for at in 1..3 {
        let message = EventKind::message(format!("message {at}"));
        let mut append =
            Append::new(RunKey::new(1), at, from_millis(1_795_727_894_392 + at), vec![Record::new("pay", message)]);
        if at == 2 {
            append.header.status = Some((RunStatus::Waiting, Some(from_millis(1_795_727_900_000))));
        }
        keep(&mut state, object.append(&append, None).unwrap().expect("it is at the end"));
        assert!(object.appended(append));
    }
    (object, state)
}

fn records(object: &Object) -> Vec<graphweft::store::Stored> {
    object.run.read(RunKey::new(1), 0, usize::MAX).now_or_never().unwrap().unwrap()
}

#[test]
fn an_object_is_read_as_it_was_written() {
    let (object, state) = waiting();
    let read = Object::read("order-7", state).unwrap();
    assert_eq!(read.header, object.header);
    assert_eq!(read.header.as_ref().map(|header| (header.records, header.status)), Some((3, RunStatus::Waiting)));
    assert_eq!(records(&read), records(&object));
    assert_eq!(read.input, Some(Bytes::from("40")));
}

#[test]
fn an_append_that_is_not_at_the_end_is_a_conflict() {
    let (mut object, _) = waiting();
    let late = Append::new(RunKey::new(1), 2, SystemTime::now(), vec![Record::new("pay", EventKind::RunCancelled)]);
    assert!(object.append(&late, None).unwrap().is_none());
}

fn keys(changes: Option<Changes>) -> Vec<String> {
    changes.unwrap().into_iter().map(|(key, _)| key).collect()
}

#[test]
fn a_header_is_written_only_if_more_than_the_number_of_records_changes() {
    let (mut object, _) = waiting();
    let message = || vec![Record::new("pay", EventKind::CancelRequested)];
    let mut append = Append::new(RunKey::new(1), 3, SystemTime::now(), message());
    assert_eq!(keys(object.append(&append, None).unwrap()), ["r/0000000003"]);
    append.header.status = Some((RunStatus::Running, None));
    assert_eq!(keys(object.append(&append, None).unwrap()), ["r/0000000003", "header"]);
}

#[test]
fn an_object_is_read_after_a_crash_between_any_two_values_of_an_append() {
    let (mut object, state) = waiting();
    let mut append =
        Append::new(RunKey::new(1), 3, SystemTime::now(), vec![Record::new("pay", EventKind::CancelRequested)]);
    append.header.status = Some((RunStatus::Running, None));
    append.header.child_graphs.push((8, json!({ "graph": 2 })).into());
    let changes = object.append(&append, Some("inv_1")).unwrap().unwrap();
    assert_eq!(changes.len(), 3);
    for written in 0..=changes.len() {
        let mut torn = state.clone();
        keep(&mut torn, changes[..written].to_vec());
        let read = Object::read("order-7", torn).unwrap();
        let header = read.header.as_ref().unwrap();
        let is_there = written >= 2;
        let status = if is_there { RunStatus::Running } else { RunStatus::Waiting };
        assert_eq!((header.records, header.status), (3 + u64::from(is_there), status), "{written} written");
        assert_eq!(read.verdict_of("inv_1"), is_there.then_some(Ok(())));
        assert_eq!(read.missing_index().unwrap().is_some(), written == 2);
    }
}

#[test]
fn an_answer_that_its_node_has_rejected_is_known_as_refused() {
    let (mut object, mut state) = waiting();
    let mut add = |at, kind, message| {
        let append = Append::new(RunKey::new(1), at, SystemTime::now(), vec![Record::new("pay/review/approve", kind)]);
        keep(&mut state, object.append(&append, message).unwrap().unwrap());
        assert!(object.appended(append));
    };
    let answered = || serde_json::from_value(json!({ "type": "answered", "answer": "perhaps", "unchecked": true }));
    add(3, EventKind::message("as a signal is recorded"), Some("inv_0"));
    add(4, answered().unwrap(), Some("inv_1"));
    let rejected =
        serde_json::from_value(json!({ "type": "answer_rejected", "field": ".", "message": "it is no bool" })).unwrap();
    add(5, rejected, None);
    add(6, answered().unwrap(), Some("inv_2"));
    add(7, EventKind::AnswerAccepted, None);
    let read = Object::read("order-7", state).unwrap();
    let refused = read.verdict_of("inv_1").unwrap().unwrap_err();
    assert_eq!(refused.0, 422);
    assert!(refused.1.contains("it is no bool"), "{refused:?}");
    assert_eq!(read.verdict_of("inv_2"), Some(Ok(())));
    assert_eq!(read.verdict_of("inv_0"), Some(Ok(())));
    assert_eq!(read.verdict_of("inv_3"), None);
}

#[test]
fn all_refusals_of_a_mailbox_are_known_until_the_next_but_one_is_opened() {
    let mut driver = Driver::new("inv_1", 0);
    let letters: Vec<String> = (0..100).map(|number| format!("inv_{number}")).collect();
    driver.refused.extend(letters.iter().map(|letter| (letter.clone(), (409, "it is answered".to_owned()))));
    let known = |driver: &Driver| {
        let read: Driver = serde_json::from_value(json!(driver)).unwrap();
        letters.iter().filter(|letter| read.refusal_of(letter).is_some()).count()
    };
    let mut after = vec![known(&driver)];
    for _ in 0..2 {
        driver.open_mailbox();
        after.push(known(&driver));
    }
    assert_eq!(after, [100, 100, 0]);
}

#[test]
fn a_run_exists_when_the_last_of_what_makes_it_is_written() {
    let object = Object::read("order-7", Vec::new()).unwrap();
    let mut new = NewRun::new("order-7", "pay", (7, json!({})).into(), SystemTime::now());
    new.records.push(Record::new("pay", EventKind::CancelRequested));
    let changes = object.create(&new, &Bytes::from("40")).unwrap();
    let exists = |written: usize| {
        let mut state = Vec::new();
        keep(&mut state, changes[..written].to_vec());
        Object::read("order-7", state).unwrap().header.is_some()
    };
    assert_eq!((0..=4).map(exists).collect::<Vec<_>>(), [false, false, false, true, true]);
}

#[test]
fn an_append_without_records_is_replaced_by_the_next_one_which_has_its_summary() {
    let (mut object, mut state) = waiting();
    let mut append = Append::new(RunKey::new(1), 3, from_millis(1_795_727_900_001), vec![]);
    append.header.status = Some((RunStatus::Running, None));
    keep(&mut state, object.append(&append, None).unwrap().unwrap());
    assert!(object.appended(append));
    let append = Append::new(
        RunKey::new(1),
        3,
        from_millis(1_795_727_900_001),
        vec![Record::new("pay", EventKind::CancelRequested)],
    );
    keep(&mut state, object.append(&append, None).unwrap().unwrap());
    assert!(object.appended(append));
    let read = Object::read("order-7", state).unwrap();
    assert_eq!(read.header, object.header);
    assert_eq!(records(&read), records(&object));
}

#[test]
fn an_append_that_is_too_large_for_one_value_is_in_parts_and_the_last_value_makes_it_one() {
    let (mut object, state) = waiting();
    let text = "x".repeat(super::PART * 2);
    let message = Record::new("pay", EventKind::message(text));
    let append = Append::new(RunKey::new(1), 3, SystemTime::now(), vec![message]);
    let changes = object.append(&append, None).unwrap().unwrap();
    assert_eq!(changes.len(), 4);
    for written in [3, 4] {
        let mut torn = state.clone();
        keep(&mut torn, changes[..written].to_vec());
        assert_eq!(records(&Object::read("order-7", torn).unwrap()).len(), written, "{written} written");
    }
}

#[test]
fn a_batch_that_is_missing_or_cannot_be_read_is_an_error_that_names_it() {
    let (_, mut state) = waiting();
    state.retain(|(key, _)| key != "r/0000000001");
    let error = Object::read("order-7", state.clone()).err().expect("a record is missing").to_string();
    assert!(error.contains("`r/0000000002` of run `order-7`"), "{error}");
    state.push(("r/0000000001".into(), Bytes::from("{}")));
    let error = Object::read("order-7", state).err().expect("it is no batch").to_string();
    assert!(error.contains("`r/0000000001`"), "{error}");
}
