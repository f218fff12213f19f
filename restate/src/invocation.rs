//! One invocation, as a server of Restate talks to a worker: the state machine is `restate-sdk-shared-core`, and the bytes go over
//! one stream of HTTP/2.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use restate_sdk_shared_core::{
    AttachInvocationTarget, AwaitResponse, AwaitingOnPolicy, CoreVM, ImplicitCancellationOption, JournalReplay,
    NonEmptyValue, NotificationHandle, PayloadOptions, RetryPolicy, RunExitResult, State, Target, TerminalFailure,
    UnresolvedFuture, VM, VMOptions, Value,
};
use serde_json::Value as Json;
use tokio::sync::mpsc::UnboundedSender;

use crate::journal::{Journal, Known};
use crate::object::to_millis;

pub(crate) type Handle = NotificationHandle;

/// What an invocation says at its end, in the protocol of the server: the type of the message, and that it is empty.
const END: [u8; 8] = [0, 3, 0, 0, 0, 0, 0, 0];

/// The name of what an attempt says before it begins.
const BEGIN: &str = "begin";

/// With what the state machine says that the journal has another command than the handler.
const MISMATCH: u16 = 570;

/// Why an invocation goes no further in this process.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The server resumes it when something has come.
    Suspended,
    /// An attempt before this one has given its result, and the server knows now that it has ended.
    Ended,
    /// The connection is gone, or another attempt has to be made: why.
    Broken(String),
    /// The invocation was cancelled in Restate.
    Cancelled,
}

impl From<restate_sdk_shared_core::Error> for Stop {
    fn from(error: restate_sdk_shared_core::Error) -> Self {
        if error.is_suspended_error() { Stop::Suspended } else { Stop::Broken(error.to_string()) }
    }
}

/// The result of an invocation: JSON, or a status of HTTP with a message.
pub(crate) type Reply = Result<Json, (u16, String)>;

/// An invocation that has its input.
pub(crate) struct Invocation {
    vm: CoreVM,
    body: Incoming,
    out: UnboundedSender<Bytes>,
    pub(crate) id: String,
    /// The id of the run.
    pub(crate) key: String,
    pub(crate) input: Bytes,
    /// Whether it was cancelled in Restate before its handler has listened for that.
    pub(crate) is_cancelled: bool,
    /// All values of the object as they were when this attempt was made, if the server has sent all; or what the journal says of them.
    state: Result<Vec<(String, Bytes)>, Known>,
    replay: Replay,
    /// Something that never comes.
    nothing: Option<Handle>,
    /// What an earlier attempt has said, and the server has not recorded as done: see [`pass_begins`](Self::pass_begins).
    begins: Option<Handle>,
    /// How often the server has said something.
    reads: u64,
}

/// How a handler treats the journal of its earlier attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replay {
    /// As Restate's handlers do: each command returns what it has returned before.
    Commands,
    /// What has happened is in the state of the object, and the journal says nothing that is not there. A driver of runs
    /// does not do the same in the same order in each attempt, and who only reads wants what is there now.
    Nothing,
}

pub(crate) fn options(replay: Replay) -> VMOptions {
    VMOptions {
        journal_replay: match replay {
            Replay::Commands => JournalReplay::Enabled,
            Replay::Nothing => JournalReplay::Disabled,
        },
        awaiting_on_policy: AwaitingOnPolicy::DontSend,
        implicit_cancellation: ImplicitCancellationOption::Enabled {
            // A driver cancels what its run does not need any more, once that is recorded.
            cancel_children_calls: replay == Replay::Commands,
            cancel_children_one_way_calls: false,
        },
        ..VMOptions::default()
    }
}

impl Invocation {
    pub(crate) async fn begin(
        mut vm: CoreVM,
        mut body: Incoming,
        out: UnboundedSender<Bytes>,
        replay: Replay,
    ) -> Result<Self, Stop> {
        let mut journal = Journal::default();
        while !vm.is_ready_to_execute()? {
            journal.push(&read(&mut vm, &mut body).await?);
        }
        let input = vm.sys_input()?;
        let (id, key, input) = (input.invocation_id, input.key, input.input);
        Ok(Invocation {
            vm,
            body,
            out,
            id,
            key,
            input,
            is_cancelled: false,
            state: journal.into_state(),
            replay,
            nothing: None,
            begins: None,
            reads: 0,
        })
    }

    /// Waits for the server to say something.
    pub(crate) async fn read(&mut self) -> Result<(), Stop> {
        read(&mut self.vm, &mut self.body).await?;
        self.reads += 1;
        Ok(())
    }

