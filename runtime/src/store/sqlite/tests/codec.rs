//! Records on their way to the file and back.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::super::codec::{EncodedRow, decode, encode, encode_all, encode_rows};
use crate::event::{AfterFailure, Begins, Entered, EventKind, ItemsDone, Limit};
use crate::fault::{Cause, Failure, Fault};
use crate::state_write::{StateOp, StateWrite};
use crate::store::{Compact, Part, Record, Records, Stored, Tags};

fn writes() -> Vec<StateWrite> {
    let map = Map::from_iter([("a".to_owned(), json!(1))]);
    let ops = [
        StateOp::Set(json!(null)),
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
    let completed = |output| EventKind::NodeCompleted { label: None, output, state: Vec::new(), items: None };
    let failed = |then| EventKind::NodeFailed { attempt: 1, cause: Cause::new("no"), then, error: None };
    vec![
        EventKind::RunStarted {
            workflow: text(),
            input: json!({"a": [1, null]}),
            state: Map::from_iter([("a".to_owned(), json!(1))]),
            tags: Tags::from([(text(), text())]),
            previous: Some(text()),
            begins: Some(Begins { at: until, after: Some(Duration::from_secs(2)) }),
            limit: Some(Limit {
                after: Duration::from_secs(1),
                until: SystemTime::UNIX_EPOCH + Duration::from_millis(7),
            }),
        },
        EventKind::RunStarted {
            workflow: text(),
            input: Value::Null,
            state: Map::new(),
            tags: Default::default(),
            previous: None,
            begins: None,
            limit: None,
        },
        EventKind::RunResumed { owner: u64::MAX },
        EventKind::GraphChanged { from: 1, to: u64::MAX },
        EventKind::RunRetried {
            voids: vec![3..7, 9..10],
            from_nodes: vec![text()],
            rerun: vec![text(), text()],
            requested: true,
        },
        EventKind::RunRetried { voids: Vec::new(), from_nodes: Vec::new(), rerun: Vec::new(), requested: false },
        EventKind::NodeStarted {
            attempt: 2,
            inside: Some(Entered {
                items: 3,
                labels: vec![text()],
                bounded: true,
                limit: Some(Limit { after: Duration::from_nanos(7), until }),
                graph: Some(u64::MAX),
            }),
            input: Some(Value::Null),
            began: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_763_762_400_123)),
        },
        EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None },
        EventKind::NodeCompleted {
            label: Some(text()),
            output: Some(json!(1)),
            state: writes(),
            items: Some(ItemsDone { done: 9, all: 12 }),
        },
        completed(Some(Value::Null)),
        completed(None),
        EventKind::ItemStarted { item: 3 },
        EventKind::ItemCancelled { item: 2 },
        EventKind::NodeCollecting { state: writes(), local: writes() },
        EventKind::NodeCollecting { state: Vec::new(), local: Vec::new() },
        EventKind::NodeFailed {
            attempt: 2,
            cause: cause(),
            then: AfterFailure::RetryAt { time: until },
            error: Some(Value::Null),
        },
        failed(AfterFailure::Fails),
        failed(AfterFailure::Routed { label: text(), error: Value::Null }),
        EventKind::NodeCancelled,
        EventKind::Message { text: text() },
        EventKind::Note { name: text(), payload: Value::Null },
        EventKind::QuestionAsked {
            prompt: text(),
            payload: json!([1]),
            until: Some(until),
            schema: json!(true),
            again: false,
        },
        EventKind::QuestionAsked {
            prompt: text(),
            payload: Value::Null,
            until: None,
            schema: Value::Null,
            again: true,
        },
        EventKind::Answered { answer: Value::Null, by: Some(text()), comment: Some(text()), unchecked: false },
        EventKind::Answered { answer: Value::Null, by: None, comment: None, unchecked: true },
        EventKind::AnswerAccepted,
        EventKind::AnswerRejected { field: ".".to_owned(), message: text() },
        EventKind::AnswerRejected { field: text(), message: text() },
        EventKind::SignalReceived {
            name: text(),
            payload: Value::Null,
            at: SystemTime::UNIX_EPOCH,
            id: None,
            by: None,
            plain: false,
        },
        EventKind::SignalReceived {
            name: text(),
            payload: json!(1),
            at: SystemTime::UNIX_EPOCH,
            id: Some(text()),
            by: Some(text()),
            plain: true,
        },
        EventKind::SignalsKnown { signals: vec![(text(), text())] },
        EventKind::SignalAwaited { name: text(), until: None, inside: Vec::new(), schema: None },
        EventKind::SignalAwaited {
            name: text(),
            until: Some(until),
            inside: vec![text()],
            schema: Some(json!({"type": "string"})),
        },
        EventKind::SignalDelivered { signal: 3 },
        EventKind::SignalTaken,
        EventKind::SignalRejected { field: ".".to_owned(), message: text() },
        EventKind::SignalRejected { field: text(), message: text() },
        EventKind::TimerSet { until },
        EventKind::TimerFired,
        EventKind::CancelRequested,
        EventKind::RunCancelling,
        EventKind::RunTimedOut,
        EventKind::RunCompleted { output: Value::Null },
        EventKind::RunFailed { failure },
        EventKind::RunCancelled,
        EventKind::RunStartingOver { input: Value::Null, state: Map::from_iter([(text(), Value::Null)]) },
        EventKind::RunStartingOver { input: json!([1]), state: Map::new() },
        EventKind::RunStartedOver { next: text() },
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
fn the_name_of_a_kind_is_the_type_in_its_json() {
    let shown = [EventKind::ResultReused, EventKind::NodeSkipped, EventKind::Progress { data: json!(1), number: 1 }];
    let requests = [EventKind::RequestWithdrawn, EventKind::RequestReopened];
    for kind in kinds().into_iter().chain(shown).chain(requests) {
        assert_eq!(serde_json::to_value(&kind).unwrap()["type"], kind.name());
    }
}

