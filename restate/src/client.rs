//! Programs that start runs, answer them and look at them.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use bytes::Bytes;
use graphweft::{Event, Failure, Json, Outcome, Payload, Question, RunStatus, Signal, Workflow};
use serde::Deserialize;
use serde_json::json;

use crate::error::ClientError;
use crate::handlers::StatusOf;
use crate::http_client::{Request, Servers};
use crate::manifest::service;

/// The first pause between two looks at a run that is waited for; it doubles up to [`MAX_PAUSE`].
const PAUSE: Duration = Duration::from_millis(10);

const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Starts runs and finds them, through the ingress of Restate's servers. Cheap to clone.
///
/// It needs the type of a workflow and none of its resources, and drives nothing itself. A request is made again, to the next server,
/// while none answers, for some twenty seconds. The ingress is plain HTTP and JSON, so programs in other languages
/// do the same: `POST /graphweft.pay/order-7/run` with the input.
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_restate::Client;
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let client = Client::connect(&["10.0.0.1:8080", "10.0.0.2:8080"]);
/// let run = client.start::<pay>(40, "order-7").await?;
/// assert_eq!(run.outcome().await?, Outcome::Completed(40));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Client(Servers);

impl Client {
    /// With the addresses of the ingress of servers, `host:port`. Connects with the first request.
    pub fn connect<A: AsRef<str>>(ingress: &[A]) -> Client {
        Client(Servers::at(ingress))
    }

    /// Starts a run, and returns when Restate has recorded that it is to run. The same id with the same input gives the same run, however often it
    /// is started.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with status 409 if there is a run with this id and another input. An input that the workflow
    /// does not take ends the run before its first record, which [`RunHandle::outcome`] reports.
    ///
    /// # Cancel safety
    /// If the future is dropped, the run may have been started.
    pub async fn start<W: Workflow>(
        &self,
        input: W::Input,
        id: impl Into<String>,
    ) -> Result<RunHandle<W>, ClientError> {
        let input = input.to_record().map_err(|error| ClientError::of_payload("the input", &error))?;
        let run = self.run::<W>(id);
        let body = Some(Bytes::from(input.to_string()));
        let path = run.path("run/send");
        // The next request with this key gets the invocation of the first.
        let sent = self.0.post(Request { path: &path, body, idempotency_key: Some("run".to_owned()) }).await?;
        if sent["status"] == "PreviouslyAccepted" && run.has_other_input(input).await? {
            let message = format!("run `{}` was started with another input", run.id);
            return Err(ClientError::Refused { status: 409, message });
        }
        Ok(run)
    }

    /// A run by its id. Whether there is one is not asked.
    pub fn run<W: Workflow>(&self, id: impl Into<String>) -> RunHandle<W> {
        RunHandle { servers: self.0.clone(), id: id.into(), workflow: PhantomData }
    }
}

/// A run on Restate. Cheap to clone; dropping it changes nothing.
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_restate::Client;
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # graphweft::block_on(async {
/// let run = Client::connect(&["127.0.0.1:8080"]).run::<publish>("poem");
/// if let Outcome::Waiting(questions) = run.outcome().await? {
///     run.answer(&questions[0].id, true).await?;
/// }
/// for event in run.events_from(0).await? {
///     println!("{} {}", event.path, event.kind.name());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct RunHandle<W> {
    servers: Servers,
    id: String,
    workflow: PhantomData<fn() -> W>,
}

/// How far a run is: [`RunHandle::status`].
///
/// ```
/// use graphweft::RunStatus;
/// use graphweft_restate::RunProgress;
///
/// fn line(progress: &RunProgress) -> String {
///     match progress.status {
///         RunStatus::Waiting => format!("waits for {} answers", progress.questions.len()),
///         status => format!("{status:?} after {} records", progress.records),
///     }
/// }
/// # let _ = line;
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RunProgress {
    /// Its status.
    pub status: RunStatus,
    /// How many records it has.
    pub records: u64,
    /// Its open questions.
    pub questions: Vec<Question>,
    #[serde(default)]
    outcome: Json,
    #[serde(default)]
    is_same_input: Option<bool>,
}

impl<W: Workflow> RunHandle<W> {
    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn path(&self, handler: &str) -> String {
        format!("/{}/{}/{handler}", service(W::NAME), encoded(&self.id))
    }

