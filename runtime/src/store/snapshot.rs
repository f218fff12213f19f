//! Snapshots of runs.

/// What the first records of a run come to, so that they need not be read when the run is resumed.
///
/// A store may keep the newest one of each run, and may lose it: then the run is resumed from all of its records.
///
/// ```
/// use std::collections::HashMap;
/// use graphweft::store::{RunKey, Snapshot};
///
/// let mut kept: HashMap<RunKey, Snapshot> = HashMap::new();
/// for snapshot in [Snapshot::new(64, vec![1]), Snapshot::new(128, vec![2])] {
///     kept.insert(RunKey::new(1), snapshot);
/// }
/// assert_eq!(kept[&RunKey::new(1)].at, 128);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// How many records it covers.
    pub at: u64,
    /// What they come to, in a form that only the engine knows and that changes with its version.
    pub state: Vec<u8>,
}

impl Snapshot {
    /// What the first `at` records come to.
    pub fn new(at: u64, state: Vec<u8>) -> Self {
        Snapshot { at, state }
    }
}
