//! What the virtual object of a run holds: the run, as any worker can read it.
//!
//! | key | value |
//! | --- | --- |
//! | `header` | the [`RunHeader`]; its number of records is that of its last change |
//! | `questions` | the open questions, `[OpenQuestion]` |
//! | `r/<number>` | the records of one append, by the number of the first |
//! | `g/<hash>` | a graph |
//! | `input` | the input as it was sent, which a second start is compared with |
//! | `driver` | [`Driver`]: the invocation that drives the run |

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::FutureExt;
use graphweft::EventKind;
use graphweft::store::MemoryStore;
use graphweft::store::{
    Append, Appended, Created, NewRun, OpenQuestion, QuestionChange, Record, RunHeader, RunStatus, Store, Stored,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub(crate) const HEADER: &str = "header";
pub(crate) const QUESTIONS: &str = "questions";
pub(crate) const INPUT: &str = "input";
pub(crate) const DRIVER: &str = "driver";
pub(crate) const RECORDS: &str = "r/";
const GRAPHS: &str = "g/";

/// Records of one append.
#[derive(Serialize, Deserialize)]
struct Batch {
    #[serde(rename = "t")]
    time: u64,
    #[serde(rename = "r")]
    records: Vec<(String, EventKind)>,
}

/// The invocation that drives a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Driver {
    pub(crate) invocation: String,
    /// How many records the run had when this invocation began.
    pub(crate) began_at: u64,
    /// How many messages to it have been processed.
    pub(crate) messages: u64,
}

/// The run of an object, in the memory of the worker that has it.
pub(crate) struct Object {
    id: String,
    pub(crate) run: MemoryStore,
    pub(crate) header: Option<RunHeader>,
    pub(crate) input: Option<Bytes>,
    pub(crate) driver: Option<Driver>,
    questions: BTreeMap<String, OpenQuestion>,
    graphs: Vec<u64>,
}

/// What an append changes in an object.
pub(crate) type Changes = Vec<(String, Vec<u8>)>;

/// Something in an object that this version cannot read.
#[derive(Debug, thiserror::Error)]
#[error("`{key}` of run `{run}` cannot be read: {message}; it may be of a newer version of graphweft")]
pub(crate) struct Unreadable {
    pub(crate) run: String,
    pub(crate) key: String,
    pub(crate) message: String,
}

impl Object {
    /// The run of an object with this state.
    pub(crate) fn read(id: &str, state: Vec<(String, Bytes)>) -> Result<Self, Unreadable> {
        let unreadable = |key: &str, message: &dyn std::fmt::Display| Unreadable {
            run: id.to_owned(),
            key: key.to_owned(),
            message: message.to_string(),
        };
        let (mut header, mut open, mut graphs, mut batches) = (None, Vec::new(), BTreeMap::new(), Vec::new());
        let mut object = Object {
            id: id.to_owned(),
            run: MemoryStore::new(),
            header: None,
            input: None,
            driver: None,
            questions: BTreeMap::new(),
            graphs: Vec::new(),
        };
        for (key, value) in state {
            let failed = |error: serde_json::Error| unreadable(&key, &error);
            match key.as_str() {
                HEADER => header = Some(serde_json::from_slice::<RunHeader>(&value).map_err(failed)?),
                QUESTIONS => open = serde_json::from_slice::<Vec<OpenQuestion>>(&value).map_err(failed)?,
                INPUT => object.input = Some(value),
                DRIVER => object.driver = Some(serde_json::from_slice(&value).map_err(failed)?),
                _ => {
                    if let Some(hash) = key.strip_prefix(GRAPHS) {
                        let hash = hash.parse::<u64>().map_err(|error| unreadable(&key, &error))?;
                        graphs.insert(hash, serde_json::from_slice::<Json>(&value).map_err(failed)?);
                    } else if let Some(at) = key.strip_prefix(RECORDS) {
                        let at = at.parse::<u64>().map_err(|error| unreadable(&key, &error))?;
                        batches.push((at, serde_json::from_slice::<Batch>(&value).map_err(failed)?));
                    }
                }
            }
        }
        let Some(header) = header else { return Ok(object) };
        object.restore(header, open, graphs, batches).map_err(|(key, message)| unreadable(&key, &message))?;
        Ok(object)
    }

