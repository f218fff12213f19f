//! What the virtual object of a run holds: the run, as any worker can read it.
//!
//! | key | value |
//! | --- | --- |
//! | `r/<number>` | [`Batch`]: all of one append, by the number of its first record |
//! | `p/<number>/<part>` | parts of a batch that is too large for one value; its own value says how many, and comes behind them |
//! | `g/<hash>` | a graph, which is there before the batch that names it |
//! | `c/<task>` | the invocation that executes a task of a pool, if it takes longer or is executed once; until its result is recorded |
//! | `input` | the input as it was sent, which a second start is compared with |
//! | `driver` | [`Driver`]: the invocation that drives the run |
//! | `refused` | [`Refusal`]: why the run has ended before its first record |
//! | `obstacle` | why the last worker that was to begin with it cannot, as long as it has no record |
//! | `header` | the header of the last batch that has one, for [`Admin::list`](crate::Admin::list); the next attempt writes it if a crash came between |
//!
//! A value is written as a whole or not at all, and several values are not: so the run is what its batches say, and
//! it exists when its first batch does. A batch never changes, but for one without records that the next one replaces.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::FutureExt;
use graphweft::store::MemoryStore;
use graphweft::store::{
    Append, Appended, Created, NewRun, OpenQuestion, QuestionChange, Record, RunHeader, RunStatus, Store, Stored,
};
use graphweft::{AnswerError, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::message::{Refusal, Verdict};

pub(crate) const HEADER: &str = "header";
pub(crate) const INPUT: &str = "input";
pub(crate) const DRIVER: &str = "driver";
pub(crate) const REFUSED: &str = "refused";
pub(crate) const OBSTACLE: &str = "obstacle";
pub(crate) const RECORDS: &str = "r/";
pub(crate) const PARTS: &str = "p/";
pub(crate) const GRAPHS: &str = "g/";
const CALLS: &str = "c/";

/// How large one value may be. A message of a server may have 32 MiB.
pub(crate) const PART: usize = 8 << 20;

/// One append.
#[derive(Serialize, Deserialize)]
pub(crate) struct Batch {
    #[serde(rename = "t")]
    time: u64,
    #[serde(rename = "r")]
    records: Vec<(String, EventKind)>,
    /// The number of the batch with the summary that holds after this one; its own if it has one.
    #[serde(rename = "s")]
    pub(crate) summarized_at: u64,
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<Box<Summary>>,
    /// The message that this append records, by the invocation of its handler.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// What changes less often than records are added.
#[derive(Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Its number of records is that behind its batch.
    pub(crate) header: RunHeader,
    pub(crate) questions: Vec<OpenQuestion>,
}

/// In the place of a batch that is in parts.
#[derive(Serialize, Deserialize)]
struct InParts {
    parts: usize,
}

/// The invocation that drives a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Driver {
    pub(crate) invocation: String,
    /// How many records the run had when this invocation began.
    pub(crate) began_at: u64,
    /// Where messages to it are sent now: see [`message`](crate::message).
    pub(crate) mailbox: u64,
    /// The messages to this mailbox that were refused, by the invocations of their handlers: all of them come again when another attempt
    /// is made.
    pub(crate) refused: Vec<(String, Refusal)>,
    /// Those to the mailbox before, whose handlers may have written to this one as well before they heard of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused_before: Vec<(String, Refusal)>,
}

impl Driver {
    /// Of an invocation that begins with a run of so many records.
    pub(crate) fn new(invocation: &str, began_at: u64) -> Self {
        Driver { invocation: invocation.to_owned(), began_at, ..Driver::default() }
    }

    /// The run is to wait with an empty mailbox.
    pub(crate) fn open_mailbox(&mut self) {
        self.mailbox += 1;
        self.refused_before = std::mem::take(&mut self.refused);
    }

    /// Why a message was refused that has come before.
    pub(crate) fn refusal_of(&self, letter: &str) -> Option<&Refusal> {
        let mut refused = self.refused.iter().chain(&self.refused_before);
        refused.find(|(refused, _)| refused == letter).map(|(_, refusal)| refusal)
    }
}

