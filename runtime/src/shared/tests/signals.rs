//! Which wait has which signal, by records.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::super::signals::Signals;
use crate::event::{AfterFailure, Entered, EventKind};
use crate::fault::Cause;
use crate::sorted::SortedMap;

const WAIT: &str = "w/a/wait:m.1";
const OTHER: &str = "w/b/wait:m.1";

fn received(id: Option<&str>) -> EventKind {
    let (name, id) = ("m".to_owned(), id.map(str::to_owned));
    EventKind::SignalReceived { name, payload: json!(1), at: second(0), id, by: None, plain: false }
}

fn received_in(at: u64) -> EventKind {
    let name = "m".to_owned();
    EventKind::SignalReceived { name, payload: json!(1), at: second(at), id: None, by: None, plain: false }
}

fn second(number: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(number)
}

fn awaited() -> EventKind {
    EventKind::SignalAwaited { name: "m".to_owned(), until: None, inside: Vec::new(), schema: None }
}

fn awaited_until(until: u64) -> EventKind {
    let until = Some(second(until));
    EventKind::SignalAwaited { name: "m".to_owned(), until, inside: Vec::new(), schema: None }
}

fn in_items_of(each: &str) -> EventKind {
    EventKind::SignalAwaited { name: "m".to_owned(), until: None, inside: vec![each.to_owned()], schema: None }
}

fn delivered(signal: u64) -> EventKind {
    EventKind::SignalDelivered { signal }
}

fn completed() -> EventKind {
    EventKind::NodeCompleted { label: None, output: None, state: Vec::new(), items: None }
}

fn enters() -> EventKind {
    let inside = Entered { items: 1, labels: Vec::new(), bounded: false, limit: None, graph: None };
    EventKind::NodeStarted { attempt: 2, inside: Some(inside), input: None, began: None }
}

fn fails() -> EventKind {
    EventKind::NodeFailed { attempt: 1, cause: Cause::new("no"), then: AfterFailure::Fails, error: None }
}

/// The fold of these records, whose numbers are those of their places.
fn folded(records: &[(&str, EventKind)]) -> Signals {
    let mut signals = Signals::default();
    for (number, (path, kind)) in records.iter().enumerate() {
        signals.apply(number as u64, path, kind);
    }
    signals
}

fn next(signals: &Signals) -> Vec<(String, u64)> {
    signals.deliveries(&SortedMap::new(), |_| true, |_| false)
}

#[test]
fn the_oldest_signal_goes_to_the_wait_that_has_been_open_for_the_longest_time() {
    let signals = folded(&[
        ("w", received(None)),
        (OTHER, awaited()),
        (WAIT, awaited()),
        ("w", received(Some("a"))),
        ("w", received(Some("a"))),
        ("w", received(None)),
    ]);
    assert_eq!(next(&signals), [(OTHER.to_owned(), 0), (WAIT.to_owned(), 3)]);
    assert!(signals.knows("m", "a") && !signals.knows("m", "b") && !signals.knows("n", "a"));
    assert_eq!(signals.open_waits().count(), 0);
    let under_way = SortedMap::from_iter([(OTHER.to_owned(), 0)]);
    assert_eq!(signals.deliveries(&under_way, |_| true, |_| false), [(WAIT.to_owned(), 3)]);
    assert_eq!(signals.deliveries(&SortedMap::new(), |path| path == WAIT, |_| false), [(WAIT.to_owned(), 0)]);
    assert!(signals.deliveries(&SortedMap::new(), |_| true, |name| name == "m").is_empty());
}

#[test]
fn a_signal_goes_to_no_wait_whose_time_was_up_when_it_came() {
    let both = [(WAIT, awaited_until(5)), ("w", received_in(6)), ("w", received_in(5))];
    let late = folded(&both[..2]);
    assert_eq!(next(&late), []);
    let open = |signals: &Signals| signals.open_waits().map(|(path, _)| path.to_owned()).collect::<Vec<_>>();
    assert_eq!(open(&late), [WAIT], "it is the timer that ends it");
    // A later one may have come from a machine whose clock is behind.
    assert_eq!(next(&folded(&both)), [(WAIT.to_owned(), 2)]);
    let withdrawn = [&both[..2], &[(WAIT, EventKind::RequestWithdrawn), (OTHER, awaited())]].concat();
    assert_eq!(next(&folded(&withdrawn)), [(OTHER.to_owned(), 1)], "it is kept for the next wait");
    let before = [("w", received_in(6)), (WAIT, awaited_until(5))];
    assert_eq!(next(&folded(&before)), [(WAIT.to_owned(), 0)], "it was there, by a clock that is ahead");
    let beside = [&both[..2], &[(OTHER, awaited_until(6))]].concat();
    assert_eq!((next(&folded(&beside)), open(&folded(&beside))), (vec![(OTHER.to_owned(), 1)], vec![WAIT.to_owned()]));
}