    fn restore(
        &mut self,
        header: RunHeader,
        open: Vec<OpenQuestion>,
        graphs: BTreeMap<u64, Json>,
        batches: Vec<(u64, Batch)>,
    ) -> Result<(), (String, String)> {
        let no_graph = || (format!("{GRAPHS}{}", header.graph), "it is not there".to_owned());
        let graph = graphs.get(&header.graph).cloned().ok_or_else(no_graph)?;
        let mut new = NewRun::new(&self.id, &header.workflow, (header.graph, graph).into(), header.created);
        new.forked_from.clone_from(&header.forked_from);
        new.previous.clone_from(&header.previous);
        new.started_by.clone_from(&header.started_by);
        new.tags.clone_from(&header.tags);
        let Some(Ok(Created::New(created))) = self.run.create(new).now_or_never() else { return Ok(()) };
        let mut records = 0;
        for (at, Batch { time, records: batch }) in batches {
            if at != records {
                let message = format!("it begins with record {at}, and record {records} is missing");
                return Err((format!("{RECORDS}{at:010}"), message));
            }
            records += batch.len() as u64;
            let batch: Vec<Record> = batch.into_iter().map(|(path, kind)| Record::new(path, kind)).collect();
            self.add(Append::new(created.key, at, from_millis(time), batch));
        }
        self.graphs = graphs.keys().copied().collect();
        self.questions = open.iter().map(|open| (open.question.id.clone(), open.clone())).collect();
        let mut end = Append::new(created.key, records, header.updated, vec![]);
        end.header.status = Some((header.status, header.wake_at));
        end.header.next.clone_from(&header.next);
        end.header.child_graphs = graphs.into_iter().map(Into::into).collect();
        end.header.questions = {
            let mut change = QuestionChange::default();
            (change.is_all, change.open) = (true, open);
            change
        };
        self.add(end);
        Ok(())
    }

    fn add(&mut self, batch: Append) -> bool {
        // It is ready at once.
        let appended = self.run.append(batch).now_or_never();
        self.header = self.run.header(&self.id).now_or_never().and_then(Result::ok).flatten();
        matches!(appended, Some(Ok(Appended::Done)))
    }

    /// What a new run puts into the object. `input`: as it was sent.
    pub(crate) fn create(&self, run: &NewRun, input: &Bytes) -> Result<Changes, serde_json::Error> {
        let header = run.header(graphweft::store::RunKey::new(1));
        let mut changes = vec![
            (INPUT.to_owned(), input.to_vec()),
            (HEADER.to_owned(), serde_json::to_vec(&header)?),
            graph(&run.graph),
        ];
        changes.push(batch(0, run.time, &run.records)?);
        Ok(changes)
    }

    /// The new run is recorded.
    pub(crate) fn created(&mut self, run: NewRun, input: Bytes) -> Option<RunHeader> {
        self.graphs.push(run.graph.0);
        self.input = Some(input);
        let created = self.run.create(run).now_or_never();
        self.header = self.run.header(&self.id).now_or_never().and_then(Result::ok).flatten();
        match created {
            Some(Ok(Created::New(header))) => Some(header),
            _ => None,
        }
    }

    /// What an append puts into the object; `None` if it is a conflict.
    pub(crate) fn append(&self, append: &Append) -> Result<Option<Changes>, serde_json::Error> {
        let Some(now) = self.header.as_ref().filter(|header| header.records == append.at) else { return Ok(None) };
        // It changes with most appends in its number of records alone, which the records say.
        let (mut header, is_same) = (now.clone(), |after: &RunHeader| {
            let mut same_length = after.clone();
            same_length.records = now.records;
            same_length == *now
        });
        header.apply(&append.header, append.records.len() as u64, append.time);
        let mut changes = Vec::new();
        if !append.records.is_empty() {
            changes.push(batch(append.at, append.time, &append.records)?);
        }
        for new in append.header.graphs().filter(|new| !self.graphs.contains(&new.0)) {
            changes.push(graph(new));
        }
        let questions = self.questions_after(&append.header.questions, header.status);
        if questions != self.questions {
            changes.push((QUESTIONS.to_owned(), serde_json::to_vec(&questions.values().collect::<Vec<_>>())?));
        }
        if !is_same(&header) {
            changes.push((HEADER.to_owned(), serde_json::to_vec(&header)?));
        }
        Ok(Some(changes))
    }

