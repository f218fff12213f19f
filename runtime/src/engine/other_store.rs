//! The same program over another store.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::answer_queue::AnswerQueues;
use super::inner::{Engine, Inner};
use super::runs::Runs;
use super::signal_logs::SignalLogs;
use super::snapshot_queue::SnapshotQueue;
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
        Engine::new(Inner {
            env: Arc::new(env.for_other_store()),
            workflows: workflows.clone(),
            started: Mutex::default(),
            called: called.clone(),
            store: Arc::new(store),
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
            retention: *retention,
        })
    }
}
