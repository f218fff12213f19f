//! Starting a run in a transaction of the caller.

use std::marker::PhantomData;

use super::error::StartError;
use super::run::Run;
use super::start::{Checked, Start};
use crate::event::EventKind;
use crate::meter;
use crate::store::{Created, NewRun, Record, StoreError, Transactional, transactional};

/// A run that a store adds in a transaction of the caller, so that it exists if and only if that is committed. It is for authors of
/// stores, who make `engine.start(..).within(&tx)` of it; that of an SQLite file is
/// `SqliteStart`, and that of PostgreSQL is in the crate `graphweft-postgres`.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{SqliteStore, Store};
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// workflow! { pub pay(u32) -> u32 { START => charge; } }
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("runs.db");
/// # graphweft::block_on(async {
/// let engine = Engine::builder().store(SqliteStore::open(&path).await?).register::<pay>().build()?;
/// let start = engine.start::<pay>(40).id("order-7").prepare_within::<SqliteStore>()?;
/// let created = start.store().create(start.run().clone()).await?; // a store does this in the transaction of its caller
/// let run = start.added(&created, None)?;
/// assert_eq!(run.result().await?, 40);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StartWithin<S, T> {
    store: S,
    checked: Checked,
    run: NewRun,
    gives: PhantomData<fn() -> T>,
}

impl<T> Start<T> {
    /// Makes every check, and leaves it to the caller to add the run. No engine owns it: one that has registered its workflow begins it
    /// when it is there.
    ///
    /// # Errors
    /// As awaiting it, before the store is asked. The workflow has to be [registered](crate::EngineBuilder::register), and the
    /// engine to have a store of this type.
    pub fn prepare_within<S: Transactional>(self) -> Result<StartWithin<S, T>, StartError> {
        let mut checked = self.checked()?;
        if let Some(error) = checked.not_later.take() {
            return Err(error);
        }
        let store = transactional::<S>(&*checked.engine.0.store).map_err(|message| StoreError::Other { message })?;
        drop(checked.span());
        let run = checked.new_run(None, checked.limit());
        Ok(StartWithin { store, checked, run, gives: PhantomData })
    }
}

impl<S: Transactional, T> StartWithin<S, T> {
    /// The store of the engine.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The run that is to be added.
    pub fn run(&self) -> &NewRun {
        &self.run
    }

    /// The run was added, or was there. `first`: the first record of one that was there.
    ///
    /// The handle is that of a run which is not there before the transaction is committed.
    ///
    /// # Errors
    /// If a run with this id and another input or workflow was there, or one that was deleted.
    pub fn added(self, created: &Created, first: Option<&Record>) -> Result<Run<T>, StartError> {
        let StartWithin { checked, .. } = self;
        let engine = &checked.engine;
        match created {
            Created::New(header) => {
                meter::run_started(&header.workflow);
                // If it was shut down meanwhile, another one begins the run.
                if !engine.0.runs.is_closed() {
                    engine.keep();
                }
                Ok(Run::of_header(engine, header))
            }
            Created::Existing(header) => {
                let input = first.and_then(|record| match &record.kind {
                    EventKind::RunStarted { input, .. } => Some(input),
                    _ => None,
                });
                checked.is_same(&header.workflow, input)?;
                Ok(Run::of_header(engine, header))
            }
            Created::Deleted { until } => Err(StartError::Deleted { id: checked.id, until: *until }),
        }
    }
}

impl<S, T> std::fmt::Debug for StartWithin<S, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartWithin").field("run", &self.run).finish_non_exhaustive()
    }
}
