//! A snapshot of a run: what the first records of a run come to, so that the run can be resumed without reading them.
//!
//! It is a cache of the fold and no source of anything: whatever does not fit is ignored, and all records are folded.

use std::fmt::Write;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::compile::fingerprint;
use crate::fingerprint::Fnv1a;
use crate::table::{Definition, Executable};

/// To be increased when what a snapshot holds changes, or what it means. Those of other versions of the crate never fit.
const FORMAT: u32 = 4;

pub(crate) struct RunSnapshot {
    pub(crate) head: SnapshotHead,
    /// The state; see `freeze` of the core.
    pub(super) text: String,
}

/// What decides whether a snapshot can be used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotHead {
    /// The [program](print_of) that it fits, with the workflows that its nodes are known to call.
    pub(crate) print: u64,
    /// How many records it covers.
    pub(crate) at: u64,
    /// The latest time of one of them. If any time behind them is earlier, the clock was set back, and they are to be
    /// read by another clock.
    pub(crate) latest: SystemTime,
    /// The engine that has taken the run over with the last of them that says so.
    pub(crate) owner: Option<u64>,
}

impl RunSnapshot {
    pub(super) fn new(head: SnapshotHead, text: String) -> Self {
        RunSnapshot { head, text }
    }

    /// As a store keeps it.
    pub(crate) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(&self.head)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(self.text.as_bytes());
        Ok(bytes)
    }

    /// `None` for what is not a snapshot, or one of another version.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<RunSnapshot> {
        let (head, text) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        Some(RunSnapshot { head: serde_json::from_str(head).ok()?, text: text.to_owned() })
    }
}

/// A hash of all that a snapshot of a run depends on besides its records: the form of snapshots, and the program with
/// the numbers of its nodes, edges and arms.
pub(crate) fn print_of(executable: &Executable, definition: &Arc<Definition>) -> u64 {
    *executable.print.get_or_init(|| {
        let mut hash = Fnv1a::default();
        // Writing to a hash never fails.
        let _ = write!(hash, "{FORMAT} {} {}", env!("CARGO_PKG_VERSION"), fingerprint(definition).hash);
        for (at, layout) in executable.program.layouts.iter().enumerate() {
            let labels = &executable.definition(definition, at).labels;
            let _ = write!(hash, "{layout:?} {labels:?}");
        }
        hash.finish()
    })
}
