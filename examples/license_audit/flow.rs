//! The two graphs of the audit.

use graphweft::FirstOf;
use graphweft::prelude::*;

use crate::locate::{in_checkouts, in_registry};
use crate::lock::{pair_up, read_lock};
use crate::manifest::{list_members, read_manifest};
use crate::model::{Finding, Package, Request};
use crate::report::{Ending, summarise, time_is_up};
use crate::verdict::{classify, credit, explain, oblige};

workflow! {
    /// One package: where it lies, what its manifest says, what its licence asks for.
    ///
    /// What cannot be found, read or understood ends at `explain`, so that no package can make the audit fail.
    pub(crate) inspect(Package) -> Finding {
        START => <member: read_manifest, registry: in_registry, git: in_checkouts, nowhere: explain>;
        in_registry => <found: read_manifest, missing: explain>;
        in_checkouts => <found: read_manifest, missing: explain>;
        read_manifest => <ok: classify, err: explain>;
        classify => <permissive: credit, copyleft: oblige, unknown: explain>;
    }
}

workflow! {
    /// Every package of a lock file, and what its licence asks for. Or nothing of all that, when the time is up.
    pub(crate) audit(Request) -> Ending {
        // Each one asks `cargo`, in a process of its own.
        let inspect = inspect(max_parallel = 8);
        let whichever: FirstOf<Ending> = FirstOf::new();
        START => (read_lock, list_members) => pair_up => [inspect] => summarise;
        START => time_is_up;
        summarise | time_is_up => whichever;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_shows_the_graphs_as_they_are() {
        for graph in [audit::graph(), inspect::graph()] {
            let picture = format!("```mermaid\n{}\n```", graph.to_mermaid().trim_end());
            let is_shown = include_str!("README.md").contains(&picture);
            assert!(is_shown, "README.md beside this file does not show `{}` as it is:\n{picture}", graph.name);
        }
    }
}
