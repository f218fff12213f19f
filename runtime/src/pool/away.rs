//! An attempt that is executed elsewhere, as the engine that drives its run sees it.
//!
//! The body of the attempt waits for the result as it would for a request, so it holds no permit; but its run
//! counts as running, and stays in memory, until the executor has said that it will have the run resumed. What is recorded is a note with
//! the id of the task: an attempt that starts again, in this process or another one, finds the note and asks for the same task. The result
//! is recorded as the end of the node, and nowhere else.

use std::borrow::Cow;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use crate::attempt::{At, Attempt};
use crate::context::Context;
use crate::event::{EventKind, SENT_TO_POOL, is_sent_by};
use crate::executor::{Executor, NodeReport, NodeResult, NodeTask, OfAttempt, ProgressSender};
use crate::fault::Fault;
use crate::requests::Elsewhere;
use crate::shared::{Journal, Shared};

/// What executes the attempts of this pool; `None` if this process does, for an attempt that was sent here too.
pub(crate) fn executor_of(context: &Context, pool: &str) -> Option<Arc<dyn Executor>> {
    let run = &context.0.run;
    if run.is_elsewhere { None } else { run.env.executor_of(pool).cloned() }
}

/// Has an attempt executed elsewhere. To be polled as the whole body of the attempt.
pub(crate) fn send_away(
    executor: Arc<dyn Executor>,
    pool: &'static str,
    input: Value,
    context: &Context,
) -> BoxFuture<'static, Result<NodeResult, Fault>> {
    let attempt = Arc::clone(&context.0);
    Box::pin(async move {
        let task = task_of(&attempt, pool, input)?;
        // Before it waits: a run that waits has recorded everything.
        if let Some(journal) = &attempt.run.journal
            && journal.flush().await.is_err()
        {
            // Nothing can be recorded any more: the run stops.
            attempt.run.pulse.say();
            return std::future::pending().await;
        }
        // Something has to be in memory that waits for the result.
        let stays = Arc::new(Stays::new(&attempt.run));
        let _leaves = LetGo(Arc::clone(&stays));
        let result = Arc::new(Mutex::new(None));
        let sent =
            Sent { executor, id: task.id.clone(), is_open: Arc::default(), attempt: Arc::clone(&attempt), stays };
        let work = execute(sent, task, Arc::clone(&result));
        let _waits = Elsewhere::new(attempt.requests(), Box::pin(work));
        // It keeps no waker: the work wakes the body.
        poll_fn(|_| match result.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        })
        .await
    })
}

async fn execute(mut sent: Sent, task: NodeTask, result: Arc<Mutex<Option<Result<NodeResult, Fault>>>>) {
    sent.is_open.store(true, Ordering::Release);
    let executing = sent.executor.execute(task, sent.progress());
    let executed = executing.await;
    sent.is_open.store(false, Ordering::Release);
    *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(executed);
    sent.id.clear();
    sent.attempt.requests().waker.wake_body();
}

/// Keeps the run in memory until it is [let go](Self::let_go).
struct Stays {
    run: Arc<Shared>,
    is_kept: AtomicBool,
}

impl Stays {
    fn new(run: &Arc<Shared>) -> Self {
        run.pulse.elsewhere(true);
        Stays { run: Arc::clone(run), is_kept: AtomicBool::new(true) }
    }

    fn let_go(&self) {
        if self.is_kept.swap(false, Ordering::AcqRel) {
            self.run.pulse.elsewhere(false);
        }
    }
}

/// The attempt has its result, or is over.
struct LetGo(Arc<Stays>);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

/// A task that was sent and has no result yet.
struct Sent {
    executor: Arc<dyn Executor>,
    /// Empty once there is a result.
    id: String,
    is_open: Arc<AtomicBool>,
    attempt: Arc<Attempt>,
    stays: Arc<Stays>,
}

