//! What a run shares with its nodes: the environment of its engine, its journal, its desk and its pulse.

mod appending;
mod closing;
mod desk;
mod feed_signal;
mod in_flight;
mod journal;
mod notes;
mod others;
mod pending;
mod progress;
mod pulse;
mod question_index;
mod recent_progress;
mod request_state;
mod sending;
mod sent;
mod signals;
mod starter;
mod starting_over;
mod steps;
mod succession;
mod transaction;
mod tree;
mod turns;
mod watching;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::ReusableBoxFuture;

pub(crate) use desk::{Checked, Desk, Fits, Misfit, Receiver, ThawedDesk};
pub(crate) use feed_signal::{FeedSignal, Listener};
pub(crate) use journal::{Journal, Snapshots};
pub(crate) use progress::{Progress, ProgressReport};
pub(crate) use pulse::{Pulse, WaitingAttempts};
pub(crate) use request_state::{Ended, Item, QuestionHash};
pub(crate) use sent::Sent;
pub(crate) use signals::Signals;
pub(crate) use starter::{Starter, is_start_of_run};
pub(crate) use steps::Step;
pub use succession::MAX_ID;
pub(crate) use succession::Over;
pub(crate) use transaction::{OpenTransaction, Turn};
pub(crate) use tree::below;

use crate::around::{Around, Attempted, Call, CallKind};
use crate::clock::Clock;
use crate::core::Chance;
use crate::event::{EventKind, Tags};
use crate::executor::Executor;
use crate::fault::Fault;
use crate::fingerprint::FormerNames;
use crate::halt::Halt;
use crate::node_info::AnyGraph;
use crate::sorted::SortedSet;
use crate::state_write::StateWrite;
use crate::store::StoreError;
use crate::trace::{self, GuardedSpan, RunFacts, TraceContext, Work};
use crate::value::MaxSize;

/// Anything that may be shared between nodes, and between engines of one program.
pub(crate) type Thing = Arc<dyn Any + Send + Sync>;

/// What all runs of an engine share.
pub(crate) struct Env {
    pub(crate) resources: HashMap<TypeId, Thing>,
    pub(crate) replacements: HashMap<TypeId, Thing>,
    /// What is around every attempt.
    pub(crate) around: Around,
    /// What connects later spans of a run to those of its start.
    pub(crate) trace_context: Option<Arc<dyn TraceContext>>,
    /// How many attempts may be under way at once in all runs together; `None` is no limit.
    pub(crate) permits: Option<Arc<Semaphore>>,
    /// How many permits there are; 0 is no limit.
    pub(crate) most: usize,
    /// How deep workflows and children may be nested.
    pub(crate) max_nesting: usize,
    /// How large a recorded value may be.
    pub(crate) max_value_size: MaxSize,
    pub(crate) cancel_grace_period: Duration,
    pub(crate) clock: Clock,
    /// Who follows the records of all runs.
    pub(crate) feeds: Arc<FeedSignal>,
    /// The engine, for nodes that start runs; none without an engine.
    pub(crate) starter: OnceLock<Weak<dyn Starter>>,
    /// How many runs that wait may stay in memory.
    pub(crate) max_resident_waiting: usize,
    /// The waiting runs in memory, the one that has waited longest at the front.
    pub(crate) resting: Mutex<VecDeque<(Weak<Shared>, u64)>>,
    /// After how many records a snapshot is made of a run, and how many must be behind it before the next; 0 for none.
    pub(crate) snapshot_every: u64,
    /// How many updates of a scope are kept one by one at least.
    pub(crate) scope_updates: usize,
    /// The logs of scopes that are being trimmed.
    pub(crate) scope_trims: Arc<Mutex<SortedSet<String>>>,
    /// Has attempts at nodes of pools executed elsewhere.
    pub(crate) executor: Option<Arc<dyn Executor>>,
    /// Whether it is that of a lab: delays before retries have no jitter, so that a test does the same each time, and nodes of any pool
    /// are executed here.
    pub(crate) is_lab: bool,
    /// The pools whose attempts are executed here all the same.
    pub(crate) own_pools: SortedSet<String>,
    /// The workflows that recorded runs have called here, by the hashes of their graphs: only the nodes that call them have
    /// them otherwise.
    pub(crate) called: Mutex<HashMap<u64, AnyGraph>>,
}

