//! A driver that does what its test tells it to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use graphweft_graph::START;
use serde_json::{Map, Value};

use crate::core::{
    Arrived, Command, Core, Emitted, Ended, Event, Layout, NodeKind, NodeSpec, Note, Place, Program, RunEnd, TaskId,
    TimerId, Tokens, Writes,
};
use crate::fault::{Cause, Failure, Fault};
use crate::options::NodeOptions;
use crate::table::ScopeKind;
use crate::testing::{Net, net};

/// Says what a run is made of.
pub(super) struct Setup {
    nets: Vec<(String, Net)>,
    /// By graph and node: the graph inside.
    inside: BTreeMap<(usize, String), (ScopeKind, usize)>,
    options: BTreeMap<String, NodeOptions>,
    max_concurrency: usize,
    notes: bool,
}

pub(super) fn workflow(text: &str) -> Setup {
    Setup {
        nets: vec![("w".to_owned(), net(text))],
        inside: BTreeMap::new(),
        options: BTreeMap::new(),
        max_concurrency: 0,
        notes: true,
    }
}

impl Setup {
    /// Puts a graph into a node of the workflow.
    pub(super) fn inside(mut self, node: &str, kind: ScopeKind, text: &str) -> Self {
        self.nets.push((node.to_owned(), net(text)));
        self.inside.insert((0, node.to_owned()), (kind, self.nets.len() - 1));
        self
    }

    pub(super) fn each(self, node: &str, text: &str) -> Self {
        self.inside(node, ScopeKind::Each, text)
    }

    pub(super) fn nested(self, node: &str, text: &str) -> Self {
        self.inside(node, ScopeKind::Nested, text)
    }

    /// Sets options of every node of this name.
    pub(super) fn options(mut self, node: &str, set: impl FnOnce(&mut NodeOptions)) -> Self {
        set(self.options.entry(node.to_owned()).or_default());
        self
    }

    /// Nobody wants notes.
    pub(super) fn unwatched(mut self) -> Self {
        self.notes = false;
        self
    }

    pub(super) fn max_concurrency(mut self, limit: usize) -> Self {
        self.max_concurrency = limit;
        self
    }

    pub(super) fn start(self) -> Sim {
        let mut sim = self.sim();
        sim.begin();
        sim
    }

    /// The same from records, which the test makes up.
    pub(super) fn replay(self) -> Sim {
        let mut sim = self.sim();
        sim.core.replay();
        sim.begin();
        sim
    }

    fn sim(self) -> Sim {
        let mut layouts = Vec::new();
        for (at, (name, net)) in self.nets.iter().enumerate() {
            let specs = net.graph.nodes[2..].iter().map(|node| {
                let kind = match self.inside.get(&(at, node.id.clone())) {
                    Some((kind, inside)) => NodeKind::Scope(*kind, *inside),
                    None => NodeKind::Leaf,
                };
                let options = self.options.get(&node.id).cloned().unwrap_or_default();
                NodeSpec { name: node.id.clone(), kind, options }
            });
            layouts.push(Arc::new(Layout::new(at, name.clone(), &net.graph, &net.plan, specs.collect())));
        }
        let program = Arc::new(Program { layouts });
        let core = Core::new(Arc::clone(&program), self.max_concurrency, self.notes, Map::new(), None);
        let labels = self.nets.iter().map(|(_, net)| net.labels.clone()).collect();
        Sim {
            core,
            program,
            labels,
            running: BTreeMap::new(),
            entering: BTreeMap::new(),
            arrived: BTreeMap::new(),
            local: BTreeMap::new(),
            seen: BTreeMap::new(),
            stopping: Vec::new(),
            timers: BTreeMap::new(),
            notes: Vec::new(),
            started: Vec::new(),
            routes: BTreeMap::new(),
            awaiting: BTreeMap::new(),
            to_go_on: None,
            random: 0.0,
            end: None,
        }
    }
}

