//! Runs that leave the memory, as a host wants it.

use super::inner::Engine;
use super::runs::Found;
use crate::run_error::RunError;

impl Engine {
    /// Has a run leave the memory of this process if it waits for an answer, a signal, a timer or a pool: as a run does beyond
    /// [`max_resident_waiting`](crate::EngineBuilder::max_resident_waiting). Does nothing if the run is not driven here, if it
    /// does not wait, or if it has to stay since one of its nodes is `at_most_once` or may be woken by something else.
    /// [`until_not_driven`](Self::until_not_driven) resolves when it has left.
    ///
    /// For a host that gives runs to processes and pays for those that are in memory.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
    /// # workflow! { pub publish(()) -> bool { START => review; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<publish>().build()?;
    /// let run = engine.start::<publish>(()).id("poem").await?;
    /// run.outcome().await?; // it waits
    /// engine.unload("poem");
    /// engine.until_not_driven("poem").await?;
    ///
    /// run.answer("approve", true).await?; // resumes it
    /// assert!(run.result().await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn unload(&self, run: &str) {
        self.0.env.unload(run);
    }

    /// Waits until this engine does not drive a run: it has ended, or it waits outside of the memory, or it was never
    /// driven here. Cancel safe.
    ///
    /// # Errors
    /// Why the run has stopped here before its end, or cannot be resumed here.
    pub async fn until_not_driven(&self, run: &str) -> Result<(), RunError> {
        loop {
            match self.0.runs.reserve(run) {
                Found::Live(live) => Engine::until_gone(&live).await,
                Found::Reserved(over) => over.cancelled().await,
                Found::Free(_) => break,
            }
        }
        let Some(header) = self.0.store.header(run).await? else { return Ok(()) };
        match self.stopped_here(&header).filter(|_| !header.status.is_over()) {
            Some(halt) => Err(halt.into()),
            None => Ok(()),
        }
    }
}
