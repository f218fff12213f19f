//! Attempts at nodes of pools, as the run sees that waits for them: each is a call of the service of its pool, which a worker of the pool
//! executes ([`pool`](crate::pool)).
//!
//! A call is made with the id of the task as its key, so a worker that resumes the run gets the result of the call that the one before
//! has made. Of calls that take longer the object knows the invocation: they are attached to, and stopped when their run has ended.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::{Executor, Fault, NodeResult, NodeTask, ProgressSender};
use restate_sdk_shared_core::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use uuid::Uuid;

use crate::invocation::{Handle, Invocation, MAX_BODY, Stop, too_large};
use crate::manifest::{EXECUTE, RESULTS, pool_service};
use crate::object::{Object, call_key};

/// A task that has no result for so long may take longer: its run may leave the memory.
const LONGER: Duration = Duration::from_secs(1);

/// With how many open calls a run leaves the memory at most as soon as others do: when it is resumed it attaches to all of them.
const FEW: usize = 64;

/// What is said of an invocation that the server does not know.
const UNKNOWN: u16 = 404;

/// What is said of one that a worker has refused before it has begun.
const REFUSED: [u16; 2] = [400, UNKNOWN];

/// The input of a call that is made to learn its invocation, and to cancel that. A worker that gets it refuses it.
const NO_TASK: Bytes = Bytes::from_static(b"null");

/// What the server says of an invocation that was killed.
const KILLED: (u16, &str) = (409, "killed");

/// What the engine of a run asks for.
pub(crate) enum Asked {
    Task(Box<NodeTask>, Waiter),
    /// The task with this id is no longer needed.
    Cancel(String),
}

/// What waits for a result.
pub(crate) struct Waiter {
    result: oneshot::Sender<Result<NodeResult, Fault>>,
    progress: ProgressSender,
}

/// The executor of the engine that drives a run: passes what it is asked for to the driver of the invocation.
pub(crate) struct ToDriver(mpsc::UnboundedSender<Asked>);

impl Executor for ToDriver {
    fn execute(&self, task: NodeTask, progress: ProgressSender) -> BoxFuture<'static, Result<NodeResult, Fault>> {
        let (result, waits) = oneshot::channel();
        let sent = self.0.send(Asked::Task(Box::new(task), Waiter { result, progress }));
        async move {
            if sent.is_ok()
                && let Ok(result) = waits.await
            {
                return result;
            }
            // The run is not this process's any more, and its engine is about to stop.
            std::future::pending().await
        }
        .boxed()
    }

    fn keeps_tasks(&self) -> bool {
        true
    }

    fn cancel(&self, _run_id: &str, id: &str) {
        // A run that is not this process's cancels nothing.
        let _ = self.0.send(Asked::Cancel(id.to_owned()));
    }
}

/// In the place of an executor where a program is checked, and no run is driven.
pub(crate) struct Elsewhere;

impl Executor for Elsewhere {
    fn execute(&self, task: NodeTask, _progress: ProgressSender) -> BoxFuture<'static, Result<NodeResult, Fault>> {
        let message = format!("`{}` can be executed for a run that Restate has given to this worker only", task.path);
        async move { Err(Fault::Context { message }) }.boxed()
    }
}

struct Call {
    task: Arc<NodeTask>,
    /// Where the server tells the invocation, until it has.
    names: Option<Handle>,
    invocation: Option<String>,
    result: Handle,
    /// `None` if it is no longer needed.
    waiter: Option<Waiter>,
    since: Instant,
    /// Whether it was attached to, and not made.
    is_attached: bool,
    /// How many calls for this task were killed before.
    killed: u32,
    /// Whether the run knows that it takes longer, and the object its invocation.
    takes_longer: bool,
}

/// The calls of a run that are under way.
pub(crate) struct Calls {
    asks: mpsc::UnboundedSender<Asked>,
    asked: mpsc::UnboundedReceiver<Asked>,
    /// By the ids of their tasks.
    calls: HashMap<String, Call>,
    /// Results that were passed on and that the run has not recorded yet: the ids of their tasks, and the paths of their nodes.
    passed_on: Vec<(String, String)>,
    /// When the calls that have no result yet are said to take longer.
    looks_at: Option<Instant>,
    /// The ids of the tasks whose invocations were cancelled.
    cancelled: HashSet<String>,
}