#[test]
fn a_wait_that_is_recorded_again_for_another_type_keeps_its_place() {
    let of = |schema: Option<&str>| EventKind::SignalAwaited {
        name: "m".to_owned(),
        until: None,
        inside: Vec::new(),
        schema: schema.map(|schema| serde_json::json!({"type": schema})),
    };
    let signals =
        folded(&[(WAIT, of(Some("integer"))), (OTHER, of(None)), (WAIT, of(Some("string"))), ("w", received(None))]);
    assert_eq!(next(&signals), [(WAIT.to_owned(), 3)]);
    let open: Vec<_> = signals.open_waits().map(|(path, wait)| (path, wait.schema)).collect();
    assert_eq!(open, [(OTHER, Some(serde_json::json!({"type": "string"})))]);
}

#[test]
fn a_signal_that_was_delivered_and_not_taken_is_free_when_its_wait_or_its_node_is_gone() {
    let free_after = |(path, kind): (&str, EventKind)| {
        let signals =
            folded(&[("w", received(None)), (WAIT, awaited()), (WAIT, delivered(0)), (path, kind), (OTHER, awaited())]);
        next(&signals) == [(OTHER.to_owned(), 0)]
    };
    assert!(free_after((WAIT, EventKind::RequestWithdrawn)));
    assert!(free_after(("w/a", completed())));
    assert!(free_after(("w/a", EventKind::NodeCancelled)));
    assert!(free_after(("w/a", EventKind::NodeCollecting { state: Vec::new(), local: Vec::new() })));
    assert!(free_after(("w/a", fails())));
    assert!(!free_after(("w/ab", completed())));
}

#[test]
fn a_child_that_has_failed_keeps_what_it_has_until_its_node_is_over() {
    const CHILD: &str = "w/a/child/wait:m.1";
    let child = |later: &[(&str, EventKind)]| {
        let mut records =
            vec![("w", received(None)), (CHILD, awaited()), (CHILD, delivered(0)), ("w/a/child", fails())];
        records.extend(later.iter().cloned());
        records.push((OTHER, awaited()));
        !next(&folded(&records)).is_empty()
    };
    assert!(!child(&[]));
    assert!(child(&[("w/a", completed())]));
    assert!(child(&[("w/a", fails())]));
    let in_a_graph = [
        ("w/a/job", enters()),
        ("w", received(None)),
        ("w/a/job/n/wait:m.1", awaited()),
        ("w/a/job/n/wait:m.1", delivered(1)),
        ("w/a/job/n", fails()),
        (OTHER, awaited()),
    ];
    assert_eq!(next(&folded(&in_a_graph)), [(OTHER.to_owned(), 1)]);
}

#[test]
fn a_signal_that_was_taken_is_free_again_only_if_the_graph_around_its_node_starts_anew() {
    let free_after = |wait: &str, awaited: EventKind, later: &[(&str, EventKind)]| {
        let node = wait.rsplit_once('/').unwrap().0;
        let mut records = vec![
            ("w", received(None)),
            (wait, awaited),
            (wait, delivered(0)),
            (wait, EventKind::SignalTaken),
            (node, completed()),
        ];
        records.extend(later.iter().cloned());
        records.push((OTHER, self::awaited()));
        !next(&folded(&records)).is_empty()
    };
    assert!(!free_after(WAIT, awaited(), &[("w/a", enters())]));
    assert!(free_after("w/n/a/wait:m.1", awaited(), &[("w/n", enters())]));
    assert!(!free_after("w/n/a/wait:m.1", awaited(), &[("w/n", completed())]));
    assert!(!free_after("w/n/a/wait:m.1", awaited(), &[("w/n", completed()), ("w/n", enters())]));
    assert!(free_after("w/x[1]/wait:m.1", in_items_of("w/each"), &[("w/each", enters())]));
    assert!(!free_after("w/x[1]/wait:m.1", in_items_of("w/each"), &[("w/other", enters())]));
    let started = EventKind::NodeStarted { attempt: 1, inside: None, input: None, began: None };
    assert!(!free_after("w/a/child/wait:m.1", awaited(), &[("w/a/child", started.clone())]));
    let dropped = ("w/a/child", EventKind::RequestWithdrawn);
    assert!(free_after("w/a/child/wait:m.1", awaited(), &[dropped, ("w/a/child", started)]));
}

