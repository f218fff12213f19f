//! The side of the workers.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use graphweft::store::{Owner, StoreError};
use graphweft::{Engine, ExecuteError, NodeResult, NodeTask};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{Id, JoinHandle, JoinSet};

use super::listener::{CANCELLED, FREE, LOOK, Listener, progress};
use super::refused::Refused;
use super::tasks::{self, Claimed, of_fault};
use crate::connections::Connections;
use crate::owners::Owners;
use crate::trouble::{Trouble, chain};

/// How often results are removed that are no longer needed: it reads all results.
const TIDY: Duration = Duration::from_secs(20);

/// How many updates of progress wait to be sent; further ones are dropped.
const PROGRESS: usize = 256;

/// The settings of a [`PostgresWorker`], from [`PostgresStore::worker`](crate::PostgresStore::worker).
///
/// ```no_run
/// # use graphweft::prelude::*;
/// # use graphweft_postgres::{PostgresStore, PostgresWorker};
/// # async fn begin(store: PostgresStore, engine: Engine) -> Result<PostgresWorker, Box<dyn std::error::Error>> {
/// Ok(store.worker(engine).pool("gpu").pool("cpu").max_concurrency(4.try_into()?).start().await?)
/// # }
/// ```
#[must_use = "nothing is executed before `start`"]
pub struct PostgresWorkerBuilder {
    connections: Connections,
    owners: Owners,
    engine: Engine,
    pools: Vec<String>,
    at_once: Option<usize>,
}

impl PostgresWorkerBuilder {
    pub(crate) fn of(connections: &Connections, owners: &Owners, engine: Engine) -> Self {
        let (connections, owners) = (connections.clone(), owners.clone());
        PostgresWorkerBuilder { connections, owners, engine, pools: Vec::new(), at_once: None }
    }

    /// It works for this pool. May be called several times.
    pub fn pool(mut self, pool: impl Into<String>) -> Self {
        self.pools.push(pool.into());
        self
    }

    /// How many attempts it executes at once. The default is the number of cores. It takes no task from the table that it could not begin,
    /// so leave the `max_concurrency` of its engine out.
    pub fn max_concurrency(mut self, attempts: NonZeroUsize) -> Self {
        self.at_once = Some(attempts.get());
        self
    }

    /// Begins to work, in the present tokio runtime.
    ///
    /// # Errors
    /// If the server cannot be reached, if it works for no pool, or if [`Engine::check_pool`] refuses one of them.
    pub async fn start(self) -> Result<PostgresWorker, StoreError> {
        let PostgresWorkerBuilder { connections, owners, engine, pools, at_once } = self;
        if pools.is_empty() {
            let message = "a worker without a pool would execute nothing; name its pools with `.pool(..)`".to_owned();
            return Err(StoreError::Other { message });
        }
        let check = |pool: &String| engine.check_pool(pool);
        pools.iter().try_for_each(check).map_err(|error| StoreError::Other { message: error.to_string() })?;
        let at_once = at_once.unwrap_or_else(|| available_parallelism().map_or(1, NonZeroUsize::get));
        let owner = owners.join(&connections, Vec::new()).await?;
        let (drains, drained) = watch::channel(false);
        let worker = Arc::new(Worker { connections, owners, owner, engine, pools, refused: Refused::default() });
        let leaves = Leaves(Arc::clone(&worker));
        let works = tokio::spawn(async move {
            let _leaves = leaves;
            worker.work(at_once, drained).await;
        });
        Ok(PostgresWorker { drains, works })
    }
}

impl fmt::Debug for PostgresWorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresWorkerBuilder").field("pools", &self.pools).finish_non_exhaustive()
    }
}

/// Executes attempts at nodes of pools, until it is dropped or [drained](Self::drain).
///
/// ```no_run
/// use graphweft::prelude::*;
/// use graphweft_postgres::PostgresStore;
///
/// # #[node(pool = "gpu")] async fn embed(text: String) -> Vec<f32> { text.bytes().map(f32::from).collect() }
/// # workflow! { pub index(Vec<String>) -> Vec<Vec<f32>> { START => [embed] => END; } }
/// # graphweft::block_on(async {
/// let store = PostgresStore::connect("postgres://shop:secret@db.internal/shop").await?;
/// // Drives no run, so it needs no store.
/// let engine = Engine::builder().register::<index>().build()?;
/// let worker = store.worker(engine).pool("gpu").max_concurrency(2.try_into()?).start().await?;
/// tokio::signal::ctrl_c().await?;
/// worker.drain().await;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// A worker that dies is noticed like an engine that dies: its tasks are given to others, at once if its connection is closed, and after
/// four seconds if its machine is gone. An attempt of an `at_most_once` node that it had taken ends by
/// [`Fault::Interrupted`](graphweft::Fault::Interrupted). A worker that was only stalled adds no result any more to a task that was given
/// to another one, but its body may have continued: as everywhere, an attempt is executed at least once.
///
/// A task whose node is in no workflow that its engine has registered, as while a new version is deployed, it gives back, and takes it no more:
/// a worker that has the node executes it. If there is none, the task waits, and a warning says so each minute.
///
/// Dropping it stops what it executes at the next `.await`, and gives those tasks to others.
pub struct PostgresWorker {
    drains: watch::Sender<bool>,
    works: JoinHandle<()>,
}

