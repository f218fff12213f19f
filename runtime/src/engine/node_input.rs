//! The input with which a node of a run has started.

use std::sync::Arc;

use serde_json::Value as Json;

use super::run::Run;
use crate::driver::{Job, Part};
use crate::event::EventKind;
use crate::run_error::RunError;
use crate::shared::{Journal, Shared};
use crate::store::{Owner, Stored};

impl<T> Run<T> {
    /// The input with which the node at a path has started last, as JSON in the form of the run's events: what the edges
    /// that lead to it made of the recorded outputs before it. `path` is that of an event, `checkout/charge`; that of the workflow
    /// is the input of the run, and that of a child its recorded input. `None` if nothing has started there, for a step, which has none, and
    /// for a node inside of a child.
    ///
    /// Reads the records of the run, and calls the conversions (`From`) of the edges; no node runs.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn price(item: String) -> (String, u32) {
    ///     let cents = 100 * item.len() as u32;
    ///     (item, cents)
    /// }
    ///
    /// #[node]
    /// async fn label(item: String, cents: u32) -> String {
    ///     format!("{item}: {cents}")
    /// }
    ///
    /// workflow! { pub shop(String) -> String { START => price => label; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<shop>().build()?;
    /// let run = engine.start::<shop>("tea".into()).await?;
    /// run.outcome().await?;
    /// assert_eq!(run.input_of("shop/label").await?, Some(serde_json::json!(["tea", 300])));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read or does not contain the run, if the workflow is not registered with this engine
    /// ([`RunError::NotRegistered`]), and if its records do not fit the workflow as it is now.
    pub async fn input_of(&self, path: &str) -> Result<Option<Json>, RunError> {
        let engine = self.engine();
        if let Some(live) = self.live() {
            live.journal.catch_up_now();
        }
        let store = &engine.0.store;
        let header = store.header(self.id()).await?.ok_or(RunError::NotFound)?;
        let mut history = store.read(header.key, 0, usize::MAX).await?;
        let starts = |stored: &Stored, is_first: bool| {
            stored.record.path == path
                && match stored.record.kind {
                    EventKind::RunStarted { .. } => true,
                    EventKind::NodeStarted { attempt, .. } => attempt == 1 || !is_first,
                    _ => false,
                }
        };
        // A further attempt has the input of the first one.
        let first = history.iter().rposition(|stored| starts(stored, true));
        let Some(at) = first.or_else(|| history.iter().rposition(|stored| starts(stored, false))) else {
            return Ok(None);
        };
        match &history[at].record.kind {
            EventKind::RunStarted { input, .. } | EventKind::NodeStarted { input: Some(input), .. } => {
                return Ok(Some(input.clone()));
            }
            _ => {}
        }
        let definition = engine.definition_for(&header).await?;
        history.truncate(at + 1);
        let mut past = engine.past(&header, &definition, history).await?;
        // Its path may be another one under the graph of this program.
        let Some(start) = past.pop() else { return Ok(None) };
        let begin = past.begin(&definition)?;
        let (clock, feeds) = (engine.0.env.clock.clone(), Arc::clone(&engine.0.env.feeds));
        let journal = Journal::new(&header, Owner(0), Arc::clone(store), clock, feeds);
        let job = Job {
            definition,
            shared: Arc::new(Shared::recorded(Arc::clone(&engine.0.env), Arc::new(journal))),
            cancel: None,
            state: begin.state,
            part: Part::Whole,
            limit: begin.limit,
            history: begin.history,
            snapshot: None,
        };
        Ok(job.input_of(begin.input, &start.record.path)?)
    }
}
