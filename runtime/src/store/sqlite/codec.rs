//! The encoding of records in the file: JSON, `["checkout/charge",{"c":{"o":42}},"checkout/ship",{"b":{}}]`, paths and
//! events in turns.
//!
//! A file has the records of every step, so the size of repeated parts matters: names are one letter, and default values
//! are left out. A body begins with `[`; a row of several begins with another byte ([`batches`](super::batches)). A letter
//! never gets another meaning, or databases of older versions would be misread.

use std::fmt;
use std::ops::Range;
use std::time::SystemTime;

use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{AfterFailure, Begins, Entered, EventKind, ItemsDone, Limit, millis, optional_millis, whole};
use crate::fault::{Cause, Failure};
use crate::state_write::StateWrite;
use crate::store::{Part, Record, Records, Stored, Tags};

/// The maximum number of records in a batch, so that reading a page of a long append does not decode all of it.
const ROW: usize = 128;

/// A row with more bytes holds a single record: SQLite takes about a billion in one.
const ROW_BYTES: usize = 128 << 20;

/// A batch that is to be added, as the body of a row.
pub(super) struct EncodedRow {
    pub(super) records: u64,
    pub(super) body: String,
}

/// Encodes the records of an append, as few bodies as it takes.
pub(super) fn encode_all(records: &Records) -> Result<Vec<EncodedRow>, serde_json::Error> {
    if (1..=ROW).contains(&records.len()) {
        let body = serde_json::to_string(&PartsBody(records))?;
        if body.len() <= ROW_BYTES {
            return Ok(vec![EncodedRow { records: records.len() as u64, body }]);
        }
    }
    encode(records)
}

/// As [`encode_all`], for records that are not compact.
pub(super) fn encode(records: &[Record]) -> Result<Vec<EncodedRow>, serde_json::Error> {
    let mut rows = Vec::with_capacity(1);
    for chunk in records.chunks(ROW) {
        encode_rows(chunk, ROW_BYTES, &mut rows)?;
    }
    Ok(rows)
}

pub(super) fn encode_rows(
    records: &[Record],
    most: usize,
    rows: &mut Vec<EncodedRow>,
) -> Result<(), serde_json::Error> {
    let body = serde_json::to_string(&Body(records))?;
    if body.len() > most && records.len() > 1 {
        drop(body);
        let (first, rest) = records.split_at(records.len() / 2);
        encode_rows(first, most, rows)?;
        return encode_rows(rest, most, rows);
    }
    rows.push(EncodedRow { records: records.len() as u64, body });
    Ok(())
}

/// Decodes a row whose first record has the number `first`, and adds its records to `into`. If a record is invalid,
/// those before it are added.
pub(super) fn decode(
    body: &[u8],
    first: u64,
    time: SystemTime,
    into: &mut Vec<Stored>,
) -> Result<(), serde_json::Error> {
    // UTF-8 is validated once, for all of its strings.
    let body = std::str::from_utf8(body).map_err(serde_json::Error::custom)?;
    let mut from = serde_json::Deserializer::from_str(body);
    Into { stored: into, seq: first, time }.deserialize(&mut from)?;
    from.end()
}

struct Body<'a>(&'a [Record]);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut row = to.serialize_seq(Some(2 * self.0.len()))?;
        self.0.iter().try_for_each(|record| add_part(&mut row, Part::Record(record)))?;
        row.end()
    }
}

/// As [`Body`], of records that may be compact.
struct PartsBody<'a>(&'a Records);

impl Serialize for PartsBody<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut row = to.serialize_seq(None)?;
        let mut added = Ok(());
        self.0.visit(&mut |part| {
            if added.is_ok() {
                added = add_part(&mut row, part);
            }
        });
        added?;
        row.end()
    }
}

fn add_part<S: SerializeSeq>(row: &mut S, part: Part<'_>) -> Result<(), S::Error> {
    match part {
        Part::Record(Record { path, kind }) => {
            row.serialize_element(path)?;
            row.serialize_element(&Kind(kind))
        }
        Part::Step { from, label, output, to } => {
            row.serialize_element(from)?;
            row.serialize_element(&OfStep::Completed { label, output })?;
            row.serialize_element(to)?;
            row.serialize_element(&OfStep::Started {})
        }
    }
}

