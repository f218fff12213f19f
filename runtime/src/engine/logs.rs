//! The logs beside the runs, and the way of a node to its engine.

use std::sync::{Arc, Mutex};

use super::inner::Engine;
use crate::context::Context;
use crate::sorted::SortedSet;
use crate::store::{LogStore, Store};
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
}
