//! Compares the state of a live run, and of the graphs of its children, with the fold of its records: at every commit,
//! field by field.

use std::sync::Arc;

use super::disk::Disk;
use super::ledger::Ledger;
use crate::core::Run;
use crate::driver::{Observed, Observer};
use crate::table::Token;

/// Looks at a run of a process whenever all of its events are recorded.
#[derive(Clone)]
pub(super) struct Moments {
    disk: Disk,
    ledger: Ledger,
}

impl Moments {
    pub(super) fn new(disk: &Disk, ledger: &Ledger) -> Moments {
        Moments { disk: disk.clone(), ledger: ledger.clone() }
    }

    pub(super) fn observer(&self) -> Arc<Observer> {
        let moments = self.clone();
        Arc::new(move |observed| moments.look(&observed))
    }

    fn look(&self, observed: &Observed<'_>) {
        let Observed { run, run_id, records, waits, .. } = *observed;
        // A process that has lost the run, and does not know that yet.
        if !self.disk.is_owner(self.ledger.process(), run_id) {
            return;
        }
        if !run.is_settled() {
            self.ledger.breaks(format!("behind record {records}, not all is carried out"));
        }
        if waits && let Some(what) = run.waits_in_vain() {
            self.ledger.breaks(format!("the run waits behind record {records}, and {what}"));
        }
        if let Some(requests) = &observed.requests
            && let Err(why) = self.are_the_fold(run_id, requests, records)
        {
            self.ledger.breaks(format!("behind record {records}, the requests are not the fold of the records: {why}"));
        }
        // The stop of a child's graph is not recorded; only that of its node is.
        if run.prefix().is_some() && run.is_ending() {
            return;
        }
        if let Err(why) = self.is_the_fold(run_id, run, records) {
            self.ledger.breaks(format!("behind record {records}, the state is not the fold of the records: {why}"));
        }
    }

    fn are_the_fold(&self, id: &str, requests: &[(String, String)], records: u64) -> Result<(), String> {
        self.disk.with_follower_of(id, |follower| {
            if follower.records() != records {
                return Ok(());
            }
            let (lived, folded) = (follower.requests_of(requests), follower.requests());
            same(&lived, &folded)
        })
    }

    fn is_the_fold(&self, id: &str, run: &Run<Token>, records: u64) -> Result<(), String> {
        self.disk.with_follower_of(id, |follower| {
            if follower.records() != records {
                return Ok(());
            }
            let Some(folded) = follower.fold_of(run.prefix()) else { return Err("there is no fold".to_owned()) };
            if run.prefix().is_none() && follower.state() != &**run.state() {
                return Err("the run's state is another".to_owned());
            }
            // A child begins with the state that its node saw then, and had written.
            let with_state = run.prefix().is_none();
            same(&run.snapshot(with_state), &folded.snapshot(with_state))
        })
    }
}

fn same(lived: &[String], folded: &[String]) -> Result<(), String> {
    if lived == folded {
        return Ok(());
    }
    let only = |these: &[String], others: &[String]| {
        these.iter().filter(|line| !others.contains(line)).cloned().collect::<Vec<_>>().join("\n    ")
    };
    Err(format!("it holds\n    {}\n  and its records come to\n    {}", only(lived, folded), only(folded, lived)))
}
