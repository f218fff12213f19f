//! What may be asked of a run while it is driven, here or elsewhere. These handlers read the object, and have Restate bring what
//! changes the run to the invocation that drives it.

use std::time::Duration;

use graphweft::store::{OpenQuestion, RunHeader, RunStatus, StoreError};
use graphweft::{AwaitedSignal, Engine, Event, Json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::drive::outcome_of;
use crate::invocation::{Invocation, Reply, Stop};
use crate::message::{Letter, Message, REPLY, Refusal, Verdict, mailbox};
use crate::object::{self, Batch, DRIVER, Driver, INPUT, OBSTACLE, Object, REFUSED, Summary};
use crate::work::is_same_json;

/// How many bytes of events one reply has, but for a single larger one.
const PAGE: usize = 16 << 20;

/// What is said of a run that has the id of another one.
pub(crate) const WITH_ANOTHER_INPUT: &str = "was started with another input";

/// The same of one that was to be a fork.
pub(crate) const IS_TAKEN: &str = "is there already, and is another one; choose another id";

/// What a run is forked with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{\"from\": \"order-7\", \"before\": 4}`")]
pub(crate) struct ForkOf {
    /// The run that is forked.
    pub(crate) from: String,
    /// The first of its events that is not copied; all that came before its end without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<u64>,
}

/// What [`Client`](crate::Client) asks the status of a run with.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct StatusOf {
    /// Whether the run was started with this input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Json>,
    /// Whether the signals that it waits for are asked for, if it waits and no question is open. The whole run is read for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) signals: bool,
}

/// How far a run is.
struct Latest {
    summary: Summary,
    records: u64,
    outcome: Json,
}

/// Reads how far the run is: its last batch, and the one with the summary that holds after it. No batch changes, so they fit
/// together, whatever is recorded meanwhile.
async fn latest(invocation: &mut Invocation) -> Result<Option<Latest>, Stop> {
    let mut keys = invocation.keys_with(object::RECORDS).await?;
    let Some(key) = keys.pop() else { return Ok(None) };
    let unreadable = |error: String| Stop::Broken(error);
    let at = object::number_of(&key).map_err(|error| unreadable(format!("`{key}`: {error}")))?;
    // If one is gone, the run was forgotten meanwhile.
    let Some(last) = batch(invocation, &key).await? else { return Ok(None) };
    let mut outcome = last.last().map_or(Json::Null, outcome_of);
    if last.len() == 0
        && let Some(before) = keys.pop()
    {
        outcome = batch(invocation, &before).await?.as_ref().and_then(Batch::last).map_or(Json::Null, outcome_of);
    }
    let records = at + last.len();
    let summary = match last.summary {
        Some(summary) => Some(summary),
        None => batch(invocation, &object::key_of(last.summarized_at)).await?.and_then(|batch| batch.summary),
    };
    Ok(summary.map(|summary| Latest { summary: *summary, records, outcome }))
}

async fn batch(invocation: &mut Invocation, key: &str) -> Result<Option<Batch>, Stop> {
    let Some(mut value) = invocation.get(key).await? else { return Ok(None) };
    let parts = object::parts_of(key, &value).map_err(|error| Stop::Broken(format!("`{key}`: {error}")))?;
    if let Some(parts) = parts {
        let mut whole = Vec::new();
        for part in parts {
            let Some(part) = invocation.get(&part).await? else { return Ok(None) };
            whole.extend_from_slice(&part);
        }
        value = whole.into();
    }
    Batch::read(&invocation.key, key, &value).map(Some).map_err(|error| Stop::Broken(error.to_string()))
}

fn no_run(id: &str) -> Reply {
    Err((404, format!("there is no run `{id}`, or it has not begun")))
}

async fn read<T: DeserializeOwned>(invocation: &mut Invocation, key: &str) -> Result<Option<T>, Stop> {
    let Some(value) = invocation.get(key).await? else { return Ok(None) };
    let value = serde_json::from_slice(&value)
        .map_err(|error| Stop::Broken(format!("`{key}` of run `{}` cannot be read: {error}", invocation.key)))?;
    Ok(Some(value))
}

