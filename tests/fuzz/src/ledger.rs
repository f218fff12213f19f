//! What nodes, steps and children did, told by their paths.

use std::sync::{Arc, Mutex, PoisonError};

use graphweft::Context;

/// Given to an engine as a resource.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    paths: Vec<String>,
    fails: bool,
}

impl Ledger {
    /// With this, the node `falls` falls.
    pub(crate) fn that_fails() -> Self {
        let ledger = Ledger::default();
        ledger.0.lock().unwrap_or_else(PoisonError::into_inner).fails = true;
        ledger
    }

    pub(crate) fn fails(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fails
    }

    /// A node is executed.
    pub(crate) fn node(&self, ctx: &Context) {
        self.path(ctx.path());
    }

    /// A step of a node is executed.
    pub(crate) fn step(&self, ctx: &Context, name: &str) {
        self.path(format!("{}/{name}", ctx.path()));
    }

    fn path(&self, path: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).paths.push(path);
    }

    /// All of them, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).paths.clone()
    }
}
