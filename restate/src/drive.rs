//! Driving a run, for as long as Restate says that it is this process's.
//!
//! Restate gives one invocation of an object at a time to one worker, makes another attempt elsewhere when a worker dies, keeps timers
//! and messages while no process has the run, and takes nothing from an attempt that it has given up. The driver is that of the
//! engine; its store sends what is recorded through the stream of the invocation, and the record is there when the server says so.
//!
//! ```text
//!   engine ──append──> RunStore ──Op──> Drive ──set state, mark──> server
//!      ^                                  │ <──────mark done────────┘
//!      └────────────── Done ──────────────┘
//! ```

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::store::{Append, Appended, NewRun, RunHeader, RunStatus};
use graphweft::{Engine, EventKind, Json, RunError};
use restate_sdk_shared_core::Value;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::calls::{Calls, cancel_earlier};
use crate::handlers::{ForkOf, IS_TAKEN, OfEnd, WITH_ANOTHER_INPUT};
use crate::invocation::{Handle, Invocation, MAX_BODY, Reply, Stop, too_large};
use crate::manifest::{EXPORT, service};
use crate::message::{Letter, Message, REPLY, Refusal, Source, Verdict, mailbox};
use crate::object::{Changes, DRIVER, Driver, HEADER, OBSTACLE, Object, REFUSED, to_millis};
use crate::run_store::{Forked, Op, RunStore, owner_of};
use crate::work::{Done, fork, is_same_json, resume, retry, start};

/// An append that took longer is confirmed once more before anything follows from it: this process may have been stopped
/// meanwhile, and another attempt may have been made. A server that is slower makes it longer, for this attempt.
pub(crate) const SLOW: Duration = Duration::from_secs(1);

/// How long nodes that are under way may take to stop when an attempt ends. Then the next one is made beside them: what they
/// record is refused.
const STOPPING: Duration = Duration::from_secs(30);

/// How long an attempt stays at most that finds a run which waits for a timer, and is not due: if the clock of the server is ahead,
/// the run would be resumed as soon as it is suspended.
const STAYS: Duration = Duration::from_secs(60);

/// A timer of the server is not in the past.
const NAP: Duration = Duration::from_millis(20);

/// How long a run that waits and has not left the memory stays there at least before it is asked again.
const ASKS_AGAIN: Duration = Duration::from_secs(1);

/// How long a run stays in memory at least that waits with many calls: when it is resumed it attaches to all of them.
const STAYS_WITH_MANY: Duration = Duration::from_secs(30);

/// What an invocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Run,
    Fork,
    Retry,
}

enum Recorded {
    Create(Box<NewRun>, oneshot::Sender<RunHeader>),
    Append(Append, oneshot::Sender<Appended>),
}

/// What the server has been sent, and has not confirmed yet.
struct Recording {
    mark: Handle,
    since: Instant,
    what: Recorded,
}

struct Drive<'d> {
    invocation: &'d mut Invocation,
    engine: Engine,
    object: Object,
    driver: Driver,
    input: Bytes,
    ops: mpsc::UnboundedReceiver<Op>,
    calls: Calls,
    recording: Option<Recording>,
    queue: VecDeque<Op>,
    /// The next message to the mailbox.
    message: Handle,
    /// Whether a message has come to the mailbox.
    has_mail: bool,
    /// How often the server had said something when the calls were looked at last.
    seen: u64,
    messages: VecDeque<(Message, Source)>,
    /// The message that is being processed.
    processing: Option<(Message, Source)>,
    slow: Duration,
    /// The timer that wakes the run while it is suspended.
    timer: Option<Handle>,
    /// What the engine was asked for.
    work: Option<BoxFuture<'static, Done>>,
    /// Resolves when the engine does not drive the run any more; `None` if it does not drive it.
    driven: Option<BoxFuture<'static, Result<(), RunError>>>,
    /// Why it cannot be driven by this program.
    obstacle: Option<String>,
    /// When a run that waits and that this engine drives is asked to leave the memory.
    leave_at: Option<Instant>,
    /// Until when a run that this attempt has found waiting for a timer is not suspended: see [`STAYS`].
    stays_until: Option<Instant>,
    settings: Settings,
}

