//! Building an engine.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::OnceCell;

use super::live::Runs;
use super::{BuildError, Engine, Inner};
use crate::clock::Clock;
use crate::context::{Context, Replacement};
use crate::driver::Env;
use crate::node::Node;
use crate::store::{MemoryStore, Store};
use crate::table::Definition;
use crate::workflow::Workflow;

/// Collects what an engine is made of; [`Engine::builder`] gives one.
///
/// ```
/// use graphweft::Engine;
///
/// struct Pool;
///
/// let engine = Engine::builder().resource(Pool).max_concurrency(64).build()?;
/// # Ok::<(), graphweft::BuildError>(())
/// ```
pub struct EngineBuilder {
    env: Env,
    workflows: BTreeMap<String, Arc<Definition>>,
    store: Option<Arc<dyn Store>>,
    keep_finished: usize,
    error: Option<BuildError>,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        EngineBuilder { env: Env::default(), workflows: BTreeMap::new(), store: None, keep_finished: 1000, error: None }
    }
}

impl EngineBuilder {
    /// Gives every node that takes `#[resource] name: &T` this value. One of each type.
    pub fn resource<T: Any + Send + Sync>(mut self, resource: T) -> Self {
        if self.env.resources.insert(TypeId::of::<T>(), Box::new(resource)).is_some() {
            self.error.get_or_insert(BuildError::DuplicateResource { type_name: std::any::type_name::<T>() });
        }
        self
    }

    /// Has a test look at the cores of the runs.
    #[cfg(test)]
    pub(crate) fn observer(mut self, observer: std::sync::Arc<crate::driver::Observer>) -> Self {
        self.env.observer = Some(observer);
        self
    }

    /// How many nodes may be under way at once, in all runs of the engine together; the others wait their turn, first
    /// come, first served, and their time limits count from there. 0, the default, is no limit. A nested workflow and
    /// `[..]` count by the nodes inside them.
    pub fn max_concurrency(mut self, nodes: usize) -> Self {
        self.env.limit_concurrency(nodes);
        self
    }

    /// How long a cancelled node that listens to `ctx.cancelled()` has to clean up before it is dropped. One second where
    /// nothing is said; zero drops it at once.
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.env.cancel_grace = grace;
        self
    }

    /// What time it is for the runs of this engine: in their records, for their timers, for what is due after a restart.
    /// The clock of the system where nothing is said. For tests of workflows that sleep: under tokio's paused time a day
    /// is over at once, and a clock that goes with it keeps the records in step.
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
    /// How long tokio lets something wait is not asked of this clock, and a store that other processes share keeps its
    /// own, by which it knows who is alive.
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.env.clock = Clock::new(now);
        self
    }

    /// Where runs are kept. Where nothing is said they are kept in memory, and are gone with the process.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// How many runs that wait for an answer or a timer may stay in memory, where they go on at once: a thousand where
    /// nothing is said. Beyond that, the one that has waited longest leaves the memory, and when its time has come its
    /// nodes run again from their tops, as after a restart. A run with a node under way that is `at_most_once` stays.
    pub fn keep_waiting(mut self, runs: usize) -> Self {
        self.env.keep_waiting = runs;
        self
    }

    /// How many runs that have ended can still be found in memory, with their events: the last thousand where nothing is
    /// said. A store that is given keeps what it keeps.
    pub fn keep_finished(mut self, runs: usize) -> Self {
        self.keep_finished = runs;
        self
    }

    /// Makes a workflow known by its name: for [`Engine::start_json`], and for runs of it that are to go on here.
    pub fn register<W: Workflow>(mut self) -> Self {
        let name = W::NAME;
        let definition = W::definition();
        let other = self.workflows.insert(name.to_owned(), Arc::clone(definition));
        if other.is_some_and(|other| !Arc::ptr_eq(&other, definition)) {
            self.error.get_or_insert(BuildError::DuplicateWorkflow { name: name.to_owned() });
        }
        self
    }

    /// The same for a workflow that is a value.
    #[cfg(test)]
    pub(crate) fn knows(mut self, definition: &Arc<Definition>) -> Self {
        self.workflows.insert(definition.name.clone(), Arc::clone(definition));
        self
    }

    /// Runs a closure in the place of a node, wherever it stands in a workflow that this engine runs: for tests. The
    /// node's options (retries, time limit) stay. A nested workflow can be replaced as well.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn charge(cents: u64) -> Result<String, std::io::Error> { Ok(format!("{cents}")) }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder()
    ///     .replace::<charge>(|cents, _ctx| async move { Ok(format!("a receipt over {cents}")) })
    ///     .build()?;
    /// assert_eq!(engine.start::<pay>(4000).await?.result().await?, "a receipt over 4000");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn replace<N: Node>(mut self, body: impl ReplaceWith<N>) -> Self {
        self.env.replacements.insert(TypeId::of::<N>(), Box::new(body.into_replacement()));
        self
    }

    /// The engine.
    ///
    /// # Errors
    /// [`BuildError`], the first mistake that was made on the way.
    pub fn build(self) -> Result<Engine, BuildError> {
        let EngineBuilder { env, workflows, store, keep_finished, error } = self;
        if let Some(error) = error {
            return Err(error);
        }
        Ok(Engine(Arc::new(Inner {
            env: Arc::new(env),
            workflows,
            store: store.unwrap_or_else(|| Arc::new(MemoryStore::new().keep_finished(keep_finished))),
            owner: OnceCell::new(),
            runs: Runs::default(),
            is_kept: AtomicBool::new(false),
            recovers: AtomicBool::new(false),
            lost_claim: AtomicBool::new(false),
            refused: Mutex::default(),
            stopped: Mutex::default(),
        })))
    }
}

impl std::fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineBuilder").field("workflows", &self.workflows.keys()).finish_non_exhaustive()
    }
}

/// What may run in the place of `N`: a closure `|input, context| async { .. }` that gives what `N` gives.
#[diagnostic::on_unimplemented(
    message = "this cannot run in the place of node `{N}`",
    note = "`replace` takes a closure `|input, context| async move {{ .. }}` of the node's own input, output and error"
)]
pub trait ReplaceWith<N: Node>: Fn(N::Input, Context) -> <Self as ReplaceWith<N>>::Future {
    /// What the closure gives.
    type Future: Future<Output = Result<N::Output, N::Error>> + Send + 'static;

    /// The closure, boxed.
    #[doc(hidden)]
    fn into_replacement(self) -> Replacement<N>;
}

impl<N, F, R> ReplaceWith<N> for F
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
