//! Which records of a run a retry has voided.

use std::ops::Range;

use crate::event::EventKind;
use crate::sorted::SortedSet;
use crate::store::Stored;

/// The records that count: those that no retry has voided.
pub(crate) fn effective(history: Vec<Stored>) -> Vec<Stored> {
    let voided = voided(&history);
    history.into_iter().filter(|stored| !voided.contains(&stored.seq)).collect()
}

pub(super) fn voided(history: &[Stored]) -> SortedSet<u64> {
    let voids = history.iter().filter_map(|stored| match &stored.record.kind {
        EventKind::RunRetried { voids, .. } => Some(voids),
        _ => None,
    });
    voids.flatten().flat_map(Range::clone).collect()
}
