//! Ids of runs.

use std::hash::{BuildHasher, RandomState};
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::{Builder, Uuid};

/// The random bits at the end of an id.
const TAIL: u128 = (1 << 62) - 1;

/// The id that was made last in this process.
static LAST: Mutex<Uuid> = Mutex::new(Uuid::nil());

/// A new id: a UUID of version 7, so ids sort by time. Within a millisecond each follows the one before, as by a
/// "monotonic random" (RFC 9562, 6.2, method 2).
pub(crate) fn new_run_id(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    *last = successor(*last, since).unwrap_or_else(|| first(since));
    last.to_string()
}

/// The first id of a millisecond.
fn first(since: Duration) -> Uuid {
    let mut random = [0; 10];
    random.copy_from_slice(&random_bytes()[..10]);
    Builder::from_unix_timestamp_millis(since.as_millis() as u64, &random).into_uuid()
}

/// SipHash by the keys that the standard library has from the system, others each time, of what is not the same in a process that was
/// forked from this one: a source of random bytes that is there already.
fn random_bytes() -> [u8; 16] {
    let half = || RandomState::new().hash_one((process::id(), SystemTime::now()));
    ((u128::from(half()) << 64) | u128::from(half())).to_ne_bytes()
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
    fn the_random_bits_are_others_each_time() {
        let since = Duration::from_millis(1_764_000_000_123);
        let ids: Vec<u128> = (0..1_000).map(|_| first(since).as_u128()).collect();
        // Those of the time, the version and the variant are the same.
        let random = (u128::MAX >> 48) & !(0xf << 76) & !(0b11 << 62);
        for bit in (0..128).filter(|bit| random >> bit & 1 == 1) {
            let set = ids.iter().filter(|id| **id >> bit & 1 == 1).count();
            assert!((350..650).contains(&set), "bit {bit} is set in {set} of 1000 ids");
        }
        assert_eq!(ids.iter().map(|id| id & !random).collect::<BTreeSet<_>>().len(), 1);
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    }

    #[test]
    fn the_last_id_of_a_millisecond_has_none_after_it() {
        let since = Duration::from_millis(1_764_000_000_123);
        let first = first(since);
        let last = Uuid::from_u128(first.as_u128() | TAIL);

        assert_eq!(successor(last, since), None);
        assert_eq!(successor(Uuid::from_u128(last.as_u128() - 1), since), Some(last));
        assert_eq!(successor(first, since + MILLI), None);
        assert_eq!(successor(Uuid::nil(), since), None);
    }
}