/// Stops the runs of an engine when it is dropped.
struct StopsRuns(Engine);

impl Drop for StopsRuns {
    fn drop(&mut self) {
        let engine = self.0.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { engine.shutdown().await });
        }
    }
}

/// What a worker does with the runs that it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// How long a run that waits stays in memory.
    pub(crate) resident: Duration,
    /// How long a run that has ended is kept; `None`: until it is forgotten.
    pub(crate) retention: Option<Duration>,
    /// Whether nodes of pools are executed by the workers of their pools, and not by an executor of the program.
    pub(crate) calls_pools: bool,
}

/// Drives a run until it has ended, or until it is not this process's.
pub(crate) async fn drive(
    program: &Engine,
    workflow: &str,
    purpose: Purpose,
    settings: Settings,
    invocation: &mut Invocation,
) -> Result<Reply, Stop> {
    let (id, input) = (invocation.key.clone(), invocation.input.clone());
    tracing::debug!(run = id, workflow, "an attempt to drive a run begins");
    let state = invocation.own_state().await?;
    let mut object = Object::read(&id, state).map_err(|error| Stop::Broken(error.to_string()))?;
    let records = object.header.as_ref().map(|header| header.records);
    let is_over = object.header.as_ref().is_some_and(|header| header.status.is_over());
    if let Some(header) = object.missing_index().map_err(|error| Stop::Broken(error.to_string()))? {
        invocation.set(HEADER.to_owned(), header)?;
    }
    let is_same_end = match (purpose, OfEnd::read(invocation)) {
        (Purpose::Retry, Err(refused)) => return Ok(Err(refused)),
        (Purpose::Retry, Ok(end)) => end.is_of(object.header.as_ref(), records.unwrap_or_default()),
        (Purpose::Run | Purpose::Fork, _) => true,
    };
    let known = object.driver.clone().filter(|driver| driver.invocation == invocation.id);
    match purpose {
        Purpose::Run | Purpose::Fork
            if records.is_some() && !object.input.as_ref().is_some_and(|had| is_same_json(had, &input)) =>
        {
            let why = if purpose == Purpose::Fork { IS_TAKEN } else { WITH_ANOTHER_INPUT };
            return Ok(Err((409, format!("run `{id}` {why}"))));
        }
        Purpose::Run | Purpose::Fork if is_over => {
            return ended(HashSet::new(), &mut object, workflow, settings, invocation).await;
        }
        Purpose::Run | Purpose::Fork if records.is_none() && known.is_none() => {
            invocation.clear(REFUSED)?;
            invocation.clear(OBSTACLE)?;
            object.obstacle = None;
        }
        Purpose::Retry if records.is_none() => return Ok(Err((404, format!("there is no run `{id}`")))),
        // It has ended again.
        Purpose::Retry if is_over && known.as_ref().is_some_and(|driver| records > Some(driver.began_at)) => {
            return ended(HashSet::new(), &mut object, workflow, settings, invocation).await;
        }
        Purpose::Retry if known.is_none() && !is_same_end => {
            return Ok(Err((409, format!("run `{id}` was retried, or has got another end, meanwhile"))));
        }
        _ => {}
    }
    let is_new_attempt = known.is_some();
    let driver = known.unwrap_or_else(|| Driver::new(&invocation.id, records.unwrap_or_default()));
    let (ops, received) = mpsc::unbounded_channel();
    let fork_of = match purpose {
        Purpose::Fork if records.is_none() => match forked(workflow, invocation).await? {
            Ok(of) => Some(of),
            Err(refused) => return refuse(refused, workflow, settings, invocation),
        },
        _ => None,
    };
    let (fork_of, forked) = fork_of.unzip();
    let owner = owner_of(&invocation.id);
    let store = RunStore { id: id.clone(), owner, run: object.run.clone(), forked, ops };
    let calls = Calls::new();
    let mut engine = program.with_store(store);
    if settings.calls_pools {
        engine = engine.with_executor(calls.executor());
    }
    let engine = StopsRuns(engine);
    let message = invocation.signal(&mailbox(driver.mailbox))?;
    let mut messages = VecDeque::new();
    if invocation.is_cancelled {
        messages.push_back((Message::Cancel, Source::Server));
    }
    let mut drive = Drive {
        invocation,
        engine: engine.0.clone(),
        object,
        driver,
        input,
        ops: received,
        calls,
        recording: None,
        queue: VecDeque::new(),
        message,
        has_mail: false,
        seen: 0,
        messages,
        processing: None,
        slow: SLOW,
        timer: None,
        work: None,
        driven: None,
        obstacle: None,
        leave_at: None,
        stays_until: None,
        settings,
    };
    if is_new_attempt {
        drive.stays_until = drive.due_in().map(|left| Instant::now() + (left + ASKS_AGAIN).min(STAYS));
    } else {
        drive.say_who_drives()?;
    }
    drive.work = Some(match (records, fork_of) {
        (None, Some(of)) => fork(drive.engine.clone(), of, id),
        (None, None) => start(drive.engine.clone(), workflow.to_owned(), id, &drive.input),
        (Some(_), _) if is_over => retry(drive.engine.clone(), id),
        (Some(_), _) => drive.resume(),
    });
    let reply = drive.go().await;
    let Drive { mut object, mut calls, ops, recording, queue, work, driven, .. } = drive;
    let cancelled = match &reply {
        Ok(None) => calls.cancel_all(&mut object, invocation)?,
        _ => HashSet::new(),
    };
    // What waits for an append that is not confirmed any more has to hear it, or it is not over.
    drop((calls, ops, recording, queue, work, driven));
    // Nodes that are under way have stopped before another attempt is made.
    if tokio::time::timeout(STOPPING, engine.0.shutdown()).await.is_err() {
        let run = &invocation.key;
        tracing::warn!(run, "a node has not stopped for {} s: does it block its thread?", STOPPING.as_secs());
    }
    match reply? {
        None => ended(cancelled, &mut object, workflow, settings, invocation).await,
        Some(refused) if object.header.is_none() => refuse(refused, workflow, settings, invocation),
        Some(refused) => Ok(Err(refused)),
    }
}