#[test]
fn the_last_wait_to_which_a_signal_was_delivered_has_it() {
    let signals = folded(&[
        ("w", received(None)),
        (WAIT, awaited()),
        (OTHER, awaited()),
        (WAIT, delivered(0)),
        // What had freed it is void.
        (OTHER, delivered(0)),
        ("w", received(None)),
    ]);
    assert_eq!((signals.delivered(WAIT), signals.delivered(OTHER)), (None, Some(0)));
    assert_eq!(next(&signals), [(WAIT.to_owned(), 5)]);
    let again = folded(&[("w", received(None)), (WAIT, awaited()), (WAIT, delivered(0)), (WAIT, delivered(0))]);
    assert_eq!(again.delivered(WAIT), Some(0));
    assert!(next(&again).is_empty());
}

#[test]
fn a_rejected_signal_is_gone_and_its_wait_is_first_in_line() {
    let signals = folded(&[
        ("w", received(None)),
        (WAIT, awaited()),
        (WAIT, delivered(0)),
        (OTHER, awaited()),
        (WAIT, EventKind::SignalRejected { field: ".".to_owned(), message: String::new() }),
        ("w", received(None)),
    ]);
    assert_eq!(next(&signals), [(WAIT.to_owned(), 5)]);
}

fn rejected() -> EventKind {
    EventKind::SignalRejected { field: ".".to_owned(), message: "no".to_owned() }
}

#[test]
fn a_rejected_signal_does_not_keep_out_another_one_with_its_id() {
    let of = |id: &str| ("w", received(Some(id)));
    let first = [of("1"), (WAIT, awaited()), (WAIT, delivered(0)), (WAIT, rejected())];
    assert!(folded(&first[..3]).knows("m", "1") && !folded(&first).knows("m", "1"));
    let corrected = folded(&[&first[..], &[of("1")]].concat());
    assert_eq!(next(&corrected), [(WAIT.to_owned(), 4)]);
    assert!(corrected.knows("m", "1"), "it counts once");
    let again =
        folded(&[&first[..], &[of("1"), of("1"), (WAIT, delivered(4)), (WAIT, EventKind::SignalTaken)]].concat());
    assert!(next(&again).is_empty() && again.knows("m", "1"));
    let rejected_twice = [&first[..], &[of("1"), (WAIT, delivered(4)), (WAIT, rejected()), of("1")]].concat();
    assert_eq!(next(&folded(&rejected_twice)), [(WAIT.to_owned(), 7)]);

    // The other has come before the first was rejected.
    let early = folded(&[of("1"), of("1"), (WAIT, awaited()), (WAIT, delivered(0)), (WAIT, rejected())]);
    assert_eq!(next(&early), [(WAIT.to_owned(), 1)]);
}

#[test]
fn a_signal_in_the_place_of_a_rejected_one_is_not_lost_if_a_retry_voids_the_rejection() {
    let of = |id: &str| ("w", received(Some(id)));
    // Of the node that has rejected the first one, nothing counts any more.
    let voided = [of("1"), of("1"), (OTHER, awaited())];
    assert_eq!(next(&folded(&voided)), [(OTHER.to_owned(), 0)]);
    let again = [&voided[..], &[(OTHER, delivered(0)), (OTHER, rejected())]].concat();
    assert_eq!(next(&folded(&again)), [(OTHER.to_owned(), 1)]);
    // Another node has the second one, and keeps it when the first is rejected again.
    let kept = [&voided[..], &[(OTHER, delivered(1)), (OTHER, EventKind::SignalTaken), ("w/b", completed())]].concat();
    let retried = [&kept[..], &[(WAIT, awaited())]].concat();
    assert_eq!(next(&folded(&retried)), [(WAIT.to_owned(), 0)]);
    let signals = folded(&[&retried[..], &[(WAIT, delivered(0)), (WAIT, rejected())]].concat());
    assert!(next(&signals).is_empty() && signals.knows("m", "1"));
}

