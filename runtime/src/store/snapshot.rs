//! Snapshots of runs.

/// What the first records of a run come to, so that they need not be read when the run is resumed.
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