/// The run has ended before its first record.
fn refuse(refused: Refusal, workflow: &str, settings: Settings, invocation: &mut Invocation) -> Result<Reply, Stop> {
    let why = serde_json::to_vec(&refused).map_err(|error| Stop::Broken(error.to_string()))?;
    invocation.set(REFUSED.to_owned(), why)?;
    forget_later(&OfEnd { records: Some(0), created: None }, workflow, settings, invocation)?;
    Ok(Err(refused))
}

/// What is forked, and the run of that, as it is now in its object.
async fn forked(workflow: &str, invocation: &mut Invocation) -> Result<Result<(ForkOf, Forked), Refusal>, Stop> {
    let of: ForkOf = match serde_json::from_slice(&invocation.input) {
        Ok(of) => of,
        Err(error) => return Ok(Err((400, format!("this says of no run how it is to be forked: {error}")))),
    };
    let exported = match invocation.ask(service(workflow), of.from.clone(), EXPORT).await? {
        Value::Success(exported) => exported,
        Value::Failure(failure) => return Ok(Err((failure.code, failure.message))),
        other => return Err(Stop::Broken(format!("what a run has to copy is not expected: {other:?}"))),
    };
    let unreadable = |error: &dyn std::fmt::Display| Stop::Broken(format!("run `{}`: {error}", of.from));
    let state = Object::imported(&exported).map_err(|error| unreadable(&error))?;
    let Object { run, header, .. } = Object::read(&of.from, state).map_err(|error| unreadable(&error))?;
    let header = header.ok_or_else(|| unreadable(&"it has no header"))?;
    Ok(Ok((of.clone(), Forked { id: of.from, run, header })))
}

