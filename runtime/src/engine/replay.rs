//! A run by its records, without its values.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catch::caught;
use crate::core::{Program, Run, TimeLimit};
use crate::driver::{NoValues, Replay, StoredProgram, empty};
use crate::event::EventKind;
use crate::halt::Halt;
use crate::store::Stored;
use crate::table::{Definition, Executable};

/// The graph by which the records of a run are folded.
pub(super) enum ReplayedGraph {
    /// That of a registered workflow.
    Code(Arc<Executable>, Arc<Definition>),
    /// The one in the store.
    Stored(Arc<StoredProgram>),
}

/// From so many arms of START on, nothing is derived without the code.
const MOST_STARTS: usize = 16;

impl ReplayedGraph {
    /// What is needed to fold records without their values.
    pub(super) fn program(&self) -> &Arc<Program> {
        match self {
            ReplayedGraph::Code(executable, _) => &executable.program,
            ReplayedGraph::Stored(stored) => &stored.program,
        }
    }

    /// The state of a run by its first record. Which arm of START it has taken is not recorded, and a function of its input that
    /// only the code knows: without it, there is a state for each of them.
    pub(super) fn begin(&self, first: &Stored) -> Result<Vec<Replay<()>>, Halt> {
        let stored = match self {
            ReplayedGraph::Code(executable, definition) => return Ok(vec![begin(executable, definition, first)?]),
            ReplayedGraph::Stored(stored) => stored,
        };
        let EventKind::RunStarted { state, limit, .. } = &first.record.kind else { return Ok(Vec::new()) };
        begin_each(stored, state, limit.as_ref().map(TimeLimit::from), None)
    }
}

/// The states that the graph of a child may begin with, as [`ReplayedGraph::begin`]. What is in the state of the run is not known here:
/// nothing follows from it for the graph.
pub(super) fn begin_child(stored: &Arc<StoredProgram>, path: &str) -> Result<Vec<Replay<()>>, Halt> {
    begin_each(stored, &Map::new(), None, Some(path.to_owned()))
}

/// A state for each arm of START.
fn begin_each(
    stored: &Arc<StoredProgram>,
    state: &Map<String, Value>,
    limit: Option<TimeLimit>,
    prefix: Option<String>,
) -> Result<Vec<Replay<()>>, Halt> {
    if stored.starts() > MOST_STARTS {
        return Ok(Vec::new());
    }
    let begin = |choice| {
        let run = Run::new(Arc::clone(&stored.program), 0, true, state.clone(), prefix.clone());
        let edges = stored.program.layouts[0].edges_of(graphweft_graph::START, choice);
        let labels: Arc<StoredProgram> = Arc::clone(stored);
        Replay::by_labels(run, labels, empty(choice, edges), limit)
    };
    (0..stored.starts()).map(begin).collect()
}

/// The state of a run by its first record, without any values.
pub(super) fn begin(
    executable: &Arc<Executable>,
    definition: &Arc<Definition>,
    first: &Stored,
) -> Result<Replay<()>, Halt> {
    let EventKind::RunStarted { input, state, limit, .. } = &first.record.kind else {
        return Err(unreadable(definition, ".", "its first record is not that of its start"));
    };
    let input =
        (definition.door.read_input)(input).map_err(|error| unreadable(definition, &error.field, &error.message))?;
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
        replay.take(stored, &mut NoValues(Arc::clone(&executable.program)))?;
    }
    drop(replay.run.take_derived());
    Ok(())
}