    /// The append is recorded.
    pub(crate) fn appended(&mut self, append: Append) -> bool {
        self.graphs.extend(append.header.graphs().map(|graph| graph.0));
        self.graphs.sort_unstable();
        self.graphs.dedup();
        let status = append.header.status.map_or(RunStatus::Running, |(status, _)| status);
        self.questions = self.questions_after(&append.header.questions, status);
        self.add(append)
    }

    fn questions_after(&self, change: &QuestionChange, status: RunStatus) -> BTreeMap<String, OpenQuestion> {
        let mut after = self.questions.clone();
        if status.is_over() || change.is_all {
            after.clear();
        }
        after.retain(|id, _| !change.closed.contains(id));
        for open in change.open.iter().filter(|_| !status.is_over()) {
            let asked = self.questions.get(&open.question.id).map_or(open.asked, |before| before.asked);
            after.insert(open.question.id.clone(), OpenQuestion::new(open.question.clone(), asked));
        }
        after
    }

    /// The last record.
    pub(crate) fn last(&self) -> Option<Stored> {
        let header = self.header.as_ref()?;
        let last = self.run.read(header.key, header.records.saturating_sub(1), 1).now_or_never();
        last.and_then(Result::ok)?.pop()
    }
}

/// The last record of a run: of this batch of the state of its object.
pub(crate) fn last_record(run: &str, key: &str, value: &[u8]) -> Result<Option<Stored>, Unreadable> {
    let unreadable = |message: String| Unreadable { run: run.to_owned(), key: key.to_owned(), message };
    let at = key.strip_prefix(RECORDS).and_then(|at| at.parse::<u64>().ok());
    let at = at.ok_or_else(|| unreadable("it has no number".to_owned()))?;
    let Batch { time, records } = serde_json::from_slice(value).map_err(|error| unreadable(error.to_string()))?;
    let last = (at..).zip(records).last();
    Ok(last.map(|(seq, (path, kind))| Stored::new(seq, from_millis(time), Record::new(path, kind))))
}

fn batch(at: u64, time: SystemTime, records: &[Record]) -> Result<(String, Vec<u8>), serde_json::Error> {
    let records = records.iter().map(|record| (record.path.clone(), record.kind.clone())).collect();
    // As many digits as keep the keys in order.
    Ok((format!("{RECORDS}{at:010}"), serde_json::to_vec(&Batch { time: to_millis(time), records })?))
}

fn graph(graph: &(u64, Json)) -> (String, Vec<u8>) {
    (format!("{GRAPHS}{}", graph.0), graph.1.to_string().into_bytes())
}

pub(crate) fn to_millis(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn from_millis(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use bytes::Bytes;
    use futures::FutureExt;
    use graphweft::EventKind;
    use graphweft::store::{Append, NewRun, Record, RunKey, RunStatus, Store};
    use serde_json::json;

    use super::{Changes, Object, from_millis};

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
            let message = EventKind::Message { text: format!("message {at}") };
            let mut append =
                Append::new(RunKey::new(1), at, from_millis(1_795_727_894_392 + at), vec![Record::new("pay", message)]);
            if at == 2 {
                append.header.status = Some((RunStatus::Waiting, Some(from_millis(1_795_727_900_000))));
            }
            keep(&mut state, object.append(&append).unwrap().expect("it is at the end"));
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
        let (object, _) = waiting();
        let late = Append::new(RunKey::new(1), 2, SystemTime::now(), vec![Record::new("pay", EventKind::RunCancelled)]);
        assert!(object.append(&late).unwrap().is_none());
    }

    #[test]
    fn a_header_is_written_only_if_more_than_the_number_of_records_changes() {
        let (object, _) = waiting();
        let message = || vec![Record::new("pay", EventKind::CancelRequested)];
        let mut append = Append::new(RunKey::new(1), 3, SystemTime::now(), message());
        let keys = |changes: Option<Changes>| changes.unwrap().into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(object.append(&append).unwrap()), ["r/0000000003"]);
        append.header.status = Some((RunStatus::Running, None));
        assert_eq!(keys(object.append(&append).unwrap()), ["r/0000000003", "header"]);
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
}