/// The run has ended: with what, and when it is to be forgotten. `cancelled`: the tasks that are not to be cancelled again.
async fn ended(
    cancelled: HashSet<String>,
    object: &mut Object,
    workflow: &str,
    settings: Settings,
    invocation: &mut Invocation,
) -> Result<Reply, Stop> {
    cancel_earlier(cancelled, object, invocation).await?;
    if let Some(header) = &object.header {
        let end = OfEnd { records: Some(header.records), created: Some(to_millis(header.created)) };
        forget_later(&end, workflow, settings, invocation)?;
    }
    Ok(Ok(object.last().map_or(Json::Null, |last| outcome_of(&last.record.kind))))
}

/// Has a run that has ended forgotten when its time is over.
fn forget_later(end: &OfEnd, workflow: &str, settings: Settings, invocation: &mut Invocation) -> Result<(), Stop> {
    // One that is longer than time is counted is for ever.
    let until = settings.retention.and_then(|retention| SystemTime::now().checked_add(retention));
    let Some(until) = until else { return Ok(()) };
    invocation.send(service(workflow), invocation.key.clone(), "forget", &json!(end), Some(to_millis(until)))
}

/// What a run has come to by its last record, as JSON of [`graphweft::Outcome`]; null if that is no end.
pub(crate) fn outcome_of(kind: &EventKind) -> Json {
    match kind {
        EventKind::RunCompleted { output, .. } => json!({ "completed": output }),
        EventKind::RunFailed { failure, .. } => json!({ "failed": failure }),
        EventKind::RunCancelled => json!("cancelled"),
        _ => Json::Null,
    }
}

