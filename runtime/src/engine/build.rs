//! Building an engine.

use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::error::BuildError;
use super::inner::Engine;
use super::inner::Inner;
use super::retention::Retention;
use super::runtime::{self, Unfit};
use super::versions::{Version, Versions, by_name};
use crate::around::{Call, Done, Next};
use crate::clock::Clock;
use crate::compile::{all_used, check_resources, check_resources_of, definitions};
use crate::context::Context;
use crate::executor::Executor;
use crate::meter;
use crate::node::Node;
use crate::node_info::NodeInfo;
use crate::replacement::Replacement;
use crate::shared::Env;
use crate::sorted::SortedMap;
use crate::store::{MemoryStore, Store};
use crate::table::Definition;
use crate::trace::TraceContext;
use crate::value::MaxSize;
use crate::workflow::Workflow;

/// Configures an engine; see [`Engine::builder`].
///
/// ```
/// use graphweft::Engine;
///
/// struct Pool;
///
/// let engine = Engine::builder().resource(Pool).max_concurrency(64).build()?;
/// # Ok::<(), graphweft::BuildError>(())
/// ```
#[must_use = "no engine is made before `build`"]
pub struct EngineBuilder {
    env: Env,
    workflows: SortedMap<String, Version>,
    earlier: Vec<Version>,
    called: Vec<CalledNode>,
    mocks: Vec<(TypeId, &'static str)>,
    store: Option<Arc<dyn Store>>,
    max_resident_finished: usize,
    retention: Retention,
    error: Option<BuildError>,
}

/// A registered node that other nodes call.
struct CalledNode {
    type_id: TypeId,
    info: NodeInfo,
    inside: Option<&'static Arc<Definition>>,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        EngineBuilder {
            env: Env::default(),
            workflows: SortedMap::new(),
            earlier: Vec::new(),
            called: Vec::new(),
            mocks: Vec::new(),
            store: None,
            max_resident_finished: 1000,
            retention: Retention::default(),
            error: None,
        }
    }
}

impl Engine {
    /// Configures a new engine.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }
}

impl EngineBuilder {
    /// Registers a resource, which every node with a parameter `#[resource] name: &T` receives. One of each type.
    pub fn resource<T: Any + Send + Sync>(mut self, resource: T) -> Self {
        if self.env.resources.insert(TypeId::of::<T>(), Arc::new(resource)).is_some() {
            self.error.get_or_insert(BuildError::DuplicateResource { type_name: std::any::type_name::<T>() });
        }
        self
    }

    /// Registers a test's observer of the cores of the runs.
    #[cfg(test)]
    pub(crate) fn observer(mut self, observer: std::sync::Arc<crate::driver::Observer>) -> Self {
        self.env.resources.insert(TypeId::of::<std::sync::Arc<crate::driver::Observer>>(), Arc::new(observer));
        self
    }

    /// After how many records the engine makes a snapshot of a run in its [`store`](Self::store), and how many come behind it
    /// before the next one. The default is 4,096; 0: none are made, and none are read.
    ///
    /// A run that is resumed reads its snapshot and the records behind it. A snapshot is a cache of what the records before it
    /// come to, made beside the run by a task of its own; without one that fits, all records are read.
    pub fn snapshot_every(mut self, records: u64) -> Self {
        self.env.snapshot_every = records;
        self
    }

    /// How many of the last updates of a [scope](crate::scope) are kept one by one at least; the default is 4,096. Those before them become one entry
    /// from time to time: [what that means](crate::scope#where-it-is-stored).
    pub fn keep_scope_updates(mut self, updates: usize) -> Self {
        self.env.scope_updates = updates;
        self
    }

