//! Shutting an engine down.

use super::inner::Engine;

impl Engine {
    /// Stops all runs and releases them, so another process can resume them immediately. Call it before the process
    /// ends. A tokio runtime that is dropped first takes timers, sockets and spawned tasks away from running nodes. Nodes
    /// that fail because of that are not recorded as failed; but a node that makes an output of such an error is recorded
    /// with that output.
    ///
    /// Outputs that nodes have already returned are recorded. Running nodes are dropped at their `.await`, and start
    /// again when the run is resumed ([`recover`](Self::recover)); a node that does not await is waited for. Waiting
    /// for a run, of this or another engine, then returns [`RunError::ShutDown`](crate::RunError::ShutDown), starting one
    /// [`StartError::ShutDown`](crate::StartError::ShutDown), and all [`Events`](crate::Events) of this engine end. A second call
    /// does nothing.
    ///
    /// If no other engine has runs in the file of an `SqliteStore`, and nothing reads from it for half a second, all is in the
    /// file itself after that, and its `-wal` is empty.
    ///
    /// # Cancel safety
    /// The runs stop whether or not this is awaited to the end.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<pay>().build()?;
    /// let run = engine.start::<pay>(4000).await?;
    /// // .. until Ctrl-C is pressed
    /// engine.shutdown().await;
    /// # drop(run);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub async fn shutdown(&self) {
        let runs = self.0.runs.close();
        // At the end, so that events which the runs still record are seen, and also if this is not awaited to the end.
        let _closing = self.0.closing.clone().drop_guard();
        for run in &runs {
            run.journal.stop_driver();
            run.hand_over();
        }
        for run in &runs {
            Engine::until_gone(run).await;
        }
        if let Some(left) = self.0.leave() {
            left.await;
        }
    }
}
