//! Under which version of its workflow a run continues.
//!
//! ```text
//!   graph of the last records     is that of a version       -> that one, whatever comes of it
//!                                 of none                    -> the first that fits the records: the newest, then the earlier ones
//!                                 of none, and none fits     -> refused, with what does not fit under each
//! ```

use std::sync::Arc;

use super::changed::Adapt;
use super::inner::Engine;
use super::versions::{Version, Versions};
use crate::halt::Halt;
use crate::store::{Record, RunHeader, Stored};
use crate::table::Definition;

impl Engine {
    /// The version under which a run continues that has not ended.
    ///
    /// # Errors
    /// If none fits, or the store cannot be read.
    pub(super) async fn version_of<'v>(&self, header: &RunHeader, versions: &'v Versions) -> Result<&'v Version, Halt> {
        let mut candidates = Candidates::under(versions, header.graph);
        loop {
            let version = candidates.next()?;
            if candidates.is_sure || candidates.fits(version, self.continues(header, &version.definition).await)? {
                return Ok(version);
            }
        }
    }

    async fn continues(&self, header: &RunHeader, definition: &Arc<Definition>) -> Result<(), Halt> {
        let mut history = self.records_of(header).await?;
        self.add_requested_retry(header, definition, &mut history).await?;
        let past = self.past(header, definition, history).await?;
        self.check_past(header, definition, past)
    }

    /// Checks that a run of these records can be resumed once this record is behind them.
    pub(super) async fn check_with(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        history: &[Stored],
        last: Record,
    ) -> Result<(), Halt> {
        let (seq, time) = (history.len() as u64, self.0.env.clock.now());
        let history = history.iter().cloned().chain([Stored { seq, time, record: last }]).collect();
        let past = self.past(header, definition, history).await?;
        self.check_past(header, definition, past)
    }

    /// The definition by which a run is looked at, in any state: that of a registered version, or of a workflow of which a run was
    /// started here.
    ///
    /// # Errors
    /// If there is none, none fits, or the store cannot be read.
    pub(super) async fn definition_for(&self, header: &RunHeader) -> Result<Arc<Definition>, Halt> {
        let Some(versions) = self.0.workflows.get(&header.workflow) else {
            let started = self.started(&header.workflow);
            return started.ok_or_else(|| Halt::NotRegistered { workflow: header.workflow.clone() });
        };
        let mut candidates = Candidates::under(versions, header.graph);
        loop {
            let version = candidates.next()?;
            if candidates.is_sure || candidates.fits(version, self.is_readable(header, &version.definition).await)? {
                return Ok(Arc::clone(&version.definition));
            }
        }
    }

    async fn is_readable(&self, header: &RunHeader, definition: &Arc<Definition>) -> Result<(), Halt> {
        let mut history = self.records_of(header).await?;
        self.adapt(header, definition, &mut history, Adapt::NamesAndValues).await.map(drop)
    }

    /// The definition with exactly the graph of a run, if this program has it.
    pub(super) fn definition_of_graph(&self, header: &RunHeader) -> Option<Arc<Definition>> {
        match self.0.workflows.get(&header.workflow) {
            Some(versions) => versions.of_graph(header.graph).map(|version| Arc::clone(&version.definition)),
            None => self.started(&header.workflow).filter(|started| self.graph_of(started).0 == header.graph),
        }
    }

    async fn records_of(&self, header: &RunHeader) -> Result<Vec<Stored>, Halt> {
        self.0.store.read(header.key, 0, usize::MAX).await.map_err(Halt::Store)
    }
}

/// The versions that may be the one of a run, one after the other.
pub(super) struct Candidates<'v> {
    left: Vec<&'v Version>,
    workflow: &'v str,
    /// Whether it is the first, without a look at the records.
    pub(super) is_sure: bool,
    refused: Vec<(String, Halt)>,
}

impl<'v> Candidates<'v> {
    /// For records that end under this graph. If it is the graph of a version, that is the one. A single version is not checked
    /// either: the caller finds out.
    pub(super) fn under(versions: &'v Versions, graph: u64) -> Self {
        let exact = versions.of_several(graph);
        let left = exact.map_or_else(|| newest_last(versions), |exact| vec![exact]);
        Candidates { is_sure: left.len() == 1, left, workflow: versions.name(), refused: Vec::new() }
    }

    /// For a run that is new, with the input of one that ended under this graph: the newest, and then that one's. A single version is
    /// not checked.
    pub(super) fn of_new(versions: &'v Versions, graph: u64) -> Self {
        let mut left = newest_last(versions);
        // They are taken from the end, where the newest stays.
        let earlier = left.len() - 1;
        if let Some(own) = left[..earlier].iter().position(|version| version.graph() == graph) {
            left[own..earlier].rotate_left(1);
        }
        Candidates { is_sure: left.len() == 1, left, workflow: versions.name(), refused: Vec::new() }
    }

    /// The next one.
    ///
    /// # Errors
    /// [`Halt::NoVersion`] if none is left.
    pub(super) fn next(&mut self) -> Result<&'v Version, Halt> {
        let none =
            || Halt::NoVersion { workflow: self.workflow.to_owned(), refused: std::mem::take(&mut self.refused) };
        self.left.pop().ok_or_else(none)
    }

    /// Whether the records fit a version, by what their check has come to.
    ///
    /// # Errors
    /// One that does not come from the records.
    pub(super) fn fits(&mut self, version: &Version, checked: Result<(), Halt>) -> Result<bool, Halt> {
        match checked {
            Ok(()) => Ok(true),
            Err(halt @ (Halt::GraphChanged { .. } | Halt::Unreadable { .. })) => {
                self.refused.push((version.type_name.to_owned(), halt));
                Ok(false)
            }
            Err(halt) => Err(halt),
        }
    }
}

fn newest_last(versions: &Versions) -> Vec<&Version> {
    let mut all: Vec<&Version> = versions.all().collect();
    all.reverse();
    all
}