/// How long a handler waits for a verdict before it looks whether the run has another driver or mailbox, or has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a handler looks. With [`PATIENCE`], two minutes.
const LOOKS: u32 = 60;

/// How often, and after which pause, a run that is to be cancelled is looked for that has not begun.
const LOOKS_FOR_DRIVER: (u32, Duration) = (10, Duration::from_millis(200));

/// Has a message brought to the invocation that drives the run, and waits for what becomes of it.
async fn send(invocation: &mut Invocation, message: Message) -> Result<Reply, Stop> {
    let is_cancel = message == Message::Cancel;
    let letter = json!(Letter { message, reply_to: invocation.id.clone() });
    // With what is around it, the message may be nested deeper than the driver of the run reads.
    if let Err(error) = serde_json::from_str::<Letter>(&letter.to_string()) {
        return Ok(Err((422, format!("this cannot be sent to a run: {error}"))));
    }
    let verdict = invocation.signal(REPLY)?;
    let mut sent_to = None;
    for _ in 0..LOOKS {
        let Some(driver) = read::<Driver>(invocation, DRIVER).await? else { return Ok(no_run(&invocation.key)) };
        let latest = latest(invocation).await?;
        let is_over = match latest {
            Some(latest) => latest.summary.header.status.is_over(),
            None => invocation.get(REFUSED).await?.is_some(),
        };
        if is_over {
            // A run that has ended while it was to be cancelled needs no more.
            return Ok(if is_cancel { Ok(Json::Null) } else { has_ended(&invocation.key) });
        }
        let mailbox = (driver.invocation, mailbox(driver.mailbox));
        if sent_to.as_ref() != Some(&mailbox) {
            invocation.send_signal(mailbox.0.clone(), &mailbox.1, &letter)?;
            sent_to = Some(mailbox);
        }
        let timer = invocation.sleep_for(PATIENCE)?;
        if let Some(verdict) = invocation.wait_for(verdict, timer).await? {
            let verdict: Verdict = serde_json::from_slice(&verdict).map_err(|error| Stop::Broken(error.to_string()))?;
            return Ok(verdict.map(|()| Json::Null));
        }
    }
    let waited = (PATIENCE * LOOKS).as_secs();
    let message = format!(
        "the worker that has run `{}` has not taken the message for {waited} s, and may take it later: look at the log of the workers",
        invocation.key
    );
    Ok(Err((408, message)))
}

fn has_ended(id: &str) -> Reply {
    Err((409, format!("run `{id}` has ended")))
}

pub(crate) async fn message(invocation: &mut Invocation, handler: &str) -> Result<Reply, Stop> {
    let mut message: Json = match serde_json::from_slice(&invocation.input) {
        Ok(message) => message,
        Err(_) if invocation.input.is_empty() => json!({}),
        Err(error) => return Ok(Err((400, format!("the message is not JSON: {error}")))),
    };
    if let Some(message) = message.as_object_mut() {
        message.insert("type".to_owned(), handler.into());
    }
    let mut message: Message = match serde_json::from_value(message) {
        Ok(message) => message,
        Err(error) => return Ok(Err((400, format!("this cannot be sent to a run: {error}")))),
    };
    let latest = latest(invocation).await?;
    let is_over = latest.as_ref().is_some_and(|latest| latest.summary.header.status.is_over());
    match (&mut message, latest) {
        (Message::Cancel, _) if is_over => return Ok(Ok(Json::Null)),
        (Message::Cancel, Some(_)) => {}
        // It may be cancelled before it has a record, and was perhaps started a moment ago.
        (Message::Cancel, None) => {
            let (mut looks, pause) = LOOKS_FOR_DRIVER;
            while looks > 0 && invocation.get(DRIVER).await?.is_none() {
                let timer = invocation.sleep_for(pause)?;
                invocation.wait_until(timer).await?;
                looks -= 1;
            }
        }
        (_, None) => return Ok(no_run(&invocation.key)),
        _ if is_over => return Ok(has_ended(&invocation.key)),
        (Message::Answer { question, answer, .. }, Some(latest)) => {
            match check(&latest.summary.questions, question, answer) {
                Err(refused) => return Ok(Err(refused)),
                Ok(id) => *question = id,
            }
        }
        (Message::Signal { .. }, Some(_)) => {}
    }
    send(invocation, message).await
}

