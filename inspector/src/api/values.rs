//! The values of one thing of a run.

use std::collections::BTreeMap;
use std::ops::Range;

use axum::Json;
use axum::extract::State;
use graphweft::{AfterFailure, Cause, Event, EventKind, RunError};
use serde_json::Value;

use super::runs;
use crate::extract::{Asked, At};
use crate::hub::EventsAt;
use crate::model::{Attempt, Given, Message, NodeValues, Note, Question, Returned, millis};
use crate::problem::{Problem, shown};
use crate::state::Inspected;

/// The values of one thing of a run: its input, its output, its errors with the attempts, its messages, notes and writes to the
/// state; with `at`, as they were after that event.
#[utoipa::path(
    get, path = "/api/runs/{id}/values", tag = "views", operation_id = "get_values",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("path" = String, Query, description = "The path of the thing; that of the run is the name of its workflow"),
        ("at" = Option<u64>, Query, description = "The number of the last event that counts"),
    ),
    responses((status = 200, body = NodeValues), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn values(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    mut asked: Asked,
) -> Result<Json<NodeValues>, Problem> {
    let path = asked.one("path")?.ok_or_else(|| Problem::parameter("path", "`path` is missing"))?;
    let at = asked.parsed("at", "the number of an event")?.unwrap_or(u64::MAX);
    asked.end()?;
    let run = runs::found(&inspected, &id).await?;
    let follow = inspected.hub.follow(&run).await?;
    let EventsAt { ranges, voids, names } = follow.events_at(&path, at);
    let mut events = Vec::new();
    // The path of the last start as it was recorded.
    let mut started = None;
    for range in ranges {
        for mut event in run.recorded(range).await? {
            let recorded = event.path.clone();
            names.rename(&mut event);
            if event.path == path {
                started = Some(recorded).filter(|_| has_input(&event.kind)).or(started);
                events.push(event);
            }
        }
    }
    if events.is_empty() {
        let detail = format!("run `{}` has no events at `{}`", shown(&id), shown(&path));
        return Err(Problem::new(axum::http::StatusCode::NOT_FOUND, "unknown_path", detail).at("path"));
    }
    let mut signals = Vec::new();
    for event in &events {
        if let EventKind::SignalDelivered { signal, .. } = event.kind {
            signals.extend(run.recorded(signal..signal + 1).await?);
        }
    }
    let mut values = of_thing(&path, &events, &signals, at, &voids);
    // The input of a start that is later than the moment is not that of the moment.
    let starts = |event: &&Event| has_input(&event.kind);
    let shows_last = events.iter().rfind(starts).is_some_and(|event| event.seq <= at);
    if let (Some(started), true, None) = (started, shows_last, &values.input) {
        match run.input_of(&started).await {
            Ok(input) => values.input = input.map(|value| Given { value }),
            Err(RunError::NotRegistered { workflow }) => {
                let why = format!("this server does not have the code of workflow `{workflow}`");
                values.input_unknown = Some(why);
            }
            Err(error) => values.input_unknown = Some(error.to_string()),
        }
    }
    Ok(Json(values))
}

fn has_input(kind: &EventKind) -> bool {
    matches!(kind, EventKind::NodeStarted { .. } | EventKind::RunStarted { .. })
}

/// By the events at the path, and the signals that were delivered there.
fn of_thing(path: &str, events: &[Event], signals: &[Event], at: u64, voids: &[Range<u64>]) -> NodeValues {
    let counts = |seq: u64| !voids.iter().any(|range| range.contains(&seq));
    let mut values = NodeValues { path: path.to_owned(), ..NodeValues::default() };
    let mut attempts = BTreeMap::new();
    for event in events.iter().filter(|event| event.seq <= at) {
        let seq = event.seq;
        // Errors and messages have happened, whatever a retry has made of them.
        match &event.kind {
            EventKind::NodeStarted { attempt, input, began, .. } => {
                if counts(seq)
                    && let Some(value) = input
                {
                    values.input = Some(Given { value: value.clone() });
                }
                if *attempt == 1 {
                    values.attempts.extend(std::mem::take(&mut attempts).into_values());
                }
                let started = entry(&mut attempts, *attempt);
                started.began = Some(millis(began.unwrap_or(event.time)));
            }
            EventKind::NodeFailed { attempt, cause, then, error, .. } => {
                let failed = entry(&mut attempts, *attempt);
                failed.ended = Some(millis(event.time));
                (failed.error, failed.fault) = parts(cause);
                failed.error_value = error.clone().map(|value| Given { value });
                match then {
                    AfterFailure::RetryAt { time } => failed.retry_at = Some(millis(*time)),
                    AfterFailure::Routed { label, error } if counts(seq) => {
                        values.output = Some(returned(seq, error.clone(), Some(label.clone())));
                    }
                    _ => {}
                }
            }
            EventKind::NodeCompleted { label, output, state, .. } => {
                if let Some(last) = attempts.values_mut().next_back() {
                    last.ended = Some(millis(event.time));
                }
                if counts(seq) {
                    values.output = Some(returned(seq, output.clone().unwrap_or_default(), label.clone()));
                    values.state.extend(state.iter().filter_map(|write| serde_json::to_value(write).ok()));
                }
            }
            EventKind::NodeCollecting { state, .. } if counts(seq) => {
                values.state.extend(state.iter().filter_map(|write| serde_json::to_value(write).ok()));
            }
            EventKind::NodeCancelled | EventKind::RunStartingOver { .. } => {
                if let Some(last) = attempts.values_mut().next_back() {
                    last.ended = Some(millis(event.time));
                }
            }
            EventKind::Message { text, .. } => {
                values.messages.push(Message { seq, time: millis(event.time), text: text.clone() });
            }
            EventKind::Note { name, payload, .. } => {
                let (name, payload) = (name.clone(), payload.clone());
                values.notes.push(Note { seq, time: millis(event.time), name, payload });
            }
            EventKind::QuestionAsked { prompt, payload, until, schema, .. } => {
                values.question = Some(question(path, prompt, payload, schema, until.map(millis)));
            }
            EventKind::Answered { answer, by, comment, .. } if counts(seq) => {
                let given = returned(seq, answer.clone(), None);
                values.output = Some(Returned { by: by.clone(), comment: comment.clone(), ..given });
            }
            EventKind::AnswerRejected { .. } => values.output = None,
            EventKind::SignalDelivered { signal, .. } => {
                let sent = signals.iter().find(|sent| sent.seq == *signal);
                if let Some(EventKind::SignalReceived { payload, by, .. }) = sent.map(|sent| &sent.kind) {
                    values.output = Some(Returned { by: by.clone(), ..returned(seq, payload.clone(), None) });
                }
            }
            EventKind::RunStarted { input, .. } => values.input = Some(Given { value: input.clone() }),
            EventKind::RunCompleted { output, .. } => values.output = Some(returned(seq, output.clone(), None)),
            EventKind::RunFailed { failure, .. } => {
                let (error, fault) = parts(&failure.cause);
                let mut failed = empty(failure.attempts);
                (failed.ended, failed.error, failed.fault) = (Some(millis(event.time)), error, fault);
                attempts.insert(failure.attempts, failed);
            }
            _ => {}
        }
    }
    values.attempts.extend(attempts.into_values());
    values
}

fn entry(attempts: &mut BTreeMap<u32, Attempt>, attempt: u32) -> &mut Attempt {
    attempts.entry(attempt).or_insert_with(|| empty(attempt))
}

fn empty(attempt: u32) -> Attempt {
    Attempt { attempt, began: None, ended: None, error: Vec::new(), fault: None, error_value: None, retry_at: None }
}

fn parts(cause: &Cause) -> (Vec<String>, Option<Value>) {
    (cause.chain.clone(), cause.fault.as_ref().and_then(|fault| serde_json::to_value(fault).ok()))
}

fn returned(seq: u64, value: Value, label: Option<String>) -> Returned {
    Returned { seq, value, label, by: None, comment: None }
}

fn question(path: &str, prompt: &str, payload: &Value, schema: &Value, until: Option<u64>) -> Question {
    let (node, name) = path.rsplit_once('/').unwrap_or(("", path));
    Question {
        id: path.to_owned(),
        name: name.to_owned(),
        path: node.to_owned(),
        prompt: prompt.to_owned(),
        payload: payload.clone(),
        schema: schema.clone(),
        until,
    }
}
