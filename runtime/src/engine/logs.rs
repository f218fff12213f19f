//! The logs beside the runs, and the way of a node to its engine.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::inner::Engine;
use crate::context::Context;
use crate::shared::Journal;
use crate::sorted::SortedSet;
use crate::store::{LogAppended, LogEntry, LogStore, LogTrim, NewLogEntry, Store, StoreError};
use crate::value::MaxSize;

/// The store keeps no logs.
///
/// A program that also works with a store of its own, which may keep no logs:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::NoLogs;
///
/// async fn chats(engine: &Engine) -> Vec<String> {
///     match engine.logs() {
///         Ok(logs) => logs.list("chat/").await.unwrap_or_default(),
///         Err(NoLogs { .. }) => Vec::new(), // a page without the list
///     }
/// }
///
/// # graphweft::block_on(async {
/// assert!(chats(&Engine::builder().build()?).await.is_empty());
/// # Ok::<(), graphweft::BuildError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the store of this engine keeps no logs; use one whose `Store::logs` returns them, such as `SqliteStore`")]
pub struct NoLogs;

impl Engine {
    /// The logs beside the runs, in the same store: what outlives a run.
    ///
    /// They are not touched by what happens to runs, and no [`retention`](crate::EngineBuilder::retention) deletes
    /// them: delete a log with [`LogStore::delete`].
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// assert!(engine.logs()?.list("chat/").await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`NoLogs`] if the store has none.
    pub fn logs(&self) -> Result<Arc<dyn LogStore>, NoLogs> {
        self.0.store.logs().ok_or(NoLogs)
    }

    pub(crate) fn max_value_size(&self) -> MaxSize {
        self.0.env.max_value_size
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0.store)
    }

    /// The logs of scopes that are being trimmed.
    pub(crate) fn scope_trims(&self) -> Arc<Mutex<SortedSet<String>>> {
        Arc::clone(&self.0.env.scope_trims)
    }

    /// How many updates of a scope are kept one by one at least.
    pub(crate) fn scope_updates(&self) -> usize {
        self.0.env.scope_updates
    }
}

impl Context {
    /// The engine that executes this run; `None` if there is none, as for a workflow that is called as a function.
    ///
    /// What a node does with it is not recorded, and happens again when the node runs again: put it into a
    /// [`step`](Self::step), and give what it starts or writes an id or a key. The handle does not keep the engine alive.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::json;
    /// use graphweft::store::NewLogEntry;
    ///
    /// #[node]
    /// async fn greet(name: String, ctx: &Context) -> Result<u64, String> {
    ///     let engine = ctx.engine().ok_or("it needs an engine")?;
    ///     let greeted = || async {
    ///         let logs = engine.logs().map_err(|error| error.to_string())?;
    ///         let entry = NewLogEntry::new("greeted", ctx.run_id(), json!(name), std::time::SystemTime::now());
    ///         logs.append(entry).await.map_err(|error| error.to_string())?;
    ///         Ok::<_, String>(logs.read("greeted", 0, u64::MAX).await.map_err(|error| error.to_string())?.len() as u64)
    ///     };
    ///     ctx.step("count", greeted).await.map_err(|error| error.to_string())
    /// }
    ///
    /// workflow! { pub greeting(String) -> u64 { START => greet; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// for (name, number) in [("Ada", 1), ("Bob", 2)] {
    ///     assert_eq!(engine.start::<greeting>(name.into()).await?.result().await?, number);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn engine(&self) -> Option<Engine> {
        Engine::of(&self.0.run.env)
    }

    /// The logs of this engine for what a node reads and writes there. While the store is away their futures do not resolve: the run stops,
    /// as if it could not record something, and the node begins again when it is resumed.
    #[doc(hidden)]
    pub fn __logs(&self, engine: &Engine) -> Result<Arc<dyn LogStore>, NoLogs> {
        let logs = engine.logs()?;
        Ok(match &self.0.run.journal {
            Some(journal) => Arc::new(LogsOfRun { logs, journal: Arc::clone(journal) }),
            None => logs,
        })
    }

    /// Stops the run in the same way, if this is since the store is away. Resolves only if not.
    #[doc(hidden)]
    pub async fn __pending_if_away(&self, error: &StoreError) {
        self.0.run.pending_if_away(error).await;
    }
}

struct LogsOfRun {
    logs: Arc<dyn LogStore>,
    journal: Arc<Journal>,
}

impl LogsOfRun {
    fn unless_away<'s, T: Send + 's>(
        &'s self,
        done: BoxFuture<'s, Result<T, StoreError>>,
    ) -> BoxFuture<'s, Result<T, StoreError>> {
        async move {
            let done = done.await;
            if let Err(error) = &done {
                self.journal.stop_if_away(error).await;
            }
            done
        }
        .boxed()
    }
}

impl LogStore for LogsOfRun {
    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        self.unless_away(self.logs.append(entry))
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        self.unless_away(self.logs.read(log, after, until))
    }

    fn list(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.unless_away(self.logs.list(prefix))
    }

    fn trim(&self, trim: LogTrim) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.unless_away(self.logs.trim(trim))
    }

    fn delete(&self, log: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.unless_away(self.logs.delete(log))
    }
}
