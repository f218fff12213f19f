//! State shared by the parts of an engine.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::answer_queue::AnswerQueues;
use super::retention::Retention;
use super::runs::Runs;
use super::signal_logs::SignalLogs;
use super::snapshot_queue::SnapshotQueue;
use super::versions::Versions;
use crate::halt::Halt;
use crate::meter;
use crate::shared::{Env, Starter};
use crate::sorted::SortedMap;
use crate::store::{Append, Appended, Claim, Claimed, Created, NewRun, Owner, RunKey, Store, StoreError};
use crate::table::Definition;

/// Runs workflows: provides their resources and limits, records them, and finds them by id.
///
/// Cheap to clone. Dropping every clone of an engine does not stop the runs that it is executing; they stop with the
/// tokio runtime. From then on it resumes no other runs once those are over: runs that wait outside of the memory are
/// released, so another engine can resume them. A [`Run`](crate::Run) or [`Events`](crate::Events) does not count as a
/// clone.
///
/// # Cancel safety
/// Methods that only read are cancel safe. If the future of one that changes something is dropped, that may or may not be done;
/// each says so where more is to be known.
#[derive(Clone)]
pub struct Engine(pub(super) Arc<Inner>, #[expect(dead_code, reason = "only its `Drop` counts")] Option<Arc<Held>>);

pub(crate) struct Inner {
    pub(super) env: Arc<Env>,
    pub(super) workflows: SortedMap<String, Versions>,
    /// Workflows of which runs were started here, whether they are registered or not.
    pub(super) started: Mutex<SortedMap<String, Arc<Definition>>>,
    /// Workflows that are registered as nodes which others call.
    pub(super) called: Vec<&'static Arc<Definition>>,
    pub(super) store: Arc<dyn Store>,
    /// The identity of this engine in the store, once it has joined it.
    pub(super) owner: OnceCell<Owner>,
    pub(super) runs: Runs,
    /// Answers to runs that are not driven here.
    pub(super) answers: AnswerQueues,
    /// Signals of such runs.
    pub(super) signal_logs: SignalLogs,
    /// Whether a task looks after runs that wait outside of the memory.
    pub(super) is_kept: AtomicBool,
    /// Whether runs of processes that have died are taken over.
    pub(super) recovers: AtomicBool,
    /// Whether a claim has failed, and may have been carried out all the same: then this engine owns runs that it does
    /// not know of.
    pub(super) lost_claim: AtomicBool,
    /// Runs that had to stop here or could not be resumed, and why: the store has failed, the runtime is gone, or this
    /// program cannot resume them. They are not claimed before the next [`Engine::recover`].
    pub(super) halted: Mutex<SortedMap<RunKey, Halted>>,
    /// Whether the engine was shut down, or the program has dropped it: streams of events do not wait for other engines
    /// any more.
    pub(super) closing: CancellationToken,
    /// Whether it has left its store.
    pub(super) has_left: AtomicBool,
    /// The runs of which snapshots are due.
    pub(super) snapshots: SnapshotQueue,
    /// How long runs are kept.
    pub(super) retention: Retention,
}

impl Inner {
    /// Of an engine without runs, which has not joined its store.
    pub(super) fn new(
        env: Arc<Env>,
        workflows: SortedMap<String, Versions>,
        called: Vec<&'static Arc<Definition>>,
        store: Arc<dyn Store>,
        retention: Retention,
    ) -> Self {
        Inner {
            env,
            workflows,
            started: Mutex::default(),
            called,
            store,
            owner: OnceCell::new(),
            runs: Runs::default(),
            answers: AnswerQueues::default(),
            signal_logs: SignalLogs::default(),
            snapshots: SnapshotQueue::default(),
            is_kept: AtomicBool::new(false),
            recovers: AtomicBool::new(false),
            lost_claim: AtomicBool::new(false),
            halted: Mutex::default(),
            closing: CancellationToken::new(),
            has_left: AtomicBool::new(false),
            retention,
        }
    }
}

/// Alive while the program holds a clone of the engine. Handles to runs, and the runs that are executed here, share
/// only the inner state, so that they do not keep an engine alive that the program has dropped.
struct Held(Arc<Inner>);

impl Drop for Held {
    fn drop(&mut self) {
        if self.0.runs.abandon() {
            drop(self.0.leave());
        }
        self.0.closing.cancel();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.leave());
    }
}