    /// Sets a function around every attempt at a node, a child or a step, which is called in its place: it runs the attempt with
    /// [`Next::run`], and may do something before and after, such as measuring, logging, waiting or refusing. Of several, the first
    /// is outermost.
    ///
    /// It is passed which attempt it is, but no values, and returns the [`Done`] of the attempt, or [`Done::failed`]. It is a part of the
    /// attempt: it counts for the time limit, is dropped with it, and a panic of it is one of the node. What is not
    /// attempted has nothing around it: a node whose result is recorded is not. A nested workflow and a child that is a workflow have
    /// it around their nodes.
    ///
    /// An engine without such a function pays nothing for it. With one, nodes that follow one another in memory cost as much as others.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn double(n: u32) -> u32 { 2 * n }
    /// #[node]
    /// async fn print(n: u32) -> String { n.to_string() }
    /// workflow! { pub doubled(u32) -> String { START => double => print; } }
    ///
    /// # graphweft::block_on(async {
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let log = Arc::clone(&seen);
    /// let engine = Engine::builder().around(move |call, next| {
    ///     let log = Arc::clone(&log);
    ///     async move {
    ///         let done = next.run().await;
    ///         log.lock().unwrap().push(format!("{} {}", call.path, done.is_completed()));
    ///         done
    ///     }
    /// });
    /// let run = engine.build()?.start::<doubled>(4).await?;
    /// assert_eq!(run.result().await?, "8");
    /// assert_eq!(*seen.lock().unwrap(), ["doubled/double true", "doubled/print true"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn around<F, R>(mut self, function: F) -> Self
    where
        F: Fn(Call, Next) -> R + Send + Sync + 'static,
        R: Future<Output = Done> + Send + 'static,
    {
        self.env.around.add(function);
        self
    }

    /// Connects the spans of a run that follow a wait or a restart to the trace in which the run was started: what that says
    /// of the span `graphweft.start` is recorded as the tag `traceparent`, unless [`Start::tag`](crate::Start::tag) has set one. See
    /// [`TraceContext`], and the crate `graphweft-otel`, which has one for OpenTelemetry.
    pub fn trace_context(mut self, context: impl TraceContext) -> Self {
        self.env.trace_context = Some(Arc::new(context));
        self
    }

    /// Limits how many nodes may run at the same time, in all runs of the engine together. The default is no limit.
    /// Nodes above the limit wait in order of arrival, and their time limits start when they do. A nested workflow and
    /// `[..]` count by the nodes inside them, and children count as nodes.
    ///
    /// A node that waits for an answer, a timer or a child does not count: another runs in its place, and it continues
    /// when there is room again. A step counts as a part of its node.
    ///
    /// Takes a `NonZeroUsize` or a `usize`; with 0, [`build`](Self::build) returns [`BuildError::ZeroConcurrency`].
    pub fn max_concurrency(mut self, nodes: impl TryInto<NonZeroUsize>) -> Self {
        match nodes.try_into() {
            Ok(nodes) => self.env.limit_concurrency(nodes.get()),
            Err(_) => {
                self.error.get_or_insert(BuildError::ZeroConcurrency);
            }
        }
        self
    }

    /// How many levels of workflows and children may be nested in a run: a node of the workflow that was started is on
    /// level 1, its child on level 2, and so is a node of a workflow inside it. The default is 100. A deeper node fails
    /// with an error that names the limit: endless recursion ends the run, and not the process. The stack of the thread
    /// grows as far as children need it.
    pub fn max_nesting(mut self, levels: usize) -> Self {
        self.env.max_nesting = levels;
        self
    }

    /// How large a value may be that is recorded: an input, an output, an error, an answer or a value of the state, in
    /// bytes of its JSON, counted without escapes. The default is 64 MiB. A larger one is refused where it comes in, or
    /// fails its node, with an error that names the limit. Runs without an engine have no limit.
    pub fn max_value_size(mut self, bytes: usize) -> Self {
        self.env.max_value_size = MaxSize(bytes);
        self
    }

    /// How long a cancelled node that listens to `ctx.cancelled()` may clean up before it is dropped. The default is
    /// one second; zero drops it at once.
    pub fn cancel_grace_period(mut self, grace: Duration) -> Self {
        self.env.cancel_grace_period = grace;
        self
    }