#[test]
fn a_delivery_that_comes_too_late_has_no_effect() {
    let signals = folded(&[
        ("w", received(None)),
        (WAIT, awaited()),
        (WAIT, EventKind::RequestWithdrawn),
        (WAIT, delivered(0)),
        (OTHER, awaited()),
        (WAIT, EventKind::RequestReopened),
    ]);
    assert_eq!(next(&signals), [(OTHER.to_owned(), 0)]);
    assert_eq!(signals.open_waits().map(|(path, _)| path).collect::<Vec<_>>(), [WAIT]);
}

#[test]
fn signals_that_no_node_has_taken_are_left_for_the_next_run() {
    let left = |records: &[(&str, EventKind)]| -> Vec<EventKind> {
        let of_next = folded(records).of_next().into_iter();
        of_next.filter(|kind| matches!(kind, EventKind::SignalReceived { .. })).collect()
    };
    let of = |id: &str| received(Some(id));
    let all = [("w", of("1")), ("w", of("2")), ("w/a", awaited()), ("w", of("1"))];
    assert_eq!(left(&all), [of("1"), of("2")], "one that is sent twice is left once");

    let two = [("w", of("1")), ("w", of("2")), (WAIT, awaited()), (WAIT, delivered(0))];
    let with = |more: &[(&'static str, EventKind)]| left(&[&two[..], more].concat());
    assert_eq!(with(&[]), [of("1"), of("2")], "delivered is not taken");
    assert_eq!(with(&[(WAIT, EventKind::SignalTaken)]), [of("2")]);
    assert_eq!(with(&[(WAIT, EventKind::SignalTaken), ("w/a", completed())]), [of("2")]);
    assert_eq!(with(&[("w/a", EventKind::NodeCancelled)]), [of("1"), of("2")]);
    let over = EventKind::RunStartingOver { input: json!(1), state: serde_json::Map::new() };
    assert_eq!(with(&[(WAIT, EventKind::SignalTaken), ("w/a", over.clone())]), [of("2")]);
    assert_eq!(with(&[("w/a", over)]), [of("1"), of("2")]);
    let rejected = EventKind::SignalRejected { field: ".".to_owned(), message: "no".to_owned() };
    assert_eq!(with(&[(WAIT, rejected)]), [of("2")], "one that was rejected is dropped");

    // Taken by a node that is over, in a graph that may start anew.
    let inner = "w/n/a/wait:m.1";
    let nested = [("w/n", enters()), ("w", of("1")), (inner, awaited()), (inner, delivered(1))];
    let taken = [(inner, EventKind::SignalTaken), ("w/n/a", completed())];
    assert_eq!(left(&[&nested[..], &taken].concat()), []);
    assert_eq!(left(&[&nested[..], &taken, &[("w/n", enters())]].concat()), [of("1")]);
}

#[test]
fn the_last_ids_of_signals_that_do_not_go_over_are_known_to_the_next_run() {
    let known = |records: &[(&str, EventKind)]| match folded(records).of_next().into_iter().next() {
        Some(EventKind::SignalsKnown { signals }) => signals.into_iter().map(|(_, id)| id).collect(),
        _ => Vec::new(),
    };
    let of = |id: &str| received(Some(id));
    let taken =
        [("w", of("1")), ("w", of("2")), (WAIT, awaited()), (WAIT, delivered(0)), (WAIT, EventKind::SignalTaken)];
    assert_eq!(known(&taken[..3]), [""; 0], "both go over");
    assert_eq!(known(&taken), ["1"]);

    // Ids of the runs before are older, and the oldest are dropped.
    let name = match of("1") {
        EventKind::SignalReceived { name, .. } => name,
        other => panic!("{other:?}"),
    };
    let before = (0..1024).map(|number| (name.clone(), format!("before {number}"))).collect();
    let all = [&[("w", EventKind::SignalsKnown { signals: before })], &taken[..]].concat();
    let ids = known(&[&all[..4], &[(WAIT, delivered(1)), (WAIT, EventKind::SignalTaken)]].concat());
    assert_eq!((ids.len(), ids[0].as_str(), ids[1023].as_str()), (1024, "before 1", "1"));
    assert!(folded(&all).knows(&name, "before 7") && !folded(&all).knows(&name, "7"));
}
