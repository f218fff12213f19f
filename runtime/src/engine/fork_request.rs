//! Forks of runs whose workflow the engine does not know.
//!
//! The new run begins with the copied records, and a [requested retry](super::retry_request) behind them. The engine with the workflow
//! that resumes it records first what the fork voids, which follows from the records of the old run:
//!
//! ```text
//!   old run    0 .. 7         8 RunFailed
//!   new run    0 .. 7         8 RunRetried          9 RunResumed   10 RunRetried
//!              copied           requested                            voids 6..8
//! ```

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::inner::Engine;
use super::retry_request::RetriedNodes;
use super::set_back::by_the_clock_of;
use crate::halt::Halt;
use crate::store::{Created, NewRun, Record, RunHeader, StoreError, Stored};
use crate::table::Definition;

/// How many forks of each other may have been requested.
const LONGEST_CHAIN: usize = 16;

impl Engine {
    /// Creates a fork that an engine with the workflow carries out. `header`: that of the old run, with the graph of the records
    /// that are copied. `None` if the store does not have that graph.
    pub(super) async fn request_fork(
        &self,
        header: &RunHeader,
        mut copied: Vec<Stored>,
        id: String,
    ) -> Result<Option<Created>, StoreError> {
        let Some(graph) = self.0.store.graph(header.graph).await? else { return Ok(None) };
        let time = self.0.env.clock.now();
        by_the_clock_of(time, &mut copied);
        let end = copied.iter().rfind(|stored| stored.record.kind.is_terminal());
        let voids = end.map(|end| end.seq..end.seq + 1).into_iter().collect();
        let at = copied.len() as u64;
        let mut records: Vec<Record> = copied.into_iter().map(|stored| stored.record).collect();
        records.push(RetriedNodes::default().record(&header.workflow, voids, true));
        let new = NewRun {
            id,
            workflow: header.workflow.clone(),
            owner: None,
            graph: Arc::new((header.graph, graph)),
            forked_from: Some((header.id.clone(), at)),
            previous: None,
            started_by: None,
            tags: header.tags.clone(),
            wake_at: None,
            time,
            records,
        };
        self.0.create(new).await.map(Some)
    }

    /// The first run of a chain of forks that ends with this one, if it is as long as it may be and none of its forks has begun. What a
    /// fork voids depends on the run before it in the chain.
    pub(super) async fn origin_of_requests(&self, run: &RunHeader) -> Result<Option<String>, StoreError> {
        let mut run = run.clone();
        for _ in 0..LONGEST_CHAIN {
            // The request is its last record.
            let Some((origin, _)) = run.forked_from.take_if(|(_, at)| *at + 1 == run.records) else { return Ok(None) };
            let Some(origin) = self.0.store.header(&origin).await? else { return Ok(None) };
            run = origin;
        }
        Ok(Some(run.id))
    }

    /// The record with which a requested fork begins, as one that is made now by an engine with the workflow.
    ///
    /// Boxed, since the old run may be such a fork as well.
    ///
    /// # Errors
    /// If the records do not fit the current graph.
    pub(super) fn requested_fork<'a>(
        &'a self,
        header: &'a RunHeader,
        definition: &'a Arc<Definition>,
        copied: &'a [Stored],
    ) -> BoxFuture<'a, Result<Record, Halt>> {
        async move {
            let at = copied.len() as u64;
            let origin = match &header.forked_from {
                Some((origin, _)) => self.origin(origin, header.created, copied).await?,
                None => None,
            };
            let (origin, history) = match origin {
                Some((origin, history)) => (RunHeader { graph: header.graph, ..origin }, history),
                // It was deleted since. What led to its end behind these records is not known any more.
                None => (RunHeader { forked_from: None, ..header.clone() }, copied.to_vec()),
            };
            self.fork_of(&origin, definition, &history, at).await
        }
        .boxed()
    }

    /// The run with this id and its records, if a fork that was requested at this time has copied these records of it: another one
    /// may have the id by now.
    async fn origin(
        &self,
        id: &str,
        requested: SystemTime,
        copied: &[Stored],
    ) -> Result<Option<(RunHeader, Vec<Stored>)>, Halt> {
        let Some(origin) = self.0.store.header(id).await.map_err(Halt::Store)? else { return Ok(None) };
        let history = self.0.store.read(origin.key, 0, usize::MAX).await.map_err(Halt::Store)?;
        let mut as_copied = history.clone();
        as_copied.truncate(copied.len());
        by_the_clock_of(requested, &mut as_copied);
        let is_same = as_copied.len() == copied.len()
            && as_copied.iter().zip(copied).all(|(stored, copied)| stored.record == copied.record);
        Ok(is_same.then_some((origin, history)))
    }
}