/// The kinds of the two records of a step, as [`Short`] writes them.
#[derive(Serialize)]
enum OfStep<'a> {
    #[serde(rename = "c")]
    Completed {
        #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
        label: Option<&'a str>,
        #[serde(rename = "o", skip_serializing_if = "Option::is_none")]
        output: Option<&'a Value>,
    },
    #[serde(rename = "b")]
    Started {},
}

struct Kind<'a>(&'a EventKind);

impl Serialize for Kind<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Short::serialize(self.0, to)
    }
}

struct Into<'a> {
    stored: &'a mut Vec<Stored>,
    /// The number of the next record.
    seq: u64,
    time: SystemTime,
}

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("paths and records in turns")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<(), A::Error> {
        let Into { stored, mut seq, time } = self;
        while let Some(path) = row.next_element()? {
            let Owned(kind) = row.next_element()?.ok_or_else(|| A::Error::custom("a path without a record"))?;
            stored.push(Stored { seq, time, record: Record { path, kind } });
            seq += 1;
        }
        Ok(())
    }
}

struct Owned(EventKind);

impl<'de> Deserialize<'de> for Owned {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Short::deserialize(from).map(Owned)
    }
}

/// [`EventKind`] in few letters. The compiler checks that no variant and no field is missing.
#[derive(Serialize, Deserialize)]
#[serde(remote = "EventKind")]
enum Short {
    #[serde(rename = "r")]
    RunStarted {
        #[serde(rename = "w")]
        workflow: String,
        #[serde(rename = "i")]
        input: Value,
        #[serde(rename = "s", default, skip_serializing_if = "Map::is_empty")]
        state: Map<String, Value>,
        #[serde(rename = "t", default, skip_serializing_if = "Tags::is_empty")]
        tags: Tags,
        #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
        previous: Option<String>,
        #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
        begins: Option<Begins>,
        #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    #[serde(rename = "u")]
    RunResumed {
        #[serde(rename = "o")]
        owner: u64,
    },
    #[serde(rename = "g")]
    GraphChanged {
        #[serde(rename = "f")]
        from: u64,
        #[serde(rename = "t")]
        to: u64,
    },
    #[serde(rename = "t")]
    RunRetried {
        #[serde(rename = "v")]
        voids: Vec<Range<u64>>,
        #[serde(rename = "b", default, skip_serializing_if = "Vec::is_empty")]
        from_nodes: Vec<String>,
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        rerun: Vec<String>,
        #[serde(rename = "q", default, skip_serializing_if = "std::ops::Not::not")]
        requested: bool,
    },
    #[serde(rename = "b")]
    NodeStarted {
        #[serde(rename = "n", default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
        #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
        inside: Option<Entered>,
        #[serde(rename = "i", default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        input: Option<Value>,
        #[serde(rename = "w", default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        began: Option<SystemTime>,
    },
    #[serde(rename = "c")]
    NodeCompleted {
        #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        #[serde(rename = "o", default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        output: Option<Value>,
        #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
        #[serde(rename = "d", default, skip_serializing_if = "Option::is_none", with = "short_items")]
        items: Option<ItemsDone>,
    },
    #[serde(rename = "w")]
    NodeCollecting {
        #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty")]
        state: Vec<StateWrite>,
        #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
        local: Vec<StateWrite>,
    },
    #[serde(rename = "f")]
    NodeFailed {
        #[serde(rename = "n", default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
        #[serde(rename = "c")]
        cause: Cause,
        #[serde(rename = "t", with = "ShortThen", default = "fails", skip_serializing_if = "is_fails")]
        then: AfterFailure,
        #[serde(rename = "e", default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
        error: Option<Value>,
    },
    #[serde(rename = "y")]
    ItemStarted {
        #[serde(rename = "i")]
        item: u64,
    },
    #[serde(rename = "Y")]
    ItemCancelled {
        #[serde(rename = "i")]
        item: u64,
    },
    #[serde(skip)]
    NodeSkipped,
    #[serde(rename = "x")]
    NodeCancelled,
    #[serde(skip)]
    ResultReused,
    #[serde(rename = "m")]
    Message {
        #[serde(rename = "t")]
        text: String,
    },
    #[serde(rename = "N")]
    Note {
        #[serde(rename = "n")]
        name: String,
        #[serde(rename = "p")]
        payload: Value,
    },
    #[serde(skip)]
    Progress { data: Value, number: u64 },
    #[serde(rename = "q")]
    QuestionAsked {
        #[serde(rename = "t")]
        prompt: String,
        #[serde(rename = "p", default, skip_serializing_if = "Value::is_null")]
        payload: Value,
        #[serde(rename = "u", default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        until: Option<SystemTime>,
        #[serde(rename = "s")]
        schema: Value,
        #[serde(rename = "g", default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    #[serde(rename = "a")]
    Answered {
        #[serde(rename = "a")]
        answer: Value,
        #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        #[serde(rename = "u", default, skip_serializing_if = "std::ops::Not::not")]
        unchecked: bool,
    },
    #[serde(rename = "k")]
    AnswerAccepted,
    #[serde(rename = "n")]
    AnswerRejected {
        #[serde(rename = "f", default = "whole", skip_serializing_if = "is_whole")]
        field: String,
        #[serde(rename = "t")]
        message: String,
    },
    #[serde(rename = "d")]
    TimerSet {
        #[serde(rename = "u", with = "millis")]
        until: SystemTime,
    },
    #[serde(rename = "e")]
    TimerFired,
    #[serde(rename = "s")]
    SignalReceived {
        #[serde(rename = "n")]
        name: String,
        #[serde(rename = "p")]
        payload: Value,
        #[serde(rename = "a", with = "millis")]
        at: SystemTime,
        #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(rename = "j", default, skip_serializing_if = "std::ops::Not::not")]
        plain: bool,
    },
    #[serde(rename = "K")]
    SignalsKnown {
        #[serde(rename = "s")]
        signals: Vec<(String, String)>,
    },
    #[serde(rename = "A")]
    SignalAwaited {
        #[serde(rename = "n")]
        name: String,
        #[serde(rename = "u", default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        until: Option<SystemTime>,
        #[serde(rename = "i", default, skip_serializing_if = "Vec::is_empty")]
        inside: Vec<String>,
        #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    #[serde(rename = "D")]
    SignalDelivered {
        #[serde(rename = "s")]
        signal: u64,
    },
    #[serde(rename = "S")]
    SignalTaken,
    #[serde(rename = "R")]
    SignalRejected {
        #[serde(rename = "f", default = "whole", skip_serializing_if = "is_whole")]
        field: String,
        #[serde(rename = "t")]
        message: String,
    },
    #[serde(rename = "W")]
    RequestWithdrawn,
    #[serde(rename = "O")]
    RequestReopened,
    #[serde(rename = "h")]
    CancelRequested,
    #[serde(rename = "H")]
    RunCancelling,
    #[serde(rename = "T")]
    RunTimedOut,
    #[serde(rename = "v")]
    RunStartingOver {
        #[serde(rename = "i")]
        input: Value,
        #[serde(rename = "s", default, skip_serializing_if = "Map::is_empty")]
        state: Map<String, Value>,
    },
    #[serde(rename = "C")]
    RunCompleted {
        #[serde(rename = "o")]
        output: Value,
    },
    #[serde(rename = "F")]
    RunFailed {
        #[serde(rename = "f")]
        failure: Failure,
    },
    #[serde(rename = "X")]
    RunCancelled,
    #[serde(rename = "V")]
    RunStartedOver {
        #[serde(rename = "n")]
        next: String,
    },
}

/// [`ItemsDone`] in few letters.
mod short_items {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::event::ItemsDone;

    pub(super) fn serialize<S: Serializer>(items: &Option<ItemsDone>, to: S) -> Result<S::Ok, S::Error> {
        items.map(|items| (items.done, items.all)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ItemsDone>, D::Error> {
        let items = Option::<(u64, u64)>::deserialize(from)?;
        Ok(items.map(|(done, all)| ItemsDone { done, all }))
    }
}

/// [`AfterFailure`] in few letters.
#[derive(Serialize, Deserialize)]
#[serde(remote = "AfterFailure")]
enum ShortThen {
    #[serde(rename = "r")]
    RetryAt {
        #[serde(rename = "t", with = "millis")]
        time: SystemTime,
    },
    #[serde(rename = "e")]
    Routed {
        #[serde(rename = "l")]
        label: String,
        #[serde(rename = "e")]
        error: Value,
    },
    #[serde(rename = "f")]
    Fails,
}

fn is_whole(field: &String) -> bool {
    *field == whole()
}

fn fails() -> AfterFailure {
    AfterFailure::Fails
}

fn is_fails(then: &AfterFailure) -> bool {
    *then == AfterFailure::Fails
}

fn first() -> u32 {
    1
}

fn is_first(attempt: &u32) -> bool {
    *attempt == 1
}

/// `null` is a value, and not its absence.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}