impl Default for Env {
    fn default() -> Self {
        Env {
            resources: HashMap::new(),
            replacements: HashMap::new(),
            around: Around::default(),
            trace_context: None,
            permits: None,
            most: 0,
            max_nesting: 100,
            max_value_size: MaxSize::DEFAULT,
            cancel_grace_period: Duration::from_secs(1),
            clock: Clock::default(),
            feeds: Arc::default(),
            starter: OnceLock::new(),
            max_resident_waiting: 1000,
            resting: Mutex::default(),
            snapshot_every: 4096,
            scope_updates: 4096,
            scope_trims: Arc::default(),
            executor: None,
            is_lab: false,
            own_pools: SortedSet::new(),
            called: Mutex::default(),
        }
    }
}

impl Env {
    /// A recorded run calls a workflow with this graph.
    pub(crate) fn has_called(&self, graph: u64, definition: impl FnOnce() -> AnyGraph) {
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.entry(graph).or_insert_with(definition);
    }

    /// What executes the attempts at nodes of a pool; `None` if this engine does.
    pub(crate) fn executor_of(&self, pool: &str) -> Option<&Arc<dyn Executor>> {
        self.executor.as_ref().filter(|_| !self.own_pools.contains(pool))
    }

    /// The same for an engine over another store: resources, limits and permits are shared, and what belongs to the runs of
    /// an engine is empty.
    pub(crate) fn for_other_store(&self) -> Self {
        Env {
            resources: self.resources.clone(),
            replacements: self.replacements.clone(),
            around: self.around.clone(),
            trace_context: self.trace_context.clone(),
            permits: self.permits.clone(),
            most: self.most,
            max_nesting: self.max_nesting,
            max_value_size: self.max_value_size,
            cancel_grace_period: self.cancel_grace_period,
            clock: self.clock.clone(),
            feeds: Arc::default(),
            starter: OnceLock::new(),
            max_resident_waiting: self.max_resident_waiting,
            resting: Mutex::default(),
            snapshot_every: self.snapshot_every,
            scope_updates: self.scope_updates,
            scope_trims: Arc::default(),
            called: Mutex::default(),
            executor: self.executor.clone(),
            is_lab: self.is_lab,
            own_pools: self.own_pools.clone(),
        }
    }

    /// The environment without an engine: no resources, no replacements, no limits.
    pub(crate) fn plain() -> &'static Arc<Env> {
        static PLAIN: LazyLock<Arc<Env>> = LazyLock::new(Arc::default);
        &PLAIN
    }

    /// Whether this many levels of nesting are allowed.
    ///
    /// # Errors
    /// If it is deeper than the engine allows: the fault names the depth and the path.
    pub(crate) fn check_nesting(&self, levels: usize, path: impl fmt::Display) -> Result<(), Fault> {
        let most = self.max_nesting;
        if levels <= most {
            return Ok(());
        }
        let message = format!(
            "`{path}` is nested {levels} levels deep, and {most} are allowed: what calls itself needs a way out, or a \
             higher `max_nesting` in the engine's builder"
        );
        Err(Fault::Context { message })
    }

    /// Lets at most this many attempts run at once; 0 is no limit.
    pub(crate) fn limit_concurrency(&mut self, most: usize) {
        self.most = most;
        self.permits = (most > 0).then(|| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))));
    }

    /// The most attempts that one run may have under way: more could not run anyway, and would only hold their inputs.
    pub(crate) fn max_concurrency(&self) -> usize {
        self.most
    }

    pub(crate) fn resource(&self, of: TypeId) -> Option<&Thing> {
        self.resources.get(&of)
    }

    /// Whether nodes may be replaced.
    pub(crate) fn has_replacements(&self) -> bool {
        !self.replacements.is_empty()
    }

    pub(crate) fn replacement(&self, of: TypeId) -> Option<&Thing> {
        if self.replacements.is_empty() { None } else { self.replacements.get(&of) }
    }

    /// Has a run leave the memory if it waits.
    pub(crate) fn unload(&self, run: &str) {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = resting.iter().filter_map(|(shared, since)| Some((shared.upgrade()?, *since)));
        for (shared, _) in waiting.filter(|(shared, since)| shared.id() == run && shared.pulse.generation() == *since) {
            shared.pulse.unload();
        }
    }

    /// Adds a run that waits, since this generation of its pulse. If too many wait, the one that has waited longest
    /// leaves the memory.
    pub(crate) fn rests(&self, run: &Arc<Shared>, since: u64) {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.push_back((Arc::downgrade(run), since));
        while resting.len() > self.max_resident_waiting {
            let Some((longest, since)) = resting.pop_front() else { break };
            if let Some(run) = longest.upgrade().filter(|run| run.pulse.generation() == since) {
                run.pulse.unload();
            }
        }
    }
}

