//! The tokio runtime that a call is made in.

use tokio::runtime::Handle;

use super::error::StartError;
use crate::driver::caught;
use crate::halt::Halt;

/// Why no run can be driven here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    NoRuntime,
    NoTimers,
}

/// The runtime that runs can be driven in.
pub(super) fn current() -> Result<Handle, Unfit> {
    let runtime = Handle::try_current().map_err(|_| Unfit::NoRuntime)?;
    if has_timers() { Ok(runtime) } else { Err(Unfit::NoTimers) }
}

/// Tokio says so only by a panic, and where that ends the process the question is not asked.
fn has_timers() -> bool {
    !cfg!(panic = "unwind") || caught(|| drop(tokio::time::sleep(std::time::Duration::ZERO))).is_ok()
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
            Unfit::NoRuntime => Halt::ShutDown,
            Unfit::NoTimers => Halt::NoTimers,
        }
    }
}
