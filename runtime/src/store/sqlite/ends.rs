//! The ends of journals to which this process has added.
//!
//! Journals only grow, and each append begins with the number at which the journal ends. So if a journal has ended at a
//! number once, an append there can only conflict with a row of that number, and SQLite detects that by itself. The
//! search for the last row, which is a tenth of the cost of a durable step, is not needed.

use foldhash::HashMap;

use crate::store::RunKey;

/// The maximum number of journals that are remembered.
const REMEMBERED: usize = 4096;

#[derive(Default)]
pub(super) struct Ends {
    known: HashMap<RunKey, u64>,
    /// Those of the transaction that is under way.
    uncommitted: Vec<(RunKey, u64)>,
}

impl Ends {
    /// Whether a journal is known to have ended here once.
    pub(super) fn have_been(&self, run: RunKey, at: u64) -> bool {
        self.known.get(&run) == Some(&at)
    }

    /// Sets the end of a journal, in the transaction that is under way.
    pub(super) fn move_to(&mut self, run: RunKey, at: u64) {
        self.uncommitted.push((run, at));
    }

    /// The transaction is committed: its ends are known from here on.
    pub(super) fn committed(&mut self) {
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.extend(self.uncommitted.drain(..));
    }

    /// The transaction is undone, and its ends with it.
    pub(super) fn undone(&mut self) {
        self.uncommitted.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Ends, REMEMBERED};
    use crate::store::RunKey;

    #[test]
    fn an_end_is_known_when_it_is_committed_and_not_before() {
        let mut ends = Ends::default();
        ends.move_to(RunKey(1), 3);
        assert!(!ends.have_been(RunKey(1), 3));
        ends.undone();
        ends.committed();
        assert!(!ends.have_been(RunKey(1), 3));
        ends.move_to(RunKey(1), 3);
        ends.committed();
        assert!(ends.have_been(RunKey(1), 3) && !ends.have_been(RunKey(1), 4) && !ends.have_been(RunKey(2), 3));
    }

    #[test]
    fn runs_that_are_over_do_not_fill_the_memory() {
        let mut ends = Ends::default();
        for run in 0..10 * REMEMBERED as u64 {
            ends.move_to(RunKey(run), 3);
            ends.committed();
        }
        assert!(ends.known.len() <= REMEMBERED);
    }
}
