//! Ids of tasks, and the reasons to stop one.

use serde::{Deserialize, Serialize};

/// A node that has fired. A slot is used again, so the serial distinguishes a new task from an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct TaskId {
    pub(super) slot: u32,
    pub(super) serial: u32,
}

impl TaskId {
    /// A small number, which no other task has at the same time.
    pub(crate) fn slot(self) -> usize {
        self.slot as usize
    }
}

/// Why a task is stopped before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopReason {
    /// The graph around it ends.
    ScopeClosed,
    /// It could only lead to a collecting node that has its output.
    OutputUnneeded,
    /// The time limit of the graphs inside.
    TimedOut,
}
