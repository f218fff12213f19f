//! The same program over another store.

use std::sync::Arc;

use super::inner::{Engine, Inner};
use crate::executor::Executor;
use crate::store::Store;

impl Engine {
    /// An engine of the same program over another store: with the same workflows, resources, mocks, limits and settings. The
    /// nodes of both count together for [`max_concurrency`](crate::EngineBuilder::max_concurrency). Each has runs of its own,
    /// and is shut down for itself.
    ///
    /// Costs little, so a program may have many: one for each tenant with a file of its own, or one for each run that a
    /// host gives it for a while.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::store::MemoryStore;
    ///
    /// # #[node] async fn charge(cents: u32) -> u32 { cents }
    /// # workflow! { pub pay(u32) -> u32 { START => charge; } }
    /// # graphweft::block_on(async {
    /// let program = Engine::builder().register::<pay>().max_concurrency(8).build()?;
    /// let (ada, bob) = (program.with_store(MemoryStore::new()), program.with_store(MemoryStore::new()));
    /// ada.start::<pay>(40).id("order-7").await?.result().await?;
    /// assert!(bob.get_run("order-7").await?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    #[must_use = "it drives nothing by itself"]
    pub fn with_store(&self, store: impl Store) -> Engine {
        let Inner { env, workflows, called, retention, .. } = &*self.0;
        let env = Arc::new(env.for_other_store());
        Engine::new(Inner::new(env, workflows.clone(), called.clone(), Arc::new(store), *retention))
    }

    /// The same program over the same store, whose attempts at nodes of pools this executor has. For a host that gives each run an engine
    /// of its own by [`with_store`](Self::with_store), and knows then which connection its tasks go through.
    ///
    /// ```
    /// use futures::FutureExt;
    /// use futures::future::BoxFuture;
    /// use graphweft::prelude::*;
    /// use graphweft::store::MemoryStore;
    /// use graphweft::{Executor, Fault, NodeResult, NodeTask, ProgressSender, json};
    ///
    /// #[node(pool = "gpu")]
    /// async fn embed(text: String) -> usize { text.len() }
    /// workflow! { pub index(String) -> usize { START => embed; } }
    ///
    /// struct Connection(usize);
    ///
    /// impl Executor for Connection {
    ///     fn execute(&self, _task: NodeTask, _progress: ProgressSender) -> BoxFuture<'static, Result<NodeResult, Fault>> {
    ///         let output = json!(self.0);
    ///         let result = json!({ "outcome": { "completed": { "output": output } } });
    ///         async move { serde_json::from_value(result).map_err(|error| Fault::Context { message: error.to_string() }) }.boxed()
    ///     }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let program = Engine::builder().register::<index>().build()?;
    /// let engine = program.with_store(MemoryStore::new()).with_executor(Connection(7));
    /// assert_eq!(engine.start::<index>("a poem".to_owned()).await?.result().await?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    #[must_use = "it drives nothing by itself"]
    pub fn with_executor(&self, executor: impl Executor) -> Engine {
        let Inner { env, workflows, called, retention, store, .. } = &*self.0;
        let mut env = env.for_other_store();
        env.executor = Some(Arc::new(executor));
        Engine::new(Inner::new(Arc::new(env), workflows.clone(), called.clone(), Arc::clone(store), *retention))
    }
}
