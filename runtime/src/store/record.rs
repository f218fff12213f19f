//! Records.

use std::time::SystemTime;

use crate::event::{Event, EventKind};

/// A record to be added.
///
/// ```
/// use graphweft::EventKind;
/// use graphweft::json;
/// use graphweft::store::Record;
///
/// // As a store writes it, and reads it back:
/// let record = Record::new("pay/charge", EventKind::message("the card is fine"));
/// let (path, kind) = (record.path.clone(), json!(record.kind));
/// assert_eq!(kind, json!({ "type": "message", "text": "the card is fine" }));
/// assert_eq!(Record::new(path, serde_json::from_value(kind)?), record);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// The node, or the workflow for events of the whole run.
    pub path: String,
    /// What happened.
    pub kind: EventKind,
}

impl Record {
    /// What happened at a path.
    pub fn new(path: impl Into<String>, kind: EventKind) -> Self {
        Record { path: path.into(), kind }
    }
}

/// A record as it is in the journal.
///
/// What a store returns for the rows of a run, with numbers that have no gaps:
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::EventKind;
/// use graphweft::store::{Record, Stored};
///
/// fn is_whole(from: u64, read: &[Stored]) -> bool { (from..).zip(read).all(|(seq, stored)| stored.seq == seq) }
///
/// let stored = |seq| Stored::new(seq, SystemTime::now(), Record::new("pay", EventKind::CancelRequested));
/// assert!(is_whole(3, &[stored(3), stored(4)]));
/// assert!(!is_whole(3, &[stored(3), stored(5)]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stored {
    /// Its number, from 0, without gaps.
    pub seq: u64,
    /// When it was added; exact to the millisecond.
    pub time: SystemTime,
    /// The record.
    pub record: Record,
}

impl Stored {
    /// The record with this number.
    pub fn new(seq: u64, time: SystemTime, record: Record) -> Self {
        Stored { seq, time, record }
    }

    /// The event of a run that it is.
    pub(crate) fn into_event(self, run_id: String) -> Event {
        let Stored { seq, time, record: Record { path, kind } } = self;
        Event { version: Event::VERSION, run_id, seq, time, path, derived: false, kind }
    }
}

/// A time as stores keep it.
pub(crate) fn to_the_millisecond(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