    /// Sets the clock of this engine's runs: for their events, for their timers, for timers that are due after a
    /// restart. The default is the clock of the system. For tests of workflows that sleep: under tokio's paused time a
    /// day passes at once, and a clock that follows tokio's keeps the events in step.
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn tomorrow(text: String, ctx: &Context) -> String {
    ///     ctx.sleep(Duration::from_secs(24 * 60 * 60)).await;
    ///     text
    /// }
    ///
    /// workflow! {
    ///     pub reminder(String) -> String { START => tomorrow; }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// let begun = tokio::time::Instant::now();
    /// let engine = Engine::builder().clock(move || UNIX_EPOCH + begun.elapsed()).build()?;
    /// let run = engine.start::<reminder>("the milk".into()).await?;
    /// assert_eq!(run.result().await?, "the milk");
    /// let took = engine.history(run.id()).await?.and_then(|events| events.into_iter().last()).map(|event| event.time);
    /// assert!(took >= Some(UNIX_EPOCH + Duration::from_secs(24 * 60 * 60)));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It does not change how long tokio's timers take. A store that is shared by several processes uses its own clock
    /// to detect dead processes.
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.env.clock = Clock::new(now);
        self
    }

    /// For a lab.
    #[cfg(feature = "test-util")]
    pub(crate) fn of_lab(mut self) -> Self {
        self.env.is_lab = true;
        self
    }

    /// Sets the store of the runs. The default store is in memory, and its runs are lost with the process.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// How many runs that wait for an answer or a timer may stay in memory, from which they resume at once. The default
    /// is 1000. Above that, the run that has waited longest is unloaded; when it resumes, its nodes start again from
    /// the top, as after a restart.
    ///
    /// A run is not unloaded while an `at_most_once` node of it runs, or while anything but its requests can wake one
    /// of its nodes: a socket, a channel or a timer of the node's own, as in `join!(ctx.ask(..), work())`. `join_all`
    /// of more than 30 futures counts as such, and so does a clone of a node's [`Context`](crate::Context). Nor is a run
    /// unloaded whose workflow is not [registered](Self::register): this engine could not resume it.
    pub fn max_resident_waiting(mut self, runs: usize) -> Self {
        self.env.max_resident_waiting = runs;
        self
    }

    /// How many finished runs the default store keeps in memory, with their events. The default is the last 1000. Has
    /// no effect with [`store`](Self::store).
    pub fn max_resident_finished(mut self, runs: usize) -> Self {
        self.max_resident_finished = runs;
        self
    }

    /// Deletes runs some time after they have ended. Without this, a store in a file keeps all of them.
    ///
    /// The engine looks once a minute, from its first run or its [`recover`](Engine::recover) on, and deletes a few at
    /// a time; of several engines with one store one does it. It deletes runs of all workflows, also of those that are
    /// not registered. See [`Engine::delete_run`] for what stays of a run, and
    /// [`Engine::delete_expired`] to do it at once.
    ///
    /// ```
    /// use std::time::Duration;
    /// use graphweft::{Engine, Retention};
    ///
    /// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    ///
    /// let engine = Engine::builder().retention(Retention::completed(30 * DAY).failed(90 * DAY)).build()?;
    /// # Ok::<(), graphweft::BuildError>(())
    /// ```
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Registers a workflow, so that [`Engine::start_json`] finds it and its runs can be resumed in this process. With
    /// a [`store`](Self::store) that outlives the process, only registered workflows can be started.
    ///
    /// Of several versions of a workflow this is the newest: the one that new runs begin on. The others are registered by
    /// [`register_earlier`](Self::register_earlier).
    pub fn register<W: Workflow>(mut self) -> Self {
        let name = W::NAME;
        let definition = W::definition();
        let other = self.workflows.insert(name.to_owned(), version::<W>());
        if other.is_some_and(|other| !Arc::ptr_eq(&other.definition, definition)) {
            self.error.get_or_insert(BuildError::DuplicateWorkflow { name: name.to_owned() });
        }
        self
    }

