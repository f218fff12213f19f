//! Stores in which a living process may be believed to be dead.

use crate::store::{MemoryStore, Owner, Store};

pub(super) trait Leased: Store {
    /// From here on an owner is believed to be dead.
    fn lapse(&self, owner: Owner);

    /// Renews the lease of an owner. Returns whether that has an effect.
    fn renew(&self, owner: Owner) -> bool;
}

impl Leased for MemoryStore {
    fn lapse(&self, owner: Owner) {
        self.believe(owner, false);
    }

    fn renew(&self, owner: Owner) -> bool {
        self.believe(owner, true);
        true
    }
}

/// Its leases use the time of the machine, which differs whenever a scenario is played. A released lock does not.
#[cfg(feature = "sqlite")]
impl Leased for crate::store::SqliteStore {
    fn lapse(&self, owner: Owner) {
        self.believe_dead(owner);
    }

    fn renew(&self, _: Owner) -> bool {
        false
    }
}
