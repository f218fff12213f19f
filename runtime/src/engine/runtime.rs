//! The tokio runtime that a call is made in.

use std::cell::Cell;
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::Sleep;

use super::error::StartError;
use crate::catch::caught;
use crate::halt::Halt;
use crate::question::AnswerError;
use crate::run_error::RunError;

/// Why no run can be driven here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    NoRuntime,
    NoTimers,
}

/// The runtime that runs can be driven in.
pub(super) fn current() -> Result<Handle, Unfit> {
    let runtime = Handle::try_current().map_err(|_| Unfit::NoRuntime)?;
    if has_timers(&runtime) { Ok(runtime) } else { Err(Unfit::NoTimers) }
}

/// Waits, where that is possible.
pub(super) fn sleep(duration: Duration) -> Result<Sleep, Unfit> {
    current().map(|_| tokio::time::sleep(duration))
}

/// Tokio reports missing timers only by a panic. If a panic ends the process, timers are assumed.
fn has_timers(runtime: &Handle) -> bool {
    thread_local! {
        /// The last runtime of this thread that has timers. Tokio counts the ids of runtimes.
        static WITH_TIMERS: Cell<Option<Id>> = const { Cell::new(None) };
    }
    let id = Some(runtime.id());
    if WITH_TIMERS.get() == id {
        return true;
    }
    let has_timers = !cfg!(panic = "unwind") || caught(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok();
    if has_timers {
        WITH_TIMERS.set(id);
    }
    has_timers
}

impl From<Unfit> for StartError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::NoRuntime => StartError::NoRuntime,
            Unfit::NoTimers => StartError::NoTimers,
        }
    }
}

impl From<Unfit> for Halt {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::NoRuntime => Halt::NoRuntime,
            Unfit::NoTimers => Halt::NoTimers,
        }
    }
}

impl From<Unfit> for RunError {
    fn from(unfit: Unfit) -> Self {
        Halt::from(unfit).into()
    }
}

impl From<Unfit> for AnswerError {
    fn from(unfit: Unfit) -> Self {
        AnswerError::Run(unfit.into())
    }
}
