//! A run without a crash.

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use serde_json::Value as Json;

use super::crash_store::CrashStore;
use super::lab::{Lab, fail};
use super::lab_run::LabRun;
use super::process::{Ended, Rests};
use super::world::World;
use crate::engine::EngineBuilder;
use crate::node::Payload;
use crate::store::MemoryStore;
use crate::workflow::Workflow;

impl<W: Workflow> Lab<W> {
    /// Runs the workflow once, until it has ended or waits for what the lab does not send. There is an example at [`Lab`].
    ///
    /// # Panics
    /// If it cannot be started, an answer or a signal of the lab is refused, or it takes longer than the
    /// [`patience`](Self::patience). A run that fails is no panic: see [`LabRun::error`](super::LabRun::error).
    #[track_caller]
    pub fn run(&self, input: W::Input) -> impl Future<Output = LabRun<W>> + Send + '_ {
        let here = Location::caller();
        let input = input.to_record().map_err(|error| format!("the input cannot be recorded: {error}"));
        async move {
            let ran = match input {
                Ok(input) => self.ran_once(&input).await,
                Err(problem) => Err(problem),
            };
            ran.unwrap_or_else(|problem| fail::<W>(here, &problem))
        }
    }

    /// A run, for assertions.
    ///
    /// # Errors
    /// What keeps it from running, as text.
    pub(super) async fn ran_once(&self, input: &Json) -> Result<LabRun<W>, String> {
        let world = self.world();
        let (rests, _) = self.undisturbed::<W>(self.program(&world), &world, input).await?;
        let run = LabRun::new(W::NAME, rests, world.calls(), self.mocked());
        run.checked()
    }

    /// A run of a version without a crash, and how many commits it has made.
    ///
    /// # Errors
    /// What keeps it from running, as text.
    pub(super) async fn undisturbed<V: Workflow>(
        &self,
        program: EngineBuilder,
        world: &Arc<World>,
        input: &Json,
    ) -> Result<(Rests, usize), String> {
        let store = CrashStore::new(MemoryStore::new());
        match self.process::<V>(program, world, &store, input).await? {
            Ended::Rests(rests) => Ok((rests, store.commits_done())),
            Ended::Crashed => {
                Err("the store of a run without a crash has lost a commit; this is a mistake in graphweft".into())
            }
        }
    }
}