impl Sent {
    fn progress(&self) -> ProgressSender {
        let (attempt, path) = (&self.attempt, self.attempt.path());
        let may_leave = !attempt.once_only || self.executor.keeps_tasks();
        let stays = may_leave.then(|| Arc::clone(&self.stays));
        let (journal, is_open) = (attempt.run.journal.clone(), Arc::clone(&self.is_open));
        ProgressSender(Arc::new(Waiting { journal, path, is_open, stays }))
    }
}

/// The attempt as its [`ProgressSender`] knows it.
struct Waiting {
    journal: Option<Arc<Journal>>,
    path: String,
    is_open: Arc<AtomicBool>,
    /// `None` if it may not begin again.
    stays: Option<Arc<Stays>>,
}

impl OfAttempt for Waiting {
    fn send(&self, data: Value) {
        if let Some(journal) = self.journal.as_ref().filter(|_| self.is_open.load(Ordering::Acquire)) {
            journal.show_progress(self.path.clone(), data);
        }
    }

    fn accepted(&self) {
        if let Some(stays) = &self.stays {
            stays.let_go();
        }
    }
}

/// An attempt that is stopped is no longer needed, once that is recorded. One that is dropped otherwise continues: its run has left this
/// process.
impl Drop for Sent {
    fn drop(&mut self) {
        let was_sent = self.is_open.swap(false, Ordering::AcqRel);
        if !was_sent || self.id.is_empty() || !self.attempt.is_stopped() {
            return;
        }
        let (executor, id) = (Arc::clone(&self.executor), std::mem::take(&mut self.id));
        let run = Arc::clone(&self.attempt.run);
        let cancels = async move {
            // An engine that has lost the run may not stop what another one waits for.
            let may_cancel = match &run.journal {
                Some(journal) => journal.flush().await.is_ok(),
                None => true,
            };
            if may_cancel {
                executor.cancel(run.id(), &id);
            }
        };
        // Without a runtime the executor finds that the run is over.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(cancels.boxed());
        }
    }
}

fn task_of(attempt: &Attempt, pool: &'static str, input: Value) -> Result<NodeTask, Fault> {
    let (run, path) = (&attempt.run, attempt.path());
    let At::Node(place) = attempt.place() else {
        let message = format!("`{path}` is in pool `{pool}`, and no node of a graph");
        return Err(Fault::Context { message });
    };
    let (workflow, graph, node) = place.address();
    let sent = run.known_desk().and_then(|desk| desk.take_note(&path, SENT_TO_POOL));
    // The task of the run that this one is a fork of is none of its own.
    let sent = sent.filter(|sent| is_sent_by(sent, run.id()));
    let sent = sent.and_then(|sent| sent.get("task")?.as_str().map(str::to_owned));
    let was_sent = sent.is_some();
    let id = sent.unwrap_or_else(|| {
        let id = run.env.clock.new_run_id();
        let payload = json!({ "pool": pool, "task": id, "run": run.id() });
        run.record(|| path.clone(), || EventKind::Note { name: SENT_TO_POOL.to_owned(), payload });
        id
    });
    let former_path = run.former_path(&path).map(Cow::into_owned).filter(|former| *former != path);
    Ok(NodeTask {
        id,
        pool: pool.to_owned(),
        run_id: run.id().to_owned(),
        workflow,
        graph,
        node,
        path,
        attempt: attempt.number,
        was_sent,
        at_most_once: attempt.once_only,
        former_path,
        timeout: attempt.time_limit(),
        input,
        state: Map::clone(&attempt.state),
    })
}

/// Records what an attempt elsewhere has reported, and takes over what it has asked of its retries.
pub(crate) fn take_result(result: &mut NodeResult, context: &Context) {
    if result.is_last {
        context.no_retry();
    }
    for report in std::mem::take(&mut result.reports) {
        match report {
            NodeReport::Message { text } => context.message(text),
            NodeReport::Note { name, payload } => context.note(name, payload),
        }
    }
}
