//! The shared data of the processes of a scenario that start, drive, retry or fork a run.

use std::cell::Cell;
use std::time::SystemTime;

use serde_json::Value;

use super::disk::Disk;
use super::ledger::Ledger;
use super::scenario::Scenario;
use super::sites::Sites;
use crate::clock::Clock;
use crate::engine::Outcome;
use crate::store::Stored;

/// Processes that live at the same time: one, and those that take over from it.
pub(super) struct Life<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) disk: &'a Disk,
    pub(super) ledger: &'a Ledger,
    pub(super) sites: &'a Sites,
    pub(super) begun: SystemTime,
    pub(super) clock: Clock,
    pub(super) store_failures: &'a Cell<u64>,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) id: String,
    pub(super) outcome: Outcome<Value>,
    pub(super) records: Vec<Stored>,
    /// The records that count, with their consequences that are not recorded.
    pub(super) events: Vec<Stored>,
}
