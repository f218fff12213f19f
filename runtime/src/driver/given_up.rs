//! What becomes of what a node had asked its context for, when the graph around it fails.
//!
//! A node's own next attempt has the same input, and is given back its steps and children. When the graph around it is
//! tried again, all in there begins anew, on inputs that may be others: nothing is given back then. The nodes of `[..]` do
//! not stand below it by their paths, and so are known here. A run that has failed may be retried where it failed, so what a
//! node had asked for stays until something takes its failure up.

use super::run::Driver;
use crate::core::Place;

impl Driver {
    /// An attempt at a node has failed; `is_retried`: it was not the last.
    pub(super) fn has_failed(&mut self, place: &Place, is_retried: bool) {
        match (is_retried, place.is_scope()) {
            (true, true) => self.forget_given_up(place),
            (false, false) => self.given_up.push(place.clone()),
            _ => {}
        }
    }

    /// A node has completed, perhaps since its failure was taken up by an arm.
    pub(super) fn has_completed(&mut self, place: &Place) {
        if !self.given_up.is_empty() {
            self.forget_given_up(place);
        }
    }

    /// What has failed in there, or there, counts no more.
    fn forget_given_up(&mut self, around: &Place) {
        let Some(journal) = self.shared.journal.as_ref() else { return };
        self.given_up.retain(|place| {
            let is_within = place.is_within(around);
            if is_within {
                journal.desk.forget_below(&place.path());
            }
            !is_within
        });
    }
}
