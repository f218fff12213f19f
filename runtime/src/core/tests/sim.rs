//! A driver that does what its test tells it to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use graphweft_graph::START;
use serde_json::{Map, Value};

use crate::core::{
    Admission, Arrived, Chance, Conclusion, Derived, Emitted, Entered, Event, ItemPace, Layout, NextRun, NodeKind,
    NodeSpec, Place, Program, Report, Run, RunEnd, TaskId, ThawedRun, Then, TimeLimit, Tokens, Wanted, Writes, after,
    freeze, thaw,
};
use crate::core::{ScopeKind, Totals};
use crate::fault::{Cause, Failure, Fault};
use crate::json_graphs::{Net, net};
use crate::options::NodeOptions;

/// Says what a run is made of.
pub(super) struct Setup {
    nets: Vec<(String, Net)>,
    /// By graph and node: the graph inside.
    inside: BTreeMap<(usize, String), (ScopeKind, usize)>,
    options: BTreeMap<String, NodeOptions>,
    max_concurrency: usize,
    /// By graph: how many of its nodes may be under way at once.
    max_parallel: BTreeMap<String, u32>,
    /// How long the run may take.
    timeout: Option<Duration>,
    notes: bool,
}

/// A run that follows another one, with a number for its input.
pub(super) fn next_run(number: u32) -> Box<NextRun> {
    Box::new(NextRun { input: number.into(), state: Map::new() })
}

pub(super) fn workflow(text: &str) -> Setup {
    Setup {
        nets: vec![("w".to_owned(), net(text))],
        inside: BTreeMap::new(),
        options: BTreeMap::new(),
        max_concurrency: 0,
        max_parallel: BTreeMap::new(),
        timeout: None,
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

    /// Limits how many nodes of a graph may be under way at once.
    pub(super) fn max_parallel(mut self, graph: &str, limit: u32) -> Self {
        self.max_parallel.insert(graph.to_owned(), limit);
        self
    }

    /// Limits how long the run may take.
    pub(super) fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    pub(super) fn start(self) -> Sim {
        let mut sim = self.sim();
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
                NodeSpec { name: node.id.clone(), kind, options, keeps_input: false }
            });
            let layout = Layout::new(at, name.clone(), &net.graph, &net.plan, specs.collect());
            layouts.push(Arc::new(layout.limited_to(self.max_parallel.get(name).copied())));
        }
        let program = Arc::new(Program { layouts, totals: Totals::default() });
        let (max_concurrency, is_watched) = (self.max_concurrency, self.notes);
        let make = {
            let program = Arc::clone(&program);
            move || Run::new(Arc::clone(&program), max_concurrency, is_watched, Map::new(), None)
        };
        let labels = self.nets.iter().map(|(_, net)| net.labels.clone()).collect();
        Sim {
            run: make(),
            make: Box::new(make),
            journal: Vec::new(),
            is_watched,
            is_held: false,
            now: SystemTime::UNIX_EPOCH,
            timeout: self.timeout,
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
            random: 0.0,
            end: None,
        }
    }
}

