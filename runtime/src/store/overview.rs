//! What a list shows of a run.

use serde_json::{Map, Value};

use super::error::StoreError;
use super::header::RunHeader;
use super::open_question::OpenQuestion;
use super::record::Stored;
use crate::error_text::first_line;
use crate::event::EventKind;
use crate::fault::Cause;

/// A run with what a list of runs shows of it.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{MemoryStore, RunQuery, Store};
///
/// # #[node] async fn charge(cents: u32) -> Result<u32, String> { Err(format!("{cents} cents are declined")) }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<pay>().build()?;
/// engine.start::<pay>(40).id("order-7").await?.outcome().await?;
/// let overview = store.overview(RunQuery::default()).await?.remove(0);
/// let last = overview.last?.pop().expect("it has records");
/// assert_eq!((&*overview.header.id, last.record.kind.name()), ("order-7", "run_failed"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOverview {
    /// Its header.
    pub header: RunHeader,
    /// Its last records, in order, without their values and with the first lines of their texts: those from
    /// [`first_record`](Self::first_record) on. An error if they are damaged: that of one run does not hide the others.
    pub last: Result<Vec<Stored>, StoreError>,
    /// How many of its questions are open.
    pub open: u64,
    /// The one that has been open for the longest time, with the first line of its text, and without its data and its schema.
    pub question: Option<OpenQuestion>,
}

impl RunOverview {
    /// A run with its last records, and the number and the first of its open questions. What a list does not show is dropped, so
    /// a store makes these one after the other: however large the values and the errors of runs are, a list of them is small.
    pub fn new(
        header: RunHeader,
        mut last: Result<Vec<Stored>, StoreError>,
        open: u64,
        mut question: Option<OpenQuestion>,
    ) -> Self {
        for stored in last.iter_mut().flatten() {
            drop_values(&mut stored.record.kind);
        }
        if let Some(OpenQuestion { question, .. }) = &mut question {
            question.prompt = first_line(&question.prompt);
            (question.payload, question.schema) = (Value::Null, Value::Null);
        }
        RunOverview { header, last, open, question }
    }

    /// How many of the last records of a run that has not ended are shown.
    pub const RECORDS: u64 = 8;

    /// The number of the first record of a run that is shown. Of a run that has ended, that is the last one: why it has failed.
    pub fn first_record(header: &RunHeader) -> u64 {
        let shown = if header.status.is_over() { 1 } else { Self::RECORDS };
        header.records.saturating_sub(shown)
    }
}

/// Drops the values of a record, and all but the first line of its texts.
fn drop_values(kind: &mut EventKind) {
    match kind {
        EventKind::RunStarted { input: value, state, .. } | EventKind::RunStartingOver { input: value, state } => {
            (*value, *state) = (Value::Null, Map::new());
        }
        EventKind::NodeStarted { input: value, .. } | EventKind::SignalAwaited { schema: value, .. } => *value = None,
        EventKind::NodeCompleted { output, state, .. } => (*output, *state) = (None, Vec::new()),
        EventKind::NodeCollecting { state, local } => (*state, *local) = (Vec::new(), Vec::new()),
        EventKind::NodeFailed { cause, error, .. } => {
            (*cause, *error) = (in_short(cause), None);
        }
        EventKind::RunFailed { failure } => {
            (failure.cause, failure.error) = (in_short(&failure.cause), None);
        }
        EventKind::Message { text } => *text = first_line(&*text),
        EventKind::QuestionAsked { prompt, payload, schema, .. } => {
            (*prompt, *payload, *schema) = (first_line(&*prompt), Value::Null, Value::Null);
        }
        EventKind::Answered { answer, comment, .. } => (*answer, *comment) = (Value::Null, None),
        EventKind::AnswerRejected { message, .. } | EventKind::SignalRejected { message, .. } => {
            *message = first_line(&*message);
        }
        EventKind::Note { payload: value, .. }
        | EventKind::SignalReceived { payload: value, .. }
        | EventKind::RunCompleted { output: value } => *value = Value::Null,
        EventKind::SignalsKnown { signals } => signals.clear(),
        _ => {}
    }
}

fn in_short(cause: &Cause) -> Cause {
    Cause::new(first_line(cause))
}
