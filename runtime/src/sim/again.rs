//! Retries that run more nodes again than the failed ones. The nodes are chosen from the history of the run.

use super::life::Life;
use super::scenario::Again;
use crate::engine::{Engine, Retry, RetryError, effective};
use crate::event::EventKind;
use crate::run_error::RunError;
use crate::store::{StoreError, Stored};

impl Life<'_> {
    /// A retry that runs the nodes of the scenario again. Those inside a child workflow are refused, and left out.
    pub(super) async fn names(&self, engine: &Engine) -> Result<Result<Retry, StoreError>, String> {
        let records = self.disk.with_records(|records| effective(records.to_vec()));
        let mut retry = engine.retry(self.id());
        for again in &self.scenario.again {
            let (paths, which, name): (_, _, fn(Retry, String) -> Retry) = match *again {
                Again::FromNode(which) => {
                    let begun = paths(&records, |kind| matches!(kind, EventKind::NodeStarted { .. }));
                    let nodes = begun.into_iter().filter(|path| self.sites.is_node(path)).collect();
                    (nodes, which, Retry::from_node)
                }
                Again::Rerun(which) => {
                    (paths(&records, |kind| matches!(kind, EventKind::NodeCompleted { .. })), which, Retry::rerun)
                }
            };
            let at = which.checked_rem(paths.len() as u64).map(|at| at as usize);
            let Some(path) = at.and_then(|at| Vec::into_iter(paths).nth(at)) else { continue };
            let Some(job) = outermost_job(&path) else {
                retry = name(retry, path);
                continue;
            };
            match name(engine.retry(self.id()), path.clone()).await {
                Err(RetryError::InsideChildWorkflow { path: of, child, .. }) if (&*of, &*child) == (&*path, job) => {}
                Err(RetryError::Store(error) | RetryError::Run(RunError::Store(error))) => return Ok(Err(error)),
                other => return Err(format!("`{path}` is inside `{job}`, and a retry of it gives {other:?}")),
            }
        }
        Ok(Ok(retry))
    }
}

/// The path of the outermost job around a path.
fn outermost_job(path: &str) -> Option<&str> {
    let start = path.find("/job:")? + 1;
    path[start..].find('/').map(|length| &path[..start + length])
}

/// The paths that have such records, each once.
fn paths(records: &[Stored], is_it: impl Fn(&EventKind) -> bool) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for stored in records.iter().filter(|stored| is_it(&stored.record.kind)) {
        if !paths.contains(&stored.record.path) {
            paths.push(stored.record.path.clone());
        }
    }
    paths
}