/// The id of the question that is answered, by its id or its name, if the answer fits it.
fn check(open: &[OpenQuestion], question: &str, answer: &Json) -> Result<String, Refusal> {
    let by_id = open.iter().find(|open| open.question.id == question);
    let mut named = open.iter().filter(|open| open.question.name == question);
    let open = match (by_id, named.next(), named.next()) {
        (Some(open), ..) | (None, Some(open), None) => open,
        (None, Some(_), Some(_)) => {
            return Err((409, format!("several open questions are named `{question}`: answer one by its id")));
        }
        (None, None, _) => {
            let asked: Vec<&str> = open.iter().map(|open| open.question.id.as_str()).collect();
            return Err((409, format!("no question `{question}` is open; open are: [{}]", asked.join(", "))));
        }
    };
    open.question.check(answer).map_err(|error| (422, error.to_string()))?;
    Ok(open.question.id.clone())
}

/// The input of a handler that takes JSON or nothing.
fn input_of<T: DeserializeOwned + Default>(invocation: &Invocation) -> Result<T, Refusal> {
    if invocation.input.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&invocation.input).map_err(|error| (400, format!("the request cannot be read: {error}")))
}

pub(crate) async fn status(program: &Engine, invocation: &mut Invocation) -> Result<Reply, Stop> {
    let of: StatusOf = match input_of(invocation) {
        Ok(of) => of,
        Err(refused) => return Ok(Err(refused)),
    };
    let Some(Latest { summary, records, outcome }) = latest(invocation).await? else {
        if let Some((status, message)) = read::<Refusal>(invocation, REFUSED).await? {
            return Ok(Ok(json!({ "refused": { "status": status, "message": message } })));
        }
        let obstacle = read::<String>(invocation, OBSTACLE).await?;
        return Ok(Ok(obstacle.map_or(Json::Null, |why| json!({ "obstacle": why }))));
    };
    let waits_for_signals = summary.header.status == RunStatus::Waiting && summary.questions.is_empty();
    let mut status = json!({
        "status": summary.header.status,
        "created": object::to_millis(summary.header.created),
        "records": records,
        "outcome": outcome,
        "questions": summary.questions.into_iter().map(|open| open.question).collect::<Vec<_>>(),
    });
    if let Some(input) = of.input {
        let had = invocation.get(INPUT).await?;
        let is_same = had.is_some_and(|had| is_same_json(&had, input.to_string().as_bytes()));
        status["is_same_input"] = is_same.into();
    }
    if of.signals && waits_for_signals {
        status["signals"] = json!(awaited_signals(program, invocation).await?);
    }
    Ok(Ok(status))
}

/// The run, read as a whole, for what is to be known of all its records.
async fn whole(program: &Engine, invocation: &mut Invocation) -> Result<Engine, Stop> {
    let state = invocation.state().await?;
    let object = Object::read(&invocation.key, state).map_err(|error| Stop::Broken(error.to_string()))?;
    Ok(program.with_store(object.run))
}

async fn awaited_signals(program: &Engine, invocation: &mut Invocation) -> Result<Vec<AwaitedSignal>, Stop> {
    let engine = whole(program, invocation).await?;
    let broken = |error: StoreError| Stop::Broken(error.to_string());
    match engine.get_run(&invocation.key).await.map_err(broken)? {
        Some(run) => run.awaited_signals().await.map_err(broken),
        None => Ok(Vec::new()),
    }
}

/// What the events of a run are asked for with.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "the number of an event, or `{\"from\": 4}` for as many as fit into a reply")]
pub(crate) enum EventsOf {
    /// All from this number on.
    All(u64),
    /// As many as fit into a reply.
    Page { from: u64 },
}

impl Default for EventsOf {
    fn default() -> Self {
        EventsOf::All(0)
    }
}