impl PostgresWorker {
    /// Takes no more tasks, and resolves when those that it has are done.
    ///
    /// # Cancel safety
    /// If the future is dropped, the worker is, with what it still executes.
    pub async fn drain(mut self) {
        self.drains.send_replace(true);
        drop((&mut self.works).await);
    }
}

impl Drop for PostgresWorker {
    fn drop(&mut self) {
        self.works.abort();
    }
}

impl fmt::Debug for PostgresWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresWorker")
    }
}

struct Worker {
    connections: Connections,
    owners: Owners,
    owner: Owner,
    engine: Engine,
    pools: Vec<String>,
    refused: Refused,
}

/// The worker leaves when it ends, however it does.
struct Leaves(Arc<Worker>);

impl Drop for Leaves {
    fn drop(&mut self) {
        drop(self.0.owners.leave(&self.0.connections, self.0.owner));
    }
}

/// The run and the id of a task.
type Key = (String, String);

/// What cancels each task.
type UnderWay = HashMap<Key, watch::Sender<bool>>;

impl Worker {
    async fn work(self: &Arc<Self>, at_once: usize, mut drained: watch::Receiver<bool>) {
        let mut listener = Listener::new(&self.connections, &[FREE, CANCELLED], |_| ());
        let (mut executing, mut under_way) = (JoinSet::new(), UnderWay::new());
        let mut keys: HashMap<Id, Key> = HashMap::new();
        let (mut looked_after, mut tidied): (Option<Instant>, Option<Instant>) = (None, None);
        let (mut drains, mut may_be_more) = (*drained.borrow(), true);
        let mut compared = Instant::now();
        while !drains || !executing.is_empty() {
            if !drains && may_be_more && under_way.len() < at_once {
                let most = at_once - under_way.len();
                match self.claim(most).await {
                    Ok(claimed) => {
                        may_be_more = claimed.len() == most;
                        for Claimed { key, number, task } in claimed {
                            // One that was given away since this worker was believed dead, and came back.
                            if under_way.contains_key(&key) {
                                continue;
                            }
                            let (cancels, cancelled) = watch::channel(false);
                            under_way.insert(key.clone(), cancels);
                            let worker = Arc::clone(self);
                            let executed = match task {
                                Ok(task) => executing.spawn(worker.execute(task, number, cancelled)),
                                Err(why) => executing.spawn(worker.fail_unread(key.clone(), why)),
                            };
                            keys.insert(executed.id(), key);
                        }
                    }
                    Err(error) => {
                        may_be_more = false;
                        tracing::warn!(%error, "a worker cannot take tasks");
                    }
                }
            }
            tokio::select! {
                Some(done) = executing.join_next_with_id() => {
                    let id = done.map_or_else(|error| error.id(), |(id, ())| id);
                    if let Some(key) = keys.remove(&id) {
                        under_way.remove(&key);
                    }
                    may_be_more = true;
                    // However often attempts end, it looks at the table.
                    if compared.elapsed() < LOOK {
                        continue;
                    }
                    listener.listens().await;
                }
                () = listener.heard() => may_be_more = true,
                _ = drained.changed(), if !drains => drains = true,
            }
            compared = Instant::now();
            if let Err(error) = self.compare(&under_way).await {
                tracing::warn!(%error, "a worker cannot look at its tasks");
            }
            if looked_after.is_none_or(|at| at.elapsed() >= LOOK) && self.owners.is_settled(self.owner) {
                looked_after = Some(Instant::now());
                let tidies = tidied.is_none_or(|at| at.elapsed() >= TIDY);
                let looked = self.connections.with(|client| async move {
                    tasks::free_lost(&client).await?;
                    tasks::look_after(&client).await?;
                    if tidies { tasks::tidy(&client).await } else { Ok(()) }
                });
                tidied = if tidies { looked_after } else { tidied };
                if let Err(error) = looked.await.and(self.look_at_refused().await) {
                    tracing::warn!(%error, "the tasks of pools cannot be looked after");
                }
            }
        }
    }

    async fn claim(&self, most: usize) -> Result<Vec<Claimed>, StoreError> {
        let (owner, pools, refused) = (self.owner, &self.pools, &*self.refused.numbers());
        self.connections.with(|client| async move { tasks::claim(&client, owner, pools, refused, most).await }).await
    }

