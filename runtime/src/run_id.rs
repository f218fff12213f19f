//! Ids of runs.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::{NoContext, Timestamp, Uuid};

/// The random bits at the end of an id.
const TAIL: u128 = (1 << 62) - 1;

/// The id that was made last in this process.
static LAST: Mutex<Uuid> = Mutex::new(Uuid::nil());

/// A new id: a UUID of version 7, so ids sort by time. Within a millisecond each follows the one before, as by a
/// "monotonic random" (RFC 9562, 6.2, method 2): to ask the system for random bits takes as long as all the rest.
pub(crate) fn new_run_id(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    *last = successor(*last, since)
        .unwrap_or_else(|| Uuid::new_v7(Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos())));
    last.to_string()
}

/// The id after another one of the same millisecond; none is after one of another.
fn successor(last: Uuid, since: Duration) -> Option<Uuid> {
    let last = last.as_u128();
    (last >> 80 == since.as_millis() && last & TAIL != TAIL).then(|| Uuid::from_u128(last + 1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn ids_sort_by_the_time_when_they_were_made_and_within_a_millisecond_too() {
        let at = UNIX_EPOCH + Duration::from_millis(1_764_000_000_123);
        let ids: Vec<String> = [at, at, at + MILLI, at + MILLI, at + 2 * MILLI].map(new_run_id).into();

        assert!(ids.is_sorted(), "{ids:?}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        for id in &ids {
            let id: Uuid = id.parse().unwrap();
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        }
    }

    #[test]
    fn the_last_id_of_a_millisecond_has_none_after_it() {
        let since = Duration::from_millis(1_764_000_000_123);
        let first = Uuid::new_v7(Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos()));
        let last = Uuid::from_u128(first.as_u128() | TAIL);

        assert_eq!(successor(last, since), None);
        assert_eq!(successor(Uuid::from_u128(last.as_u128() - 1), since), Some(last));
        assert_eq!(successor(first, since + MILLI), None);
        assert_eq!(successor(Uuid::nil(), since), None);
    }
}
