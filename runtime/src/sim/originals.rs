//! The runs that were forked: they stay as they are, and the fork begins with their records.

use super::at_once::at_once;
use super::records::is_retry;
use crate::store::{RunHeader, RunKey, Store, Stored};

/// The id of the run after so many forks, each of the one before it.
pub(super) fn id(forks: usize) -> String {
    if forks == 0 { "x".to_owned() } else { format!("x{forks}") }
}

/// The id of a fork that is requested before the fork of this number, and forked in its place.
pub(super) fn link(forks: usize, number: u64) -> String {
    format!("{}.{number}", id(forks))
}

pub(super) fn is_link(id: &str) -> bool {
    id.contains('.')
}

/// Whether the run of this id follows another one that has started over.
pub(super) fn is_next(id: &str) -> bool {
    id.contains('~')
}

/// The id of the fork of a run that is not over.
pub(super) const EARLY: &str = "early";

/// A run that is over and was forked, as it was then.
#[derive(Clone)]
pub(super) struct Original {
    header: Option<RunHeader>,
    pub(super) records: Vec<Stored>,
    pub(super) events: Vec<Stored>,
    key: RunKey,
}

impl Original {
    pub(super) fn new(store: &dyn Store, key: RunKey, id: &str, records: Vec<Stored>, events: Vec<Stored>) -> Original {
        let header = at_once(store.header(id)).ok().flatten();
        Original { header, records, events, key }
    }

    /// # Errors
    /// The change.
    pub(super) fn is_untouched(&self, store: &dyn Store) -> Result<(), String> {
        let Some(header) = &self.header else { return Err("a run was forked that is not there".to_owned()) };
        let now = at_once(store.header(&header.id)).map_err(|error| error.to_string())?;
        if now.as_ref() != Some(header) {
            return Err(format!("the run that was forked is {now:?}, and was {header:?}"));
        }
        let records = at_once(store.read(self.key, 0, usize::MAX)).map_err(|error| error.to_string())?;
        if records != self.records {
            return Err(format!(
                "the run that was forked has {} records, and had {}",
                records.len(),
                self.records.len()
            ));
        }
        Ok(())
    }
}

/// Checks that the fork has the records before the one of its number, and then the record of its voids.
///
/// # Errors
/// The difference.
pub(super) fn is_forked_as(store: &dyn Store, id: &str, original: &[Stored], fork: &RunHeader) -> Result<(), String> {
    let (of, at) = fork.forked_from.as_ref().ok_or("a second run, and no fork")?;
    if id != of {
        return Err(format!("a fork of `{of}`, which is another run"));
    }
    let records = at_once(store.read(fork.key, 0, usize::MAX)).map_err(|error| error.to_string())?;
    let copied = original.iter().filter(|stored| stored.seq < *at).map(|stored| &stored.record);
    match records.split_last() {
        Some((last, first)) if is_retry(last) && first.iter().map(|stored| &stored.record).eq(copied) => Ok(()),
        last => Err(format!("a fork before record {at} has not the records before that: {last:?}")),
    }
}
