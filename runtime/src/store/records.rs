//! The records of one append.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::record::Record;

/// The records of one append, in order: a slice that is cheap to clone.
///
/// The engine keeps the records of quick nodes in a compact form. They become [`Record`]s when the slice is
/// read for the first time, and not before; [`len`](Self::len) and [`is_empty`](Self::is_empty) do not read it.
///
/// ```
/// use graphweft::EventKind;
/// use graphweft::store::{Record, Records};
///
/// let records = Records::from(vec![Record::new("checkout", EventKind::RunCancelled)]);
/// assert_eq!(records.len(), 1);
/// assert_eq!(records[0].path, "checkout");
/// ```
#[derive(Clone, Default)]
pub struct Records(Arc<Shared>);

#[derive(Default)]
struct Shared {
    plain: Vec<Record>,
    compact: Option<Box<dyn Compact>>,
    /// All of them, once they were read, if some are compact.
    whole: OnceLock<Vec<Record>>,
}

/// Records in a compact form, between others that are not.
pub(crate) trait Compact: Send + Sync + 'static {
    /// How many there are.
    fn len(&self) -> usize;

    /// All records, those in between included.
    fn among(&self, plain: &[Record]) -> Vec<Record>;

    /// How many of them are before the plain record with this number.
    fn before(&self, plain: usize) -> usize;

    /// Visits all records in order, those in between included, without making those that are compact.
    fn visit(&self, plain: &[Record], to: &mut dyn FnMut(Part<'_>));
}

/// A part of the records of an append.
pub(crate) enum Part<'r> {
    Record(&'r Record),
    /// Two of them: a node is completed, and the next one has started.
    Step {
        from: &'r str,
        label: Option<&'r str>,
        output: Option<&'r Value>,
        to: &'r str,
    },
}

impl Records {
    /// Records of which some are compact.
    pub(crate) fn compact(plain: Vec<Record>, compact: Box<dyn Compact>) -> Self {
        Records(Arc::new(Shared { plain, compact: Some(compact), whole: OnceLock::new() }))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.plain.len() + self.0.compact.as_ref().map_or(0, |compact| compact.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them but those that are compact, with their numbers, from 0.
    pub(crate) fn plain(&self) -> impl Iterator<Item = (usize, &Record)> {
        let Shared { plain, compact, .. } = &*self.0;
        let before = |at| compact.as_ref().map_or(0, |compact| compact.before(at));
        plain.iter().enumerate().map(move |(at, record)| (at + before(at), record))
    }

    /// Visits all of them in order, without making those that are compact.
    #[cfg(feature = "sqlite")]
    pub(crate) fn visit(&self, to: &mut dyn FnMut(Part<'_>)) {
        let Shared { plain, compact, whole } = &*self.0;
        match compact.as_ref().filter(|_| whole.get().is_none()) {
            Some(compact) => compact.visit(plain, to),
            None => self.iter().for_each(|record| to(Part::Record(record))),
        }
    }

    /// All of them as a vector.
    #[must_use]
    pub fn into_vec(self) -> Vec<Record> {
        match Arc::try_unwrap(self.0) {
            Ok(Shared { plain, compact, whole }) => match (compact, whole.into_inner()) {
                (None, _) => plain,
                (Some(_), Some(whole)) => whole,
                (Some(compact), None) => compact.among(&plain),
            },
            Err(shared) => Records(shared).to_vec(),
        }
    }
}

impl Deref for Records {
    type Target = [Record];

    fn deref(&self) -> &[Record] {
        match &self.0.compact {
            None => &self.0.plain,
            Some(compact) => self.0.whole.get_or_init(|| compact.among(&self.0.plain)),
        }
    }
}

impl From<Vec<Record>> for Records {
    fn from(plain: Vec<Record>) -> Self {
        Records(Arc::new(Shared { plain, compact: None, whole: OnceLock::new() }))
    }
}

impl<'r> IntoIterator for &'r Records {
    type Item = &'r Record;
    type IntoIter = std::slice::Iter<'r, Record>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As records, in whatever form they are held.
impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Compact, Part, Record, Records};
    use crate::event::EventKind;

    /// One compact record behind each of these numbers of plain ones.
    struct Behind(Vec<usize>);

    fn record(path: &str) -> Record {
        Record { path: path.to_owned(), kind: EventKind::RunCancelled }
    }

    impl Compact for Behind {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn among(&self, plain: &[Record]) -> Vec<Record> {
            let mut plain = plain.to_vec();
            for behind in self.0.iter().rev() {
                plain.insert(*behind, record("compact"));
            }
            plain
        }

        fn visit(&self, plain: &[Record], to: &mut dyn FnMut(Part<'_>)) {
            self.among(plain).iter().for_each(|record| to(Part::Record(record)));
        }

        fn before(&self, plain: usize) -> usize {
            self.0.iter().filter(|behind| **behind <= plain).count()
        }
    }

    fn paths(records: &[Record]) -> Vec<&str> {
        records.iter().map(|record| record.path.as_str()).collect()
    }

    #[test]
    fn compact_records_are_in_their_place_with_and_without_a_look() {
        let records = || Records::compact(vec![record("a"), record("b")], Box::new(Behind(vec![0, 1, 1, 2])));
        let all = ["compact", "a", "compact", "compact", "b", "compact"];
        assert_eq!(paths(&records().into_vec()), all);
        let looked_at = records();
        assert_eq!((looked_at.len(), paths(&looked_at)), (6, all.to_vec()));
        let other = looked_at.clone();
        assert_eq!((paths(&looked_at.into_vec()), paths(&other.into_vec())), (all.to_vec(), all.to_vec()));
        let numbered: Vec<_> = records().plain().map(|(at, record)| (at, record.path.clone())).collect();
        assert_eq!(numbered, [(1, "a".to_owned()), (4, "b".to_owned())]);
    }
}