    /// Registers an earlier version of a workflow, so that the runs of it that have not ended continue under its own graph and code,
    /// while new runs begin on the one of [`register`](Self::register). Both versions have the same name, each in a module
    /// of its own; nodes that are the same in both are written once. There may be several; the later ones first, since the first that fits is taken.
    ///
    /// Versions are distinguished by their graphs: the nodes, how they are wired, and the types of their values
    /// ([`Engine::run_graph`]). A nested workflow is a part of the graph around it, and needs no registration. What
    /// nodes do and ask is no part of it.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft::store::MemoryStore;
    /// mod v1 {
    ///     use graphweft::prelude::*;
    ///
    ///     #[node]
    ///     pub async fn approve(cents: u32, ctx: &Context) -> bool {
    ///         ctx.ask::<bool>("large", format!("Pay {cents} cents back?")).await
    ///     }
    ///
    ///     #[node]
    ///     pub async fn pay(approved: bool) -> String {
    ///         if approved { "paid back".into() } else { "declined".into() }
    ///     }
    ///
    ///     workflow! { pub refund(u32) -> String { START => approve => pay; } }
    /// }
    ///
    /// // Answers have a reason now, and what was asked before does not fit any more.
    /// #[node]
    /// async fn approve(cents: u32, ctx: &Context) -> Result<u32, std::io::Error> {
    ///     let why: Option<String> = ctx.ask("large", format!("Why should {cents} cents not be paid back?")).await;
    ///     why.map_or(Ok(cents), |why| Err(std::io::Error::other(why)))
    /// }
    ///
    /// #[node]
    /// async fn pay(cents: u32) -> String { format!("paid back {cents} cents") }
    ///
    /// workflow! { pub refund(u32) -> String { START => approve => pay; } }
    ///
    /// # graphweft::block_on(async {
    /// # let store = MemoryStore::new();
    /// # let before = Engine::builder().store(store.clone()).register::<v1::refund>().build()?;
    /// # before.start::<v1::refund>(900).id("refund-1").await?.outcome().await?;
    /// # before.shutdown().await;
    /// // `refund-1` was started by the program before this one, and waits.
    /// let engine = Engine::builder().store(store).register::<refund>().register_earlier::<v1::refund>().build()?;
    /// engine.recover().await?;
    ///
    /// let old = engine.get_run_of::<v1::refund>("refund-1").await?.expect("it was started");
    /// old.answer("large", true).await?; // a `bool`, as in the version that has asked
    /// assert_eq!(old.result().await?, "paid back");
    ///
    /// let new = engine.start::<refund>(900).await?;
    /// new.outcome().await?;
    /// new.answer("large", graphweft::json!(null)).await?;
    /// assert_eq!(new.result().await?, "paid back 900 cents");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// | | version |
    /// | --- | --- |
    /// | a run that continues, also by a retry or a fork | The one with the graph of its last records. If there is none, the first whose graph its records fit, of the newest and then the earlier ones as they were registered, as if that were the only one; if there is none either, it is refused with [`RunError::NoVersionFits`](crate::RunError::NoVersionFits). |
    /// | a new run: [`start::<checkout>`](Engine::start), [`start_json`](Engine::start_json), a fork before event 1, the next run of one that starts over | The newest. The last two stay with their own version if the newest does not read their input without loss, or has to be given keys of the state that they do not have. A fork that is requested where the workflow is not registered always does. |
    /// | [`start::<v1::checkout>`](Engine::start), also by a node of an earlier version | The one that is named. |
    /// | [`get_run_of::<v1::checkout>`](Engine::get_run_of) | Any: runs are found by the name of the workflow. An output that is not that of the named version is [`RunError::OutputMismatch`](crate::RunError::OutputMismatch). |
    /// | [`graph`](Engine::graph), [`required_state`](Engine::required_state) | The newest. [`run_graph`](Engine::run_graph) has that of a run. |
    /// | [`mock`](Self::mock) | All that have this node. Nodes of the same name in two modules are two. |
    ///
    /// [`Engine::check`] counts the unfinished runs of each version: one that has none is needed only to retry or fork runs that have ended.
    ///
    /// [`build`](Self::build) returns [`BuildError::NoNewestVersion`] if no workflow of this name is registered by `register`, and
    /// [`BuildError::SameGraph`] if two versions have the same graph.
    pub fn register_earlier<W: Workflow>(mut self) -> Self {
        self.earlier.push(version::<W>());
        self
    }

    /// Registers a node, or a workflow, that other nodes call with [`Context::call`]: what a body calls is not known
    /// before it does. [`build`](Self::build) then reports the resources that it needs and that are missing, and it can
    /// be [mocked](Self::mock). Without this, a missing resource is an error of the call.
    pub fn register_node<N: Node + Default>(mut self) -> Self {
        self.called.push(CalledNode {
            type_id: TypeId::of::<N>(),
            info: NodeInfo::of::<N>(),
            inside: N::nested().map(|inside| inside()),
        });
        self
    }

