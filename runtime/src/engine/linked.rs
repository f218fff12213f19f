//! Runs that nodes of other runs have started, and what becomes of them when those end.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::cancel::CancelError;
use super::inner::{Engine, Inner};
use super::runtime;
use crate::event::OnClose;
use crate::halt::Halt;
use crate::shared::{Env, Journal, Starter};
use crate::store::{RunKey, RunQuery, RunStatus, StoreError};

/// How often a run that waits for others looks for their ends.
const LOOK: Duration = Duration::from_millis(50);

impl Engine {
    /// The engine of an environment; `None` if there is none, or if it is gone.
    pub(crate) fn of(env: &Env) -> Option<Engine> {
        let inner = env.starter.get()?.upgrade()?.as_any().downcast::<Inner>().ok()?;
        Some(Engine::behind(inner))
    }

    /// A run is about to end: cancels the runs that its nodes have started, and waits for them, as those ask for it. All of
    /// it is done again if the process dies before the end is recorded.
    async fn close_started(&self, journal: &Arc<Journal>) -> Result<(), Halt> {
        while self.cancel_started(&journal.run_id, journal.key).await.map_err(Halt::Store)? {
            runtime::sleep(LOOK)?.await;
            // Another process may have taken the run over meanwhile.
            journal.catch_up_with_store().await;
            if let Some(halt) = journal.halted() {
                return Err(halt);
            }
            if journal.is_stopped() {
                return Err(Halt::ShutDown);
            }
        }
        Ok(())
    }

    /// Cancels the runs that nodes of a run have started, those that ask for it. Returns whether there are some to wait for.
    ///
    /// Boxed, since the cancellation of one of these may come here again, for those that it has started.
    pub(super) fn cancel_started<'a>(&'a self, run: &'a str, key: RunKey) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let started = RunQuery {
                started_by: Some(run.to_owned()),
                // Not those of an earlier run with this id, which was deleted.
                after: Some(key),
                status: vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping],
                ..RunQuery::default()
            };
            let mut waits = false;
            for header in self.0.store.list(started).await? {
                match header.started_by.map(|by| by.on_close) {
                    Some(OnClose::Cancel) => match self.cancel(&header.id).await {
                        // It was deleted meanwhile, so it was over.
                        Ok(()) | Err(CancelError::UnknownRun { .. }) => {}
                        Err(CancelError::Store(error)) => return Err(error),
                    },
                    Some(OnClose::Wait) => waits = true,
                    Some(OnClose::Leave) | None => {}
                }
            }
            Ok(waits)
        }
        .boxed()
    }
}

impl Starter for Inner {
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn close_started(self: Arc<Self>, journal: Arc<Journal>) -> BoxFuture<'static, Result<(), Halt>> {
        async move { Engine::behind(self).close_started(&journal).await }.boxed()
    }
}
