//! The fast path from one node to the next, where nothing is recorded or watched: the attempt that is over becomes the next
//! one, with all that it has allocated. See [`Run::apply_in_place`](crate::core::Run::apply_in_place).

use std::sync::Arc;

use tracing::level_filters::LevelFilter;

use super::catch::caught;
use super::run::{Driver, UnderWay};
use crate::context::Context;
use crate::fault::Fault;
use crate::table::{Arrived, Finished};

impl Driver {
    /// Has the lone attempt, which has ended like this, go on as that of the next node. Returns how it ended where that is
    /// not all there is to do.
    pub(super) fn advance_in_place(&mut self, finished: Finished) -> Result<(), Finished> {
        // Each attempt has a span of its own.
        let is_traced = LevelFilter::current() >= LevelFilter::DEBUG;
        let Driver { run, definition, executable, alone: Some(alone), .. } = self else { return Err(finished) };
        let UnderWay { task, running, attempt, .. } = alone;
        let (emitted, output) = match finished {
            Finished::Emitted { emitted, output } if self.is_bare && !is_traced => (emitted, output),
            finished => return Err(finished),
        };
        // Where a node has kept its context, or has done something with it, this is not all there is to do.
        let Some(used) = Arc::get_mut(attempt).and_then(|attempt| attempt.is_unused().then_some(attempt)) else {
            return Err(Finished::Emitted { emitted, output });
        };
        let next = run.apply_in_place(*task, emitted).map_err(|emitted| Finished::Emitted { emitted, output })?;
        used.pass_on(next.node, next.turns, next.sees);
        let Some(node) = executable.node(definition, next.layout, next.node) else {
            let message =
                format!("`{}` has no body; the table of its workflow was not made by `workflow!`", used.place);
            return Err(Finished::from(Fault::Context { message }));
        };
        let context = Context::new(attempt);
        let future = caught(|| Arc::clone(node).run_once(Arrived::One(next.value), context));
        running.go_on_as(future.map_err(Finished::from)?);
        Ok(())
    }
}
