//! Records on their way to the file and back.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::super::codec::{decode, encode};
use crate::event::{Entered, EventKind};
use crate::fault::{Cause, Failure, Fault};
use crate::state::{StateOp, StateWrite};
use crate::store::{Record, Stored};

fn writes() -> Vec<StateWrite> {
    let map = Map::from_iter([("a".to_owned(), json!(1))]);
    let ops = [
        StateOp::Set(json!(null)),
        StateOp::Remove,
        StateOp::Append(vec![json!(1)]),
        StateOp::Union(vec![json!("x")]),
        StateOp::Add(5.into()),
        StateOp::Min(serde_json::Number::from_f64(0.5).unwrap()),
        StateOp::Max(u64::MAX.into()),
        StateOp::Merge(map),
    ];
    ops.into_iter().map(|op| StateWrite { key: "key".to_owned(), op }).collect()
}

/// Each kind that is recorded, with everything in it and with nothing.
fn kinds() -> Vec<EventKind> {
    let text = || "text".to_owned();
    let cause =
        || Cause { chain: vec![text(), text()], fault: Some(Fault::Timeout { after: Duration::from_nanos(7) }) };
    let until = SystemTime::UNIX_EPOCH + Duration::from_millis(1_763_762_400_123);
    let mut failure = Failure::new("checkout/charge", Fault::Interrupted.into());
    failure.attempts = 3;
    let completed = |output, error| EventKind::NodeCompleted { label: None, output, error, state: Vec::new() };
    vec![
        EventKind::RunStarted {
            workflow: text(),
            input: json!({"a": [1, null]}),
            state: Map::from_iter([("a".to_owned(), json!(1))]),
        },
        EventKind::RunStarted { workflow: text(), input: Value::Null, state: Map::new() },
        EventKind::RunResumed { owner: u64::MAX },
        EventKind::GraphChanged { from: 1, to: u64::MAX },
        EventKind::RunRetried { from: vec![text()], force: vec![text(), text()] },
        EventKind::RunRetried { from: Vec::new(), force: Vec::new() },
        EventKind::NodeStarted {
            attempt: 2,
            inside: Some(Entered { items: 3, labels: vec![text()] }),
            input: Some(text()),
        },
        EventKind::NodeStarted { attempt: 1, inside: None, input: None },
        EventKind::NodeCompleted {
            label: Some(text()),
            output: Some(json!(1)),
            error: Some(json!(2)),
            state: writes(),
        },
        completed(Some(Value::Null), None),
        completed(None, Some(Value::Null)),
        completed(None, None),
        EventKind::NodeWaiting { state: writes(), local: writes() },
        EventKind::NodeWaiting { state: Vec::new(), local: Vec::new() },
        EventKind::NodeFailed {
            attempt: 2,
            cause: cause(),
            retry_in: Some(Duration::from_nanos(1_500_000_001)),
            error: Some(Value::Null),
        },
        EventKind::NodeFailed { attempt: 1, cause: Cause::new("no"), retry_in: None, error: None },
        EventKind::NodeSkipped,
        EventKind::NodeCancelled,
        EventKind::Said { text: text() },
        EventKind::Asked { prompt: text(), payload: json!([1]), schema: json!(true) },
        EventKind::Asked { prompt: text(), payload: Value::Null, schema: Value::Null },
        EventKind::Answered { answer: Value::Null },
        EventKind::AnswerRefused { message: text() },
        EventKind::TimerSet { until },
        EventKind::TimerFired,
        EventKind::CancelRequested,
        EventKind::RunCompleted { output: Value::Null },
        EventKind::RunFailed { failure },
        EventKind::RunCancelled,
    ]
}

#[test]
fn every_kind_of_record_comes_back_as_it_was() {
    for kind in kinds() {
        let record = Record { path: "checkout/plan/search:rust".to_owned(), kind };
        let [row] = &encode(std::slice::from_ref(&record)).unwrap()[..] else { panic!("one row for one record") };
        let mut decoded = Vec::new();
        let time = SystemTime::UNIX_EPOCH;
        decode(row.body.as_bytes(), 7, time, &mut decoded).unwrap();
        assert_eq!(decoded, [Stored { seq: 7, time, record }], "{}", row.body);
    }
}

#[test]
fn a_node_and_the_start_of_the_next_take_little_more_than_their_paths() {
    let record = |path: &str, kind| Record { path: path.to_owned(), kind };
    let output = Some(json!(42));
    let completed = EventKind::NodeCompleted { label: None, output, error: None, state: Vec::new() };
    let started = EventKind::NodeStarted { attempt: 1, inside: None, input: None };
    let rows = encode(&[record("checkout/charge", completed), record("checkout/ship", started)]).unwrap();
    assert_eq!(rows[0].body, r#"["checkout/charge",{"c":{"o":42}},"checkout/ship",{"b":{}}]"#);
}

#[test]
fn what_is_only_shown_is_not_recorded() {
    for kind in [EventKind::StepReused, EventKind::Progress { data: json!(1) }] {
        assert!(encode(&[Record { path: "a".to_owned(), kind }]).is_err());
    }
}
