//! The runs that are driven in this process, by their ids.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use futures_util::future::BoxFuture;
use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::box_value::BoxValue;
use crate::event::EventKind;
use crate::fault::Failure;
use crate::halt::Halt;
use crate::shared::Journal;
use crate::store::RunKey;

/// A run that is driven here.
pub(crate) struct Live {
    pub(crate) journal: Arc<Journal>,
    pub(crate) input: Arc<Json>,
    /// How it ended, once it has.
    pub(crate) end: Mutex<Option<End>>,
    /// Its driver, while that is polled in the task of its caller, and the runtime to spawn it in otherwise. Locked
    /// while it is polled.
    pub(super) in_caller: Mutex<Option<(Handle, BoxFuture<'static, ()>)>>,
}

/// How a run ended in this process.
pub(crate) enum End {
    /// With this output, as the last node has returned it, until it is taken.
    Completed(Option<BoxValue>),
    Failed(Failure),
    Cancelled,
    /// The run with this id follows it.
    StartedOver(String),
}

impl End {
    /// The end that the last record of a run says; the output stays in the record.
    pub(super) fn by_its_record(last: &EventKind) -> Option<End> {
        match last {
            EventKind::RunCompleted { .. } => Some(End::Completed(None)),
            EventKind::RunFailed { failure } => Some(End::Failed(failure.clone())),
            EventKind::RunCancelled => Some(End::Cancelled),
            EventKind::RunStartedOver { next } => Some(End::StartedOver(next.clone())),
            _ => None,
        }
    }
}

/// The runs of this process by their ids.
#[derive(Clone, Default)]
pub(crate) struct Runs(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    slots: HashMap<String, Slot>,
    /// Whether the engine is shut down: no run begins any more.
    closed: bool,
    /// Whether the program has dropped the engine: it is closed with the last run.
    abandoned: bool,
}

impl Table {
    /// Closes an engine that the program has dropped, once it executes no run. Returns whether it was closed now.
    fn close_if_unused(&mut self) -> bool {
        let closes = self.abandoned && !self.closed && self.slots.is_empty();
        self.closed |= closes;
        closes
    }
}

enum Slot {
    /// A call is about to start or resume it; cancelled when that is over, if another one waits for it.
    Reserved(Option<CancellationToken>),
    Live(Arc<Live>),
}

/// The entry of an id.
pub(crate) enum Found {
    Live(Arc<Live>),
    /// Wait for this to be over, which it may be already, and look again.
    Reserved(CancellationToken),
    /// The id was free, and is now reserved for the caller.
    Free(Reservation),
}

/// A reservation of an id, under which no other call starts a run meanwhile.
pub(crate) struct Reservation {
    runs: Runs,
    id: String,
    /// For those who have waited for it to be over.
    over: Option<CancellationToken>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut runs = self.runs.lock();
        if let Some(Slot::Reserved(over)) = runs.slots.get_mut(&self.id) {
            self.over = over.take();
            runs.slots.remove(&self.id);
            runs.close_if_unused();
        }
        drop(runs);
        if let Some(over) = &self.over {
            over.cancel();
        }
    }
}

impl Runs {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Live>> {
        match self.lock().slots.get(id) {
            Some(Slot::Live(live)) => Some(Arc::clone(live)),
            _ => None,
        }
    }

    pub(crate) fn by_key(&self, key: RunKey) -> Option<Arc<Live>> {
        let runs = self.lock();
        runs.slots.values().find_map(|slot| match slot {
            Slot::Live(live) if live.journal.key == key => Some(Arc::clone(live)),
            _ => None,
        })
    }

    pub(crate) fn keys(&self) -> Vec<RunKey> {
        let live = |slot: &Slot| match slot {
            Slot::Live(live) => Some(live.journal.key),
            Slot::Reserved(_) => None,
        };
        self.lock().slots.values().filter_map(live).collect()
    }

    /// Closes the table: no run begins from here on. Returns the runs that are under way.
    pub(crate) fn close(&self) -> Vec<Arc<Live>> {
        let mut runs = self.lock();
        runs.closed = true;
        let live = |slot: &Slot| match slot {
            Slot::Live(live) => Some(Arc::clone(live)),
            Slot::Reserved(_) => None,
        };
        runs.slots.values().filter_map(live).collect()
    }

    /// Whether it was closed by a shutdown, and not because the program has dropped the engine.
    pub(crate) fn is_shut_down(&self) -> bool {
        let runs = self.lock();
        runs.closed && !runs.abandoned
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(crate) fn reserve(&self, id: &str) -> Found {
        let mut runs = self.lock();
        match runs.slots.get_mut(id) {
            Some(Slot::Live(live)) => Found::Live(Arc::clone(live)),
            Some(Slot::Reserved(over)) => Found::Reserved(over.get_or_insert_default().clone()),
            None => {
                runs.slots.insert(id.to_owned(), Slot::Reserved(None));
                Found::Free(Reservation { runs: self.clone(), id: id.to_owned(), over: None })
            }
        }
    }

    /// Enters a run under the id that is reserved for it. Who waits for the reservation hears of it when that is dropped.
    pub(super) fn add(&self, reservation: &mut Reservation, live: &Arc<Live>) -> Result<(), Halt> {
        let mut runs = self.lock();
        if runs.closed {
            return Err(Halt::ShutDown);
        }
        let before = runs.slots.insert(reservation.id.clone(), Slot::Live(Arc::clone(live)));
        if let Some(Slot::Reserved(over)) = before {
            reservation.over = over;
        }
        Ok(())
    }

    /// Removes a run. Returns whether this closes the engine: the program has dropped it, and this was its last run.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut runs = self.lock();
        runs.slots.remove(id);
        runs.close_if_unused()
    }

    /// The program has dropped the engine. Returns whether this closes it: it was not shut down before, and no run is
    /// under way.
    pub(super) fn abandon(&self) -> bool {
        let mut runs = self.lock();
        runs.abandoned = !runs.closed;
        runs.close_if_unused()
    }
}