    async fn call(&self, handler: &str, body: Option<Json>) -> Result<Json, ClientError> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        self.servers.post(Request { path: &self.path(handler), body, idempotency_key: None }).await
    }

    async fn progress(&self, of: &StatusOf) -> Result<Option<RunProgress>, ClientError> {
        let status = self.call("status", Some(json!(of))).await?;
        serde_json::from_value(status).map_err(|error| ClientError::of_json("the status of a run", &error))
    }

    /// How far the run is; `None` if it has not begun, or there is no such run.
    ///
    /// # Errors
    /// If no server answers, or no worker has registered the workflow.
    pub async fn status(&self) -> Result<Option<RunProgress>, ClientError> {
        self.progress(&StatusOf::default()).await
    }

    /// Whether the run was started with another input. Waits for its first record.
    async fn has_other_input(&self, input: Json) -> Result<bool, ClientError> {
        let (of, mut pause) = (StatusOf { input: Some(input) }, PAUSE);
        loop {
            if let Some(progress) = self.progress(&of).await? {
                return Ok(progress.is_same_input == Some(false));
            }
            if self.refusal().await?.is_some() {
                return Ok(false);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Why the run has ended before its first record, if it has.
    async fn refusal(&self) -> Result<Option<ClientError>, ClientError> {
        let path = format!("/restate/invocation{}/run/output", self.path("run"));
        match self.servers.get(&path).await {
            Err(ClientError::Refused { status, message }) if status != 470 => {
                Ok(Some(ClientError::Refused { status, message }))
            }
            Err(error @ ClientError::Unreachable { .. }) => Err(error),
            _ => Ok(None),
        }
    }

    /// Waits until the run has ended, or waits for an answer. Looks at it every half second at least. Cancel safe.
    ///
    /// # Errors
    /// [`ClientError::Refused`] if the workflow has not taken the input, and [`ClientError::Mismatch`] if the output is not of
    /// the type of this program. A run that was never started is waited for.
    pub async fn outcome(&self) -> Result<Outcome<W::Output>, ClientError> {
        let mut pause = PAUSE;
        loop {
            match self.status().await? {
                Some(progress) if progress.status.is_over() => return outcome(progress.outcome),
                Some(progress) if !progress.questions.is_empty() && progress.status == RunStatus::Waiting => {
                    return Ok(Outcome::Waiting(progress.questions));
                }
                Some(_) => {}
                None => {
                    if let Some(refusal) = self.refusal().await? {
                        return Err(refusal);
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Answers an open question, by its id, or by its name if no other open question has that name. Returns when the run has
    /// recorded the answer, and its node has taken it.
    ///
    /// # Errors
    /// [`ClientError::Refused`]: with status 422 if the answer does not fit the question, and with 409 if no such question is open.
    ///
    /// # Cancel safety
    /// If the future is dropped, the answer may be recorded. Of one that a server has done and could not report, the second
    /// attempt says that the question is not open.
    pub async fn answer(&self, question: &str, answer: impl Into<Json>) -> Result<(), ClientError> {
        self.call("answer", Some(json!({ "question": question, "answer": answer.into() }))).await.map(drop)
    }

    /// Sends a signal to the run, which keeps it until a node waits for it, and returns when it is recorded. `id`: another signal of this name with the same id is not
    /// counted, so that it may be sent again.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if the run has not begun, and [`ClientError::Refused`] if it has ended.
    pub async fn signal<T: Payload>(&self, signal: Signal<T>, id: &str, payload: T) -> Result<(), ClientError> {
        let payload = payload.to_record().map_err(|error| ClientError::of_payload("the signal", &error))?;
        let body = json!({ "name": signal.name(), "id": id, "payload": payload });
        self.call("signal", Some(body)).await.map(drop)
    }

    /// Cancels the run: its nodes are stopped, and it ends as cancelled, which [`outcome`](Self::outcome) waits for. Returns when the
    /// request is recorded. Does nothing if the run has ended.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if no worker has begun with the run.
    pub async fn cancel(&self) -> Result<(), ClientError> {
        self.call("cancel", None).await.map(drop)
    }

    /// Resumes a run that has failed or was cancelled, from where it failed; see [`Engine::retry`](graphweft::Engine::retry).
    /// Returns when Restate has recorded that it is to be retried.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if there is no such run, and [`ClientError::Refused`] with status 409 if it has not failed.
    pub async fn retry(&self) -> Result<(), ClientError> {
        let not_found = || ClientError::NotFound { message: format!("there is no run `{}`", self.id) };
        let progress = self.status().await?.ok_or_else(not_found)?;
        if !matches!(progress.status, RunStatus::Failed | RunStatus::Cancelled) {
            let message = format!("run `{}` has not failed: {:?}", self.id, progress.status);
            return Err(ClientError::Refused { status: 409, message });
        }
        // One retry of this end of the run, however often it is sent.
        let idempotency_key = Some(format!("retry-{}", progress.records));
        let path = self.path("retry/send");
        self.servers.post(Request { path: &path, body: None, idempotency_key }).await?;
        // Who waits for the run now waits for the end of the retry.
        let mut pause = PAUSE;
        while self.status().await?.is_some_and(|now| now.records == progress.records) {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        Ok(())
    }

    /// The events of the run from a number on, as far as they are recorded now, with those that follow from others.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if there is no such run.
    pub async fn events_from(&self, seq: u64) -> Result<Vec<Event>, ClientError> {
        let events = self.call("events", Some(json!(seq))).await?;
        serde_json::from_value(events).map_err(|error| ClientError::of_json("the events of a run", &error))
    }

    /// Removes a run that has ended from Restate. Its id is free again, a day after it was started.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with status 409 if it has not ended.
    pub async fn forget(&self) -> Result<(), ClientError> {
        self.call("forget", None).await.map(drop)
    }
}

impl<W> Clone for RunHandle<W> {
    fn clone(&self) -> Self {
        RunHandle { servers: self.servers.clone(), id: self.id.clone(), workflow: PhantomData }
    }
}

impl<W: Workflow> fmt::Debug for RunHandle<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("workflow", &W::NAME).field("id", &self.id).finish_non_exhaustive()
    }
}

fn outcome<T: Payload>(mut outcome: Json) -> Result<Outcome<T>, ClientError> {
    if let Some(output) = outcome.get("completed") {
        let output = T::from_record(output).map_err(|error| ClientError::of_payload("the output", &error))?;
        return Ok(Outcome::Completed(output));
    }
    if let Some(failure) = outcome.get_mut("failed").map(Json::take) {
        let failure = serde_json::from_value::<Failure>(failure);
        return failure.map(Outcome::Failed).map_err(|error| ClientError::of_json("the failure", &error));
    }
    Ok(Outcome::Cancelled)
}

/// An id as a part of a path.
fn encoded(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn an_id_is_one_part_of_a_path_whatever_is_in_it() {
        assert_eq!(encoded("order-7_a.b~1"), "order-7_a.b~1");
        assert_eq!(encoded("a/b ä%"), "a%2Fb%20%C3%A4%25");
    }
}
