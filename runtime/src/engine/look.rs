//! Looking at one run: its status, its state, and its output as a type.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::changed::Adapt;
use super::info::RunInfo;
use super::inner::Engine;
use super::replay::fold_all;
use super::run::Run;
use super::voided::effective;
use crate::catch::caught;
use crate::compile::executable_in;
use crate::event::Event;
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::state::{StateKey, decode};
use crate::store::{RunHeader, RunKey, RunQuery, RunStatus};
use crate::workflow::Workflow;

impl Engine {
    /// A run of a workflow by its id, in any process and any state; `None` if there is no such run.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// engine.start::<doubled>(4).id("order-7").await?.result().await?;
    /// let run = engine.get_run_of::<doubled>("order-7").await?.expect("it was started");
    /// assert_eq!(run.result().await?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read, and [`RunError::OtherWorkflow`] for a run of another workflow.
    pub async fn get_run_of<W: Workflow>(&self, id: &str) -> Result<Option<Run<W::Output>>, RunError> {
        self.get_run(id).await?.map(|run| run.typed::<W>()).transpose()
    }

    /// The state of a run by its records, under the graph of this program.
    async fn state_of(&self, header: &RunHeader) -> Result<Arc<Map<String, Json>>, RunError> {
        let definition = self.definition_for(header).await?;
        let mut history = self.0.store.read(header.key, 0, usize::MAX).await?;
        if self.is_deleted_since(header, &history).await? {
            return Err(RunError::NotFound);
        }
        self.adapt(header, &definition, &mut history, Adapt::NamesAndValues).await?;
        let executable = executable_in(&self.0.env, &definition);
        let mut replay = None;
        caught(|| fold_all(&executable, &definition, effective(history), &mut replay))
            .map_err(|fault| Halt::broken(&definition.name, &fault))??;
        Ok(replay.map(|replay| Arc::clone(replay.run.state())).unwrap_or_default())
    }
}

impl<T> Run<T> {
    /// The run, with its output as that of a workflow.
    ///
    /// # Errors
    /// [`RunError::OtherWorkflow`] if it is a run of another workflow.
    pub fn typed<W: Workflow>(&self) -> Result<Run<W::Output>, RunError> {
        if self.workflow() == W::NAME {
            return Ok(self.of_output());
        }
        let (run, workflow, wanted) = (self.id().to_owned(), self.workflow().to_owned(), W::NAME);
        Err(RunError::OtherWorkflow { run, workflow, wanted })
    }

    /// The status of the run, as the store has it now.
    ///
    /// # Errors
    /// [`RunError::NotFound`] if the store does not contain the run any more, and [`RunError::Store`] if it cannot be
    /// read.
    pub async fn status(&self) -> Result<RunStatus, RunError> {
        Ok(self.header().await?.status)
    }

    /// The status of the run, its times, where it is and what it waits for, as the store has them now.
    ///
    /// # Errors
    /// Those of [`status`](Self::status).
    pub async fn info(&self) -> Result<RunInfo, RunError> {
        let header = self.header().await?;
        // Exactly this one, by its place in the list.
        let query = RunQuery {
            after: header.key.0.checked_sub(1).map(RunKey),
            before: header.key.0.checked_add(1).map(RunKey),
            ..RunQuery::default()
        };
        let overview = self.engine().0.store.overview(query).await?.into_iter().next();
        overview.map(RunInfo::from).ok_or(RunError::NotFound)
    }

    /// The recorded events with these numbers, and no others: without [derived](crate::Event::derived) ones. Those that the run does
    /// not have (yet) are left out. Reads only their records, however long the run is.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<doubled>(4).await?;
    /// run.result().await?;
    /// let events = run.recorded(0..1).await?;
    /// assert_eq!((events.len(), events[0].kind.name()), (1, "run_started"));
    /// assert!(run.recorded(100..200).await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of [`status`](Self::status).
    pub async fn recorded(&self, numbers: Range<u64>) -> Result<Vec<Event>, RunError> {
        if let Some(live) = self.live() {
            live.journal.catch_up_now();
        }
        let header = self.header().await?;
        let limit = usize::try_from(numbers.end.saturating_sub(numbers.start)).unwrap_or(usize::MAX);
        let stored = self.engine().0.store.read(header.key, numbers.start, limit).await?;
        let there = header.records.min(numbers.end).saturating_sub(numbers.start);
        if (stored.len() as u64) < there && !self.engine().is_there(&header).await? {
            return Err(RunError::NotFound);
        }
        Ok(stored.into_iter().map(|stored| stored.into_event(self.id().to_owned())).collect())
    }

    /// The value of a key of the run's state by what is recorded, in any process, and also after the end of the run.
    /// `None` if nothing has written it. Reads all records of the run.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// const OWNER: StateKey<String> = StateKey::new("owner");
    ///
    /// #[node]
    /// async fn assign(order: u32, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
    ///     owner.set("ada".to_owned());
    ///     order
    /// }
    ///
    /// workflow! { intake(u32) -> u32 { START => assign; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<intake>().build()?;
    /// let run = engine.start::<intake>(7).await?;
    /// run.result().await?;
    /// assert_eq!(run.state(OWNER).await?, Some("ada".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of [`status`](Self::status); [`RunError::NotRegistered`], [`RunError::GraphChanged`] and
    /// [`RunError::RecordMismatch`] if this program does not know the graph of the run, and
    /// [`RunError::StateMismatch`] if the value is not an `S`.
    pub async fn state<S: Serialize + DeserializeOwned, R>(&self, key: StateKey<S, R>) -> Result<Option<S>, RunError> {
        let state = self.engine().state_of(&self.header().await?).await?;
        let value = state.get(key.name()).map(|value| decode(key.name(), value));
        value.transpose().map_err(|fault| RunError::StateMismatch { message: fault.to_string() })
    }

    async fn header(&self) -> Result<RunHeader, RunError> {
        if let Some(live) = self.live() {
            live.journal.catch_up_now();
        }
        self.engine().0.store.header(self.id()).await?.ok_or(RunError::NotFound)
    }
}