pub(super) struct Sim {
    core: Core<u32>,
    program: Arc<Program>,
    labels: Vec<Vec<Vec<String>>>,
    running: BTreeMap<String, (TaskId, Place)>,
    entering: BTreeMap<String, (TaskId, Place)>,
    /// What last fired each node.
    pub(super) arrived: BTreeMap<String, Arrived<u32>>,
    /// What each node has kept for itself.
    pub(super) local: BTreeMap<String, Arc<Map<String, Value>>>,
    /// The state that each node saw.
    pub(super) seen: BTreeMap<String, Arc<Map<String, Value>>>,
    /// Nodes that were told to stop and have not.
    pub(super) stopping: Vec<String>,
    pub(super) timers: BTreeMap<TimerId, Duration>,
    /// What was noted, as `path: what`.
    pub(super) notes: Vec<String>,
    /// Every attempt in the order of starts, as `path` or `path!2` for a second attempt.
    pub(super) started: Vec<String>,
    /// Nodes whose faults and failures go on by this label.
    pub(super) routes: BTreeMap<String, &'static str>,
    /// What waits for a record, by path.
    awaiting: BTreeMap<String, TaskId>,
    /// Where the next item waits until the driver has seen to those before.
    to_go_on: Option<TaskId>,
    pub(super) random: f64,
    pub(super) end: Option<RunEnd<u32>>,
}

impl Sim {
    fn tokens(&self, layout: usize, node: usize, choice: usize, value: u32) -> Emitted<u32> {
        let live = self.program.layouts[layout].nodes[node].choices[choice].live.len();
        let tokens = match live {
            0 => Tokens::None,
            1 => Tokens::One(value),
            _ => Tokens::Many(vec![value; live]),
        };
        Emitted { choice, tokens }
    }

    fn emission(&self, place: &Place, label: Option<&str>, value: u32) -> Emitted<u32> {
        let (layout, node) = (place.scope.layout.index, place.node as usize);
        let labels = &self.labels[layout][node];
        let choice = label.map_or(0, |label| labels.iter().position(|known| known == label).expect("a known label"));
        self.tokens(layout, node, choice, value)
    }

    fn begin(&mut self) {
        let emitted = self.tokens(0, START, 0, 1);
        self.tell(Event::Begun(emitted));
    }

    /// The driver has seen to the items before; the next one begins.
    pub(super) fn goes_on(&mut self) {
        let task = self.to_go_on.take().expect("an item waits");
        self.tell(Event::GoOn { task });
    }

    /// A record says that an attempt has begun.
    pub(super) fn started(&mut self, path: &str) {
        let task = self.awaiting.remove(path).unwrap_or_else(|| panic!("`{path}` waits for no record"));
        self.tell(Event::Started { task });
    }

    /// A record says that an attempt has failed, and that another follows.
    pub(super) fn is_tried_again(&mut self, path: &str) {
        let (task, _) = self.running.remove(path).unwrap_or_else(|| panic!("`{path}` is not running"));
        let retry_in = Some(Duration::from_secs(1));
        self.tell(Event::Judged { task, cause: Box::new(cause("boom")), retry_in, routed: None });
    }

    /// No record is left.
    pub(super) fn replayed(&mut self) {
        self.tell(Event::Replayed);
    }

    fn tell(&mut self, event: Event<u32>) {
        self.core.apply(event);
        while let Some(command) = self.core.next_command() {
            self.carry_out(command);
        }
    }