    async fn look_at_refused(&self) -> Result<(), StoreError> {
        let known = self.refused.keys();
        if known.0.is_empty() {
            return Ok(());
        }
        let of = (&*known.0, &*known.1);
        let left = self.connections.with(|client| async move { tasks::left(&client, of).await }).await?;
        self.refused.keep(known, left);
        Ok(())
    }

    /// Stops what is cancelled, and what was given to another worker since this one was believed dead. Gives back what the table says
    /// that this worker has and it does not: the answer to its claim was lost.
    async fn compare(&self, under_way: &UnderWay) -> Result<(), StoreError> {
        let owner = self.owner;
        let own = self.connections.with(|client| async move { tasks::of_worker(&client, owner).await }).await?;
        let own: HashMap<(String, String), bool> = own.into_iter().collect();
        for (key, cancels) in under_way {
            if own.get(key) != Some(&false) {
                cancels.send_replace(true);
            }
        }
        for (run, task) in own.keys().filter(|key| !under_way.contains_key(*key)) {
            let of = (&**run, &**task);
            self.connections.with(|client| async move { tasks::give_back(&client, owner, of).await }).await?;
        }
        Ok(())
    }

    /// Executes a task, and adds its result. Gives it back if this program does not have its node: another worker may.
    async fn execute(self: Arc<Self>, task: NodeTask, number: i64, mut cancelled: watch::Receiver<bool>) {
        let key = (task.run_id.clone(), task.id.clone());
        let (sends, mut sent) = mpsc::channel(PROGRESS);
        let of = key.clone();
        let execution = self.engine.execute(task).on_progress(move |data| {
            if let Some(payload) = progress(&of.0, &of.1, &data) {
                // One that is too much is dropped.
                drop(sends.try_send(payload));
            }
        });
        let execution = execution.cancelled_by(async move {
            if cancelled.wait_for(|is| *is).await.is_err() {
                std::future::pending::<()>().await;
            }
        });
        let (ends, mut ended) = oneshot::channel::<()>();
        let execution = async move {
            let executed = execution.await;
            drop(ends);
            executed
        };
        let telling = async {
            loop {
                let payload = tokio::select! {
                    biased;
                    payload = sent.recv() => payload,
                    // A body that blocks may outlive its time limit, and has its sender until then.
                    _ = &mut ended, if !sent.is_closed() => {
                        sent.close();
                        continue;
                    }
                };
                let Some(payload) = payload.as_deref() else { return };
                let sent_on = self.connections.with(|client| async move { tasks::tell(&client, payload).await }).await;
                if sent_on.is_err() && sent.is_closed() {
                    return;
                }
            }
        };
        let (executed, ()) = futures::future::join(execution, telling).await;
        match executed {
            Err(ExecuteError::Cancelled) => {
                let (owner, of) = (self.owner, (&*key.0, &*key.1));
                self.until_written(|client| async move { tasks::stopped(&client, owner, of).await }).await;
            }
            // It has not begun, so it is free again even if it may be executed once.
            Err(error @ ExecuteError::UnknownNode { .. }) => {
                self.refused.add(&key, number, error.to_string());
                let (owner, of) = (self.owner, (&*key.0, &*key.1));
                self.until_written(|client| async move { tasks::give_back(&client, owner, of).await }).await;
            }
            Ok(result) => self.finish(&key, &result).await,
            Err(error) => self.finish(&key, &of_fault(error.to_string())).await,
        }
    }

    /// Fails a task that cannot be read. Released, it would be taken again for ever, and what is taken with it too.
    async fn fail_unread(self: Arc<Self>, key: Key, why: String) {
        self.finish(&key, &of_fault(why)).await;
    }

    async fn finish(&self, (run, task): &Key, result: &NodeResult) {
        let (owner, of) = (self.owner, (&**run, &**task));
        self.until_written(|client| async move {
            match tasks::finish(&client, owner, of, result).await {
                // It would be refused each time.
                Err(Trouble::Database(error)) if tasks::is_of_values(&error) => {
                    let refused = of_fault(format!("its result cannot be recorded: {}", chain(&error)));
                    tasks::finish(&client, owner, of, &refused).await
                }
                finished => finished,
            }
        })
        .await;
    }

    /// Writes the end of a task, however long the server is away: no other worker executes it while this one lives. The tables of a
    /// database that was restored do not know it.
    async fn until_written<F>(&self, write: impl Fn(deadpool_postgres::Object) -> F)
    where
        F: Future<Output = Result<(), Trouble>>,
    {
        while let Err(error) = self.connections.with(&write).await {
            if self.connections.restored.load(Ordering::Relaxed) {
                return;
            }
            tracing::warn!(%error, "the result of a task could not be written, and is written again");
            tokio::time::sleep(LOOK).await;
        }
    }
}
