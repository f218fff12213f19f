//! The clock of an engine's runs.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::run_id::new_run_id;

/// The only source of time of an engine: for records, timers and claims.
#[derive(Clone, Default)]
pub(crate) struct Clock(Option<Arc<dyn Fn() -> SystemTime + Send + Sync>>);

impl Clock {
    pub(crate) fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Clock(Some(Arc::new(now)))
    }

    pub(crate) fn now(&self) -> SystemTime {
        match &self.0 {
            None => SystemTime::now(),
            Some(now) => now(),
        }
    }

    /// An id for a run that is made now.
    pub(crate) fn new_run_id(&self) -> String {
        new_run_id(self.now())
    }

    /// How long it is until then; zero if that time has passed.
    pub(crate) fn until(&self, then: SystemTime) -> Duration {
        then.duration_since(self.now()).unwrap_or_default()
    }
}