#[test]
fn a_node_and_the_start_of_the_next_take_little_more_than_their_paths() {
    let record = |path: &str, kind| Record { path: path.to_owned(), kind };
    let output = Some(json!(42));
    let completed = EventKind::NodeCompleted { label: None, output, state: Vec::new(), items: None };
    let started = EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None };
    let rows = encode(&[record("checkout/charge", completed), record("checkout/ship", started)]).unwrap();
    assert_eq!(rows[0].body, r#"["checkout/charge",{"c":{"o":42}},"checkout/ship",{"b":{}}]"#);
}

#[test]
fn what_is_only_shown_is_not_recorded() {
    for kind in [EventKind::ResultReused, EventKind::NodeSkipped, EventKind::Progress { data: json!(1), number: 1 }] {
        assert!(encode(&[Record { path: "a".to_owned(), kind }]).is_err());
    }
}

#[test]
fn large_records_get_rows_of_their_own() {
    let said = |length: usize| Record { path: "w/a".to_owned(), kind: EventKind::Message { text: "x".repeat(length) } };
    let records: Vec<Record> = [10, 10, 5000, 10, 10, 10, 10, 10].map(said).to_vec();
    let mut rows = Vec::new();
    encode_rows(&records, 1000, &mut rows).unwrap();
    assert_eq!(rows.iter().map(|row| row.records).collect::<Vec<_>>(), [2, 1, 1, 4]);
    let mut read = Vec::new();
    for row in rows {
        let first = read.len() as u64;
        decode(row.body.as_bytes(), first, SystemTime::UNIX_EPOCH, &mut read).unwrap();
    }
    assert!(read.iter().map(|stored| stored.seq).eq(0..8));
    assert!(read.into_iter().map(|stored| stored.record).eq(records));
}

/// Compact records are written without being made: both ways are one format.
#[test]
fn compact_records_are_written_as_those_that_they_stand_for() {
    struct Steps(Vec<(Option<&'static str>, Option<Value>)>);

    impl Compact for Steps {
        fn len(&self) -> usize {
            2 * self.0.len()
        }

        fn among(&self, plain: &[Record]) -> Vec<Record> {
            let mut all = plain.to_vec();
            for (label, output) in &self.0 {
                let (label, output) = (label.map(str::to_owned), output.clone());
                let completed = EventKind::NodeCompleted { label, output, state: Vec::new(), items: None };
                let started = EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None };
                all.push(Record::new("shop/a \"b\"", completed));
                all.push(Record::new("shop/c#2", started));
            }
            all
        }

        fn before(&self, _: usize) -> usize {
            0
        }

        fn visit(&self, plain: &[Record], to: &mut dyn FnMut(Part<'_>)) {
            plain.iter().for_each(|record| to(Part::Record(record)));
            for (label, output) in &self.0 {
                to(Part::Step { from: "shop/a \"b\"", label: *label, output: output.as_ref(), to: "shop/c#2" });
            }
        }
    }

    let steps = || {
        let outputs = [None, Some(json!(null)), Some(json!({ "a": [1, "\u{7}"] }))];
        let both = outputs.into_iter().flat_map(|output| [(None, output.clone()), (Some("ok"), output)]);
        both.collect::<Vec<_>>()
    };
    let plain = vec![Record::new("shop", EventKind::RunCancelled)];
    for times in [1, 10, 11] {
        let all: Vec<_> = (0..times).flat_map(|_| steps()).collect();
        let records = Records::compact(plain.clone(), Box::new(Steps(all)));
        let shown = encode_all(&records).unwrap();
        // Now they are made.
        let made = encode(&records).unwrap();
        let bodies = |rows: &[EncodedRow]| rows.iter().map(|row| (row.records, row.body.clone())).collect::<Vec<_>>();
        assert_eq!(bodies(&shown), bodies(&made), "{times}");
        assert_eq!(bodies(&shown), bodies(&encode_all(&records).unwrap()));
    }
    assert!(encode_all(&Records::default()).unwrap().is_empty());
}