/// The run of an object, in the memory of the worker that has it.
pub(crate) struct Object {
    id: String,
    pub(crate) run: MemoryStore,
    pub(crate) header: Option<RunHeader>,
    pub(crate) input: Option<Bytes>,
    pub(crate) driver: Option<Driver>,
    pub(crate) obstacle: Option<String>,
    /// The value with the header, which is written behind its batch.
    index: Option<Bytes>,
    /// The messages that are recorded; an answer with its question, and the number of the first record behind its batch.
    letters: HashMap<String, Option<(String, u64)>>,
    questions: BTreeMap<String, OpenQuestion>,
    graphs: Vec<u64>,
    /// The tasks that an executor has, by the paths of their nodes.
    away: HashMap<String, SentTask>,
    /// Those of nodes that were stopped, which it may still execute.
    stopped: Vec<SentTask>,
    /// The invocations that execute tasks of pools, by the ids of the tasks.
    pub(crate) calls: BTreeMap<String, String>,
    /// The number of the batch with the last summary.
    summarized_at: u64,
}

/// A task that was sent to a pool, by its note.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct SentTask {
    pub(crate) pool: String,
    /// Its id.
    pub(crate) task: String,
    /// The run that has sent it: a fork has the notes of the run that it was made of.
    run: String,
}

