//! The clock of an engine's runs.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::{NoContext, Timestamp, Uuid};

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

    /// A new id: a UUID of version 7, so ids sort by time.
    pub(crate) fn new_run_id(&self) -> String {
        let id = match &self.0 {
            None => Uuid::now_v7(),
            Some(now) => {
                let since = now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Uuid::new_v7(Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos()))
            }
        };
        id.to_string()
    }

    /// How long it is until then; zero if that time has passed.
    pub(crate) fn until(&self, then: SystemTime) -> Duration {
        then.duration_since(self.now()).unwrap_or_default()
    }
}
