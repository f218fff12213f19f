//! Stores in which a process may be believed to be dead that lives.

use crate::store::{MemoryStore, Owner, Store};

pub(super) trait Leased: Store {
    /// From here on an owner is believed to be dead.
    fn lapse(&self, owner: Owner);

    /// An owner says that it lives. Whether that is believed.
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

/// Its leases go by the time of the machine, which is another whenever it is played: a lock that was given up is not.
#[cfg(feature = "sqlite")]
impl Leased for crate::store::SqliteStore {
    fn lapse(&self, owner: Owner) {
        self.believe_dead(owner);
    }

    fn renew(&self, _: Owner) -> bool {
        false
    }
}
