//! How a driven run ends.

use crate::box_value::BoxValue;
use crate::core::NextRun;
use crate::fault::{Cause, Failure, Fault};
use crate::halt::Halt;
use crate::table::Definition;

/// How a run ended.
pub(crate) enum Ending {
    Completed(BoxValue),
    Failed(Failure),
    Cancelled,
    /// A node has started over: the run is to end with the beginning of the next one, which is not recorded yet.
    StartsOver(Box<NextRun>),
    /// It has started over: the id of the next run.
    StartedOver(String),
    /// It has not ended, but this process no longer drives it.
    Halted(Halt),
}

pub(super) fn failure(definition: &Definition, fault: Fault) -> Failure {
    Failure::at(definition.name.clone(), 1, Cause::from(fault))
}