pub(super) struct Sim {
    run: Run<u32>,
    /// A run that has not begun.
    make: Box<dyn Fn() -> Run<u32>>,
    /// The events so far.
    journal: Vec<Event<u32>>,
    is_watched: bool,
    /// Whether reports are not carried out yet.
    is_held: bool,
    now: SystemTime,
    timeout: Option<Duration>,
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
    pub(super) timers: BTreeMap<TaskId, SystemTime>,
    /// What was noted, as `path: what`.
    pub(super) notes: Vec<String>,
    /// Every attempt in the order of starts, as `path` or `path!2` for a second attempt.
    pub(super) started: Vec<String>,
    /// Nodes whose faults and failures go on by this label.
    pub(super) routes: BTreeMap<String, &'static str>,
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
        let limit = self.timeout.map(|limit| TimeLimit { after: limit, until: after(self.now, limit) });
        self.report(Report::Begin { emitted, limit });
    }

    /// Takes a report to where nothing follows from it any more.
    fn report(&mut self, report: Report<u32>) {
        self.commit_report(report);
        if !self.is_held {
            self.carry_out();
        }
    }

    /// All of this happens before anything that follows from it is seen to.
    pub(super) fn at_once(&mut self, happens: impl FnOnce(&mut Self)) {
        self.is_held = true;
        happens(self);
        self.is_held = false;
        self.carry_out();
    }

    fn commit_report(&mut self, report: Report<u32>) {
        let chance = Chance { now: self.now, random: self.random };
        if let Some(event) = self.run.decide(report, || chance) {
            self.commit(event);
        }
    }

    fn commit(&mut self, event: Event<u32>) {
        self.note(&event);
        self.journal.push(event.clone());
        self.run.apply(event).expect("what is decided is possible");
        for (place, what) in self.run.take_derived() {
            let what = match what {
                Derived::Skipped => "skipped",
                Derived::Cancelled => "cancelled",
            };
            self.notes.push(format!("{place}: {what}"));
        }
        // A run of very many turns is left alone: it would take the square of their number.
        if self.journal.len() > 300 {
            return;
        }
        assert_eq!(
            self.folded().snapshot(true),
            self.run.snapshot(true),
            "the state is not the fold of {:?}",
            self.journal
        );
    }

    fn folded(&self) -> Run<u32> {
        let folded = self.folded_behind((self.make)(), 0);
        // Of every fourth, since this takes several times as long.
        if self.journal.len().is_multiple_of(4) { self.folds_from_a_snapshot(folded) } else { folded }
    }

    /// Folds the events from this one on.
    fn folded_behind(&self, mut run: Run<u32>, from: usize) -> Run<u32> {
        for event in &self.journal[from..] {
            run.apply(event.clone()).expect("what was recorded is possible");
        }
        run
    }

    /// The same with a snapshot in between: nothing differs. The place of the snapshot is another each time.
    fn folds_from_a_snapshot(&self, mut whole: Run<u32>) -> Run<u32> {
        let at = self.journal.len() * 7919 % (self.journal.len() + 1);
        let mut before = (self.make)();
        for event in &self.journal[..at] {
            before.apply(event.clone()).expect("what was recorded is possible");
        }
        before.forget_news();
        let text = freeze(&before).expect("every state can be written");
        let mut run = (self.make)();
        run.thaw(thaw::<ThawedRun<u32>>(&self.program, &text).expect("what was written can be read"));
        assert_eq!(freeze(&run).unwrap(), text, "a state is read as another");
        let mut run = self.folded_behind(run, at);
        for run in [&mut whole, &mut run] {
            drop(run.take_derived());
            run.forget_news();
        }
        assert_eq!(freeze(&run).unwrap(), freeze(&whole).unwrap(), "behind a snapshot at {at} of {:?}", self.journal);
        run
    }

    /// All that is in memory is lost. What was under way begins again, but for what the journal does not have.
    pub(super) fn crashes(&mut self) {
        self.run = self.folded();
        self.run.resume();
        let lost: Vec<TaskId> = self.running.values().chain(self.entering.values()).map(|(task, _)| *task).collect();
        let is_lost = |path: &String| {
            let path = path.split('!').next().unwrap_or_default();
            let begun = self.running.get(path).or_else(|| self.entering.get(path));
            begun.is_some_and(|(task, _)| lost.contains(task))
        };
        self.started.retain(|path| !is_lost(path));
        self.running.clear();
        self.entering.clear();
        self.timers.clear();
        self.stopping.clear();
        self.carry_out();
    }

    fn note(&mut self, event: &Event<u32>) {
        if !self.is_watched {
            return;
        }
        let path = |task: &TaskId| self.run.place_of(*task).expect("a task").to_string();
        self.notes.push(match event {
            Event::Completed { task, .. } => format!("{}: completed", path(task)),
            Event::Collecting { task, .. } => format!("{}: waits", path(task)),
            Event::Failed { task, cause, then } => {
                let attempts = self.run.attempts(*task);
                match then {
                    Then::RetryAt(at) => {
                        let delay = at.duration_since(self.now).expect("later");
                        format!("{}: failed {attempts}, again in {delay:?}", path(task))
                    }
                    Then::Routed(_) | Then::Fails(_) => format!("{}: failed {attempts} ({cause})", path(task)),
                }
            }
            Event::Stopped { task } => format!("{}: cancelled", path(task)),
            _ => return,
        });
    }

    fn carry_out(&mut self) {
        loop {
            while let Some(task) = self.run.next_changed() {
                self.see_to(task);
            }
            match self.run.admit(0) {
                Some(Admission::Event(event)) => self.commit(event),
                Some(Admission::Enter(task)) => {
                    let place = self.run.place_of(task).expect("a task");
                    let arrived = self.run.take_input(task);
                    let path = self.start(&place, self.run.attempts(task) + 1, arrived);
                    self.entering.insert(path, (task, place));
                }
                None if self.run.has_changes() => {}
                None => break,
            }
        }
        if let Some(end) = self.run.take_end() {
            assert!(self.end.is_none(), "a run ends once");
            assert!(self.running.is_empty(), "nothing runs when a run ends");
            assert!(self.timers.is_empty(), "no timer outlives its run");
            self.end = Some(end);
        }
    }

    fn see_to(&mut self, task: TaskId) {
        let place = self.run.place_of(task);
        let running = self.running.iter().find(|(_, (running, _))| *running == task).map(|(path, _)| path.clone());
        self.timers.remove(&task);
        match (self.run.wanted(task), running) {
            (Wanted::Attempt, None) => {
                let place = place.expect("a task");
                let arrived = self.run.take_input(task);
                let path = self.start(&place, self.run.attempts(task), arrived);
                let (state, local) = self.run.sees(task);
                self.local.insert(path.clone(), local.unwrap_or_default());
                self.seen.insert(path.clone(), state);
                self.running.insert(path, (task, place));
            }
            (Wanted::Stop, Some(path)) => {
                if !self.stopping.contains(&path) {
                    self.stopping.push(path);
                }
            }
            (Wanted::Stop, None) => self.commit_report(Report::Stopped { task }),
            (Wanted::Timer(until) | Wanted::Inside(Some(until)), _) => _ = self.timers.insert(task, until),
            (Wanted::Conclude, _) => self.conclude(task, &place.expect("a task")),
            (Wanted::Nothing, Some(path)) => panic!("`{path}` runs, and is gone"),
            (Wanted::Nothing | Wanted::Attempt | Wanted::Inside(None), _) => {}
        }
    }

    fn conclude(&mut self, task: TaskId, place: &Place) {
        let failed = |cause: Cause, retryable| (Box::new(cause), retryable);
        let (cause, retryable) = match self.run.take_conclusion(task).expect("a conclusion") {
            Conclusion::Leave(ends) => {
                let sum = ends.iter().fold(0, |all, end| all * 10 + total(end));
                let emitted = self.emission(place, None, sum);
                return self.commit_report(Report::Succeeded { task, emitted, writes: Writes::default() });
            }
            Conclusion::Unfit(fault) => failed(Cause::from(fault), true),
            Conclusion::Failed(failure) => failed(failure.cause, true),
            Conclusion::TimedOut(after) => failed(Cause::from(Fault::Timeout { after }), true),
            Conclusion::NothingCollected(arrivals) => failed(Cause::from(Fault::NothingCollected { arrivals }), false),
        };
        let routed = self.routed(place);
        self.commit_report(Report::Failed { task, cause, retryable: bool::into(retryable), routed, error: None });
    }

    /// What faults and failures of a node go by.
    fn routed(&self, place: &Place) -> Option<Emitted<u32>> {
        let name = &place.scope.layout.nodes[place.node as usize].name;
        self.routes.get(name).map(|label| self.emission(place, Some(label), 99))
    }

    fn start(&mut self, place: &Place, attempt: u32, arrived: Option<Arrived<u32>>) -> String {
        let path = place.to_string();
        self.started.push(if attempt == 1 { path.clone() } else { format!("{path}!{attempt}") });
        if let Some(arrived) = arrived {
            self.arrived.insert(path.clone(), arrived);
        }
        path
    }

    fn end_attempt(&mut self, path: &str, make: impl FnOnce(&Self, TaskId, &Place) -> Report<u32>) {
        let Some((task, place)) = self.running.remove(path) else {
            panic!("`{path}` is not running; running: {:?}", self.running())
        };
        self.stopping.retain(|stopping| stopping != path);
        let report = make(self, task, &place);
        self.report(report);
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
        self.completes(path, None, value, Writes::default());
    }

    pub(super) fn done_all(&mut self, paths: &[&str]) {
        for path in paths {
            self.done(path, 1);
        }
    }

    /// A node completes by a label.
    pub(super) fn takes(&mut self, path: &str, label: &str) {
        self.completes(path, Some(label), 1, Writes::default());
    }

    pub(super) fn done_writing(&mut self, path: &str, writes: Writes) {
        self.completes(path, None, 1, writes);
    }

    fn completes(&mut self, path: &str, label: Option<&str>, value: u32, writes: Writes) {
        self.end_attempt(path, |sim, task, place| match sim.run.check_writes(task, &writes) {
            Ok(()) => Report::Succeeded { task, emitted: sim.emission(place, label, value), writes },
            Err(fault) => sim.fault(task, place, fault),
        });
    }

    pub(super) fn waits(&mut self, path: &str, writes: Writes) {
        self.end_attempt(path, |sim, task, place| match sim.run.check_writes(task, &writes) {
            Ok(()) => Report::Collecting { task, writes },
            Err(fault) => sim.fault(task, place, fault),
        });
    }

    pub(super) fn fails(&mut self, path: &str) {
        self.end_attempt(path, |_, task, _| failed(task, cause("boom"), true, None));
    }

    pub(super) fn fails_for_good(&mut self, path: &str) {
        self.end_attempt(path, |_, task, _| failed(task, cause("boom"), false, None));
    }

    /// Fails with an error that is routed.
    pub(super) fn fails_by(&mut self, path: &str, label: &str) {
        self.end_attempt(path, |sim, task, place| {
            failed(task, cause("boom"), true, Some(sim.emission(place, Some(label), 7)))
        });
    }

    pub(super) fn faults(&mut self, path: &str, fault: Fault) {
        self.end_attempt(path, |sim, task, place| sim.fault(task, place, fault));
    }

    fn fault(&self, task: TaskId, place: &Place, fault: Fault) -> Report<u32> {
        let retryable = crate::core::is_retryable(&fault);
        failed(task, Cause::from(fault), retryable, self.routed(place))
    }

    /// The time limit of the run is over.
    pub(super) fn time_is_up(&mut self) {
        self.report(Report::TimeIsUp);
    }

    /// When the run has taken too long.
    pub(super) fn limit(&self) -> Option<SystemTime> {
        self.run.limit()
    }

    /// A node starts over, with this number.
    pub(super) fn starts_over(&mut self, path: &str, number: u32) {
        self.end_attempt(path, |_, task, _| Report::StartsOver { task, next: next_run(number) });
    }

    /// A node that was cancelled has stopped.
    pub(super) fn stops(&mut self, path: &str) {
        assert!(self.stopping.iter().any(|stopping| stopping == path), "`{path}` was not cancelled");
        self.end_attempt(path, |_, task, _| Report::Stopped { task });
    }

    /// The graphs inside a node begin, one for each value.
    pub(super) fn enters(&mut self, path: &str, values: &[u32]) {
        let (task, place) = self.entering.remove(path).unwrap_or_else(|| panic!("`{path}` is not entered"));
        let node = &self.program.layouts[place.scope.layout.index].nodes[place.node as usize];
        let NodeKind::Scope(kind, inside) = node.kind else { panic!("`{path}` has no graph inside") };
        let pace = match (kind, node.options.max_parallel, self.is_watched) {
            (ScopeKind::Each, Some(_), _) => ItemPace::Bounded,
            (ScopeKind::Each, None, false) => ItemPace::InTurn,
            _ => ItemPace::AtOnce,
        };
        let limit = node.options.timeout.map(|limit| TimeLimit { after: limit, until: after(self.now, limit) });
        let inputs = values.iter().map(|value| self.tokens(inside, START, 0, *value)).collect();
        self.report(Report::Entered { task, entered: Some(Box::new(Entered { inputs, pace, limit })) });
    }

    /// The timer that runs out last does.
    pub(super) fn time_passes(&mut self) -> Duration {
        let (task, until) = self.timers.iter().max_by_key(|(_, until)| **until).expect("a timer");
        let (task, until) = (*task, *until);
        let passed = until.duration_since(self.now).expect("a time to come");
        self.now = until;
        self.report(Report::TimerFired { task });
        passed
    }

    /// The item in which this node waits is found to wait only. Whether that had an effect.
    pub(super) fn only_waits(&mut self, path: &str, then: impl FnOnce(&mut Self)) -> bool {
        let found = self.run.waiting_item(|task| self.run.place_of(task).is_some_and(|at| at.path() == path));
        let (task, item) = found.expect("it is before one that has failed");
        then(self);
        self.report(Report::WaitingItem { task, item });
        matches!(self.journal.last(), Some(Event::ItemCancelled { .. }))
    }

    pub(super) fn cancel(&mut self) {
        self.report(Report::Cancel);
    }

    pub(super) fn state(&self) -> &Arc<Map<String, Value>> {
        self.run.state()
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
        self.run.state.scopes.iter().flatten().map(|scope| scope.frames.len()).sum()
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

fn failed(task: TaskId, cause: Cause, retryable: bool, routed: Option<Emitted<u32>>) -> Report<u32> {
    Report::Failed { task, cause: Box::new(cause), retryable: retryable.into(), routed, error: None }
}
