//! The events of a run: its records, and the events derived from them.

use std::sync::Arc;

use super::inner::Engine;
use super::replay::{begin, fold_all};
use super::voided::effective;
use crate::compile::executable_in;
use crate::core::Place;
use crate::driver::{NoValues, Replay, caught, derived_record};
use crate::event::{Event, EventKind};
use crate::halt::Halt;
use crate::store::{RunHeader, Stored};
use crate::table::{Definition, Executable};

/// Makes the events of a run from its records, with derived events, which are not recorded.
pub(super) struct Deriver {
    /// `None` if nothing can be derived: the workflow is not registered here, or its graph has changed.
    graph: Option<(Arc<Executable>, Arc<Definition>)>,
    replay: Option<Replay<()>>,
    /// The records so far, for a retry, which voids some of them.
    before: Vec<Stored>,
    seen: u64,
}

impl Deriver {
    pub(super) fn of(engine: &Engine, header: &RunHeader) -> Deriver {
        let definition = engine.definition_of(&header.workflow);
        let definition = definition.filter(|definition| engine.graph_of(definition).0 == header.graph);
        let graph = definition.map(|definition| (executable_in(&engine.0.env, &definition), definition));
        Deriver { graph, replay: None, before: Vec::new(), seen: 0 }
    }

    /// How many records it has processed.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// The events of the next records.
    pub(super) fn events(&mut self, run_id: &str, stored: Vec<Stored>) -> Vec<Event> {
        let mut events = Vec::with_capacity(stored.len());
        for stored in stored {
            self.seen = stored.seq + 1;
            let follows = if self.graph.is_some() { self.take(&stored) } else { Vec::new() };
            let Stored { seq, time, record } = stored;
            let (version, run_id) = (Event::VERSION, run_id.to_owned());
            let event = |path, derived, kind| Event { version, run_id: run_id.clone(), seq, time, path, derived, kind };
            events.push(event(record.path, false, record.kind));
            events.extend(follows.into_iter().map(|record| event(record.path, true, record.kind)));
        }
        events
    }

    /// The events derived from a record. After a record that does not fit the graph, none are derived any more.
    fn take(&mut self, stored: &Stored) -> Vec<crate::store::Record> {
        let taken =
            caught(|| self.fold(stored)).map_err(|fault| Halt::broken("history", &fault)).and_then(|taken| taken);
        let Ok(derived) = taken else {
            (self.graph, self.replay, self.before) = (None, None, Vec::new());
            return Vec::new();
        };
        derived.iter().map(|(place, what)| derived_record(place, *what)).collect()
    }

    fn fold(&mut self, stored: &Stored) -> Result<Vec<(Place, crate::core::Derived)>, Halt> {
        let Some((executable, definition)) = &self.graph else { return Ok(Vec::new()) };
        self.before.push(stored.clone());
        if let EventKind::RunRetried { .. } = stored.record.kind {
            let mut again = None;
            fold_all(executable, definition, effective(self.before.clone()), &mut again)?;
            self.replay = again;
            return Ok(Vec::new());
        }
        let Some(replay) = &mut self.replay else {
            let mut replay = begin(executable, definition, stored)?;
            let derived = replay.run.take_derived();
            self.replay = Some(replay);
            return Ok(derived);
        };
        replay.take(stored.clone(), &mut NoValues(Arc::clone(executable)))?;
        replay.run.take_end();
        Ok(replay.run.take_derived())
    }
}
