//! The store.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::Engine;
use graphweft::store::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, LogStore, NewRun,
    Owner, QuestionQuery, ReserveTask, RunHeader, RunKey, RunOverview, RunQuery, Snapshot, StartedOver, Store,
    StoreError, Stored,
};
use serde_json::Value;

use crate::apart::apart;
use crate::builder::PostgresStoreBuilder;
use crate::connections::Connections;
use crate::logs::Logs;
use crate::owners::Owners;
use crate::pool::{PostgresExecutor, PostgresWorkerBuilder};
use crate::together::Together;
use crate::{claim, delete, feed, overview, owners, questions, runs, snapshots};

/// A store of runs in PostgreSQL, for engines on many machines.
///
/// A clone is another handle to the same connections. Needs a tokio runtime with timers and I/O.
///
/// A tool beside the engines, which needs none of their code:
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_postgres::PostgresStore;
///
/// # graphweft::block_on(async {
/// let store = PostgresStore::connect("postgres://shop:secret@db.internal/shop").await?;
/// let engine = Engine::builder().store(store).build()?;
/// for run in engine.list_runs(RunFilter::default().status(RunStatus::Failed).limit(20)).await? {
///     println!("{} {}", run.id, run.workflow);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pub(crate) connections: Connections,
    owners: Owners,
    together: Together,
}

impl PostgresStore {
    /// Connects without TLS, with the default settings: see [`PostgresStoreBuilder::connect`].
    ///
    /// # Errors
    /// The same.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::builder(url).connect().await
    }

    /// For other settings. `url`: as libpq takes it, `postgres://user:password@host:5432/database?sslmode=require`, or
    /// `host=/var/run/postgresql user=me dbname=mine`.
    pub fn builder(url: &str) -> PostgresStoreBuilder {
        PostgresStoreBuilder::of(url)
    }

    /// Has the attempts at nodes of pools (`#[node(pool = "gpu")]`) executed by the [workers](Self::worker) of this database: for an
    /// engine whose runs are in this store. See [`PostgresExecutor`].
    pub fn executor(&self) -> PostgresExecutor {
        PostgresExecutor::over(&self.connections)
    }

    /// A worker, which executes attempts at nodes of pools for all engines of this database. `engine`: one that has the workflows
    /// registered, with the resources of these nodes; it needs no store. See [`PostgresWorker`](crate::PostgresWorker).
    pub fn worker(&self, engine: Engine) -> PostgresWorkerBuilder {
        PostgresWorkerBuilder::of(&self.connections, &self.owners, engine)
    }

    pub(crate) fn over(connections: Connections) -> Self {
        PostgresStore { connections, owners: Owners::default(), together: Together::default() }
    }
}

impl Store for PostgresStore {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        self.owners.join(&self.connections, workflows).boxed()
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        let left = self.owners.leave(&self.connections, owner);
        async move {
            if let Some(left) = left {
                // Cancelled with the runtime.
                drop(left.await);
            }
        }
        .boxed()
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let tries = AtomicU32::new(0);
            let create = |client| runs::create(client, &run, tries.fetch_add(1, Ordering::Relaxed) > 0);
            connections.idempotent(create).await
        })
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let (connections, together) = (self.connections.clone(), self.together.clone());
        apart(async move { together.append(&connections, batch).await })
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        let connections = self.connections.clone();
        apart(async move { connections.with(|client| runs::start_over(client, &end, &next)).await })
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            connections.idempotent(|client| async move { runs::read((&client).into(), run, from, limit).await }).await
        })
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        let (connections, id) = (self.connections.clone(), id.to_owned());
        apart(async move {
            let id = &*id;
            connections.idempotent(|client| async move { runs::header((&client).into(), id).await }).await
        })
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let query = &query;
            connections.search(|client| async move { overview::list(&client, query).await }).await
        })
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let query = &query;
            connections.search(|client| async move { overview::count(&client, query).await }).await
        })
    }

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let query = &query;
            connections.search(|client| async move { overview::overview(&client, query).await }).await
        })
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let query = &query;
            connections.search(|client| async move { questions::list(&client, query).await }).await
        })
    }

    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        let connections = self.connections.clone();
        apart(async move { connections.with(|client| delete::delete(client, &delete)).await })
    }

    fn reserve_task(&self, task: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let task = &task;
            connections.with(|client| async move { delete::reserve_task(&client, task).await }).await
        })
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        let (connections, owners) = (self.connections.clone(), self.owners.clone());
        apart(async move {
            // While it is under way, others may renew the lease many times.
            let known = owners.known(claim.owner);
            let claims = |client| {
                // Looked at again each time that it is tried.
                let mut claim = claim.clone();
                claim.orphans &= owners.is_settled(claim.owner);
                async move { claim::claim(client, &claim).await }
            };
            let (claimed, row) = connections.with(claims).await?;
            match owners.is_renewed(claim.owner, row, known) {
                true => Ok(claimed),
                false => Err(connections.was_restored()),
            }
        })
    }

    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        let connections = self.connections.clone();
        apart(
            async move { connections.idempotent(|client| async move { owners::is_alive(&client, owner).await }).await },
        )
    }

    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (connections, workflow) = (self.connections.clone(), workflow.to_owned());
        apart(async move {
            let workflow = &*workflow;
            connections.idempotent(|client| async move { owners::is_served(&client, workflow).await }).await
        })
    }

    fn transactional(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(self)
    }

    fn changed(&self) -> Option<BoxFuture<'static, ()>> {
        let mut changes = self.connections.changes.subscribe();
        let changed = async move {
            // It ends only with the store.
            drop(changes.changed().await);
        };
        Some(changed.boxed())
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let query = &query;
            connections.search(|client| async move { feed::page(&client, query).await }).await
        })
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        let connections = self.connections.clone();
        apart(async move { connections.idempotent(|client| async move { feed::end(&client).await }).await })
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        let connections = self.connections.clone();
        apart(async move { connections.idempotent(|client| async move { runs::graph(&client, hash).await }).await })
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }

    fn put_snapshot(&self, run: RunKey, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        let connections = self.connections.clone();
        apart(async move {
            let snapshot = &snapshot;
            connections.with(|client| async move { snapshots::put(&client, run, snapshot).await }).await
        })
    }

    fn snapshot(&self, run: RunKey) -> BoxFuture<'_, Result<Option<Snapshot>, StoreError>> {
        let connections = self.connections.clone();
        apart(async move { connections.idempotent(|client| async move { snapshots::get(&client, run).await }).await })
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        Some(Arc::new(Logs(self.connections.clone())))
    }
}
