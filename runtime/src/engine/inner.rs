//! What the parts of an engine share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use super::runs::Runs;
use crate::halt::Halt;
use crate::shared::Env;
use crate::store::{Owner, RunKey, Store, StoreError};
use crate::table::Definition;

/// Runs workflows: provides their resources and limits, records them, and finds them by id.
///
/// Cheap to clone. Dropping every handle of an engine does not stop its runs; they stop with the tokio runtime.
#[derive(Clone)]
pub struct Engine(pub(super) Arc<Inner>);

pub(crate) struct Inner {
    pub(super) env: Arc<Env>,
    pub(super) workflows: BTreeMap<String, Arc<Definition>>,
    /// Workflows of which runs were started here, whether they are registered or not.
    pub(super) started: Mutex<BTreeMap<String, Arc<Definition>>>,
    pub(super) store: Arc<dyn Store>,
    /// As which the store knows this engine, once it has something to drive.
    pub(super) owner: OnceCell<Owner>,
    pub(super) runs: Runs,
    /// Whether somebody looks after runs that wait outside of the memory.
    pub(super) is_kept: AtomicBool,
    /// Whether runs of processes that have died are taken over.
    pub(super) recovers: AtomicBool,
    /// Whether a claim has failed, and may have been carried out all the same: then runs are this engine's, and nobody
    /// knows which.
    pub(super) lost_claim: AtomicBool,
    /// Runs that were under way here, or were to be, and are not, and why: the store has failed, the runtime is gone, or this
    /// program cannot resume them. They are not claimed before [`Engine::recover`].
    pub(super) halted: Mutex<BTreeMap<RunKey, Halt>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.get() {
            drop(self.store.leave(*owner));
        }
    }
}

impl Engine {
    /// The names of the registered workflows, in alphabetical order.
    pub fn workflows(&self) -> impl Iterator<Item = &str> {
        self.0.workflows.keys().map(String::as_str)
    }

    pub(super) fn halted(&self) -> MutexGuard<'_, BTreeMap<RunKey, Halt>> {
        self.0.halted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workflow that this engine has met.
    pub(super) fn definition_of(&self, name: &str) -> Option<Arc<Definition>> {
        let started = || self.0.started.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        self.0.workflows.get(name).cloned().or_else(started)
    }

    /// As which the store knows this engine.
    pub(super) async fn owner(&self) -> Result<Owner, StoreError> {
        let join = || self.0.store.join(self.workflows().map(str::to_owned).collect());
        self.0.owner.get_or_try_init(join).await.copied()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("workflows", &self.workflows().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
