//! Holds what runs have recorded against what their nodes have done.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use graphweft::prelude::*;
use graphweft_restate::RunHandle;

/// What the ledger says of the nodes of all runs.
#[derive(Debug)]
pub struct Judge {
    /// The last start of each node, and how often it has ended.
    nodes: HashMap<(String, String), (u128, u32)>,
    /// How often nodes of each run have begun.
    starts: HashMap<String, u32>,
    /// How many records were compared.
    pub judged: u64,
    /// How many nodes have ended more than once.
    pub twice: u64,
}

impl Judge {
    /// Reads a ledger.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn of(ledger: &Path) -> Self {
        let mut nodes: HashMap<(String, String), (u128, u32)> = HashMap::new();
        let mut starts: HashMap<String, u32> = HashMap::new();
        for line in std::fs::read_to_string(ledger).expect("nodes have run").lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [what, micros, run, path, _] = words[..] else { panic!("{line}") };
            let seen = nodes.entry((run.to_owned(), path.to_owned())).or_default();
            if what == "start" {
                seen.0 = micros.parse().expect("a number");
                *starts.entry(run.to_owned()).or_default() += 1;
            } else {
                seen.1 += 1;
            }
        }
        Judge { nodes, starts, judged: 0, twice: 0 }
    }

    /// How often nodes of a run have begun.
    #[must_use]
    pub fn starts_of(&self, run: &str) -> u32 {
        self.starts.get(run).copied().unwrap_or_default()
    }

    /// Compares a run that has ended.
    ///
    /// # Panics
    /// If a node began again after its completion was recorded, was recorded twice, or was recorded and has not ended.
    pub async fn compare<W: graphweft::Workflow>(&mut self, run: &RunHandle<W>) {
        let events = run.events_from(0).await.expect("a server answers");
        let mut recorded = HashMap::new();
        for event in events {
            let EventKind::NodeCompleted { .. } = event.kind else { continue };
            assert!(
                recorded.insert(event.path.clone(), ()).is_none(),
                "{}: {} is recorded twice",
                run.id(),
                event.path
            );
            let Some((started, ended)) = self.nodes.get(&(run.id().to_owned(), event.path.clone())) else { continue };
            self.judged += 1;
            self.twice += u64::from(*ended > 1);
            let time = event.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros() + 1000;
            assert!(*started <= time, "{}: {} began again after its record", run.id(), event.path);
            assert!(*ended > 0, "{}: {} is recorded and has not ended", run.id(), event.path);
        }
    }
}
