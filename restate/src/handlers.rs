//! What may be asked of a run while it is driven, here or elsewhere. These handlers read the object, and have Restate bring what
//! changes the run to the invocation that drives it.

use std::time::Duration;

use graphweft::store::{OpenQuestion, RunHeader};
use graphweft::{Engine, Json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::drive::{is_same_json, outcome_of};
use crate::invocation::{Invocation, Reply, Stop};
use crate::message::{Letter, MESSAGES, Message, REPLY, Verdict};
use crate::object::{self, DRIVER, Driver, HEADER, INPUT, Object, QUESTIONS};

/// What [`Client`](crate::Client) asks the status of a run with.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct StatusOf {
    /// Whether the run was started with this input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Json>,
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

/// How long a handler waits for a verdict before it looks whether the run has another driver, or has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// Has a message brought to the invocation that drives the run, and waits for what becomes of it.
async fn send(invocation: &mut Invocation, message: Message) -> Result<Reply, Stop> {
    let is_cancel = message == Message::Cancel;
    let letter = json!(Letter { message, reply_to: invocation.id.clone() });
    let verdict = invocation.signal(REPLY)?;
    let mut sent_to = None;
    loop {
        let Some(driver) = read::<Driver>(invocation, DRIVER).await? else { return Ok(no_run(&invocation.key)) };
        let header = read::<RunHeader>(invocation, HEADER).await?;
        if header.is_some_and(|header| header.status.is_over()) {
            // A run that has ended while it was to be cancelled needs no more.
            return Ok(if is_cancel { Ok(Json::Null) } else { has_ended(&invocation.key) });
        }
        if sent_to.as_ref() != Some(&driver.invocation) {
            invocation.send_signal(driver.invocation.clone(), MESSAGES, &letter)?;
            sent_to = Some(driver.invocation);
        }
        let timer = invocation.sleep_for(PATIENCE)?;
        if let Some(verdict) = invocation.wait_for(verdict, timer).await? {
            let verdict: Verdict = serde_json::from_slice(&verdict).map_err(|error| Stop::Broken(error.to_string()))?;
            return Ok(verdict.map(|()| Json::Null));
        }
    }
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
    let message: Message = match serde_json::from_value(message) {
        Ok(message) => message,
        Err(error) => return Ok(Err((400, format!("this cannot be sent to a run: {error}")))),
    };
    let header = read::<RunHeader>(invocation, HEADER).await?;
    let is_over = header.as_ref().is_some_and(|header| header.status.is_over());
    match &message {
        // It may be cancelled before it has a record.
        Message::Cancel if is_over => return Ok(Ok(Json::Null)),
        Message::Cancel => {}
        _ if header.is_none() => return Ok(no_run(&invocation.key)),
        _ if is_over => return Ok(has_ended(&invocation.key)),
        Message::Answer { question, answer, .. } => {
            let open: Vec<OpenQuestion> = read(invocation, QUESTIONS).await?.unwrap_or_default();
            if let Err(refused) = check(&open, question, answer) {
                return Ok(Err(refused));
            }
        }
        Message::Signal { .. } => {}
    }
    send(invocation, message).await
}

/// Whether an answer fits one of these questions, by its id or its name.
fn check(open: &[OpenQuestion], question: &str, answer: &Json) -> Result<(), (u16, String)> {
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
    open.question.check(answer).map_err(|error| (422, error.to_string()))
}

pub(crate) async fn status(invocation: &mut Invocation) -> Result<Reply, Stop> {
    let of: StatusOf = serde_json::from_slice(&invocation.input).unwrap_or_default();
    let Some(header) = read::<RunHeader>(invocation, HEADER).await? else { return Ok(Ok(Json::Null)) };
    let open: Vec<OpenQuestion> = read(invocation, QUESTIONS).await?.unwrap_or_default();
    let last = match invocation.last(object::RECORDS).await? {
        Some((key, value)) => object::last_record(&invocation.key, &key, &value),
        None => Ok(None),
    };
    let last = last.map_err(|error| Stop::Broken(error.to_string()))?;
    let mut status = json!({
        "status": header.status,
        "records": last.as_ref().map_or(0, |last| last.seq + 1),
        "outcome": last.as_ref().map_or(Json::Null, |last| outcome_of(&last.record.kind)),
        "questions": open.into_iter().map(|open| open.question).collect::<Vec<_>>(),
    });
    if let Some(input) = of.input {
        let had = invocation.get(INPUT).await?;
        let is_same = had.is_some_and(|had| is_same_json(&had, &input.to_string().into()));
        status["is_same_input"] = is_same.into();
    }
    Ok(Ok(status))
}

/// Events of the run from a number on, with those that follow from others.
pub(crate) async fn events(program: &Engine, invocation: &mut Invocation) -> Result<Reply, Stop> {
    let from: u64 = serde_json::from_slice(&invocation.input).unwrap_or_default();
    let state = invocation.state().await?;
    let object = Object::read(&invocation.key, state).map_err(|error| Stop::Broken(error.to_string()))?;
    let history = program.with_store(object.run).history(&invocation.key).await;
    let events = history.map_err(|error| Stop::Broken(error.to_string()))?;
    let Some(events) = events else { return Ok(no_run(&invocation.key)) };
    let events: Vec<_> = events.into_iter().filter(|event| event.seq >= from).collect();
    Ok(Ok(serde_json::to_value(events).map_err(|error| Stop::Broken(error.to_string()))?))
}

/// Removes a run that has ended. `records`: only if it has not been retried since it had so many.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Forget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) records: Option<u64>,
}

pub(crate) async fn forget(invocation: &mut Invocation) -> Result<Reply, Stop> {
    let wanted: Forget = serde_json::from_slice(&invocation.input).unwrap_or_default();
    let Some(header) = read::<RunHeader>(invocation, HEADER).await? else { return Ok(Ok(Json::Null)) };
    if wanted.records.is_some_and(|records| records != header.records) {
        return Ok(Ok(Json::Null));
    }
    if !header.status.is_over() {
        return Ok(Err((409, format!("run `{}` has not ended: cancel it first", invocation.key))));
    }
    invocation.clear_all()?;
    Ok(Ok(Json::Null))
}