/// The graphs of a run by their hashes, and its batches with the numbers of their first records.
pub(crate) type Parsed = (BTreeMap<u64, Json>, Vec<(u64, Batch)>);

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
        let mut object = Object {
            id: id.to_owned(),
            run: MemoryStore::new(),
            header: None,
            input: None,
            driver: None,
            obstacle: None,
            index: None,
            letters: HashMap::new(),
            questions: BTreeMap::new(),
            graphs: Vec::new(),
            away: HashMap::new(),
            stopped: Vec::new(),
            calls: BTreeMap::new(),
            summarized_at: 0,
        };
        let mut run = Vec::new();
        for (key, value) in state {
            match key.as_str() {
                HEADER => object.index = Some(value),
                INPUT => object.input = Some(value),
                OBSTACLE => {
                    object.obstacle = Some(serde_json::from_slice(&value).map_err(|error| unreadable(&key, &error))?);
                }
                DRIVER => {
                    object.driver = Some(serde_json::from_slice(&value).map_err(|error| unreadable(&key, &error))?);
                }
                _ => match key.strip_prefix(CALLS) {
                    Some(task) => {
                        let invocation = std::str::from_utf8(&value).map_err(|error| unreadable(&key, &error))?;
                        object.calls.insert(task.to_owned(), invocation.to_owned());
                    }
                    None => run.push((key, value)),
                },
            }
        }
        let (graphs, read) = Object::parse(run, 0).map_err(|(key, message)| unreadable(&key, &message))?;
        object.restore(graphs, read).map_err(|(key, message)| unreadable(&key, &message))?;
        Ok(object)
    }

    /// The graphs in the state of an object, and its batches from a record on; or the key of a value that cannot be read, and why.
    pub(crate) fn parse(state: Vec<(String, Bytes)>, from: u64) -> Result<Parsed, (String, String)> {
        let (mut graphs, mut parts, mut batches) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (key, value) in state {
            let failed = |error: &dyn std::fmt::Display| (key.clone(), error.to_string());
            if let Some(hash) = key.strip_prefix(GRAPHS) {
                let hash = hash.parse::<u64>().map_err(|error| failed(&error))?;
                graphs.insert(hash, serde_json::from_slice::<Json>(&value).map_err(|error| failed(&error))?);
            } else if key.starts_with(PARTS) {
                parts.insert(key, value);
            } else if key.starts_with(RECORDS) {
                let at = number_of(&key).map_err(|error| failed(&error))?;
                batches.insert(at, (key, value));
            }
        }
        let mut read = Vec::with_capacity(batches.len());
        for (at, (key, value)) in batches.into_iter().filter(|(at, _)| *at >= from) {
            let failed = |error: &dyn std::fmt::Display| (key.clone(), error.to_string());
            let value = whole(&key, value, &parts)?;
            read.push((at, serde_json::from_slice::<Batch>(&value).map_err(|error| failed(&error))?));
        }
        Ok((graphs, read))
    }

    /// What [`read`](Self::read) makes the run of, in one value.
    pub(crate) fn export(state: Vec<(String, Bytes)>) -> Result<Json, (String, String)> {
        let (parts, values): (BTreeMap<String, Bytes>, BTreeMap<String, Bytes>) =
            state.into_iter().partition(|(key, _)| key.starts_with(PARTS));
        let mut export = serde_json::Map::new();
        for (key, value) in values {
            if key.starts_with(RECORDS) || key.starts_with(GRAPHS) {
                let value = whole(&key, value, &parts)?;
                let text = String::from_utf8(value.into()).map_err(|error| (key.clone(), error.to_string()))?;
                export.insert(key, Json::String(text));
            }
        }
        Ok(Json::Object(export))
    }

    /// The state of an object that was [exported](Self::export).
    pub(crate) fn imported(export: &[u8]) -> Result<Vec<(String, Bytes)>, serde_json::Error> {
        let values: BTreeMap<String, String> = serde_json::from_slice(export)?;
        Ok(values.into_iter().map(|(key, value)| (key, value.into())).collect())
    }

    fn restore(&mut self, graphs: BTreeMap<u64, Json>, batches: Vec<(u64, Batch)>) -> Result<(), (String, String)> {
        let last = batches.iter().rev().find_map(|(at, batch)| Some((*at, batch.summary.as_deref()?)));
        let Some((summarized_at, Summary { header, questions: open })) = last else {
            return match batches.first() {
                Some((at, _)) => Err((key_of(*at), "no batch has a header".to_owned())),
                None => Ok(()),
            };
        };
        let (header, open) = (header.clone(), open.clone());
        let no_graph = || (format!("{GRAPHS}{}", header.graph), "it is not there".to_owned());
        let graph = graphs.get(&header.graph).cloned().ok_or_else(no_graph)?;
        let mut new = NewRun::new(&self.id, &header.workflow, (header.graph, graph).into(), header.created);
        new.forked_from.clone_from(&header.forked_from);
        new.previous.clone_from(&header.previous);
        new.started_by.clone_from(&header.started_by);
        new.tags.clone_from(&header.tags);
        let Some(Ok(Created::New(created))) = self.run.create(new).now_or_never() else { return Ok(()) };
        let mut records = 0;
        for (at, Batch { time, records: batch, message, .. }) in batches {
            if at != records {
                return Err((key_of(at), format!("it begins with record {at}, and record {records} is missing")));
            }
            records += batch.len() as u64;
            let answered = batch.iter().find(|(_, kind)| matches!(kind, EventKind::Answered { .. }));
            let answered = answered.map(|(question, _)| (question.clone(), records));
            self.letters.extend(message.map(|message| (message, answered)));
            let batch: Vec<Record> = batch.into_iter().map(|(path, kind)| Record::new(path, kind)).collect();
            self.add(Append::new(created.key, at, from_millis(time), batch));
        }
        self.summarized_at = summarized_at;
        self.graphs = graphs.keys().copied().collect();
        self.questions = open.iter().map(|open| (open.question.id.clone(), open.clone())).collect();
        // The time of the last change is that of an append which changes the status.
        let other = if header.status == RunStatus::Running { RunStatus::Waiting } else { RunStatus::Running };
        let mut before = Append::new(created.key, records, header.updated, vec![]);
        before.header.status = Some((other, None));
        self.add(before);
        let mut end = Append::new(created.key, records, header.updated, vec![]);
        end.header.status = Some((header.status, header.wake_at));
        end.header.owner = Some(header.owner);
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

    /// The value of `header`, if a crash has come between it and its batch. Its number of records is that of its batch.
    pub(crate) fn missing_index(&self) -> Result<Option<Vec<u8>>, serde_json::Error> {
        let Some(header) = &self.header else { return Ok(None) };
        let written = self.index.as_ref().and_then(|index| serde_json::from_slice::<RunHeader>(index).ok());
        let is_written = written.is_some_and(|mut written| {
            written.records = header.records;
            written == *header
        });
        if is_written { Ok(None) } else { serde_json::to_vec(header).map(Some) }
    }

    /// What became of a message that is recorded, by the invocation of its handler.
    pub(crate) fn verdict_of(&self, letter: &str) -> Option<Verdict> {
        let Some((question, behind)) = self.letters.get(letter)? else { return Some(Ok(())) };
        let behind = self.run.read(self.header.as_ref()?.key, *behind, usize::MAX).now_or_never()?.ok()?;
        // Its node has looked at it if its type was not known where it was recorded.
        let judged = behind.into_iter().map(|stored| stored.record).find(|record| record.path == *question);
        Some(match judged.map(|record| record.kind) {
            Some(EventKind::AnswerRejected { field, message, .. }) => {
                Err((422, AnswerError::Invalid { question: question.clone(), field, message }.to_string()))
            }
            _ => Ok(()),
        })
    }

    /// Whether an executor has a node of a pool, so that the run may be `Sleeping` and nothing here would wake it.
    pub(crate) fn is_elsewhere(&self) -> bool {
        !self.away.is_empty()
    }

    /// Whether the node at this path waits for the result of this task.
    pub(crate) fn is_away(&self, path: &str, task: &str) -> bool {
        self.away.get(path).is_some_and(|away| away.task == task)
    }

    /// The tasks that this run has sent and that have no recorded result. Once it has ended, nothing waits for them.
    pub(crate) fn sent_without_result(&self) -> impl Iterator<Item = &SentTask> {
        self.away.values().chain(&self.stopped).filter(|sent| sent.run == self.id)
    }

    /// Notes which nodes are elsewhere. One that is stopped with what is around it is taken for one that still is.
    fn note_away(&mut self, record: &Record) {
        match &record.kind {
            EventKind::Note { payload, .. } if record.kind.is_sent_to_pool() => {
                // Each version has written such a note with these fields.
                if let Ok(sent) = serde_json::from_value::<SentTask>(Json::clone(payload)) {
                    self.stopped.extend(self.away.insert(record.path.clone(), sent));
                }
            }
            EventKind::NodeCancelled => self.stopped.extend(self.away.remove(&record.path)),
            kind if kind.name().starts_with("node_") => {
                self.away.remove(&record.path);
            }
            _ => {}
        }
    }

    fn add(&mut self, batch: Append) -> bool {
        batch.records.iter().for_each(|record| self.note_away(record));
        // It is ready at once.
        let appended = self.run.append(batch).now_or_never();
        self.header = self.run.header(&self.id).now_or_never().and_then(Result::ok).flatten();
        matches!(appended, Some(Ok(Appended::Done)))
    }

    /// What a new run puts into the object, in this order. `input`: as it was sent.
    pub(crate) fn create(&self, run: &NewRun, input: &Bytes) -> Result<Changes, serde_json::Error> {
        let header = run.header(graphweft::store::RunKey::new(1));
        let index = serde_json::to_vec(&header)?;
        let mut changes = vec![(INPUT.to_owned(), input.to_vec()), graph(&run.graph)];
        let summary = Some(Box::new(Summary { header, questions: Vec::new() }));
        changes.extend(batch(0, run.time, &run.records, (0, summary), None)?);
        changes.push((HEADER.to_owned(), index));
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

    /// What an append puts into the object, in this order; `None` if it is a conflict. `message`: what it records, by the
    /// invocation of its handler.
    pub(crate) fn append(
        &mut self,
        append: &Append,
        message: Option<&str>,
    ) -> Result<Option<Changes>, serde_json::Error> {
        let Some(now) = self.header.as_ref().filter(|header| header.records == append.at) else { return Ok(None) };
        // It changes with most appends in its number of records alone, which the records say.
        let (mut header, is_same) = (now.clone(), |after: &RunHeader| {
            let mut same_length = after.clone();
            same_length.records = now.records;
            same_length == *now
        });
        header.apply(&append.header, append.records.len() as u64, append.time);
        let mut changes = Vec::new();
        for new in append.header.graphs().filter(|new| !self.graphs.contains(&new.0)) {
            changes.push(graph(new));
        }
        let questions = self.questions_after(&append.header.questions, header.status);
        let is_same_header = is_same(&header);
        let is_same_summary = is_same_header && questions == self.questions;
        if append.records.is_empty() && is_same_summary {
            return Ok(Some(changes));
        }
        // One that replaces the batch with the summary has one of its own.
        let summary = if is_same_summary && self.summarized_at != append.at {
            (self.summarized_at, None)
        } else {
            let questions = questions.into_values().collect();
            (append.at, Some(Box::new(Summary { header: header.clone(), questions })))
        };
        self.summarized_at = summary.0;
        changes.extend(batch(append.at, append.time, &append.records, summary, message)?);
        if !is_same_header {
            changes.push((HEADER.to_owned(), serde_json::to_vec(&header)?));
        }
        Ok(Some(changes))
    }

    /// The append is recorded.
    pub(crate) fn appended(&mut self, append: Append) -> bool {
        self.graphs.extend(append.header.graphs().map(|graph| graph.0));
        self.graphs.sort_unstable();
        self.graphs.dedup();
        let status = append.header.status.or(self.header.as_ref().map(|header| (header.status, None)));
        self.questions = self.questions_after(&append.header.questions, status.map_or(RunStatus::Running, |of| of.0));
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

impl Batch {
    /// Reads a batch that is not in parts.
    pub(crate) fn read(run: &str, key: &str, value: &[u8]) -> Result<Self, Unreadable> {
        let unreadable = |error: serde_json::Error| Unreadable {
            run: run.to_owned(),
            key: key.to_owned(),
            message: error.to_string(),
        };
        serde_json::from_slice(value).map_err(unreadable)
    }

    pub(crate) fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// When it was recorded, its records, and its summary if it has one.
    pub(crate) fn into_parts(self) -> (SystemTime, Vec<Record>, Option<Summary>) {
        let records = self.records.into_iter().map(|(path, kind)| Record::new(path, kind)).collect();
        (from_millis(self.time), records, self.summary.map(|summary| *summary))
    }

    pub(crate) fn last(&self) -> Option<&EventKind> {
        self.records.last().map(|(_, kind)| kind)
    }
}

pub(crate) fn call_key(task: &str) -> String {
    format!("{CALLS}{task}")
}

pub(crate) fn key_of(at: u64) -> String {
    // As many digits as keep the keys in order.
    format!("{RECORDS}{at:010}")
}

/// Before the keys of all parts of batches from this one on, and behind those of earlier ones.
pub(crate) fn parts_from(at: u64) -> String {
    format!("{PARTS}{at:010}")
}

/// The number of a batch.
pub(crate) fn number_of(key: &str) -> Result<u64, std::num::ParseIntError> {
    key.trim_start_matches(RECORDS).parse()
}

/// The keys of the parts of a batch, if it is in parts.
pub(crate) fn parts_of(key: &str, value: &[u8]) -> Result<Option<Vec<String>>, serde_json::Error> {
    if !value.starts_with(b"{\"parts\":") {
        return Ok(None);
    }
    let InParts { parts } = serde_json::from_slice(value)?;
    Ok(Some((0..parts).map(|part| part_of(key, part)).collect()))
}

/// A value with its parts put together; or its key, and why that cannot be.
fn whole(key: &str, value: Bytes, parts: &BTreeMap<String, Bytes>) -> Result<Bytes, (String, String)> {
    let failed = |message: String| (key.to_owned(), message);
    let Some(keys) = parts_of(key, &value).map_err(|error| failed(error.to_string()))? else { return Ok(value) };
    let own: Option<Vec<Bytes>> = keys.iter().map(|key| parts.get(key).cloned()).collect();
    Ok(own.ok_or_else(|| failed("a part of it is missing".to_owned()))?.concat().into())
}

fn part_of(key: &str, part: usize) -> String {
    format!("{PARTS}{}/{part:05}", key.trim_start_matches(RECORDS))
}

/// The values of one append: the last makes it one.
fn batch(
    at: u64,
    time: SystemTime,
    records: &[Record],
    (summarized_at, summary): (u64, Option<Box<Summary>>),
    message: Option<&str>,
) -> Result<Changes, serde_json::Error> {
    let records = records.iter().map(|record| (record.path.clone(), record.kind.clone())).collect();
    let message = message.map(str::to_owned);
    let (key, batch) = (key_of(at), Batch { time: to_millis(time), records, summarized_at, summary, message });
    let value = serde_json::to_vec(&batch)?;
    if value.len() <= PART {
        return Ok(vec![(key, value)]);
    }
    let parts = value.chunks(PART).enumerate().map(|(part, value)| (part_of(&key, part), value.to_vec()));
    let mut changes: Changes = parts.collect();
    changes.push((key, serde_json::to_vec(&InParts { parts: changes.len() })?));
    Ok(changes)
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
mod tests;
