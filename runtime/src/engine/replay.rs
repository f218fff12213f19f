//! A run by its records, without its values.

use std::sync::Arc;

use crate::core::{Run, TimeLimit};
use crate::driver::{NoValues, Replay, caught, empty};
use crate::event::EventKind;
use crate::halt::Halt;
use crate::store::Stored;
use crate::table::{Definition, Executable};

/// The state of a run by its first record, without any values.
pub(super) fn begin(
    executable: &Arc<Executable>,
    definition: &Arc<Definition>,
    first: &Stored,
) -> Result<Replay<()>, Halt> {
    let EventKind::RunStarted { input, state, limit, .. } = &first.record.kind else {
        return Err(unreadable(definition, ".", "its first record is not that of its start"));
    };
    let input = (definition.door.read_input)(input)
        .map_err(|error| unreadable(definition, &error.path().to_string(), &error.inner().to_string()))?;
    let started = caught(|| (definition.start)(input)).map_err(|fault| Halt::broken(&definition.name, &fault))?;
    let run = Run::new(Arc::clone(&executable.program), 0, true, state.clone(), None);
    let edges = executable.program.layouts[0].edges_of(graphweft_graph::START, started.choice);
    let limit = limit.as_ref().map(TimeLimit::from);
    Replay::new(run, executable, definition, empty(started.choice, edges), limit)
}

pub(super) fn unreadable(definition: &Definition, field: &str, message: &str) -> Halt {
    Halt::Unreadable { path: definition.name.clone(), field: field.to_owned(), message: message.to_owned() }
}

pub(super) fn fold_all(
    executable: &Arc<Executable>,
    definition: &Arc<Definition>,
    history: Vec<Stored>,
    into: &mut Option<Replay<()>>,
) -> Result<(), Halt> {
    let mut history = history.into_iter();
    let Some(first) = history.next() else { return Ok(()) };
    let replay = into.insert(begin(executable, definition, &first)?);
    for stored in history {
        replay.take(stored, &mut NoValues(Arc::clone(executable)))?;
    }
    drop(replay.run.take_derived());
    Ok(())
}
