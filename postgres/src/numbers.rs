//! Numbers and times as they are in the database.

use std::time::{Duration, SystemTime};

use graphweft::store::{RunKey, StoreError};

use crate::trouble::Trouble;

/// A number that is never greater than `i64::MAX` where it names something that is there.
pub(crate) fn to_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn from_integer(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The number of a run; that of no run if it is too great.
pub(crate) fn of_run(run: RunKey) -> i64 {
    to_integer(run.get())
}

/// Milliseconds since 1970.
pub(crate) fn to_millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn from_millis(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(from_integer(millis))
}

/// Whether PostgreSQL can hold a text: it refuses one with a zero, also where it is only looked for.
pub(crate) fn is_storable(text: &str) -> bool {
    !text.contains('\0')
}

/// A text of the user's that PostgreSQL can hold.
///
/// # Errors
/// If there is a character in it that no text of PostgreSQL has.
pub(crate) fn text<'t>(what: &str, text: &'t str) -> Result<&'t str, Trouble> {
    if is_storable(text) {
        return Ok(text);
    }
    let message = format!(
        "{what} {text:?} has the character U+0000, which no text in PostgreSQL can have; leave it out, or use another store"
    );
    Err(Trouble::Store(StoreError::Other { message }))
}
