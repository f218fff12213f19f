//! The kinds of records.

use std::time::SystemTime;

use crate::event::EventKind;
use crate::store::Stored;

pub(super) fn is_completion(stored: &Stored) -> bool {
    matches!(stored.record.kind, EventKind::NodeCompleted { .. })
}

pub(super) fn is_retry(stored: &Stored) -> bool {
    matches!(stored.record.kind, EventKind::RunRetried { .. })
}

pub(super) fn is_waiting(stored: &Stored) -> bool {
    matches!(stored.record.kind, EventKind::NodeCollecting { .. })
}

pub(super) fn is_start(stored: &Stored) -> bool {
    matches!(stored.record.kind, EventKind::NodeStarted { .. })
}

pub(super) fn millis(time: SystemTime) -> u128 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis()
}