impl Drive<'_> {
    /// Until the run has ended. `Some`: the engine does not take it, with a status of HTTP and why.
    async fn go(&mut self) -> Result<Option<Refusal>, Stop> {
        loop {
            self.take_what_has_come()?;
            let is_over = self.status().is_some_and(RunStatus::is_over);
            if is_over && self.is_quiet() && self.work.is_none() && !self.calls.is_unnamed() {
                return Ok(None);
            }
            if self.work.is_none()
                && let Some((message, source)) = self.messages.pop_front()
            {
                if message == Message::Cancel && self.object.header.is_none() {
                    // There is nothing to be cancelled, and nothing will be.
                    self.reply(&source, &Ok(()))?;
                    return Ok(Some((409, format!("run `{}` was cancelled before it has begun", self.invocation.key))));
                }
                self.processing = Some((message.clone(), source.clone()));
                let processed = message.process(self.engine.clone(), self.invocation.key.clone());
                let done =
                    |done: Result<_, _>| done.map_or_else(Done::Failed, |verdict| Done::Processed(source, verdict));
                self.work = Some(processed.map(done).boxed());
            }
            let is_idle = self.work.is_none() && self.is_quiet() && self.ops.is_empty() && self.calls.is_quiet();
            if let Some(obstacle) = self.obstacle.clone().filter(|_| is_idle && self.driven.is_none()) {
                self.say_obstacle(&obstacle)?;
                return Err(Stop::Broken(obstacle));
            }
            // A call that is to be cancelled has no name yet.
            let waits = self.status().is_some_and(RunStatus::is_suspended) && is_idle && !self.calls.is_unnamed();
            let stays_until = self.stays_until.filter(|_| waits && self.driven.is_none());
            if waits && self.driven.is_none() && self.calls.lost_results() {
                self.work = Some(self.resume());
                continue;
            }
            if waits && self.driven.is_none() && stays_until.is_none() {
                return Err(self.suspend()?);
            }
            let leave_at = self.leave_at.filter(|_| waits);
            tokio::select! {
                biased;
                Some(op) = self.ops.recv() => {
                    self.queue.push_back(op);
                    self.record_next()?;
                }
                asked = self.calls.next() => match asked {
                    Some(asked) => self.calls.ask_all(asked, &mut self.object, self.invocation)?,
                    None => self.calls.note_longer(&mut self.object, self.invocation)?,
                },
                done = async { Some(self.work.as_mut()?.await) }, if self.work.is_some() => {
                    self.work = None;
                    if let Some(refused) = self.done(done)? {
                        return Ok(Some(refused));
                    }
                }
                left = async { Some(self.driven.as_mut()?.await) }, if self.driven.is_some() => {
                    self.driven = None;
                    self.left(left)?;
                }
                () = tokio::time::sleep_until(leave_at.unwrap_or_else(Instant::now)), if leave_at.is_some() => {
                    // It says by `driven` that it has left. One that has to stay now may leave later, and records nothing for that.
                    self.leave_at = Instant::now().checked_add(self.settings.resident.max(ASKS_AGAIN));
                    self.engine.unload(&self.invocation.key);
                }
                // The engine resumes it when it is due.
                () = tokio::time::sleep_until(stays_until.unwrap_or_else(Instant::now)), if stays_until.is_some() => {
                    self.stays_until = None;
                }
                read = self.invocation.read() => read?,
            }
        }
    }

    fn status(&self) -> Option<RunStatus> {
        Some(self.object.header.as_ref()?.status)
    }

    /// Whether nothing is being recorded.
    fn is_quiet(&self) -> bool {
        self.recording.is_none() && self.queue.is_empty()
    }

    /// Something was done that the engine was asked for. `Some` ends the invocation.
    fn done(&mut self, done: Option<Done>) -> Result<Option<Refusal>, Stop> {
        match done {
            None | Some(Done::Driven) => self.is_driven(),
            Some(Done::Processed(source, verdict)) => {
                self.processing = None;
                if let (Source::Handler(handler), Err(refusal)) = (&source, &verdict) {
                    self.driver.refused.push((handler.clone(), refusal.clone()));
                    self.say_who_drives()?;
                }
                self.reply(&source, &verdict)?;
                self.is_driven();
            }
            Some(Done::Obstacle(why)) => self.obstacle = Some(why),
            Some(Done::Failed(why)) => return Err(Stop::Broken(why)),
            Some(Done::Refused(code, message)) => return Ok(Some((code, message))),
        }
        Ok(None)
    }

    /// Tells a handler what became of its message.
    fn reply(&mut self, source: &Source, verdict: &Verdict) -> Result<(), Stop> {
        let Source::Handler(handler) = source else { return Ok(()) };
        self.invocation.send_signal(handler.clone(), REPLY, &json!(verdict))?;
        self.invocation.flush()
    }

    /// What became of a message that has come before.
    fn verdict_of(&self, letter: &str) -> Option<Verdict> {
        match self.driver.refusal_of(letter) {
            Some(refusal) => Some(Err(refusal.clone())),
            None => self.object.verdict_of(letter),
        }
    }

    /// The engine drives the run, perhaps.
    fn is_driven(&mut self) {
        if self.driven.is_none() {
            let (engine, id) = (self.engine.clone(), self.invocation.key.clone());
            self.driven = Some(async move { engine.until_not_driven(&id).await }.boxed());
        }
    }

    fn resume(&self) -> BoxFuture<'static, Done> {
        resume(self.engine.clone(), self.object.is_elsewhere().then(|| self.invocation.key.clone()))
    }

    /// The engine does not drive the run any more.
    fn left(&mut self, left: Option<Result<(), RunError>>) -> Result<(), Stop> {
        if let Some(Err(error)) = left {
            self.obstacle = Some(error.to_string());
        } else if self.status() == Some(RunStatus::Running) && self.work.is_none() && self.is_quiet() {
            self.work = Some(self.resume());
        }
        Ok(())
    }

    fn say_who_drives(&mut self) -> Result<(), Stop> {
        let driver = serde_json::to_vec(&self.driver).map_err(|error| Stop::Broken(error.to_string()))?;
        self.invocation.set(DRIVER.to_owned(), driver)?;
        self.invocation.flush()
    }

    /// Who waits for the run to begin reads why it does not. Each attempt that has the same reason says nothing new.
    fn say_obstacle(&mut self, obstacle: &str) -> Result<(), Stop> {
        if self.object.header.is_some() || self.object.obstacle.as_deref() == Some(obstacle) {
            return Ok(());
        }
        self.invocation.set(OBSTACLE.to_owned(), json!(obstacle).to_string().into_bytes())?;
        self.invocation.flush()
    }

    fn handles(&self) -> Vec<Handle> {
        let recording = self.recording.iter().map(|recording| recording.mark);
        recording.chain([self.message]).chain(self.timer).chain(self.calls.handles()).collect()
    }

    /// Takes what the server has said since. Each call is looked at once for all that was read, however many there are.
    fn take_what_has_come(&mut self) -> Result<(), Stop> {
        loop {
            let recording = self.recording.iter().map(|recording| recording.mark);
            let awaited: Vec<Handle> = recording.chain([self.message]).collect();
            let is_there = match self.invocation.look(&awaited) {
                Ok(is_there) => is_there,
                Err(Stop::Cancelled) => {
                    self.receive(Message::Cancel, Source::Server)?;
                    continue;
                }
                Err(stop) => return Err(stop),
            };
            if !is_there {
                if self.seen < self.invocation.reads() {
                    self.seen = self.invocation.reads();
                    self.calls.take_what_has_come(&mut self.object, self.invocation)?;
                }
                return Ok(());
            }
            if let Some(recording) = self.recording.take() {
                match self.invocation.take(recording.mark)? {
                    Some(_) if recording.since.elapsed() > self.slow => {
                        self.slow *= 2;
                        let (mark, since) = (self.invocation.mark()?, Instant::now());
                        self.recording = Some(Recording { mark, since, ..recording });
                    }
                    Some(_) => self.recorded(recording.what)?,
                    None => self.recording = Some(recording),
                }
            }
            if let Some(Value::Success(message)) = self.invocation.take(self.message)? {
                self.message = self.invocation.signal(&mailbox(self.driver.mailbox))?;
                self.has_mail = true;
                match serde_json::from_slice::<Letter>(&message) {
                    Ok(Letter { message, reply_to }) => self.receive(message, Source::Handler(reply_to))?,
                    Err(error) => {
                        // It will not be another one in the next attempt.
                        tracing::warn!(run = self.invocation.key, %error, "a message to a run cannot be read, and is dropped");
                    }
                }
            }
        }
    }

    /// A message has come, perhaps for a second time.
    fn receive(&mut self, message: Message, source: Source) -> Result<(), Stop> {
        if let Source::Handler(letter) = &source
            && let Some(verdict) = self.verdict_of(letter)
        {
            return self.reply(&source, &verdict);
        }
        let is_under_way = self.processing.as_ref().is_some_and(|(_, processing)| *processing == source);
        if !is_under_way && !self.messages.iter().any(|(_, waiting)| *waiting == source) {
            self.messages.push_back((message, source));
        }
        Ok(())
    }

    /// Sends the next of what the engine has recorded to the server, one at a time.
    fn record_next(&mut self) -> Result<(), Stop> {
        while self.recording.is_none()
            && let Some(op) = self.queue.pop_front()
        {
            let broken = |error: serde_json::Error| Stop::Broken(format!("a record cannot be written: {error}"));
            let (changes, what): (Changes, Recorded) = match op {
                Op::Create(new, reply) => {
                    (self.object.create(&new, &self.input).map_err(broken)?, Recorded::Create(new, reply))
                }
                Op::Append(batch, reply) => match self.append(&batch).map_err(broken)? {
                    Some(changes) => (changes, Recorded::Append(batch, reply)),
                    None => {
                        // If it has been dropped, there is no one to tell.
                        let _ = reply.send(Appended::Conflict);
                        continue;
                    }
                },
            };
            for (key, value) in changes {
                if value.len() > MAX_BODY {
                    return Err(Stop::Broken(too_large(&format!("`{key}`"), value.len())));
                }
                self.invocation.set(key, value)?;
            }
            let mark = self.invocation.mark()?;
            self.recording = Some(Recording { mark, since: Instant::now(), what });
        }
        Ok(())
    }

    fn append(&mut self, batch: &Append) -> Result<Option<Changes>, serde_json::Error> {
        let letter = Self::letter_of(self.processing.as_ref(), batch);
        self.object.append(batch, letter.as_deref())
    }

    /// The message that this append records.
    fn letter_of(processing: Option<&(Message, Source)>, batch: &Append) -> Option<String> {
        let (message, Source::Handler(letter)) = processing? else { return None };
        let is_of_it = batch.records.iter().any(|record| message.is_recorded_by(&record.path, &record.kind));
        is_of_it.then(|| letter.clone())
    }

    /// The server has recorded something.
    fn recorded(&mut self, what: Recorded) -> Result<(), Stop> {
        match what {
            Recorded::Create(new, reply) => {
                if let Some(header) = self.object.created(*new, self.input.clone()) {
                    drop(reply.send(header));
                }
            }
            Recorded::Append(batch, reply) => {
                let is_taken_over = batch.header.status.is_some_and(|(status, _)| status == RunStatus::Running);
                if !self.object.appended(batch) {
                    return Err(Stop::Broken("what was recorded does not fit what this process knows".to_owned()));
                }
                let _ = reply.send(Appended::Done);
                self.calls.recorded(&mut self.object, self.invocation)?;
                if is_taken_over && self.work.is_none() {
                    self.is_driven();
                }
            }
        }
        let waits = self.status().is_some_and(RunStatus::is_suspended);
        // A result of an executor of the program reaches the run in the memory of this process alone.
        let may_leave = waits && (self.settings.calls_pools || !self.object.is_elsewhere());
        let resident = self.settings.resident;
        // It leaves in the end however many there are: they may wait for its place in the server.
        let stays = if self.calls.are_few() { resident } else { resident.max(STAYS_WITH_MANY) };
        self.leave_at = Instant::now().checked_add(stays).filter(|_| may_leave);
        self.stays_until = None;
        self.record_next()
    }

    /// How long a run that waits for a timer is not due, by the clock of this machine; zero if it is due.
    fn due_in(&self) -> Option<Duration> {
        let header = self.object.header.as_ref().filter(|header| header.status.is_suspended())?;
        Some(header.wake_at?.duration_since(SystemTime::now()).unwrap_or_default())
    }

    /// The run waits outside of the memory: the server keeps it until its timer fires, or something comes for it.
    fn suspend(&mut self) -> Result<Stop, Stop> {
        if let Some(wake_at) = self.object.header.as_ref().and_then(|header| header.wake_at) {
            let wake_at = wake_at.max(SystemTime::now() + NAP);
            self.timer = Some(self.invocation.sleep_until(to_millis(wake_at) + 1)?);
        }
        if self.has_mail {
            // What has come to this mailbox would resume it at once.
            self.driver.open_mailbox();
            self.say_who_drives()?;
            self.message = self.invocation.signal(&mailbox(self.driver.mailbox))?;
        }
        let handles = self.handles();
        Ok(self.invocation.suspend(&handles))
    }
}