    /// Has the attempts at nodes of pools (`#[node(pool = "gpu")]`) executed by other processes. Without an executor they are executed
    /// by this engine, as those of other nodes.
    ///
    /// An attempt that is executed elsewhere holds no permit of [`max_concurrency`](Self::max_concurrency) here. See [`Executor`].
    pub fn executor(mut self, executor: impl Executor) -> Self {
        self.env.executor = Some(Arc::new(executor));
        self
    }

    /// Whether [`executor`](Self::executor) was called: a host that has an executor of its own leaves that of its user.
    pub fn has_executor(&self) -> bool {
        self.env.executor.is_some()
    }

    /// This engine executes the attempts at nodes of a pool that belong to its own runs, also if it has an
    /// [`executor`](Self::executor) for the other pools.
    ///
    /// An engine whose store outlives the process has to have either for each pool in its workflows, so that a missing executor is
    /// noticed: [`build`](Self::build) returns [`BuildError::UnservedPool`].
    ///
    /// ```
    /// use graphweft::BuildError;
    /// use graphweft::prelude::*;
    ///
    /// #[node(pool = "gpu")]
    /// async fn embed(text: String) -> Vec<f32> { vec![text.len() as f32] }
    /// workflow! { pub index(String) -> Vec<f32> { START => embed; } }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("runs.db");
    /// # graphweft::block_on(async {
    /// let store = SqliteStore::open(&path).await?;
    /// let builder = || Engine::builder().store(store.clone()).register::<index>();
    /// assert!(matches!(builder().build(), Err(BuildError::UnservedPool { .. })));
    /// let engine = builder().pool("gpu").build()?;
    /// assert_eq!(engine.start::<index>("poem".to_owned()).await?.result().await?, [4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pool(mut self, pool: impl Into<String>) -> Self {
        self.env.own_pools.insert(pool.into());
        self
    }

    /// Registers a workflow by its definition.
    #[cfg(test)]
    pub(crate) fn knows(mut self, definition: &Arc<Definition>) -> Self {
        self.workflows.insert(definition.name.clone(), Version::unregistered(definition));
        self
    }

    /// Replaces a node by a closure in every workflow that this engine runs: for tests. The node's options (retries,
    /// time limit) still apply. A nested workflow can be mocked too. If the engine has registered workflows, the node
    /// must be in one of them, or be a [registered node](Self::register_node).
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn charge(cents: u64) -> Result<String, std::io::Error> { Ok(format!("{cents}")) }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder()
    ///     .mock::<charge>(|cents, _ctx| async move { Ok(format!("a receipt over {cents}")) })
    ///     .build()?;
    /// assert_eq!(engine.start::<pay>(4000).await?.result().await?, "a receipt over 4000");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn mock<N: Node>(mut self, body: impl MockWith<N>) -> Self {
        self.env.replacements.insert(TypeId::of::<N>(), Arc::new(body.into_replacement()));
        self.mocks.push((TypeId::of::<N>(), std::any::type_name::<N>()));
        self
    }

    /// Mocks of nodes that no registered workflow has are no error of it.
    #[cfg(feature = "test-util")]
    pub(crate) fn with_unused_mocks(mut self) -> Self {
        self.mocks.clear();
        self
    }

    /// Builds the engine. It needs no tokio runtime; starting a run does. In one without timers the engine is refused,
    /// and so is a run of an engine that was built elsewhere.
    ///
    /// # Errors
    /// [`BuildError`], the first problem of the configuration or of the current runtime.
    pub fn build(self) -> Result<Engine, BuildError> {
        let EngineBuilder { env, workflows, earlier, called, mocks, store, max_resident_finished, retention, error } =
            self;
        if let Some(error) = error {
            return Err(error);
        }
        if runtime::current().is_err_and(|unfit| unfit == Unfit::NoTimers) {
            return Err(BuildError::NoTimers);
        }
        let workflows = by_name(workflows, earlier)?;
        let env = Arc::new(env);
        check_called(&env, &called)?;
        check_mocks(&mocks, &workflows, &called)?;
        if store.as_ref().is_some_and(|store| !store.is_volatile()) {
            check_pools(&env, &workflows)?;
        }
        meter::describe();
        let called = called.iter().filter_map(|node| node.inside).collect();
        let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new().max_resident_finished(max_resident_finished)));
        Ok(Engine::new(Inner::new(env, workflows, called, store, retention)))
    }
}

