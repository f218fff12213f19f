//! Clocks that were set back.
//!
//! A delay is recorded as the time at which it ends. After the clock was set back by an hour, that time is an hour too
//! far off, and a delay of 2 s would last an hour. The change is detected by a time that is earlier than that of a
//! record before it. A delay set before the change counts from the earliest time that was read since:
//!
//! ```text
//!             timer set              resumed       resumed       now
//!   recorded  12:00:00 .. 12:00:02   11:00:00      11:00:01      11:00:01
//!   read as   11:00:00 .. 11:00:02   11:00:00      11:00:01      11:00:01
//! ```
//!
//! So the rest of a delay is never longer than the delay, and every time that the run is resumed less of it is left. A
//! clock that was set forward and back again has changed nothing.

use std::time::SystemTime;

use crate::event::{AfterFailure, Begins, EventKind};
use crate::store::Stored;

/// Sets the times in the records of a run to those by a clock that shows `now`.
pub(crate) fn by_the_clock_of(now: SystemTime, history: &mut [Stored]) {
    let mut earliest = now;
    for stored in history.iter_mut().rev() {
        earliest = earliest.min(stored.time);
        let back = stored.time.duration_since(earliest).unwrap_or_default();
        if back.is_zero() {
            continue;
        }
        stored.time = earliest;
        for ends in ends_of_delays(&mut stored.record.kind).into_iter().flatten() {
            *ends = ends.checked_sub(back).unwrap_or(SystemTime::UNIX_EPOCH);
        }
    }
}

/// The times in a record at which delays end, and those that are compared with them.
fn ends_of_delays(kind: &mut EventKind) -> [Option<&mut SystemTime>; 2] {
    match kind {
        EventKind::TimerSet { until } => [Some(until), None],
        // It came before or behind the end of a wait.
        EventKind::SignalReceived { at, .. } => [Some(at), None],
        EventKind::NodeFailed { then: AfterFailure::RetryAt { time }, .. } => [Some(time), None],
        // The start at a certain time is no delay, and the time limit counts from that start.
        EventKind::RunStarted { begins: Some(Begins { after: None, .. }), .. } => [None, None],
        EventKind::RunStarted { begins, limit, .. } => {
            [begins.as_mut().map(|begins| &mut begins.at), limit.as_mut().map(|limit| &mut limit.until)]
        }
        EventKind::NodeStarted { inside: Some(entered), .. } => {
            [entered.limit.as_mut().map(|limit| &mut limit.until), None]
        }
        EventKind::QuestionAsked { until, .. } | EventKind::SignalAwaited { until, .. } => [until.as_mut(), None],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::{Entered, Limit};
    use crate::fault::{Cause, Fault};
    use crate::store::Record;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn record(time: SystemTime, kind: EventKind) -> Stored {
        Stored { seq: 0, time, record: Record { path: "w/a".to_owned(), kind } }
    }

    fn said(time: u64) -> Stored {
        record(at(time), EventKind::Message { text: String::new() })
    }

    fn timer(time: u64, until: u64) -> Stored {
        record(at(time), EventKind::TimerSet { until: at(until) })
    }

    fn read_at(now: u64, mut history: Vec<Stored>) -> Vec<Stored> {
        by_the_clock_of(at(now), &mut history);
        history
    }

    #[test]
    fn a_clock_that_was_not_set_back_changes_nothing() {
        let history = vec![timer(1000, 1002), said(1001), said(1001)];
        assert_eq!(read_at(1500, history.clone()), history);
    }

    #[test]
    fn a_delay_counts_from_the_earliest_time_since() {
        let history = vec![said(900), timer(1000, 1002), said(400), said(401)];
        assert_eq!(read_at(401, history), [said(400), timer(400, 402), said(400), said(401)]);
    }

    #[test]
    fn the_rest_of_a_delay_is_never_more_than_the_delay() {
        assert_eq!(read_at(400, vec![timer(1000, 1002)]), [timer(400, 402)]);
    }

    #[test]
    fn a_clock_that_was_set_forward_and_back_again_changes_no_delay_of_before() {
        let history = [timer(1000, 8000), said(4600), said(1060)];
        assert_eq!(read_at(1060, history.to_vec()), [timer(1000, 8000), said(1060), said(1060)]);
    }

    #[test]
    fn delays_before_another_attempt_and_time_limits_count_as_well() {
        let fails = |time| EventKind::NodeFailed {
            attempt: 1,
            cause: Cause::from(Fault::Interrupted),
            then: AfterFailure::RetryAt { time: at(time) },
            error: None,
        };
        let enters = |until| {
            let limit = Some(Limit { after: Duration::from_secs(2), until: at(until) });
            let inside = Some(Entered { items: 1, labels: Vec::new(), bounded: false, limit, graph: None });
            EventKind::NodeStarted { attempt: 1, inside, input: None, began: None }
        };
        let begins = |until| EventKind::RunStarted {
            workflow: "w".to_owned(),
            input: serde_json::Value::Null,
            state: serde_json::Map::new(),
            tags: Default::default(),
            previous: None,
            begins: None,
            limit: Some(Limit { after: Duration::from_secs(4), until: at(until) }),
        };
        let history = [(begins(1004)), fails(1003), enters(1002)].map(|kind| record(at(1000), kind)).to_vec();
        let expected = [begins(404), fails(403), enters(402)].map(|kind| record(at(400), kind));
        assert_eq!(read_at(400, history), expected);
    }
}
