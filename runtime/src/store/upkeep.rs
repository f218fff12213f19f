//! What keeps a store small, and who does it.

use std::time::SystemTime;

use super::ids::{Owner, RunKey};

/// Runs to be deleted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Delete {
    /// Their numbers.
    pub runs: Vec<RunKey>,
    /// Until when no new run can have their ids; `None`: they are free at once.
    pub ids_until: Option<SystemTime>,
    /// The current time. Ids that were kept until now are free.
    pub now: SystemTime,
}

/// A periodic task to be reserved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReserveTask {
    /// Its name.
    pub task: String,
    /// Who wants it.
    pub owner: Owner,
    /// Until when, if it is not reserved again before.
    pub until: SystemTime,
    /// The current time.
    pub now: SystemTime,
}