fn version<W: Workflow>() -> Version {
    Version { type_name: std::any::type_name::<W>(), definition: Arc::clone(W::definition()) }
}

/// Checks that the resources of registered nodes exist.
fn check_called(env: &Arc<Env>, called: &[CalledNode]) -> Result<(), BuildError> {
    for node in called.iter().filter(|node| env.replacement(node.type_id).is_none()) {
        match node.inside {
            Some(inside) => check_resources(env, inside)?,
            None => check_resources_of(env, &node.info)?,
        }
    }
    Ok(())
}

/// Checks that something executes the attempts of every pool.
fn check_pools(env: &Env, workflows: &SortedMap<String, Versions>) -> Result<(), BuildError> {
    if env.executor.is_some() || env.is_lab {
        return Ok(());
    }
    for workflow in workflows.values().flat_map(Versions::all) {
        for definition in definitions(&workflow.definition) {
            let is_unserved = |pool: &&str| !env.own_pools.contains(*pool);
            let unserved = definition.entries.iter().filter(|entry| env.replacement(entry.type_id).is_none());
            let unserved = unserved.filter_map(|entry| Some((&entry.name, entry.pool.filter(is_unserved)?)));
            if let Some((node, pool)) = unserved.into_iter().next() {
                let node = format!("{}/{node}", definition.name);
                return Err(BuildError::UnservedPool { node, pool: pool.to_owned() });
            }
        }
    }
    Ok(())
}

/// Checks that every mocked node is in a registered workflow or is a registered node, if there are any.
fn check_mocks(
    mocks: &[(TypeId, &'static str)],
    workflows: &SortedMap<String, Versions>,
    called: &[CalledNode],
) -> Result<(), BuildError> {
    let mut known: HashSet<TypeId> = called.iter().map(|node| node.type_id).collect();
    known.extend(called.iter().flat_map(|node| all_used(node.info.uses())).map(|used| used.type_id));
    let registered = workflows.values().flat_map(Versions::all).map(|version| &version.definition);
    let mut found: Vec<&Arc<Definition>> = registered.chain(called.iter().filter_map(|node| node.inside)).collect();
    let mut seen = HashSet::new();
    while let Some(definition) = found.pop() {
        if seen.insert(Arc::as_ptr(definition)) {
            known.extend(definition.entries.iter().map(|entry| entry.type_id));
            known.extend(definition.entries.iter().flat_map(|entry| all_used(entry.uses())).map(|used| used.type_id));
            found.extend(definition.entries.iter().filter_map(|entry| Some(entry.scope.as_ref()?.definition())));
        }
    }
    let unused = mocks.iter().find(|(type_id, _)| !known.is_empty() && !known.contains(type_id));
    unused.map_or(Ok(()), |(_, node)| Err(BuildError::UnusedMock { node }))
}

impl std::fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("workflows", &self.workflows.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// A closure `|input, context| async { .. }` with the input, output and error of `N`.
///
/// A function that tests share names it:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{EngineBuilder, MockWith};
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// fn engine_for_tests(body: impl MockWith<charge>) -> EngineBuilder {
///     Engine::builder().mock::<charge>(body)
/// }
///
/// # graphweft::block_on(async {
/// let engine = engine_for_tests(|_cents, _ctx| async { Ok(0) }).build()?;
/// assert_eq!(engine.start::<pay>(40).await?.result().await?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "this cannot mock node `{N}`",
    note = "`mock` takes a closure `|input, context| async move {{ .. }}` of the node's own input, output and error"
)]
pub trait MockWith<N: Node>: Fn(N::Input, Context) -> <Self as MockWith<N>>::Future {
    /// The closure's future.
    type Future: Future<Output = Result<N::Output, N::Error>> + Send + 'static;

    /// The closure, boxed.
    #[doc(hidden)]
    fn into_replacement(self) -> Replacement<N>;
}

impl<N, F, R> MockWith<N> for F
where
    N: Node,
    F: Fn(N::Input, Context) -> R + Send + Sync + 'static,
    R: Future<Output = Result<N::Output, N::Error>> + Send + 'static,
{
    type Future = R;

    fn into_replacement(self) -> Replacement<N> {
        Replacement(Arc::new(move |input, context| Box::pin(self(input, context))))
    }
}
