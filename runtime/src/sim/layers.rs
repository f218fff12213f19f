//! The state of a run, by its records alone: each graph inside a node has one of its own, a copy of the state around
//! it, which the state around it takes over when the node completes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::sites::Sites;
use crate::core::fold_into;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::state_write::StateWrite;
use crate::store::Stored;

/// The states of a run, or of a job.
pub(super) struct Layers {
    sites: Arc<Sites>,
    /// The path of the job.
    job: Option<String>,
    root: Layer,
    /// By the path of the node with the graph.
    inside: BTreeMap<String, Layer>,
}

#[derive(Clone, Default)]
struct Layer {
    state: Map<String, Value>,
    /// The writes to it, each with its node.
    writes: Vec<(StateWrite, String)>,
}

impl Layer {
    fn write(&mut self, writes: Vec<(StateWrite, String)>) -> Result<(), (String, Fault)> {
        for (write, writer) in &writes {
            fold_into(&mut self.state, std::slice::from_ref(write)).map_err(|fault| (writer.clone(), fault))?;
        }
        self.writes.extend(writes);
        Ok(())
    }
}

impl Layers {
    pub(super) fn new(sites: &Arc<Sites>, job: Option<&str>, state: Map<String, Value>) -> Layers {
        let root = Layer { state, writes: Vec::new() };
        Layers { sites: Arc::clone(sites), job: job.map(str::to_owned), root, inside: BTreeMap::new() }
    }

    /// Takes all of these that are of the run's own nodes, or of the job's.
    ///
    /// # Errors
    /// The node whose writes cannot be folded.
    pub(super) fn take_all(mut self, records: &[Stored]) -> Result<Layers, (String, Fault)> {
        let is_own = |path: &str| match &self.job {
            Some(job) => self.sites.job(path) == Some(job),
            None => self.sites.is_own(path),
        };
        let own: Vec<&Stored> = records.iter().filter(|stored| is_own(&stored.record.path)).collect();
        own.into_iter().try_for_each(|stored| self.take(stored).map(drop))?;
        Ok(self)
    }

    /// Takes a record of one of the nodes. Returns its writes to the state around the node, each with its node.
    pub(super) fn take(&mut self, stored: &Stored) -> Result<Vec<(StateWrite, String)>, (String, Fault)> {
        let path = &stored.record.path;
        match &stored.record.kind {
            EventKind::NodeStarted { inside: Some(_), .. } => {
                self.forget(path);
                let layer = Layer { state: self.seen_by(path).clone(), writes: Vec::new() };
                self.inside.insert(path.clone(), layer);
            }
            EventKind::NodeCompleted { state, .. } | EventKind::NodeCollecting { state, .. } => {
                let mut writes = self.inside.get(path).map_or_else(Vec::new, |layer| layer.writes.clone());
                writes.extend(state.iter().map(|write| (write.clone(), path.clone())));
                self.around_mut(path).write(writes.clone())?;
                self.forget(path);
                return Ok(writes);
            }
            EventKind::NodeFailed { .. } => self.forget(path),
            _ => {}
        }
        Ok(Vec::new())
    }

    /// The state outside of all nodes with graphs.
    pub(super) fn root(&self) -> &Map<String, Value> {
        &self.root.state
    }

    /// The state that a node sees which begins now.
    pub(super) fn seen_by(&self, path: &str) -> &Map<String, Value> {
        let layer = self.sites.graph_around(path).and_then(|around| self.inside.get(&around));
        &layer.unwrap_or(&self.root).state
    }

    fn around_mut(&mut self, path: &str) -> &mut Layer {
        let around = self.sites.graph_around(path);
        around.and_then(|around| self.inside.get_mut(&around)).unwrap_or(&mut self.root)
    }

    fn forget(&mut self, path: &str) {
        let Layers { sites, inside, .. } = self;
        inside.retain(|at, _| at != path && !sites.above(at).iter().any(|above| above == path));
    }
}
