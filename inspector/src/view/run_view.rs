//! The fold.

use std::collections::HashMap;
use std::ops::Range;

use graphweft::{Event, EventKind, Graphs, RunStatus};

use super::detail::{Detail, What};
use super::part::{Progress, RunMove};
use super::shapes::{ShapeIx, Shapes};
use super::thing::AllThings;
use super::{Kind, State};
use crate::model::millis;

/// The view of a run: the fold of its events, with its graphs.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_inspector::view::{RunView, State};
///
/// #[node]
/// async fn greet(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// workflow! { pub hello(String) -> String { START => greet; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<hello>().build()?;
/// engine.start::<hello>("Ada".into()).id("guest-1").await?.result().await?;
///
/// let mut view = RunView::new("hello", engine.run_graph("guest-1").await?.as_ref());
/// for event in engine.history("guest-1").await?.expect("it was started") {
///     view.apply(&event);
/// }
/// assert_eq!(view.status(), Some(RunStatus::Completed));
/// assert_eq!(view.state_of("hello/greet"), State::Completed);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct RunView {
    pub(super) shapes: Shapes,
    pub(super) things: AllThings,
    /// The times of the events, in milliseconds since 1970.
    pub(super) times: Vec<u64>,
    pub(super) moves: Vec<[u64; 4]>,
    pub(super) taken: Vec<[u64; 3]>,
    pub(super) began: Vec<[u64; 3]>,
    pub(super) runs: Vec<RunMove>,
    pub(super) details: Vec<Detail>,
    pub(super) progress: Vec<Progress>,
    /// Where in it that of a thing is.
    progress_of: HashMap<u32, usize>,
    /// By path, the last progress of what has not started by the events: it is sent at once, and a start when it is recorded.
    pub(super) early: HashMap<String, serde_json::Value>,
    /// Counts up with everything that was sent as progress.
    pub(super) progressed: u64,
    /// The numbers of events that retries have voided.
    pub(super) voids: Vec<Range<u64>>,
    /// For the run and for children whose START has arms: those that may have been taken, until that is known.
    pub(super) start_arms: HashMap<u32, Vec<usize>>,
    /// The graphs of child workflows, by their hashes.
    pub(super) child_graphs: HashMap<u64, ShapeIx>,
    /// Tells this fold from another one of the same run: only what is recorded is the same in both.
    pub(super) fold: String,
}

/// How many events in a row may be missing.
const GAP: u64 = 1 << 16;

/// The thing that is the run.
pub(super) const RUN: u32 = 0;

impl RunView {
    /// The view of a run of which nothing is recorded yet. Without its graphs, no edges are taken, and what is inside of `[..]` and
    /// nested workflows is only known by the paths.
    pub fn new(workflow: &str, graphs: Option<&Graphs>) -> Self {
        let mut things = AllThings::default();
        things.add(workflow, Kind::Run, None);
        let mut shapes = Shapes::default();
        things.get_mut(RUN).inside = graphs.map(|graphs| shapes.add(graphs));
        RunView {
            shapes,
            things,
            times: Vec::new(),
            moves: Vec::new(),
            taken: Vec::new(),
            began: Vec::new(),
            runs: Vec::new(),
            details: Vec::new(),
            progress: Vec::new(),
            progress_of: HashMap::new(),
            early: HashMap::new(),
            progressed: 0,
            voids: Vec::new(),
            start_arms: HashMap::new(),
            child_graphs: HashMap::new(),
            fold: uuid::Uuid::new_v4().simple().to_string(),
        }
    }

    /// The hash of a graph that the view does not have, and that should be [added](Self::add_graph) before the event: that of a child
    /// workflow which begins with it. [`Engine::stored_graph`](graphweft::Engine::stored_graph) has it.
    pub fn missing_graph(&self, event: &Event) -> Option<u64> {
        let EventKind::NodeStarted { inside: Some(entered), .. } = &event.kind else { return None };
        entered.graph.filter(|hash| !self.child_graphs.contains_key(hash))
    }

    /// Adds the graph of child workflows that begin later, by its hash. Without it, no edges are taken in them, and what is inside of
    /// `[..]` and nested workflows in them is only known by the paths.
    pub fn add_graph(&mut self, hash: u64, graphs: &Graphs) {
        if !self.child_graphs.contains_key(&hash) {
            let shape = self.shapes.add(graphs);
            self.child_graphs.insert(hash, shape);
        }
    }

    /// Adds the next event of the run. One that is in the view already is left out, and so is one that comes far too early.
    ///
    /// The nodes of the graphs are found by their names: for a run of which nodes were renamed while it was under way,
    /// [rename](graphweft::RecordedNames::rename) them in its events before.
    pub fn apply(&mut self, event: &Event) {
        let is_record = event.kind.is_recorded() && !event.derived;
        if is_record {
            let is_next = (self.next()..self.next() + GAP).contains(&event.seq);
            if !is_next {
                return;
            }
            // Events that were left out have the time of the next one.
            let time = millis(event.time);
            self.times.resize(event.seq as usize + 1, time);
        }
        self.fold_event(event);
        for change in self.things.moves() {
            self.moves.push([u64::from(change.thing), event.seq, change.state as u64, u64::from(change.attempt)]);
        }
        let status = self.status();
        if let Some(status) = status.filter(|status| self.runs.last().map(|last| &last.status) != Some(status)) {
            self.runs.push(RunMove { seq: event.seq, status });
        }
    }

    /// The number of the next event.
    pub fn next(&self) -> u64 {
        self.times.len() as u64
    }

    /// The status of the run; `None` before its first event.
    pub fn status(&self) -> Option<RunStatus> {
        match self.things.shown(RUN) {
            State::NotReached => None,
            State::Waiting => Some(RunStatus::Waiting),
            State::Sleeping | State::WaitsToRetry => Some(RunStatus::Sleeping),
            State::Completed => Some(RunStatus::Completed),
            State::Failed => Some(RunStatus::Failed),
            State::Cancelled => Some(RunStatus::Cancelled),
            State::StartedOver => Some(RunStatus::StartedOver),
            _ => Some(RunStatus::Running),
        }
    }

    /// The state of what is at a path now.
    pub fn state_of(&self, path: &str) -> State {
        self.things.at(path).map_or(State::NotReached, |thing| self.things.shown(thing))
    }

    pub(super) fn note(&mut self, seq: u64, thing: u32, what: What) {
        self.details.push(Detail { seq, thing, what });
    }

    /// Sent by a node, and not recorded: the last one of each counts.
    pub(super) fn has_progressed(&mut self, seq: u64, thing: u32, data: &serde_json::Value) {
        self.progressed += 1;
        let data = if is_small(data) { data.clone() } else { serde_json::Value::Null };
        let next = Progress { thing, seq, number: self.progressed, data };
        match self.progress_of.get(&thing) {
            Some(&at) => self.progress[at] = next,
            None => {
                self.progress_of.insert(thing, self.progress.len());
                self.progress.push(next);
            }
        }
    }

    pub(super) fn is_of_run(&self, event: &Event) -> bool {
        event.path == self.things.get(RUN).path
    }
}

/// Whether a value has at most 2 kB as JSON.
fn is_small(data: &serde_json::Value) -> bool {
    struct Room(usize);
    impl std::io::Write for Room {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("too large"))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Room(2048), data).is_ok()
}
