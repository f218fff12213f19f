//! What keeps a store small, and who does it.

use std::time::SystemTime;

use super::ids::{Owner, RunKey};

/// Runs to be deleted.
///
/// What a store deletes, and which ids it keeps:
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::store::{Delete, RunKey};
///
/// fn kept(delete: &Delete, ids: &[(RunKey, String)]) -> Vec<(String, SystemTime)> {
///     let Some(until) = delete.ids_until else { return Vec::new() };
///     ids.iter().filter(|(key, _)| delete.runs.contains(key)).map(|(_, id)| (id.clone(), until)).collect()
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Delete {
    /// Their numbers.
    pub runs: Vec<RunKey>,
    /// Until when no new run can have their ids; `None`: they are free at once.
    pub ids_until: Option<SystemTime>,
    /// The current time. Ids that were kept until now are free.
    pub now: SystemTime,
}

impl Delete {
    /// These runs, whose ids are free at once.
    pub fn new(runs: Vec<RunKey>, now: SystemTime) -> Self {
        Delete { runs, ids_until: None, now }
    }
}

/// A periodic task to be reserved.
///
/// One of many engines does a task, until its reservation ends:
///
/// ```
/// use std::collections::HashMap;
/// use std::time::SystemTime;
/// use graphweft::store::{Owner, ReserveTask};
///
/// fn reserve(reserved: &mut HashMap<String, (Owner, SystemTime)>, wanted: ReserveTask) -> bool {
///     let is_free = |(owner, until): &(Owner, SystemTime)| *owner == wanted.owner || *until <= wanted.now;
///     let may = reserved.get(&wanted.task).is_none_or(is_free);
///     if may {
///         reserved.insert(wanted.task, (wanted.owner, wanted.until));
///     }
///     may
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
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

impl ReserveTask {
    /// A task that an owner wants until some time, at the current time `now`.
    pub fn new(task: impl Into<String>, owner: Owner, until: SystemTime, now: SystemTime) -> Self {
        ReserveTask { task: task.into(), owner, until, now }
    }
}