    fn carry_out(&mut self, command: Command<u32>) {
        match command {
            Command::Run { task, place, attempt, arrived, sees, .. } => {
                let path = self.start(&place, attempt, arrived);
                self.local.insert(path.clone(), sees.local.unwrap_or_default());
                self.seen.insert(path.clone(), sees.state);
                self.running.insert(path, (task, place));
            }
            Command::Enter { task, place, attempt, arrived, .. } => {
                let path = self.start(&place, attempt, arrived);
                self.entering.insert(path, (task, place));
            }
            Command::Leave { task, place, ends } => {
                let sum = ends.iter().fold(0, |all, end| all * 10 + total(end));
                let emitted = self.emission(&place, None, sum);
                let writes = Writes::default();
                self.tell(Event::Ended { task, ended: Ended::Emitted(emitted), writes, random: 0.0 });
            }
            Command::Route { task, place, .. } => {
                let name = place.scope.layout.nodes[place.node as usize].name.clone();
                let emitted = self.routes.get(&name).map(|label| self.emission(&place, Some(label), 99));
                self.tell(Event::Routed { task, emitted });
            }
            Command::Cancel(task) => {
                let path = self.running.iter().find(|(_, (running, _))| *running == task).map(|(path, _)| path.clone());
                self.stopping.push(path.expect("what is cancelled runs"));
            }
            Command::Forget(_) => {}
            Command::GoOn(task) => assert!(self.to_go_on.replace(task).is_none(), "it is asked once"),
            Command::SetTimer { timer, after, .. } => {
                self.timers.insert(timer, after);
            }
            Command::DropTimer(timer) => {
                self.timers.remove(&timer).expect("a timer that was set");
            }
            Command::Awaits { task, place } => _ = self.awaiting.insert(place.to_string(), task),
            Command::Note { place, note, .. } => self.notes.push(format!("{place}: {}", text(&note))),
            Command::End(end) => {
                assert!(self.end.is_none(), "a run ends once");
                assert!(self.running.is_empty(), "nothing runs when a run ends");
                assert!(self.timers.is_empty(), "no timer outlives its run");
                self.end = Some(*end);
            }
        }
    }

    fn start(&mut self, place: &Place, attempt: u32, arrived: Option<Arrived<u32>>) -> String {
        let path = place.to_string();
        self.started.push(if attempt == 1 { path.clone() } else { format!("{path}!{attempt}") });
        if let Some(arrived) = arrived {
            self.arrived.insert(path.clone(), arrived);
        }
        path
    }

    fn end_attempt(&mut self, path: &str, make: impl FnOnce(&Self, &Place) -> Ended<u32>) {
        self.end_writing(path, Writes::default(), make);
    }

    fn end_writing(&mut self, path: &str, writes: Writes, make: impl FnOnce(&Self, &Place) -> Ended<u32>) {
        let Some((task, place)) = self.running.remove(path).or_else(|| self.entering.remove(path)) else {
            panic!("`{path}` is not running; running: {:?}", self.running())
        };
        self.stopping.retain(|stopping| stopping != path);
        let ended = make(self, &place);
        let random = self.random;
        self.tell(Event::Ended { task, ended, writes, random });
    }

    /// The labels that a running node can take; none where it is not routed.
    pub(super) fn labels(&self, path: &str) -> &[String] {
        let (_, place) = &self.running[path];
        &self.labels[place.scope.layout.index][place.node as usize]
    }

    pub(super) fn running(&self) -> Vec<&str> {
        self.running.keys().map(String::as_str).collect()
    }

    /// A node completes with a value for each of its edges.
    pub(super) fn done(&mut self, path: &str, value: u32) {
        self.end_attempt(path, |sim, place| Ended::Emitted(sim.emission(place, None, value)));
    }

    pub(super) fn done_all(&mut self, paths: &[&str]) {
        for path in paths {
            self.done(path, 1);
        }
    }

    /// A node completes by a label.
    pub(super) fn takes(&mut self, path: &str, label: &str) {
        self.end_attempt(path, |sim, place| Ended::Emitted(sim.emission(place, Some(label), 1)));
    }

    pub(super) fn done_writing(&mut self, path: &str, writes: Writes) {
        self.end_writing(path, writes, |sim, place| Ended::Emitted(sim.emission(place, None, 1)));
    }

    pub(super) fn waits(&mut self, path: &str, writes: Writes) {
        self.end_writing(path, writes, |_, _| Ended::Waiting);
    }

