//! Ending in good order.

use super::Engine;
use crate::driver::Progress;

impl Engine {
    /// Stops every run of this engine where it stands, and gives all of them up, so that another process can go on with
    /// them at once. Call it before the process ends: a tokio runtime that is dropped takes its clock and its sockets from
    /// nodes that are still at work, and what they make of that would be recorded.
    ///
    /// What is on record stays, and what nodes have given already is recorded; nodes that are under way are dropped at
    /// their `.await`, and run again when the run goes on ([`recover`](Self::recover)). One that does not await anything
    /// is waited for. Whoever waits for a run here gets [`RunError::ShutDown`](super::RunError::ShutDown), and so does
    /// whoever starts one afterwards. A second call has nothing to do.
    ///
    /// # Cancel safety
    /// The runs stop whether or not this is awaited to its end.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<pay>().build()?;
    /// let run = engine.start::<pay>(4000).await?;
    /// // .. until somebody presses Ctrl-C
    /// engine.shutdown().await;
    /// # drop(run);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub async fn shutdown(&self) {
        let runs = self.0.runs.close();
        for run in &runs {
            run.journal.stop_driver();
        }
        for run in &runs {
            let mut progress = run.journal.progress();
            let stopped = |now: &Progress| matches!(now, Progress::Over | Progress::Halted(_));
            // An error says that the run is gone altogether.
            let _ = progress.wait_for(stopped).await;
        }
        if let Some(owner) = self.0.owner.get() {
            self.0.store.leave(*owner).await;
        }
    }
}