/// By their types.
type Companions = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// What is counted are its receivers: its `closed` resolves when there are none.
type Counted = watch::Sender<()>;

/// What a run shares with its nodes.
pub(crate) struct Shared {
    /// That of a run without a journal. Made at its first use: most of them end before that.
    id: OnceLock<String>,
    pub(crate) env: Arc<Env>,
    /// The permits that attempts take before they are polled, if the engine limits how many may run. `None` in a
    /// workflow that a node runs by itself: the node holds a permit already, and could wait for its own permit forever.
    pub(crate) permits: Option<Arc<Semaphore>>,
    /// The journal for records; `None` in a run that is not recorded.
    pub(crate) journal: Option<Arc<Journal>>,
    /// The requests of nodes in a run without a journal; made by the first request.
    desk: OnceLock<Box<Desk>>,
    pub(crate) pulse: Pulse,
    /// Attempts with a task of their own, in a run whose driver is awaited to its end.
    under_way: OnceLock<Counted>,
    /// The starts of runs by its nodes, if there were any, in this process or before.
    starts: OnceLock<Counted>,
    /// What its spans are about, if anything wants them.
    pub(crate) work: Option<Arc<Work>>,
    /// What crates above this one keep of the run while it is in memory, by its type.
    companions: OnceLock<Arc<Mutex<Companions>>>,
    /// The maximum size of a value; `None` if no values are written.
    max_size: Option<MaxSize>,
    /// Whether this is one attempt of a run that another engine drives.
    pub(crate) is_elsewhere: bool,
    /// The names that its nodes were recorded under, if those are others now.
    former: Option<Arc<FormerNames>>,
}

/// Counts as a moving part of the run while it lives.
pub(crate) struct Moving(Arc<Shared>);

impl Moving {
    /// `None` in a run without a journal, where movement is not counted.
    pub(crate) fn of(run: &Arc<Shared>) -> Option<Moving> {
        run.journal.as_ref()?;
        run.pulse.enter();
        Some(Moving(Arc::clone(run)))
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        self.0.pulse.leave();
    }
}

/// State shared between a child and the driver of the graph inside it.
#[derive(Default)]
pub(crate) struct Within {
    moving: Mutex<Option<Moving>>,
    wrote: Mutex<Vec<StateWrite>>,
    /// Whether an attempt in the graph that may be made at most once was cut short.
    cut: AtomicBool,
    /// The nodes of `[..]` around the node that has called the child.
    pub(crate) items_around: Option<Arc<[String]>>,
    /// What the spans of the child are about.
    pub(crate) work: Option<Arc<Work>>,
}

impl Within {
    /// The driver is at work. It takes over `moving`, which has counted for the child until now.
    pub(crate) fn new(moving: Option<Moving>, items_around: Vec<String>, work: Option<Arc<Work>>) -> Self {
        let items_around = (!items_around.is_empty()).then(|| items_around.into());
        Within { moving: Mutex::new(moving), items_around, work, ..Within::default() }
    }

    pub(crate) fn moves(&self, run: &Arc<Shared>) {
        let mut moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        if moving.is_none() {
            *moving = Moving::of(run);
        }
    }

    pub(crate) fn rests(&self) {
        drop(self.take_moving());
    }

    /// The driver is done. The caller takes over `moving`, and counts from here on.
    pub(crate) fn take_moving(&self) -> Option<Moving> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the state writes of the completed graph.
    pub(crate) fn has_written(&self, writes: Vec<StateWrite>) {
        *self.wrote.lock().unwrap_or_else(PoisonError::into_inner) = writes;
    }

