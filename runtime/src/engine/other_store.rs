//! The same program over another store.

use std::sync::Arc;

use super::inner::{Engine, Inner};
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
}
