//! The graphs of the audit.

use graphweft::First;
use graphweft::prelude::*;

use crate::locate::{in_checkouts, in_registry};
use crate::lock::{leave_out, pair_up, read_lock};
use crate::manifest::{list_members, read_manifest};
use crate::model::{Case, Finding, Judgement, Package, Request};
use crate::question::{decide, sort_out, time_is_up};
use crate::report::{Report, summarise};
use crate::verdict::{classify, credit, doubt, explain, oblige};

workflow! {
    /// One package: where it lies, what its manifest says, what its licence asks for.
    ///
    /// What cannot be found or read ends at `explain`, so that no package can make the audit fail; a licence that cannot be
    /// judged ends at `doubt`, for a person to decide.
    pub(crate) inspect(Package) -> Judgement {
        START => <member: read_manifest, registry: in_registry, git: in_checkouts, nowhere: explain>;
        in_registry => <found: read_manifest, missing: explain>;
        in_checkouts => <found: read_manifest, missing: explain>;
        read_manifest => <ok: classify, err: explain>;
        classify => <permissive: credit, copyleft: oblige, unknown: doubt>;
    }
}

workflow! {
    /// What is clear already, or a licence with all of its packages, which a person is asked about.
    pub(crate) settle(Case) -> Vec<Finding> {
        START => <clear: END, open: decide>;
        decide => END;
    }
}

workflow! {
    /// Every package of a lock file that is built on this machine, and what its licence asks for. People have as long as they like; the packages have
    /// to be inspected before the time is up.
    pub(crate) audit(Request) -> Report {
        // Each one asks `cargo`, in a process of its own.
        let inspect = inspect(max_parallel = 8);
        let in_time: First<Vec<Case>> = First::new();
        START => (read_lock, list_members) => pair_up => [inspect] => sort_out;
        START => time_is_up;
        (read_lock, list_members) => leave_out;
        sort_out | time_is_up => in_time;
        (in_time => [settle], leave_out) => summarise;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_shows_the_graphs_as_they_are() {
        for graph in [audit::graph(), inspect::graph(), settle::graph()] {
            let picture = format!("```mermaid\n{}\n```", graph.to_mermaid().trim_end());
            let is_shown = include_str!("README.md").contains(&picture);
            assert!(is_shown, "README.md beside this file does not show `{}` as it is:\n{picture}", graph.name);
        }
    }
}