    /// Says that such an attempt was cut short.
    pub(crate) fn set_cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    pub(crate) fn take_writes(&self) -> Vec<StateWrite> {
        std::mem::take(&mut *self.wrote.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    pub(crate) fn in_memory(env: Arc<Env>) -> Self {
        Shared {
            id: OnceLock::new(),
            permits: env.permits.clone(),
            env,
            journal: None,
            desk: OnceLock::new(),
            pulse: Pulse::default(),
            under_way: OnceLock::new(),
            starts: OnceLock::new(),
            work: None,
            companions: OnceLock::new(),
            max_size: None,
            is_elsewhere: false,
            former: None,
        }
    }

    /// For one attempt of a run that another engine drives. Values are written, and nothing is recorded.
    pub(crate) fn elsewhere(env: &Arc<Env>, run_id: String) -> Self {
        let max_size = Some(env.max_value_size);
        let id = OnceLock::from(run_id);
        Shared { id, max_size, is_elsewhere: true, ..Shared::in_memory(Arc::clone(env)) }
    }

    pub(crate) fn recorded(env: Arc<Env>, journal: Arc<Journal>) -> Self {
        Shared {
            id: OnceLock::new(),
            permits: env.permits.clone(),
            max_size: Some(env.max_value_size),
            env,
            journal: Some(journal),
            desk: OnceLock::new(),
            pulse: Pulse::default(),
            under_way: OnceLock::new(),
            starts: OnceLock::new(),
            work: None,
            companions: OnceLock::new(),
            is_elsewhere: false,
            former: None,
        }
    }

    /// For a workflow that a node runs by itself: nothing that happens inside it is recorded. `work`: what the spans of the node are
    /// about.
    pub(crate) fn unrecorded(&self, work: Option<Arc<Work>>) -> Self {
        let id = OnceLock::from(self.id().to_owned());
        Shared {
            id,
            permits: None,
            env: Arc::clone(&self.env),
            journal: None,
            desk: OnceLock::new(),
            pulse: Pulse::default(),
            under_way: OnceLock::new(),
            starts: OnceLock::new(),
            work,
            companions: OnceLock::from(Arc::clone(self.companions.get_or_init(Arc::default))),
            max_size: None,
            is_elsewhere: false,
            former: None,
        }
    }

    /// With the names under which the nodes of the run were first recorded.
    pub(crate) fn with_former_names(self, former: Option<Arc<FormerNames>>) -> Self {
        Shared { former, ..self }
    }

    /// The same for every attempt at what has this path, also under another name.
    pub(crate) fn idempotency_key(&self, path: &str) -> String {
        format!("{}:{}", self.id(), self.former_path(path).as_deref().unwrap_or(path))
    }

    /// A path with the names under which its nodes were first recorded, if those are others now.
    pub(crate) fn former_path<'p>(&self, path: &'p str) -> Option<Cow<'p, str>> {
        self.former.as_ref().map(|former| former.path(path))
    }

    /// The names under which the nodes of the run were first recorded, if those are others now.
    pub(crate) fn former_names(&self) -> Option<&Arc<FormerNames>> {
        self.former.as_ref()
    }

    /// Has spans made of it, if anything wants them. `start`: the span in which it was started, if that was here and now.
    pub(crate) fn traced(mut self, workflow: &str, tags: &Tags, start: Option<GuardedSpan>) -> Self {
        if trace::is_wanted() {
            let context = self.env.trace_context.as_ref();
            let facts = RunFacts::new(self.id().to_owned(), workflow.to_owned(), tags, context);
            self.work = Some(Work::run(facts, start));
        }
        self
    }

