//! The numbers that a store gives.

/// The number that a store has given to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct RunKey(pub(crate) u64);

impl RunKey {
    /// The run with this number.
    pub const fn new(number: u64) -> Self {
        RunKey(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The number that a store has given to an engine. Each is greater than all before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Owner(pub(crate) u64);

impl Owner {
    /// The engine with this number.
    pub const fn new(number: u64) -> Self {
        Owner(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}