    /// How often the server has said something.
    pub(crate) fn reads(&self) -> u64 {
        self.reads
    }

    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        let bytes = self.vm.take_output();
        if !bytes.is_empty() && self.out.send(bytes).is_err() {
            return Err(Stop::Broken("the server has closed the connection".to_owned()));
        }
        Ok(())
    }

    /// Whether one of these is there, of what was read. If not, all that was read [can be taken](Self::take).
    pub(crate) fn look(&mut self, handles: &[Handle]) -> Result<bool, Stop> {
        loop {
            let all = handles.iter().map(|handle| UnresolvedFuture::Single(*handle)).collect();
            let response = match self.vm.do_await(UnresolvedFuture::FirstCompleted(all)) {
                Err(error) => {
                    // What it says of a suspension has to reach the server.
                    self.flush()?;
                    return Err(error.into());
                }
                Ok(response) => response,
            };
            match response {
                AwaitResponse::AnyCompleted => return Ok(true),
                AwaitResponse::ExecuteRun(handle) => {
                    let done = RunExitResult::Success(Bytes::new());
                    self.vm.propose_run_completion(handle, done, RetryPolicy::Infinite)?;
                }
                AwaitResponse::WaitingExternalProgress { .. } | AwaitResponse::EphemeralNotificationReady(_) => {
                    self.flush()?;
                    return Ok(false);
                }
                AwaitResponse::CancelSignalReceived => return Err(Stop::Cancelled),
            }
        }
    }

    pub(crate) fn is_completed(&self, handle: Handle) -> bool {
        self.vm.is_completed(handle)
    }

    pub(crate) fn take(&mut self, handle: Handle) -> Result<Option<Value>, Stop> {
        if !self.vm.is_completed(handle) {
            return Ok(None);
        }
        Ok(self.vm.take_notification(handle)?)
    }

    pub(crate) async fn wait(&mut self, handle: Handle) -> Result<Value, Stop> {
        loop {
            match self.look(&[handle]) {
                // A driver cancels its run for that, which has to be read first.
                Err(Stop::Cancelled) if self.replay == Replay::Nothing => {
                    self.is_cancelled = true;
                    continue;
                }
                looked => {
                    if looked? && let Some(value) = self.take(handle)? {
                        return Ok(value);
                    }
                }
            }
            self.read().await?;
        }
    }

    /// Waits for a timer.
    pub(crate) async fn wait_until(&mut self, timer: Handle) -> Result<(), Stop> {
        self.wait(timer).await.map(drop)
    }

    /// One value of the object.
    pub(crate) async fn get(&mut self, key: &str) -> Result<Option<Bytes>, Stop> {
        let handle = self.vm.sys_state_get(key.to_owned(), None, PayloadOptions::default())?;
        Ok(match self.wait(handle).await? {
            Value::Success(value) => Some(value),
            _ => None,
        })
    }

    /// The keys of the object that begin with this, in their order.
    pub(crate) async fn keys_with(&mut self, prefix: &str) -> Result<Vec<String>, Stop> {
        let handle = self.vm.sys_state_get_keys(None)?;
        let Value::StateKeys(mut keys) = self.wait(handle).await? else { return Ok(Vec::new()) };
        keys.retain(|key| key.starts_with(prefix));
        keys.sort();
        Ok(keys)
    }

    /// All values of the object as they are now, in the order of their keys: the first that a handler asks for.
    pub(crate) async fn state(&mut self) -> Result<Vec<(String, Bytes)>, Stop> {
        match std::mem::replace(&mut self.state, Err(Known::default())) {
            Ok(state) => Ok(state),
            Err(_) => self.state_beyond(Known::default()).await,
        }
    }

    /// The same for the invocation that has the object for itself: what it knows of earlier attempts is not read again.
    pub(crate) async fn own_state(&mut self) -> Result<Vec<(String, Bytes)>, Stop> {
        match std::mem::replace(&mut self.state, Err(Known::default())) {
            Ok(state) => Ok(state),
            Err(known) => self.state_beyond(known).await,
        }
    }

    async fn state_beyond(&mut self, mut known: Known) -> Result<Vec<(String, Bytes)>, Stop> {
        let keys = match known.keys.take() {
            Some(keys) => keys,
            None => self.keys_with("").await?.into_iter().collect(),
        };
        let (mut state, unknown) = known.split(keys);
        // All are asked for before the first is waited for.
        let mut asked = Vec::with_capacity(unknown.len());
        for key in unknown {
            asked.push((self.vm.sys_state_get(key.clone(), None, PayloadOptions::default())?, key));
        }
        for (handle, key) in asked {
            if let Value::Success(value) = self.wait(handle).await? {
                state.insert(key, value);
            }
        }
        Ok(state.into_iter().collect())
    }

    pub(crate) fn set(&mut self, key: String, value: Vec<u8>) -> Result<(), Stop> {
        Ok(self.vm.sys_state_set(key, value.into(), None, PayloadOptions::default())?)
    }

    pub(crate) fn clear(&mut self, key: &str) -> Result<(), Stop> {
        Ok(self.vm.sys_state_clear(key.to_owned(), None)?)
    }

    pub(crate) fn clear_all(&mut self) -> Result<(), Stop> {
        Ok(self.vm.sys_state_clear_all(None)?)
    }

    /// Something that is done as soon as the server has recorded all that was said before it.
    pub(crate) fn mark(&mut self) -> Result<Handle, Stop> {
        Ok(self.vm.sys_run("append".to_owned())?.handle)
    }

    /// Passes what earlier attempts have [said](Self::says_begin) of their begin: whether one of them had begun. Nothing else may be said or
    /// asked before. Waits for nothing, so one that has not begun has not by this.
    pub(crate) fn pass_begins(&mut self) -> Result<bool, Stop> {
        let mut has_begun = false;
        while self.vm.state() == State::Replaying {
            match self.vm.sys_run(BEGIN.to_owned()) {
                Ok(run) if run.replayed => has_begun = true,
                // It is this attempt's, if it begins.
                Ok(run) => self.begins = Some(run.handle),
                // A server records the result and the end one after the other, and may have died between them.
                Err(error) if error.code() == MISMATCH => {
                    drop(self.vm.take_output());
                    drop(self.out.send(Bytes::from_static(&END)));
                    return Err(Stop::Ended);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(has_begun)
    }

    /// Says that something begins, and resolves when the server has recorded that. Earlier attempts were [passed](Self::pass_begins).
    ///
    /// Each attempt makes a mark of its own behind those of the ones before: the server takes none of an attempt that it has given up.
    /// An answer that took longer than `slow` is no sign of that, since this process may have been stopped meanwhile.
    pub(crate) async fn says_begin(&mut self, mut slow: Duration) -> Result<(), Stop> {
        loop {
            let since = Instant::now();
            let begins = match self.begins.take() {
                Some(begins) => begins,
                None => self.vm.sys_run(BEGIN.to_owned())?.handle,
            };
            self.wait(begins).await?;
            if since.elapsed() <= slow {
                return Ok(());
            }
            slow *= 2;
        }
    }

    /// Whether the server has said, in what was read, that the invocation is cancelled. It says so once.
    pub(crate) fn is_cancelled_now(&mut self) -> Result<bool, Stop> {
        let nothing = match self.nothing {
            Some(nothing) => nothing,
            None => *self.nothing.insert(self.vm.create_signal_handle("graphweft.nothing".to_owned())?),
        };
        match self.look(&[nothing]) {
            Err(Stop::Cancelled) => Ok(true),
            looked => looked.map(|_| false),
        }
    }

    /// The next signal of this name: each is taken once, in the order in which they came.
    pub(crate) fn signal(&mut self, name: &str) -> Result<Handle, Stop> {
        Ok(self.vm.create_signal_handle(name.to_owned())?)
    }

    pub(crate) fn send_signal(&mut self, invocation: String, name: &str, value: &Json) -> Result<(), Stop> {
        let value = NonEmptyValue::Success(value.to_string().into());
        Ok(self.vm.sys_complete_signal(invocation, name.to_owned(), value)?)
    }

    /// A time of the server, in milliseconds since 1970.
    pub(crate) fn sleep_until(&mut self, millis: u64) -> Result<Handle, Stop> {
        Ok(self.vm.sys_sleep(String::new(), Duration::from_millis(millis), None)?)
    }

    pub(crate) fn sleep_for(&mut self, time: Duration) -> Result<Handle, Stop> {
        self.sleep_until(to_millis(std::time::SystemTime::now() + time))
    }

    /// The value of a signal; `None` if a timer fires first.
    pub(crate) async fn wait_for(&mut self, signal: Handle, timer: Handle) -> Result<Option<Bytes>, Stop> {
        loop {
            if self.look(&[signal, timer])? {
                if let Some(value) = self.take(signal)? {
                    return Ok(match value {
                        Value::Success(value) => Some(value),
                        _ => None,
                    });
                }
                if self.take(timer)?.is_some() {
                    return Ok(None);
                }
            }
            self.read().await?;
        }
    }

    /// The reply of a handler of an object.
    pub(crate) async fn ask(&mut self, service: String, key: String, handler: &str) -> Result<Value, Stop> {
        let target = target(service, handler, Some(key), None);
        let call = self.vm.sys_call(target, Bytes::new(), None, PayloadOptions::default())?;
        self.wait(call.call_notification_handle).await
    }

    /// Calls a handler of a service, once for each `once`: where the server tells which invocation that is, and its result.
    pub(crate) fn call(
        &mut self,
        service: String,
        handler: &str,
        once: String,
        input: Bytes,
    ) -> Result<(Handle, Handle), Stop> {
        let target = target(service, handler, None, Some(once));
        let call = self.vm.sys_call(target, input, None, PayloadOptions::default())?;
        Ok((call.invocation_id_notification_handle, call.call_notification_handle))
    }

    /// The result of an invocation that was called before. It is a failure with 404 if the server does not have it, or not any more.
    pub(crate) fn attach(&mut self, invocation: String) -> Result<Handle, Stop> {
        Ok(self.vm.sys_attach_invocation(AttachInvocationTarget::InvocationId(invocation))?)
    }

    /// The same, of what was [called](Self::call) with this `once`.
    pub(crate) fn attach_to_call(&mut self, service: String, handler: &str, once: String) -> Result<Handle, Stop> {
        let target = AttachInvocationTarget::IdempotencyId {
            service_name: service,
            service_key: None,
            handler_name: handler.to_owned(),
            idempotency_key: once,
            scope: None,
        };
        Ok(self.vm.sys_attach_invocation(target)?)
    }

    /// Cancels another invocation, if it has not ended.
    pub(crate) fn cancel(&mut self, invocation: String) -> Result<(), Stop> {
        Ok(self.vm.sys_cancel_invocation(invocation)?)
    }

    /// Has a handler of an object called, at once or later, and does not wait for it.
    pub(crate) fn send(
        &mut self,
        service: String,
        key: String,
        handler: &str,
        input: &Json,
        at: Option<u64>,
    ) -> Result<(), Stop> {
        let target = target(service, handler, Some(key), None);
        let at = at.map(Duration::from_millis);
        self.vm.sys_send(target, input.to_string().into(), at, None, PayloadOptions::default())?;
        Ok(())
    }

    /// Ends the invocation.
    pub(crate) fn end(&mut self, output: Reply) -> Result<(), Stop> {
        let value = match output.and_then(|json| fitting(json.to_string())) {
            Ok(json) => NonEmptyValue::Success(json.into()),
            Err((code, message)) => NonEmptyValue::Failure(TerminalFailure { code, message, metadata: Vec::new() }),
        };
        self.vm.sys_write_output(value, PayloadOptions::default())?;
        self.vm.sys_end()?;
        self.flush()
    }

    /// Nothing is to be done before one of these comes: the server may send that to any worker. Returns an error in any
    /// case, which is [`Stop::Suspended`] if the server knows of it.
    pub(crate) fn suspend(&mut self, handles: &[Handle]) -> Stop {
        self.vm.notify_input_closed();
        match self.look(handles) {
            Err(stop) => stop,
            Ok(_) => Stop::Broken("something has come for a run that was about to be suspended".to_owned()),
        }
    }

    /// Has the server try again, here or elsewhere.
    pub(crate) fn fail(&mut self, message: String) {
        self.vm.notify_error(restate_sdk_shared_core::Error::new(500u16, message), None);
        // If the server is gone, it tries again anyway.
        drop(self.flush());
    }

    /// Reads until the server closes its side: it is the one that ends a stream.
    pub(crate) async fn drain(self) {
        let Invocation { mut body, out, .. } = self;
        drop(out);
        while let Some(Ok(_)) = body.frame().await {}
    }
}

fn target(service: String, handler: &str, key: Option<String>, idempotency_key: Option<String>) -> Target {
    let handler = handler.to_owned();
    Target { service, handler, key, idempotency_key, scope: None, limit_key: None, headers: Vec::new() }
}

/// A text that fits into a message of a server, with room for what is around it.
fn fitting(text: String) -> Result<String, (u16, String)> {
    if text.len() <= MAX_BODY {
        return Ok(text);
    }
    Err((413, too_large("the reply", text.len())))
}

/// How large a value may be that goes through a server, in bytes: its messages may have 32 MiB.
pub(crate) const MAX_BODY: usize = 31 << 20;

pub(crate) fn too_large(what: &str, bytes: usize) -> String {
    format!(
        "{what} has {bytes} bytes, and Restate takes {MAX_BODY} at most: put large values elsewhere, and pass where they are"
    )
}

async fn read(vm: &mut CoreVM, body: &mut Incoming) -> Result<Bytes, Stop> {
    match body.frame().await {
        Some(Ok(frame)) => {
            let data = frame.into_data().unwrap_or_default();
            if !data.is_empty() {
                vm.notify_input(data.clone());
            }
            Ok(data)
        }
        Some(Err(error)) => Err(Stop::Broken(format!("the connection to the server is gone: {error}"))),
        None => Err(Stop::Broken("the server has closed the stream".to_owned())),
    }
}
