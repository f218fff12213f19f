//! Waiting for several runs at once.

use futures_util::future::{join_all, select_all};
use serde_json::Value as Json;

use super::inner::Engine;
use super::run::Outcome;
use crate::run_error::RunError;

impl Engine {
    /// Waits until each of these runs has ended or waits for an answer, in any process, and returns what they have come to,
    /// in the order of the ids. One that cannot be read, or does not exist ([`RunError::NotFound`]), does not end the
    /// wait for the others. Cancel safe.
    ///
    /// For each run of another process the store is read ten times a second.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn double(n: u32) -> u32 {
    ///     n * 2
    /// }
    ///
    /// workflow! { pub doubled(u32) -> u32 { START => double; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let mut ids = Vec::new();
    /// for n in 1..=3 {
    ///     ids.push(engine.start::<doubled>(n).await?.id().to_owned());
    /// }
    /// for (n, (id, outcome)) in (1..=3).zip(engine.wait_all(&ids).await) {
    ///     assert_eq!(outcome?, Outcome::Completed((2 * n).into()), "{id}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub async fn wait_all<I: AsRef<str>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> Vec<(String, Result<Outcome<Json>, RunError>)> {
        join_all(ids.into_iter().map(|id| self.wait_for(id.as_ref().to_owned()))).await
    }

    /// Waits until the first of these runs has ended or waits for an answer, in any process, and returns its id and what
    /// it has come to. `None` if there are no ids. One that cannot be read, or does not exist, is returned at once, with that
    /// error. Cancel safe.
    ///
    /// A run that has been returned is returned again as long as it is among the ids: take it out to wait for the next
    /// one. For each run of another process the store is read ten times a second.
    pub async fn wait_any<I: AsRef<str>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> Option<(String, Result<Outcome<Json>, RunError>)> {
        let waits: Vec<_> = ids.into_iter().map(|id| Box::pin(self.wait_for(id.as_ref().to_owned()))).collect();
        if waits.is_empty() {
            return None;
        }
        let (first, _, _) = select_all(waits).await;
        Some(first)
    }

    async fn wait_for(&self, id: String) -> (String, Result<Outcome<Json>, RunError>) {
        let came = match self.get_run(&id).await {
            Ok(Some(run)) => run.outcome().await,
            Ok(None) => Err(RunError::NotFound),
            Err(error) => Err(error.into()),
        };
        (id, came)
    }
}
