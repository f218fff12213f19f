//! What a driven run comes to.

use crate::fault::{Cause, Failure, Fault};
use crate::halt::Halt;
use crate::table::{BoxValue, Definition};

/// How a run ended.
pub(crate) enum Ending {
    Completed(BoxValue),
    Failed(Failure),
    Cancelled,
    /// It has not ended, and goes no further in this process.
    Halted(Halt),
}

pub(super) fn failure(definition: &Definition, fault: Fault) -> Failure {
    Failure { path: definition.name.clone(), attempts: 1, cause: Cause::from(fault) }
}