    /// The one `T` of this run in this process, made at its first use.
    pub(crate) fn companion<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut companions = self.companions.get_or_init(Arc::default).lock().unwrap_or_else(PoisonError::into_inner);
        let made = companions.entry(TypeId::of::<T>()).or_insert_with(|| Arc::<T>::default());
        Arc::clone(made).downcast().unwrap_or_default()
    }

    /// The requests of nodes.
    pub(crate) fn desk(&self) -> &Desk {
        match &self.journal {
            Some(journal) => &journal.desk,
            None => self.desk.get_or_init(Box::default),
        }
    }

    /// The requests of nodes, if there can be any: without a journal, `None` until the first request.
    pub(crate) fn known_desk(&self) -> Option<&Desk> {
        match &self.journal {
            Some(journal) => Some(&journal.desk),
            None => self.desk.get().map(|desk| &**desk),
        }
    }

    pub(crate) fn id(&self) -> &str {
        match &self.journal {
            Some(journal) => &journal.run_id,
            None => self.id.get_or_init(|| self.env.clock.new_run_id()),
        }
    }

    /// The present time, and another random number each time.
    pub(crate) fn chance(&self) -> Chance {
        // Each of these hashes by keys of its own.
        let bits = if self.env.is_lab { 0 } else { RandomState::new().hash_one(()) >> 11 };
        Chance { now: self.env.clock.now(), random: bits as f64 / (1u64 << 53) as f64 }
    }

    pub(crate) fn records(&self) -> bool {
        self.journal.is_some()
    }

    /// An attempt with what the engine has around all of them.
    #[inline]
    pub(crate) fn surrounded<'n, T: Attempted + 'n>(
        &self,
        body: ReusableBoxFuture<'n, T>,
        kind: CallKind,
        path: impl FnOnce() -> String,
        attempt: u32,
    ) -> ReusableBoxFuture<'n, T> {
        let around = &self.env.around;
        if around.is_empty() {
            return body;
        }
        let call = Call { kind, run_id: self.id().to_owned(), path: path(), attempt };
        ReusableBoxFuture::new(around.wrap(&call, Box::pin(body)))
    }

    /// The maximum size of a value; `None` if no values are written, since the run is not recorded.
    pub(crate) fn max_size(&self) -> Option<MaxSize> {
        self.max_size
    }

    /// Counts an attempt with a task of its own until the task is gone.
    pub(crate) fn track<F: Future>(&self, attempt: F) -> impl Future<Output = F::Output> + use<F> {
        let tracker = self.records().then(|| self.under_way.get_or_init(Counted::default).subscribe());
        async move {
            // Bound first, so that the attempt is dropped before the token, also if this is never polled.
            let attempt = attempt;
            let _counted = tracker;
            attempt.await
        }
    }

    /// Whether its end may have to wait for runs that its nodes have started.
    pub(crate) fn may_wait_for_started(&self) -> bool {
        self.starts.get().is_some()
    }

    /// Resolves when all attempts with a task of their own are gone.
    pub(crate) async fn until_alone(&self) {
        if let Some(under_way) = self.under_way.get() {
            under_way.closed().await;
        }
    }

    /// Nodes of the run have started runs before.
    pub(crate) fn has_started_runs(&self) {
        self.starts.get_or_init(Counted::default);
    }

    /// Counts the start of a run by a node until it is done: the run does not end before.
    pub(crate) fn track_start<F: Future>(&self, start: F) -> impl Future<Output = F::Output> + use<F> {
        let counted = self.starts.get_or_init(Counted::default).subscribe();
        async move {
            let _counted = counted;
            start.await
        }
    }

    /// The run is about to end: waits until no run is being started, and then for what becomes of those that were.
    ///
    /// # Errors
    /// If the run leaves this process before.
    pub(crate) async fn close_started(&self) -> Result<(), Halt> {
        let (Some(starts), Some(journal)) = (self.starts.get(), &self.journal) else { return Ok(()) };
        journal.flush().await?;
        starts.closed().await;
        match self.env.starter.get().and_then(Weak::upgrade) {
            Some(starter) => starter.close_started(Arc::clone(journal)).await,
            None => Err(Halt::ShutDown),
        }
    }

    /// Stops the run, as if it could not record something, if this is since the store is away. Returns only if not.
    pub(crate) async fn pending_if_away(&self, error: &StoreError) {
        if let Some(journal) = &self.journal {
            journal.stop_if_away(error).await;
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.is_watched())
    }

    pub(crate) fn record(&self, path: impl FnOnce() -> String, kind: impl FnOnce() -> EventKind) {
        if let Some(journal) = &self.journal {
            journal.push(path(), kind());
        }
    }
}

#[cfg(test)]
mod tests;
