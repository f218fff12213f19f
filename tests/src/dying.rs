//! A process that dies at one of its commits.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures::FutureExt;
use futures::future::{BoxFuture, Either, pending, select};
use graphweft::store::{
    Append, Appended, Created, LogAppended, LogStore, LogTrim, NewLogEntry, NewRun, Owner, SqliteStore, StartedOver,
    Store, StoreError,
};
use tokio::sync::Notify;

use crate::life;

/// The store of a process that dies at one of its commits, to runs or to logs: from then on nothing is ever answered.
#[derive(Clone)]
pub struct Dying {
    inner: SqliteStore,
    left: Arc<AtomicI64>,
    carried_out: bool,
    died: Arc<Notify>,
}

/// Whether a process dies at the commit of this number to the file, before it has done this.
pub fn dies_at_commit<F: Future<Output = ()>>(
    path: &Path,
    commit: i64,
    carried_out: bool,
    does: impl FnOnce(Dying) -> F,
) -> bool {
    life(async {
        let dying = Dying::at(commit, carried_out, SqliteStore::open(path).await.expect("the file can be opened"));
        let died = pin!(dying.died());
        matches!(select(pin!(does(dying)), died).await, Either::Right(_))
    })
}

impl Dying {
    /// One that dies at the commit of this number, from 0, which is carried out or not.
    pub fn at(commit: i64, carried_out: bool, inner: SqliteStore) -> Self {
        Dying { inner, left: Arc::new(AtomicI64::new(commit)), carried_out, died: Arc::default() }
    }

    /// Waits until the process has died.
    pub fn died(&self) -> impl Future<Output = ()> + Send + use<> {
        let died = Arc::clone(&self.died);
        async move { died.notified().await }
    }

    fn is_dead(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }

    fn commit<'a, T: Send + 'a>(
        &self,
        commit: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        match self.left.fetch_sub(1, Ordering::SeqCst) {
            left if left > 0 => commit,
            left => {
                let (carried_out, died) = (left == 0 && self.carried_out, Arc::clone(&self.died));
                async move {
                    if carried_out {
                        commit.await?;
                    }
                    died.notify_one();
                    pending().await
                }
                .boxed()
            }
        }
    }
}

impl Store for Dying {
    crate::forward_store! {
        join read header list count overview open_questions delete reserve_task claim is_alive is_served feed feed_end graph transactional
        keeps_snapshots put_snapshot snapshot
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        if self.is_dead() { std::future::ready(()).boxed() } else { self.inner.leave(owner) }
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        self.commit(self.inner.create(run))
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        self.commit(self.inner.append(batch))
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        self.commit(self.inner.start_over(end, next))
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        let inner = self.inner.logs()?;
        Some(Arc::new(DyingLogs { inner, store: self.clone() }))
    }
}

struct DyingLogs {
    inner: Arc<dyn LogStore>,
    store: Dying,
}

impl LogStore for DyingLogs {
    crate::forward_logs! { read list }

    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        self.store.commit(self.inner.append(entry))
    }

    fn trim(&self, trim: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.commit(self.inner.trim(trim))
    }

    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.commit(self.inner.delete(log))
    }
}
