//! One graph of a run, folded from its records: for the events that are derived from them.

use std::sync::Arc;

use crate::catch::caught;
use crate::core::{Derived, Place, Program};
use crate::driver::{NoValues, Replay, derived_record};
use crate::halt::Halt;
use crate::store::{Record, Stored};

/// The graph of a run, or of a child workflow.
pub(super) struct FoldedGraph {
    program: Arc<Program>,
    /// What it may be; several only until its records show which arm of START it has taken.
    possible: Vec<Possible>,
}

/// What a graph may be, and what was derived by that and is not an event yet.
struct Possible {
    replay: Replay<()>,
    derived: Vec<(Place, Derived)>,
}

impl FoldedGraph {
    /// `begin` gives what it may be at its beginning.
    ///
    /// # Errors
    /// If it can be nothing.
    pub(super) fn new(
        program: &Arc<Program>,
        begin: impl FnOnce() -> Result<Vec<Replay<()>>, Halt>,
    ) -> Result<Self, Halt> {
        let possible = |mut replay: Replay<()>| Possible { derived: replay.run.take_derived(), replay };
        let possible: Vec<Possible> = checked(begin)?.into_iter().map(possible).collect();
        Ok(FoldedGraph { program: Arc::clone(program), possible })
    }

    /// Whether nothing can be derived: it is not known what it is.
    pub(super) fn is_unknown(&self) -> bool {
        self.possible.is_empty()
    }

    /// Folds a record, and drops what the graph cannot be by it.
    ///
    /// # Errors
    /// If it can be nothing.
    pub(super) fn take(&mut self, stored: &Stored) -> Result<(), Halt> {
        let FoldedGraph { program, possible } = self;
        checked(|| advance(program, possible, stored))
    }

    /// What was derived since the last call, once it is known which arm of START was taken.
    pub(super) fn derived(&mut self) -> Vec<Record> {
        match &mut self.possible[..] {
            [only] => {
                std::mem::take(&mut only.derived).iter().map(|(place, what)| derived_record(place, *what)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn forget_derived(&mut self) {
        self.possible.iter_mut().for_each(|possible| possible.derived.clear());
    }
}

/// A record that fits no graph of this program may make its fold panic.
fn checked<T>(fold: impl FnOnce() -> Result<T, Halt>) -> Result<T, Halt> {
    caught(fold).map_err(|fault| Halt::broken("history", &fault)).and_then(|folded| folded)
}

fn advance(program: &Arc<Program>, all: &mut Vec<Possible>, stored: &Stored) -> Result<(), Halt> {
    let mut misfit = None;
    let mut values = NoValues(Arc::clone(program));
    all.retain_mut(|Possible { replay, derived }| match replay.take(stored.clone(), &mut values) {
        Ok(_) => {
            replay.run.take_end();
            derived.append(&mut replay.run.take_derived());
            true
        }
        Err(halt) => {
            misfit = Some(halt);
            false
        }
    });
    match misfit {
        Some(halt) if all.is_empty() => Err(halt),
        _ => Ok(()),
    }
}