/// Events that fit into a reply.
#[derive(Serialize, Deserialize)]
pub(crate) struct EventsPage<E> {
    pub(crate) events: Vec<E>,
    /// The number of the first event that is not here.
    pub(crate) next: Option<u64>,
}

impl EventsPage<Json> {
    /// As many as have this many bytes, and at least all with one number.
    fn of(events: impl Iterator<Item = Event>, most: usize) -> serde_json::Result<Self> {
        let (mut page, mut bytes, mut last) = (EventsPage { events: Vec::new(), next: None }, 0, None);
        for event in events {
            let (seq, event) = (event.seq, serde_json::to_value(event)?);
            bytes += event.to_string().len() + 1;
            if bytes > most && last.is_some_and(|last| last != seq) {
                page.next = Some(seq);
                break;
            }
            last = Some(seq);
            page.events.push(event);
        }
        Ok(page)
    }
}

/// Events of the run from a number on, with those that follow from others.
pub(crate) async fn events(program: &Engine, invocation: &mut Invocation) -> Result<Reply, Stop> {
    let of: EventsOf = match input_of(invocation) {
        Ok(of) => of,
        Err(refused) => return Ok(Err(refused)),
    };
    let (EventsOf::All(from) | EventsOf::Page { from }) = of;
    let history = whole(program, invocation).await?.history(&invocation.key).await;
    let events = history.map_err(|error| Stop::Broken(error.to_string()))?;
    let Some(events) = events else { return Ok(no_run(&invocation.key)) };
    let page = EventsPage::of(events.into_iter().filter(|event| event.seq >= from), PAGE);
    let page = page.map_err(|error| Stop::Broken(error.to_string()))?;
    Ok(match of {
        EventsOf::Page { .. } => Ok(json!(page)),
        EventsOf::All(_) if page.next.is_none() => Ok(page.events.into()),
        EventsOf::All(_) => {
            let id = &invocation.key;
            Err((
                413,
                format!(
                    "run `{id}` has more events than fit into one reply: ask for `{{\"from\": {from}}}`, and then from `next`"
                ),
            ))
        }
    })
}

/// What a fork of the run copies.
pub(crate) async fn export(invocation: &mut Invocation) -> Result<Reply, Stop> {
    let state = invocation.state().await?;
    let export = Object::export(state).map_err(|(key, why)| Stop::Broken(format!("`{key}`: {why}")))?;
    if export.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(no_run(&invocation.key));
    }
    Ok(Ok(export))
}

/// Which end of a run is meant.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{\"records\": n, \"created\": t}`, or nothing")]
pub(crate) struct OfEnd {
    /// Only if the run has as many records: it was not retried since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) records: Option<u64>,
    /// Only if the run was created then, in milliseconds since 1970: it is not another one of the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<u64>,
}

impl OfEnd {
    /// Whether this is the end of a run with this header and so many records.
    pub(crate) fn is_of(&self, header: Option<&RunHeader>, records: u64) -> bool {
        let created = header.map(|header| object::to_millis(header.created));
        self.records.is_none_or(|wanted| wanted == records) && self.created.is_none_or(|wanted| created == Some(wanted))
    }

    /// What a handler is asked for; nothing at all means any end.
    pub(crate) fn read(invocation: &Invocation) -> Result<OfEnd, Refusal> {
        input_of(invocation)
    }
}

/// Removes a run that has ended.
pub(crate) async fn forget(invocation: &mut Invocation) -> Result<Reply, Stop> {
    let wanted = match OfEnd::read(invocation) {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(Err(refused)),
    };
    let latest = latest(invocation).await?;
    let records = latest.as_ref().map_or(0, |latest| latest.records);
    if !wanted.is_of(latest.as_ref().map(|latest| &latest.summary.header), records) {
        return Ok(Ok(Json::Null));
    }
    if latest.is_some_and(|latest| !latest.summary.header.status.is_over()) {
        return Ok(Err((409, format!("run `{}` has not ended: cancel it first", invocation.key))));
    }
    invocation.clear_all()?;
    Ok(Ok(Json::Null))
}
