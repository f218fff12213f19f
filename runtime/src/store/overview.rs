//! What a list shows of a run.

use super::error::StoreError;
use super::header::RunHeader;
use super::open_question::OpenQuestion;
use super::record::Stored;

/// A run with what a list of runs shows of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOverview {
    /// Its header.
    pub header: RunHeader,
    /// Its last records, in order: [`RunOverview::RECORDS`] of them, or all if it has fewer. An error if they are damaged:
    /// that of one run does not hide the others.
    pub last: Result<Vec<Stored>, StoreError>,
    /// How many of its questions are open.
    pub open: u64,
    /// The one that has been open for the longest time.
    pub question: Option<OpenQuestion>,
}

impl RunOverview {
    /// A run with its last records, and the number and the first of its open questions.
    pub fn new(
        header: RunHeader,
        last: Result<Vec<Stored>, StoreError>,
        open: u64,
        question: Option<OpenQuestion>,
    ) -> Self {
        RunOverview { header, last, open, question }
    }

    /// How many of the last records of a run are shown.
    pub const RECORDS: u64 = 8;
}
