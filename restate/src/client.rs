//! Programs that start runs, answer them and look at them.

use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use bytes::Bytes;
use graphweft::{
    AwaitedSignal, Event, Failure, Json, Outcome, Payload, Question, RunStatus, Signal, StartError, Workflow,
};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::error::ClientError;
use crate::handlers::{EventsOf, EventsPage, ForkOf, IS_TAKEN, OfEnd, StatusOf, WITH_ANOTHER_INPUT};
use crate::http_client::{DoneBy, Request, Servers};
use crate::manifest::service;

/// The first pause between two looks at a run that is waited for; it doubles up to [`MAX_PAUSE`].
const PAUSE: Duration = Duration::from_millis(10);

const MAX_PAUSE: Duration = Duration::from_millis(500);

/// How long a worker may take to begin with what Restate has accepted.
const BEGINS: Duration = Duration::from_secs(20);

/// How long something may take before it is looked whether there is a worker for it.
const LOOKS_FOR_WORKER: Duration = Duration::from_secs(10);

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
    /// With the addresses of the ingress of servers: `host:port`, or `https://host:port` with the feature `tls`. Connects with the first request.
    pub fn connect<A: AsRef<str>>(ingress: &[A]) -> Client {
        Client(Servers::at(ingress))
    }

    /// Starts a run, and returns when Restate has recorded that it is to run. A worker is asked before whether there is a run with this id. The same id with the same input gives the same run, however often it
    /// is started, until it is [forgotten](RunHandle::forget). One that has not ended, and whose invocation was killed in Restate, continues.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with status 409 if there is a run with this id and another input. An input that the workflow
    /// does not take ends the run before its first record, which [`RunHandle::outcome`] reports; it may be started again.
    /// With status 400 if the text cannot be an [id](StartError::check_id), or plain JSON does not express the input.
    /// [`ClientError::TooLarge`] if Restate does not take the input. [`ClientError::Unreachable`] if no worker answers for 20 seconds, and
    /// nothing is started then; or if the id was started before, and no worker begins with that for 20 seconds, so that its input is not
    /// known.
    ///
    /// # Cancel safety
    /// If the future is dropped, the run may have been started.
    pub async fn start<W: Workflow>(
        &self,
        input: W::Input,
        id: impl Into<String>,
    ) -> Result<RunHandle<W>, ClientError> {
        let input = plain("the input", &input)?;
        let run = self.run::<W>(id);
        run.check_id()?;
        match run.look(Some(&input)).await? {
            Look::There(progress) => {
                run.compare(&progress, WITH_ANOTHER_INPUT)?;
                if progress.status.is_over() {
                    return Ok(run);
                }
            }
            // What has ended before its first record does not count.
            Look::Refused(_) => run.forget().await?,
            Look::Nothing(_) => {}
        }
        let body = Some(Bytes::from(input.to_string()));
        let path = run.path("run/send");
        // While an invocation with this key has not ended, the next request gets it.
        let key = Some("run".to_owned());
        let sent = self.0.post(Request { path: &path, body, idempotency_key: key, done_by: DoneBy::Server }).await?;
        let (began, mut pause) = (Instant::now(), PAUSE);
        loop {
            match run.look(Some(&input)).await? {
                Look::There(progress) => return run.compare(&progress, WITH_ANOTHER_INPUT).map(|()| run),
                // It is this one, or one that had the same fate.
                Look::Refused(_) => return Ok(run),
                Look::Nothing(_) if sent["status"] != "PreviouslyAccepted" => return Ok(run),
                Look::Nothing(why) if began.elapsed() > BEGINS => {
                    return Err(run.not_begun("it was started before", why));
                }
                Look::Nothing(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
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
    /// When it was created, in milliseconds since 1970.
    #[serde(default)]
    created: u64,
    #[serde(default)]
    outcome: Json,
    #[serde(default)]
    is_same_input: Option<bool>,
    #[serde(default)]
    signals: Vec<AwaitedSignal>,
}

impl RunProgress {
    fn end(&self) -> OfEnd {
        OfEnd { records: Some(self.records), created: Some(self.created) }
    }
}

/// What there is of a run.
enum Look {
    There(RunProgress),
    /// It has ended before its first record.
    Refused(ClientError),
    /// It has not begun. Perhaps why: a worker was to begin with it, and cannot.
    Nothing(Option<String>),
}

impl Look {
    /// When the run was created, which distinguishes it from others that have its id before and after.
    fn created(&self) -> Option<u64> {
        match self {
            Look::There(progress) => Some(progress.created),
            _ => None,
        }
    }
}

impl<W: Workflow> RunHandle<W> {
    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn path(&self, handler: &str) -> String {
        path_of(&service(W::NAME), &self.id, handler)
    }

    /// Calls a handler that answers at once.
    async fn call(&self, handler: &str, body: Option<Json>) -> Result<Json, ClientError> {
        let (path, body) = (self.path(handler), body.map(|body| Bytes::from(body.to_string())));
        self.servers.post(Request { path: &path, body, idempotency_key: None, done_by: DoneBy::Worker }).await
    }

    /// Calls a handler that changes something: however often the request is made, it is done once. It may take as long as the run does
    /// to take it; if no worker is there at all, that is an error before.
    async fn call_once(&self, handler: &str, body: Option<Json>) -> Result<Json, ClientError> {
        let (path, body) = (self.path(handler), body.map(|body| Bytes::from(body.to_string())));
        let idempotency_key = Some(Uuid::now_v7().to_string());
        let done = self.servers.post(Request { path: &path, body, idempotency_key, done_by: DoneBy::Run });
        let no_worker = async {
            loop {
                tokio::time::sleep(LOOKS_FOR_WORKER).await;
                if let Err(error @ ClientError::Unreachable { .. }) = self.call("status", None).await {
                    return Err(error);
                }
            }
        };
        tokio::select! {
            biased;
            done = done => done,
            no_worker = no_worker => no_worker,
        }
    }

    /// `input`: what the run is to be compared with.
    async fn look(&self, input: Option<&Json>) -> Result<Look, ClientError> {
        self.look_at(StatusOf { input: input.cloned(), ..StatusOf::default() }).await
    }

    async fn look_at(&self, of: StatusOf) -> Result<Look, ClientError> {
        let status = self.call("status", Some(json!(of))).await?;
        if let Some(refused) = status.get("refused") {
            let message = refused["message"].as_str().unwrap_or_default().to_owned();
            let status = refused["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(400);
            return Ok(Look::Refused(ClientError::Refused { status, message }));
        }
        if let Some(why) = status.get("obstacle") {
            return Ok(Look::Nothing(why.as_str().map(str::to_owned)));
        }
        let progress: Option<RunProgress> =
            serde_json::from_value(status).map_err(|error| ClientError::of_json("the status of a run", &error))?;
        Ok(progress.map_or(Look::Nothing(None), Look::There))
    }

    fn compare(&self, progress: &RunProgress, what: &str) -> Result<(), ClientError> {
        if progress.is_same_input == Some(false) {
            let message = format!("run `{}` {what}", self.id);
            return Err(ClientError::Refused { status: 409, message });
        }
        Ok(())
    }

    fn check_id(&self) -> Result<(), ClientError> {
        let refused = |error: StartError| ClientError::Refused { status: 400, message: error.to_string() };
        StartError::check_id(&self.id).map_err(refused)
    }

    /// `why`: what keeps a worker from it that was to begin with it.
    fn not_begun(&self, what: &str, why: Option<String>) -> ClientError {
        let then = match why {
            Some(why) => format!(". It is tried again until a program comes that can, or it is cancelled: {why}"),
            None => "; it begins when one is free".to_owned(),
        };
        let message =
            format!("run `{}`: {what}, and no worker has begun with it for {} s{then}", self.id, BEGINS.as_secs());
        ClientError::Unreachable { addresses: self.servers.addresses().to_vec(), message }
    }

    fn forgotten(&self) -> ClientError {
        ClientError::NotFound { message: format!("run `{}` was forgotten meanwhile", self.id) }
    }

    /// How far the run is; `None` if it has not begun, or there is no such run.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] if no server answers, or no worker for 20 seconds; [`ClientError::NotFound`] if none has registered
    /// the workflow.
    pub async fn status(&self) -> Result<Option<RunProgress>, ClientError> {
        Ok(match self.look(None).await? {
            Look::There(progress) => Some(progress),
            _ => None,
        })
    }

    /// Waits until the run has ended, or waits for answers or for signals only. Looks at it every half second at least. Cancel safe.
    ///
    /// # Errors
    /// [`ClientError::Refused`] if the workflow has not taken the input, [`ClientError::NotFound`] if the run is forgotten
    /// while it is waited for, and [`ClientError::Mismatch`] if the output is not of
    /// the type of this program. A run that was never started is waited for.
    pub async fn outcome(&self) -> Result<Outcome<W::Output>, ClientError> {
        let (mut seen, mut pause) = (None, PAUSE);
        // With how many records the signals were asked for that it waits for.
        let mut asked_with = None;
        loop {
            let look = self.look(None).await?;
            let now = look.created();
            if seen.is_some() && now != seen {
                return Err(self.forgotten());
            }
            seen = now;
            match look {
                Look::There(progress) if progress.status.is_over() => return outcome(progress.outcome),
                Look::There(progress) if !progress.questions.is_empty() && progress.status == RunStatus::Waiting => {
                    return Ok(Outcome::Waiting(progress.questions));
                }
                Look::There(progress)
                    if progress.status == RunStatus::Waiting && asked_with != Some(progress.records) =>
                {
                    asked_with = Some(progress.records);
                    let of = StatusOf { signals: true, ..StatusOf::default() };
                    if let Look::There(now) = self.look_at(of).await?
                        && now.created == progress.created
                        && !now.signals.is_empty()
                    {
                        return Ok(Outcome::AwaitingSignals(now.signals));
                    }
                }
                Look::Refused(refusal) => return Err(refusal),
                _ => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Answers an open question, by its id, or by its [name](Question::name) if no other open question has that name. Returns when the run
    /// has recorded the answer, and it is of the type that the node asks for. A node that waits for something else beside it
    /// (`tokio::select!`) takes what is recorded first: an answer behind a timer that has just fired is `Ok`, and is not used.
    ///
    /// # Errors
    /// [`ClientError::Refused`]: with status 422 if the answer does not fit the question, with 409 if no such question is open, and
    /// with 408 if it is recorded and its node has not read it for ten seconds, or the worker of the run has not taken it for two minutes.
    /// [`ClientError::Unreachable`] if no worker at all is there for half a minute.
    ///
    /// # Cancel safety
    /// If the future is dropped, the answer may be recorded. A request that is made again since a server has died is one answer.
    pub async fn answer(&self, question: &str, answer: impl Into<Json>) -> Result<(), ClientError> {
        self.call_once("answer", Some(json!({ "question": question, "answer": answer.into() }))).await.map(drop)
    }

    /// Sends a signal to the run, which keeps it until a node waits for it, and returns when it is recorded. `id`: another signal of this name with the same id is not
    /// counted, so that it may be sent again; one that the node has rejected does not count.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if the run has not begun, and [`ClientError::Refused`] if it has ended, or plain JSON does not express the
    /// payload. [`ClientError::Unreachable`] if no worker is there for half a minute.
    pub async fn signal<T: Payload>(&self, signal: Signal<T>, id: &str, payload: T) -> Result<(), ClientError> {
        let payload = plain("the signal", &payload)?;
        let body = json!({ "name": signal.name(), "id": id, "payload": payload });
        self.call_once("signal", Some(body)).await.map(drop)
    }

    /// Cancels the run: its nodes are stopped, and it ends as cancelled, which [`outcome`](Self::outcome) waits for. Returns when the
    /// request is recorded. Does nothing if the run has ended.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if no worker has begun with the run for some seconds. One that has begun and has no record yet is
    /// not started, which [`outcome`](Self::outcome) reports as [`ClientError::Refused`]. [`ClientError::Unreachable`] if no worker is there
    /// for half a minute: the run is cancelled when one is.
    pub async fn cancel(&self) -> Result<(), ClientError> {
        self.call_once("cancel", None).await.map(drop)
    }

    /// Resumes a run that has failed or was cancelled, from where it failed; see [`Engine::retry`](graphweft::Engine::retry).
    /// Returns when a worker has begun with it.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if there is no such run, [`ClientError::Refused`] with status 409 if it has not failed, or
    /// cannot be resumed by the program of the workers, and [`ClientError::Unreachable`] if no worker begins with it for 20 seconds, which it does later.
    pub async fn retry(&self) -> Result<(), ClientError> {
        let not_found = || ClientError::NotFound { message: format!("there is no run `{}`", self.id) };
        let progress = self.status().await?.ok_or_else(not_found)?;
        if !matches!(progress.status, RunStatus::Failed | RunStatus::Cancelled) {
            let message = format!("run `{}` has not failed: {}", self.id, progress.status);
            return Err(ClientError::Refused { status: 409, message });
        }
        // One retry of this end of the run, however often it is sent.
        let mut key = format!("retry-{}-{}", progress.created, progress.records);
        let path = self.path("retry/send");
        let body = Bytes::from(json!(progress.end()).to_string());
        let send = async |key: &str| {
            let body = Some(body.clone());
            let key = Some(key.to_owned());
            self.servers.post(Request { path: &path, body, idempotency_key: key, done_by: DoneBy::Server }).await
        };
        let mut is_earlier = send(&key).await?["status"] == "PreviouslyAccepted";
        // A caller that waits for the run now waits for the end of the retry.
        let (began, mut pause) = (Instant::now(), PAUSE);
        loop {
            let now = self.status().await?.ok_or_else(|| self.forgotten())?;
            if now.created != progress.created {
                return Err(self.forgotten());
            }
            if now.records != progress.records {
                return Ok(());
            }
            match self.refusal_of_retry(&key).await {
                // Restate remembers a retry of before, which another program has refused perhaps.
                Err(ClientError::Refused { .. }) if is_earlier => {
                    key = Uuid::now_v7().to_string();
                    send(&key).await?;
                    is_earlier = false;
                }
                refusal => refusal?,
            }
            if began.elapsed() > BEGINS {
                return Err(self.not_begun("it is to be retried", None));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// An error if a retry was refused.
    async fn refusal_of_retry(&self, key: &str) -> Result<(), ClientError> {
        let path = format!("/restate/invocation{}/{key}/output", self.path("retry"));
        match self.servers.get(&path).await {
            // It has not ended.
            Err(ClientError::Refused { status: 470, .. } | ClientError::NotFound { .. }) => Ok(()),
            done => done.map(drop),
        }
    }

    /// A new run of the same workflow that starts with the events of this one before a number, and continues from there; with `None`,
    /// with all that came before its end. See [`Engine::fork`](graphweft::Engine::fork). This run stays as it is. What it has under way begins anew in the new one, in pools too: an `at_most_once` attempt that was under way ends by [`Fault::Interrupted`](graphweft::Fault::Interrupted) there. The same fork with the same id gives the same run, however often it is made; one that has not ended, and whose invocation was killed in Restate, continues. Returns when it
    /// is recorded.
    ///
    /// ```no_run
    /// use graphweft::prelude::*;
    /// use graphweft_restate::Client;
    ///
    /// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
    /// # workflow! { pub publish(()) -> bool { START => review; } }
    /// # graphweft::block_on(async {
    /// let run = Client::connect(&["127.0.0.1:8080"]).run::<publish>("poem");
    /// let events = run.events_from(0).await?;
    /// let answered = events.iter().find(|event| event.kind.name() == "answered").ok_or("it was answered")?;
    /// let other = run.fork(answered.seq, "poem-2").await?;
    /// other.answer("approve", false).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ClientError::Refused`]: with status 404 if there is no run to fork, with 409 if there is another run with the new id, if this run has no such event,
    /// or cannot be forked there, and with 413 if it is larger than Restate sends, 31 MiB. [`ClientError::Unreachable`] if no worker begins with it for 20 seconds, which it does
    /// later.
    ///
    /// # Cancel safety
    /// If the future is dropped, the new run may have been started.
    pub async fn fork(
        &self,
        before: impl Into<Option<u64>>,
        id: impl Into<String>,
    ) -> Result<RunHandle<W>, ClientError> {
        let of = json!(ForkOf { from: self.id.clone(), before: before.into() });
        let run = RunHandle { servers: self.servers.clone(), id: id.into(), workflow: PhantomData };
        run.check_id()?;
        match run.look(Some(&of)).await? {
            Look::There(progress) => {
                run.compare(&progress, IS_TAKEN)?;
                if progress.status.is_over() {
                    return Ok(run);
                }
            }
            Look::Refused(_) => run.forget().await?,
            Look::Nothing(_) => {}
        }
        let body = Some(Bytes::from(of.to_string()));
        let path = run.path("fork/send");
        let key = Some("fork".to_owned());
        self.servers.post(Request { path: &path, body, idempotency_key: key, done_by: DoneBy::Server }).await?;
        let (began, mut pause) = (Instant::now(), PAUSE);
        loop {
            match run.look(Some(&of)).await? {
                Look::There(progress) => return run.compare(&progress, IS_TAKEN).map(|()| run),
                Look::Refused(refusal) => return Err(refusal),
                Look::Nothing(why) if began.elapsed() > BEGINS => {
                    return Err(run.not_begun("it is to be a fork", why));
                }
                Look::Nothing(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// The events of the run from a number on, as far as they are recorded now, with those that follow from others.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] if there is no such run, [`ClientError::Unreachable`] if no worker answers for 20 seconds.
    pub async fn events_from(&self, seq: u64) -> Result<Vec<Event>, ClientError> {
        let (mut events, mut next) = (Vec::new(), Some(seq));
        while let Some(from) = next {
            let page = self.call("events", Some(json!(EventsOf::Page { from }))).await?;
            let page: EventsPage<Event> =
                serde_json::from_value(page).map_err(|error| ClientError::of_json("the events of a run", &error))?;
            events.extend(page.events);
            next = page.next;
        }
        Ok(events)
    }

    /// Removes a run that has ended from Restate. Its id is free again.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with status 409 if it has not ended.
    pub async fn forget(&self) -> Result<(), ClientError> {
        let end = match self.look(None).await? {
            // The handler would wait for the end.
            Look::There(progress) if !progress.status.is_over() => {
                let message = format!("run `{}` has not ended: cancel it first", self.id);
                return Err(ClientError::Refused { status: 409, message });
            }
            Look::There(progress) => progress.end(),
            _ => OfEnd { records: Some(0), created: None },
        };
        self.call_once("forget", Some(json!(end))).await.map(drop)
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

/// A value as Restate has it: an input and a signal are plain JSON.
fn plain<T: Payload>(what: &str, value: &T) -> Result<Json, ClientError> {
    value.to_plain_json().map_err(|error| ClientError::Refused { status: 400, message: format!("{what}: {error}") })
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

/// The path of a handler of an object.
pub(crate) fn path_of(service: &str, id: &str, handler: &str) -> String {
    format!("/{service}/{}/{handler}", encoded(id))
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