impl Calls {
    pub(crate) fn new() -> Self {
        let (asks, asked) = mpsc::unbounded_channel();
        Calls { asks, asked, calls: HashMap::new(), passed_on: Vec::new(), looks_at: None, cancelled: HashSet::new() }
    }

    /// For the engine of the run.
    pub(crate) fn executor(&self) -> ToDriver {
        ToDriver(self.asks.clone())
    }

    /// Whether the engine has asked for nothing that was not done.
    pub(crate) fn is_quiet(&self) -> bool {
        self.asked.is_empty()
    }

    /// Whether the server has not said yet which invocation a call is.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.calls.values().any(|call| call.names.is_some())
    }

    /// Whether the run may leave the memory as soon as others, as far as they are concerned.
    pub(crate) fn are_few(&self) -> bool {
        self.calls.len() <= FEW
    }

    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.calls.values().flat_map(|call| [call.result].into_iter().chain(call.names))
    }

    /// The next that the engine asks for, or that some calls take longer, which has to be [noted](Self::note_longer).
    pub(crate) async fn next(&mut self) -> Option<Asked> {
        let Some(looks_at) = self.looks_at else { return self.asked.recv().await };
        tokio::select! {
            biased;
            asked = self.asked.recv() => asked,
            () = tokio::time::sleep_until(looks_at) => None,
        }
    }

    /// Does this, and all else that the engine has asked for.
    pub(crate) fn ask_all(
        &mut self,
        asked: Asked,
        object: &mut Object,
        invocation: &mut Invocation,
    ) -> Result<(), Stop> {
        self.ask(asked, object, invocation)?;
        while let Ok(asked) = self.asked.try_recv() {
            self.ask(asked, object, invocation)?;
        }
        Ok(())
    }

    fn ask(&mut self, asked: Asked, object: &mut Object, invocation: &mut Invocation) -> Result<(), Stop> {
        match asked {
            Asked::Task(task, waiter) => {
                // The engine has resumed the run while it was here.
                if let Some(call) = self.calls.get_mut(&task.id) {
                    (call.waiter, call.since, call.takes_longer) = (Some(waiter), Instant::now(), false);
                    self.look_later();
                    return Ok(());
                }
                self.make(Arc::new(*task), 0, waiter, object, invocation)
            }
            Asked::Cancel(task) => {
                match self.calls.get_mut(&task) {
                    // It is cancelled when it has a name.
                    Some(call) if call.invocation.is_none() => call.waiter = None,
                    Some(_) | None => self.cancel(&task, object, invocation)?,
                }
                invocation.flush()
            }
        }
    }

    fn make(
        &mut self,
        task: Arc<NodeTask>,
        killed: u32,
        waiter: Waiter,
        object: &Object,
        invocation: &mut Invocation,
    ) -> Result<(), Stop> {
        let known = object.calls.get(&task.id).cloned();
        // A call of one that was made not long ago is that one, and says which invocation it is.
        let is_made_once = task.was_sent && task.at_most_once && !is_recent(&task.id);
        let is_attached = known.is_some() || is_made_once;
        let (names, result) = match &known {
            Some(known) => (None, invocation.attach(known.clone())?),
            None if is_made_once => (
                None,
                invocation.attach_to_call(pool_service(&task.pool), EXECUTE, key_of(&task.run_id, &task.id, killed))?,
            ),
            None => match call(&task, killed, invocation)? {
                Ok((names, result)) => (Some(names), result),
                Err(fault) => {
                    drop(waiter.result.send(Err(fault)));
                    return Ok(());
                }
            },
        };
        let call = Call {
            names,
            invocation: known,
            result,
            waiter: Some(waiter),
            since: Instant::now(),
            is_attached,
            killed,
            takes_longer: false,
            task: Arc::clone(&task),
        };
        self.calls.insert(task.id.clone(), call);
        self.look_later();
        invocation.flush()
    }

    fn look_later(&mut self) {
        self.looks_at = self.looks_at.or_else(|| Instant::now().checked_add(LONGER));
    }

    /// The calls that have no result for a while: their runs may leave the memory. The object has their invocations first.
    pub(crate) fn note_longer(&mut self, object: &mut Object, invocation: &mut Invocation) -> Result<(), Stop> {
        self.looks_at = None;
        let mut next = None;
        for (id, call) in &mut self.calls {
            let Some(waiter) = call.waiter.as_ref().filter(|_| call.names.is_none() && !call.takes_longer) else {
                continue;
            };
            let at = call.since + LONGER;
            if at > Instant::now() {
                next = Some(next.map_or(at, |next: Instant| next.min(at)));
                continue;
            }
            call.takes_longer = true;
            if let Some(invoked) = &call.invocation {
                note(id, invoked, object, invocation)?;
            }
            waiter.progress.accepted();
        }
        let is_unnamed = self.is_unnamed().then(|| Instant::now() + LONGER);
        self.looks_at = next.into_iter().chain(is_unnamed).min();
        invocation.flush()
    }

    /// Passes on what the server has said.
    pub(crate) fn take_what_has_come(&mut self, object: &mut Object, invocation: &mut Invocation) -> Result<(), Stop> {
        let has_come = |call: &Call| {
            invocation.is_completed(call.result) || call.names.is_some_and(|names| invocation.is_completed(names))
        };
        let come = self.calls.iter().filter(|(_, call)| has_come(call)).map(|(id, _)| id.clone());
        for id in come.collect::<Vec<_>>() {
            let Some(call) = self.calls.get_mut(&id) else { continue };
            if let Some(result) = invocation.take(call.result)? {
                if let Some(call) = self.calls.remove(&id) {
                    self.has_result(call, &result, object, invocation)?;
                }
                continue;
            }
            let Some(names) = call.names else { continue };
            if let Some(Value::InvocationId(named)) = invocation.take(names)? {
                // The next attempt at the run attaches to it, however soon that comes.
                if call.task.at_most_once {
                    note(&id, &named, object, invocation)?;
                }
                (call.names, call.invocation) = (None, Some(named));
                if call.waiter.is_none() {
                    self.cancel(&id, object, invocation)?;
                }
            }
        }
        invocation.flush()
    }

    fn has_result(
        &mut self,
        call: Call,
        result: &Value,
        object: &mut Object,
        invocation: &mut Invocation,
    ) -> Result<(), Stop> {
        let Call { task, waiter, is_attached, killed, .. } = call;
        let Some(waiter) = waiter else { return forget(&task.id, object, invocation) };
        let interrupted = || NodeResult::of_fault(Fault::Interrupted);
        // Its result was kept for a while, and is gone; or it was killed, perhaps with the run.
        let made_again = match result {
            Value::Failure(failure) if is_attached && failure.code == UNKNOWN => Some(killed),
            Value::Failure(failure) if (failure.code, &*failure.message) == KILLED => Some(killed + 1),
            _ => None,
        };
        if let Some(killed) = made_again.filter(|_| !task.at_most_once) {
            forget(&task.id, object, invocation)?;
            return self.make(task, killed, waiter, object, invocation);
        }
        let result = match result {
            // It may have been executed.
            Value::Failure(failure) if task.at_most_once && (is_attached || !REFUSED.contains(&failure.code)) => {
                Ok(interrupted())
            }
            Value::Failure(failure) => {
                let message = format!("the call of pool `{}` has failed: {}", task.pool, failure.message);
                Err(Fault::Context { message })
            }
            Value::Success(result) => match read(result) {
                Err(_) if task.at_most_once => Ok(interrupted()),
                read => read,
            },
            other => Err(Fault::Context { message: format!("the result of a worker is not expected: {other:?}") }),
        };
        self.passed_on.push((task.id.clone(), task.path.clone()));
        // If nothing waits, the run has left the memory, and is resumed: see `lost_results`.
        drop(waiter.result.send(result));
        Ok(())
    }

    /// Something is recorded: the results that are in it are needed no more.
    pub(crate) fn recorded(&mut self, object: &mut Object, invocation: &mut Invocation) -> Result<(), Stop> {
        let (waits, done) =
            std::mem::take(&mut self.passed_on).into_iter().partition(|(id, path)| object.is_away(path, id));
        self.passed_on = waits;
        let done: Vec<(String, String)> = done;
        done.iter().try_for_each(|(id, _)| forget(id, object, invocation))
    }

    /// Whether a result has come that the run has left the memory without: it has to be resumed, and asks for it again.
    pub(crate) fn lost_results(&mut self) -> bool {
        !std::mem::take(&mut self.passed_on).is_empty()
    }

    fn cancel(&mut self, id: &str, object: &mut Object, invocation: &mut Invocation) -> Result<(), Stop> {
        let invoked = self.calls.remove(id).and_then(|call| call.invocation);
        if let Some(invoked) = invoked.or_else(|| object.calls.get(id).cloned()) {
            invocation.cancel(invoked)?;
            self.cancelled.insert(id.to_owned());
        }
        forget(id, object, invocation)
    }

    /// The run has ended: nothing needs what is still under way. Returns the ids of all tasks that were cancelled, now or before.
    pub(crate) fn cancel_all(
        &mut self,
        object: &mut Object,
        invocation: &mut Invocation,
    ) -> Result<HashSet<String>, Stop> {
        let ids: Vec<String> = self.calls.keys().cloned().collect();
        ids.iter().try_for_each(|id| self.cancel(id, object, invocation))?;
        invocation.flush()?;
        Ok(std::mem::take(&mut self.cancelled))
    }
}

