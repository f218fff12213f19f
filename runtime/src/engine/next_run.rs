//! Runs that start over: the next run begins in the same process, and handles follow it.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::changed::check_beginning;
use super::inner::Engine;
use super::live::{Beginning, Undriven};
use super::runs::{Found, Reservation};
use crate::box_value::BoxValue;
use crate::catch::caught;
use crate::compile::check_resources;
use crate::core::NextRun;
use crate::driver::Ending;
use crate::event::{EventKind, Limit};
use crate::halt::Halt;
use crate::meter;
use crate::shared::{Journal, Over};
use crate::store::{NewRun, Record, RunHeader, StoreError, Stored};
use crate::table::Definition;

impl Engine {
    /// Ends a run that starts over, and begins the next one here. The next one is driven without having been claimed.
    pub(super) async fn begin_next(
        &self,
        journal: &Arc<Journal>,
        definition: &Arc<Definition>,
        next: NextRun,
    ) -> Ending {
        let begun = self.try_to_begin_next(journal, definition, next).await;
        begun.unwrap_or_else(Ending::Halted)
    }

    async fn try_to_begin_next(
        &self,
        journal: &Arc<Journal>,
        definition: &Arc<Definition>,
        next: NextRun,
    ) -> Result<Ending, Halt> {
        let NextRun { input: recorded, state } = next;
        let definition = self.version_of_next(definition, &recorded, &state);
        // Before anything is recorded: a program that can read it starts over.
        let input = match read_input(definition, &recorded) {
            Ok(input) => input,
            Err(halt) => {
                journal.flush().await?;
                return Err(halt);
            }
        };
        let id = journal.next_id();
        let reservation = self.reserve_next(&id).await;
        let now = self.0.env.clock.now();
        let limit = definition.limits.time_limit(now);
        let first = EventKind::RunStarted {
            workflow: definition.name.clone(),
            input: recorded.clone(),
            state: state.clone(),
            tags: journal.tags.clone(),
            previous: Some(journal.run_id.clone()),
            begins: None,
            limit: limit.map(Limit::from),
        };
        let new = NewRun {
            id,
            workflow: definition.name.clone(),
            owner: Some(journal.owner),
            graph: self.graph_of(definition),
            forked_from: None,
            previous: Some(journal.run_id.clone()),
            started_by: journal.started_by.as_deref().cloned(),
            tags: journal.tags.clone(),
            wake_at: None,
            time: now,
            records: vec![Record { path: definition.name.clone(), kind: first }],
        };
        let undriven = Undriven::by(self);
        let over = journal.start_over(Box::new(new)).await;
        let (header, records) = match over {
            Ok(Over::Begun(header, records)) => (header, records),
            Ok(Over::Failed(failure)) => {
                undriven.done();
                return Ok(Ending::Failed(failure));
            }
            Ok(Over::Cancelled) => {
                undriven.done();
                return Ok(Ending::Cancelled);
            }
            // The store may have carried it out all the same.
            Err(halt @ Halt::Store(_)) => return Err(halt),
            Err(halt) => {
                undriven.done();
                return Err(halt);
            }
        };
        meter::run_started(&definition.name);
        let time = header.created;
        let stored = |(seq, record)| Stored { seq, time, record };
        // With signals from the run before it there is something to fold.
        let history = if records.len() > 1 { (0..).zip(records).map(stored).collect() } else { Vec::new() };
        let start = Beginning {
            input,
            recorded: Arc::new(recorded),
            state,
            limit,
            snapshot: None,
            history,
            former: None,
            new_graph: None,
            has_started_runs: false,
            span: None,
        };
        let id = header.id.clone();
        let begun = match reservation {
            Some(reservation) => self.drive_next(reservation, &header, definition, start, journal),
            // Another task has resumed it already.
            None => Ok(()),
        };
        undriven.done();
        if let Err(halt) = begun {
            match halt {
                Halt::ShutDown => _ = self.release(&id).await,
                halt => self.stop_and_release(&header, halt).await,
            }
        }
        Ok(Ending::StartedOver(id))
    }

    /// The newest version of a workflow, if the next run can begin on it; otherwise the one that starts over.
    fn version_of_next<'d>(
        &'d self,
        now: &'d Arc<Definition>,
        input: &Json,
        state: &Map<String, Json>,
    ) -> &'d Arc<Definition> {
        let newest = self.newest(&now.name).filter(|newest| !Arc::ptr_eq(newest, now) && self.has_registered(now));
        let begins = |newest: &&Arc<Definition>| {
            check_resources(&self.0.env, newest).is_ok() && check_beginning(newest, input, state).is_ok()
        };
        newest.filter(begins).unwrap_or(now)
    }

    /// Reserves the id of the next run. `None` if a run with this id is driven here.
    async fn reserve_next(&self, id: &str) -> Option<Reservation> {
        loop {
            match self.0.runs.reserve(id) {
                Found::Free(reservation) => return Some(reservation),
                Found::Reserved(over) => over.cancelled().await,
                Found::Live(_) => return None,
            }
        }
    }

    fn drive_next(
        &self,
        reservation: Reservation,
        header: &RunHeader,
        definition: &Arc<Definition>,
        start: Beginning,
        before: &Journal,
    ) -> Result<(), Halt> {
        let ready = self.make_ready(header, definition, start, before.owner)?;
        self.launch(reservation, ready).map(drop)
    }

    /// The last of the runs that follow a run by starting over; the run itself if it has not, or does not exist.
    pub(super) async fn last_of(&self, run: &str) -> Result<String, StoreError> {
        let mut last = run.to_owned();
        while self.0.runs.get(&last).is_none()
            && let Some(next) = self.next_of(&last).await?
        {
            last = next;
        }
        Ok(last)
    }

    /// The run that follows a run which has started over. `None` if there is no such run, or if it has not started over.
    pub(super) async fn next_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        Ok(self.0.store.header(run).await?.and_then(|header| header.next))
    }
}

fn read_input(definition: &Definition, recorded: &Json) -> Result<BoxValue, Halt> {
    let read = caught(|| (definition.door.read_input)(recorded));
    let read = read.map_err(|fault| Halt::broken(&definition.name, &fault))?;
    read.map_err(|error| Halt::Unreadable { path: definition.name.clone(), field: error.field, message: error.message })
}
