//! Runs that are resumed since a pool has a result for them.

use super::inner::Engine;
use crate::store::StoreError;

impl Engine {
    /// Has a run resumed that waits outside of the memory, by its engine, or by any one if that has ended: an
    /// [`Executor`](crate::Executor) that has [accepted](crate::ProgressSender::accepted) a task calls this when there is a result
    /// and nothing waits for it. The run asks for the task again. One that has nothing to do goes back to where it was.
    ///
    /// Does nothing if the run does not wait, is over, or is unknown.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
    /// # workflow! { pub publish(()) -> bool { START => review; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().max_resident_waiting(0).register::<publish>().build()?;
    /// let run = engine.start::<publish>(()).id("poem").await?;
    /// run.outcome().await?; // it waits
    /// engine.until_not_driven("poem").await?;
    /// engine.wake("poem").await?; // it is resumed, and still waits for its answer
    ///
    /// run.answer("approve", true).await?;
    /// assert!(run.result().await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read or written to.
    pub async fn wake(&self, run: &str) -> Result<(), StoreError> {
        loop {
            let Some(header) = self.0.store.header(run).await? else { return Ok(()) };
            if !header.status.is_suspended() {
                return Ok(());
            }
            // A conflict: something was recorded meanwhile, perhaps the end.
            if self.add(&header, header.records, Vec::new()).await? {
                self.adopt(&header).await;
                return Ok(());
            }
        }
    }
}