/// Cancels the calls of a run that has ended which earlier attempts at driving it have made, but for those that are cancelled.
pub(crate) async fn cancel_earlier(
    mut cancelled: HashSet<String>,
    object: &mut Object,
    invocation: &mut Invocation,
) -> Result<(), Stop> {
    for (id, invoked) in std::mem::take(&mut object.calls) {
        invocation.cancel(invoked)?;
        invocation.clear(&call_key(&id))?;
        cancelled.insert(id);
    }
    // An attempt that has died with the end of the run may not have come to cancel what it had called, nor to note which
    // invocations those were. The server says that to a call with the same key.
    let mut names = Vec::new();
    for sent in object.sent_without_result().filter(|sent| !cancelled.contains(&sent.task)) {
        let key = key_of(&invocation.key, &sent.task, 0);
        names.push(invocation.call(pool_service(&sent.pool), EXECUTE, key, NO_TASK)?.0);
    }
    invocation.flush()?;
    for name in names {
        if let Value::InvocationId(invoked) = invocation.wait(name).await? {
            invocation.cancel(invoked)?;
        }
    }
    invocation.flush()
}

/// Notes in the object which invocation has a task.
fn note(id: &str, invoked: &str, object: &mut Object, invocation: &mut Invocation) -> Result<(), Stop> {
    if object.calls.get(id).is_some_and(|known| known == invoked) {
        return Ok(());
    }
    object.calls.insert(id.to_owned(), invoked.to_owned());
    invocation.set(call_key(id), invoked.as_bytes().to_vec())
}

