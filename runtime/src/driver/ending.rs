//! How a driven run ends.

use crate::fault::{Cause, Failure, Fault};
use crate::halt::Halt;
use crate::table::{BoxValue, Definition};

/// How a run ended.
pub(crate) enum Ending {
    Completed(BoxValue),
    Failed(Failure),
    Cancelled,
    /// It has not ended, but this process no longer drives it.
    Halted(Halt),
}

pub(super) fn failure(definition: &Definition, fault: Fault) -> Failure {
    Failure::at(definition.name.clone(), 1, Cause::from(fault))
}