    pub(super) fn fails(&mut self, path: &str) {
        self.end_attempt(path, |_, _| Ended::Failed { cause: Box::new(cause("boom")), retryable: true, routed: None });
    }

    pub(super) fn fails_for_good(&mut self, path: &str) {
        self.end_attempt(path, |_, _| Ended::Failed { cause: Box::new(cause("boom")), retryable: false, routed: None });
    }

    /// Fails with an error that is routed.
    pub(super) fn fails_by(&mut self, path: &str, label: &str) {
        self.end_attempt(path, |sim, place| {
            let routed = Some(sim.emission(place, Some(label), 7));
            Ended::Failed { cause: Box::new(cause("boom")), retryable: true, routed }
        });
    }

    pub(super) fn faults(&mut self, path: &str, fault: Fault) {
        self.end_attempt(path, |_, _| Ended::Fault(Box::new(fault)));
    }

    /// A node that was cancelled has stopped.
    pub(super) fn stops(&mut self, path: &str) {
        assert!(self.stopping.iter().any(|stopping| stopping == path), "`{path}` was not cancelled");
        self.end_attempt(path, |_, _| Ended::Stopped);
    }

    /// The graphs inside a node begin, one for each value.
    pub(super) fn enters(&mut self, path: &str, values: &[u32]) {
        let (task, place) = self.entering.remove(path).unwrap_or_else(|| panic!("`{path}` is not entered"));
        let NodeKind::Scope(_, inside) = self.program.layouts[place.scope.layout.index].nodes[place.node as usize].kind
        else {
            panic!("`{path}` has no graph inside")
        };
        let inputs = values.iter().map(|value| self.tokens(inside, START, 0, *value)).collect();
        self.tell(Event::Entered { task, inputs });
    }

    /// The timer that was set last runs out.
    pub(super) fn time_passes(&mut self) -> Duration {
        let (timer, after) = self.timers.pop_last().expect("a timer");
        let random = self.random;
        self.tell(Event::Fired { timer, random });
        after
    }

    pub(super) fn cancel(&mut self) {
        self.tell(Event::CancelRequested);
    }

    pub(super) fn state(&self) -> &Arc<Map<String, Value>> {
        self.core.state()
    }

    pub(super) fn noted(&self, what: &str) -> bool {
        self.notes.iter().any(|note| note == what)
    }

    pub(super) fn output(&self) -> u32 {
        match &self.end {
            Some(RunEnd::Completed(arrived)) => total(arrived),
            other => panic!("not completed: {other:?}; running {:?}, notes {:?}", self.running(), self.notes),
        }
    }

    pub(super) fn failure(&self) -> &Failure {
        match &self.end {
            Some(RunEnd::Failed(failure)) => failure,
            other => panic!("not failed: {other:?}"),
        }
    }

    /// How much memory of the run is in use or kept for use: frames of the workflow's own scope.
    pub(super) fn frames(&self) -> usize {
        self.core.machine.scopes.iter().flatten().map(|scope| scope.frames.len()).sum()
    }
}

fn total(arrived: &Arrived<u32>) -> u32 {
    match arrived {
        Arrived::One(value) => *value,
        Arrived::Join { places, .. } => places.iter().flatten().sum(),
    }
}

pub(super) fn cause(text: &str) -> Cause {
    Cause { chain: vec![text.to_owned()], fault: None }
}

pub(super) fn join(places: &[Option<u32>]) -> Arrived<u32> {
    Arrived::Join { way: 0, places: places.to_vec() }
}

fn text(note: &Note) -> String {
    match note {
        Note::Completed { .. } => "completed".to_owned(),
        Note::Waiting { .. } => "waits".to_owned(),
        Note::Failed { attempt, cause, retry_in: None } => format!("failed {attempt} ({cause})"),
        Note::Failed { attempt, retry_in: Some(delay), .. } => format!("failed {attempt}, again in {delay:?}"),
        Note::Skipped => "skipped".to_owned(),
        Note::Cancelled => "cancelled".to_owned(),
    }
}