fn forget(id: &str, object: &mut Object, invocation: &mut Invocation) -> Result<(), Stop> {
    if object.calls.remove(id).is_some() {
        invocation.clear(&call_key(id))?;
    }
    Ok(())
}

/// Has a worker of the pool called; a fault if the task cannot be sent.
fn call(task: &NodeTask, killed: u32, invocation: &mut Invocation) -> Result<Result<(Handle, Handle), Fault>, Stop> {
    let input = serde_json::to_string(task).map_err(|error| Stop::Broken(error.to_string()))?;
    if input.len() > MAX_BODY {
        let message = too_large(&format!("what `{}` is given to pool `{}` with", task.path, task.pool), input.len());
        return Ok(Err(Fault::Context { message }));
    }
    let key = key_of(&task.run_id, &task.id, killed);
    invocation.call(pool_service(&task.pool), EXECUTE, key, input.into()).map(Ok)
}

/// What a task is called with once; of one that was killed, once more. Another attempt at the run finds the same keys.
fn key_of(run: &str, task: &str, killed: u32) -> String {
    let key = format!("{run}/{task}");
    if killed == 0 { key } else { format!("{key}/{killed}") }
}

/// Whether a task was made so short ago that its result is kept, if it has one. Its id says when.
fn is_recent(id: &str) -> bool {
    let made = Uuid::parse_str(id).ok().and_then(|id| id.get_timestamp());
    let made = made.map(|made| UNIX_EPOCH + Duration::new(made.to_unix().0, 0));
    // The clocks of machines are not the same.
    let kept = Duration::from_millis(RESULTS) / 2;
    made.and_then(|made| SystemTime::now().duration_since(made).ok()).is_some_and(|age| age < kept)
}

fn read(result: &Bytes) -> Result<NodeResult, Fault> {
    serde_json::from_slice(result).map_err(|error| {
        let message = format!("the result of a worker cannot be read: {error}; let its version be that of this worker");
        Fault::Context { message }
    })
}