impl Inner {
    /// Releases all runs of this engine, once. The call starts it.
    pub(super) fn leave(&self) -> Option<BoxFuture<'static, ()>> {
        let owner = self.owner.get().filter(|_| !self.has_left.swap(true, Ordering::AcqRel))?;
        Some(self.store.leave(*owner))
    }

    // What the engine records itself, and not by the journal of a run that it drives: feeds read it at once.

    /// See [`Store::create`].
    pub(super) async fn create(&self, run: NewRun) -> Result<Created, StoreError> {
        let created = self.store.create(run).await;
        self.env.feeds.notify();
        created
    }

    /// See [`Store::append`].
    pub(super) async fn append(&self, batch: Append) -> Result<Appended, StoreError> {
        let closed = batch.header.questions.closed.len();
        let appended = self.store.append(batch).await;
        if let Ok(Appended::Done) = appended {
            meter::questions_changed(0, closed);
        }
        self.env.feeds.notify();
        appended
    }

    /// See [`Store::claim`].
    pub(super) async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        let claimed = self.store.claim(claim).await;
        self.env.feeds.notify();
        claimed
    }

    /// A run is no longer driven here.
    pub(super) fn remove_run(&self, id: &str) {
        if self.runs.remove(id) {
            drop(self.leave());
        }
    }
}

impl Engine {
    /// The engine of a program.
    pub(super) fn new(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        let starter: Arc<dyn Starter> = Arc::<Inner>::clone(&inner);
        let _it_is_the_first = inner.env.starter.set(Arc::downgrade(&starter));
        let held = Arc::new(Held(Arc::clone(&inner)));
        Engine(inner, Some(held))
    }

    /// The same engine, for handles to runs and the runs themselves, which must not keep it alive.
    pub(super) fn not_held(&self) -> Self {
        Engine::behind(Arc::clone(&self.0))
    }

    /// See [`not_held`](Self::not_held).
    pub(super) fn behind(inner: Arc<Inner>) -> Self {
        Engine(inner, None)
    }

    /// The names of the registered workflows, in alphabetical order.
    pub fn workflows(&self) -> impl Iterator<Item = &str> {
        self.0.workflows.keys().map(String::as_str)
    }

    /// Whether the nodes of a run are executed by this engine: it was started, or resumed, here, and has neither ended nor left the
    /// memory to wait. What is executed is cut off if the process ends now, after [`shutdown`](Self::shutdown) at an `.await`.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
    /// # workflow! { pub publish(()) -> bool { START => review; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<publish>().build()?;
    /// let run = engine.start::<publish>(()).id("poem").await?;
    /// assert!(engine.drives("poem") && !engine.drives("novel"));
    /// run.outcome().await?;
    /// run.answer("approve", true).await?;
    /// run.result().await?;
    /// assert!(!engine.drives("poem"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn drives(&self, run_id: &str) -> bool {
        self.0.runs.get(run_id).is_some()
    }

    pub(super) fn halted(&self) -> MutexGuard<'_, SortedMap<RunKey, Halted>> {
        self.0.halted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest version of a registered workflow.
    pub(super) fn newest(&self, workflow: &str) -> Option<&Arc<Definition>> {
        self.0.workflows.get(workflow).map(|versions| &versions.newest.definition)
    }

    /// Whether exactly this definition is registered, as any version.
    pub(super) fn has_registered(&self, definition: &Arc<Definition>) -> bool {
        self.0.workflows.get(&definition.name).is_some_and(|versions| versions.has(definition))
    }

    /// A workflow of which a run was started here.
    pub(super) fn started(&self, workflow: &str) -> Option<Arc<Definition>> {
        self.0.started.lock().unwrap_or_else(PoisonError::into_inner).get(workflow).cloned()
    }

    /// The identity of this engine in the store.
    pub(super) async fn owner(&self) -> Result<Owner, StoreError> {
        let join = || self.0.store.join(self.workflows().map(str::to_owned).collect());
        self.0.owner.get_or_try_init(join).await.copied()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("workflows", &self.workflows().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

/// Why a run does not continue here.
pub(super) struct Halted {
    pub(super) halt: Halt,
    /// Whether it is still this engine's, so that no other one resumes it as long as this one lives.
    pub(super) is_owned: bool,
}

impl From<Halt> for Halted {
    fn from(halt: Halt) -> Self {
        Halted { halt, is_owned: false }
    }
}
