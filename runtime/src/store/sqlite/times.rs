//! Times and numbers in the file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 for earlier times.
pub(super) fn to_millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time so many milliseconds after 1970; 1970 if there is no such time.
pub(super) fn from_millis(millis: i64) -> SystemTime {
    u64::try_from(millis)
        .ok()
        .and_then(|millis| UNIX_EPOCH.checked_add(Duration::from_millis(millis)))
        .unwrap_or(UNIX_EPOCH)
}

/// SQLite's integers are signed; numbers that a store gives out stay far below that.
pub(super) fn to_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The reverse of [`to_integer`].
pub(super) fn from_integer(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
