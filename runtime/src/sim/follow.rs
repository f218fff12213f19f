//! The log of a run, folded record by record as it grows, and checked against the guarantees after each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::asked::Asked;
use super::behaviour::{TURNS, latest_turn};
use super::folds::Folds;
use super::layers::Layers;
use super::progress::Progress;
use super::records::millis;
use super::scenario::Scenario;
use super::signals::Signals;
use super::sites::Sites;
use super::voids::look_at_voids;
use super::workflows::Workflows;
use crate::core::{Run, fold_into};
use crate::event::{AfterFailure, EventKind};
use crate::fault::Fault;
use crate::state_write::{StateOp, StateWrite};
use crate::store::Stored;
use crate::table::Definition;

/// The fold of the records so far.
pub(super) struct Follower {
    sites: Arc<Sites>,
    folds: Folds,
    /// The records that count, with their consequences that are not recorded.
    events: Vec<Stored>,
    max_concurrency: usize,
    /// How much later than the moment from which a timer counts the record of that moment may be made.
    late: Duration,
    records: u64,
    time: SystemTime,
    /// How often a process has taken the run over.
    resumed: u32,
    cancel_requested: bool,
    /// When the time of the run began to count.
    counts_from: SystemTime,
    is_over: bool,
    /// Whether a node has started over.
    starts_over: bool,
    /// A retry or a fork that was requested, and is not carried out.
    request: Option<Request>,
    /// If the run was forked from another, and that from yet another: the numbers of the first records of their own.
    forked: BTreeSet<u64>,
    /// Whether the run was retried. Failed nodes may then continue at any place.
    is_retried: bool,
    /// The nodes that are done, by path.
    completed: BTreeSet<String>,
    /// The nodes of graphs, by path.
    nodes: BTreeMap<String, Progress>,
    /// The requests of nodes that are not done, by path.
    asked: BTreeMap<String, Asked>,
    /// The signals of the run, and which wait has which.
    signals: Signals,
    state: Layers,
    /// The writes of the nodes of each job, by the path of the job.
    wrote: BTreeMap<String, Layers>,
    /// The writes that each completed job has reported to its node.
    told: BTreeMap<String, Vec<StateWrite>>,
    /// Who wrote a key, and with which record: by the node with the graph or the job, empty for the run itself, and the
    /// key.
    written: BTreeMap<(String, String), Vec<(u64, String)>>,
    /// Which nodes have begun since the last commit.
    begun: Vec<String>,
}

/// A retry or a fork that was requested by a process that does not know the workflow.
struct Request {
    is_fork: bool,
    /// What it names: where to begin anew, and what to run again.
    named: (Vec<String>, Vec<String>),
    /// The records that counted before it.
    events: Vec<Stored>,
    /// Whether the run was cancelled since.
    is_cancelled: bool,
}

impl Request {
    /// # Errors
    /// If a retry is not the one that was requested.
    fn is_carried_out(&self, retry: &EventKind) -> Result<(), String> {
        let EventKind::RunRetried { from_nodes, rerun, .. } = retry else { return Ok(()) };
        let named = (from_nodes.clone(), rerun.clone());
        if named == self.named { Ok(()) } else { Err(format!("retries {named:?}, of {:?}", self.named)) }
    }
}

impl Follower {
    pub(super) fn new(scenario: &Scenario, sites: &Arc<Sites>, workflows: &Workflows) -> Follower {
        Follower {
            sites: Arc::clone(sites),
            folds: Folds::new(scenario, sites, workflows),
            events: Vec::new(),
            max_concurrency: scenario.max_concurrency,
            late: Duration::from_millis(scenario.commit_takes),
            records: 0,
            time: SystemTime::UNIX_EPOCH,
            resumed: 0,
            cancel_requested: false,
            counts_from: UNIX_EPOCH,
            is_over: false,
            starts_over: false,
            request: None,
            forked: BTreeSet::new(),
            is_retried: false,
            completed: BTreeSet::new(),
            nodes: BTreeMap::new(),
            asked: BTreeMap::new(),
            signals: Signals::default(),
            state: Layers::new(sites, None, Map::new()),
            wrote: BTreeMap::new(),
            told: BTreeMap::new(),
            written: BTreeMap::new(),
            begun: Vec::new(),
        }
    }

    /// That of a run that is forked from this one, before the record of this number.
    pub(super) fn of_fork(&self, before: Option<u64>) -> Follower {
        let earlier = self.forked.iter().copied().filter(|at| before.is_some_and(|before| *at < before));
        let forked = earlier.chain(before).collect();
        Follower { forked, ..Follower::new(self.folds.scenario(), &self.sites, self.folds.workflows()) }
    }

    /// The run's state, as the fold of what was recorded.
    pub(super) fn state(&self) -> &Map<String, Value> {
        self.state.root()
    }

    pub(super) fn workflow(&self) -> Arc<Definition> {
        Arc::clone(&self.folds.workflows().run)
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// The guarantee that does not hold after it.
    pub(super) fn follow(&mut self, stored: &Stored) -> Result<(), String> {
        let (path, kind) = (&stored.record.path, &stored.record.kind);
        let says = |why| format!("`{path}` {why} (record {}, {})", stored.seq, brief(kind));
        if latest_turn(path) >= TURNS {
            return Err(says("is in a loop that goes round for ever".to_owned()));
        }
        if let EventKind::RunRetried { requested: true, .. } = kind {
            return self.is_requested(stored).map_err(says);
        }
        if let EventKind::RunRetried { .. } = kind {
            let is_first_of_fork = self.forked.contains(&stored.seq);
            if let Some(request) = &mut self.request {
                request.is_carried_out(kind).map_err(says)?;
                request.is_cancelled &= !is_first_of_fork;
            }
            let is_fork = is_first_of_fork || self.is_requested_fork();
            let before = self.request.as_ref().map_or(&self.events, |request| &request.events);
            look_at_voids(&self.sites, before, kind, is_fork).map_err(says)?;
            self.events = self.folds.again(stored).map_err(says)?;
            self.signals = Signals::default();
            for earlier in &self.events {
                self.signals.follow(earlier, &self.sites, true).map_err(says)?;
            }
            self.events.push(stored.clone());
            return self.fold(stored).map_err(says);
        }
        if self.request.is_some() {
            return self.waits_for_its_retry(stored).map_err(says);
        }
        self.events.push(stored.clone());
        self.signals.follow(stored, &self.sites, false).map_err(says)?;
        let derived = self.folds.take(stored).map_err(says)?;
        self.fold(stored).map_err(says)?;
        for record in derived {
            let says = |why| format!("`{}` {why} (follows from record {})", record.path, stored.seq);
            let derived = Stored { record: record.clone(), ..stored.clone() };
            self.events.push(derived.clone());
            if !self.is_retried {
                self.node(&derived).map_err(says)?;
            }
        }
        Ok(())
    }

    /// The records, with their consequences that are not recorded.
    pub(super) fn events(&self) -> Vec<Stored> {
        self.events.clone()
    }

    /// The fold of the run, or of a child of it.
    pub(super) fn fold_of(&self, child: Option<&str>) -> Option<&Run<()>> {
        self.folds.of(child)
    }

    /// The requests of nodes, as the fold of the records.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests_of(&self.folds.requests())
    }

    /// The open questions, as the fold of the records. `None` just after a retry or a fork, before a process has the
    /// run: its store has none then.
    pub(super) fn open_questions(&self) -> Option<Vec<String>> {
        let is_retry = |stored: &Stored| matches!(stored.record.kind, EventKind::RunRetried { .. });
        let begins = |stored: &Stored| is_retry(stored) || matches!(stored.record.kind, EventKind::RunResumed { .. });
        if self.is_over && self.request.is_none() {
            return Some(Vec::new());
        }
        // The records of the process that has the run.
        let own = self.events.iter().rposition(begins).map_or(0, |last| last + 1);
        let is_known = self.events.len() > own || !self.events.iter().any(is_retry);
        let is_known = is_known && self.request.is_none();
        is_known.then(|| self.folds.open_questions())
    }

    /// Those among these, by path, that are no nodes of graphs.
    pub(super) fn requests_of(&self, all: &[(String, String)]) -> Vec<String> {
        let requests = all.iter().filter(|(path, _)| !self.sites.is_node(path));
        requests.map(|(path, item)| format!("{path}: {item}")).collect()
    }

    fn is_requested_fork(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.is_fork)
    }

    /// # Errors
    /// If the run is neither over nor forked here, or more is void than its end: what else is void only a process with
    /// the workflow knows.
    fn is_requested(&mut self, stored: &Stored) -> Result<(), String> {
        let EventKind::RunRetried { voids, from_nodes, rerun, .. } = &stored.record.kind else { return Ok(()) };
        let is_fork = self.forked.contains(&stored.seq);
        let mut voided = voids.iter().flat_map(Range::clone);
        let last = self.events.last().filter(|last| last.record.kind.is_terminal());
        if is_fork && !voided.all(|number| self.folds.is_end(number)) {
            return Err("is a request for a fork, and voids more than an end".to_owned());
        }
        if !is_fork && (!self.is_over || last.is_none_or(|end| voided.ne([end.seq]))) {
            return Err("is a request for a retry, and does not void the end of the run alone".to_owned());
        }
        self.follows_in_order(stored)?;
        let named = (from_nodes.clone(), rerun.clone());
        self.request = Some(match self.request.take() {
            Some(_) if !is_fork => return Err("is requested, and was before".to_owned()),
            // The fork carries out what was requested of its run. A cancellation since does not count in it.
            Some(copied) => Request { is_fork, is_cancelled: false, ..copied },
            None => Request { is_fork, named, events: self.events.clone(), is_cancelled: false },
        });
        self.note(stored);
        Ok(())
    }

    /// The next record of a run whose retry is requested, or which is a requested fork.
    ///
    /// # Errors
    /// If it is neither that of its new process, nor something that is asked of any run.
    fn waits_for_its_retry(&mut self, stored: &Stored) -> Result<(), String> {
        self.follows_in_order(stored)?;
        match &stored.record.kind {
            EventKind::RunResumed { .. } => self.resumed += 1,
            EventKind::SignalReceived { .. } | EventKind::Answered { unchecked: true, .. } => {}
            EventKind::CancelRequested => {
                self.request.iter_mut().for_each(|request| request.is_cancelled = true);
            }
            // By a process that knows no workflow, and none knows it.
            EventKind::RunCancelled if self.request.as_ref().is_some_and(|request| request.is_cancelled) => {
                self.request = None;
            }
            _ => return Err("comes before the retry that was requested".to_owned()),
        }
        self.note(stored);
        Ok(())
    }

    /// Takes a record without folding it: the retry that follows folds them all again.
    fn note(&mut self, stored: &Stored) {
        self.folds.note(stored);
        self.events.push(stored.clone());
    }

    fn follows_in_order(&mut self, stored: &Stored) -> Result<(), String> {
        if stored.seq != self.records {
            return Err(format!("has a record that should have the number {}", self.records));
        }
        if stored.time < self.time {
            return Err(format!("has a record of {}, after one of {}", millis(stored.time), millis(self.time)));
        }
        self.records += 1;
        self.time = stored.time;
        Ok(())
    }

    fn fold(&mut self, stored: &Stored) -> Result<(), String> {
        let is_first = self.records == 0;
        self.follows_in_order(stored)?;
        let is_retry = matches!(stored.record.kind, EventKind::RunRetried { .. });
        let is_fork = self.forked.contains(&stored.seq);
        if is_fork && !is_retry {
            return Err("is the first record of a fork, and does not say so".to_owned());
        }
        if self.is_over != is_retry && !is_fork && !self.is_requested_fork() {
            return Err("has a record behind the end, or is retried before it".to_owned());
        }
        if is_first != matches!(stored.record.kind, EventKind::RunStarted { .. }) {
            return Err("is at the start of the run, or should be".to_owned());
        }
        self.starts_over(stored)?;
        match &stored.record.kind {
            EventKind::RunStarted { .. } => self.counts_from = stored.time,
            EventKind::RunResumed { .. } => self.resumed += 1,
            EventKind::CancelRequested => self.cancel_requested = true,
            EventKind::SignalReceived { .. } | EventKind::SignalsKnown { .. } => {}
            // All records that a fork copies have its time.
            EventKind::RunTimedOut if self.forked.iter().any(|fork| *fork > stored.seq) => {}
            EventKind::RunTimedOut if self.is_over_time(stored.time) => {}
            EventKind::RunTimedOut => return Err("comes before the time is up".to_owned()),
            EventKind::RunCancelling if self.sites.which_job(&stored.record.path).is_none() => {}
            EventKind::RunRetried { .. } => return self.retries(),
            kind if kind.is_terminal() && self.is_retried => self.is_over = true,
            kind if kind.is_terminal() => return self.ends(),
            _ if self.is_retried => return self.after_a_retry(stored),
            _ if self.sites.is_node(&stored.record.path) => return self.node(stored),
            _ => return self.below(stored),
        }
        Ok(())
    }

    /// Once a node has started over nothing else begins or is completed, and the run follows, unless it is cancelled
    /// before.
    fn starts_over(&mut self, stored: &Stored) -> Result<(), String> {
        let path = &stored.record.path;
        let is_node = self.sites.is_node(path) && self.sites.job(path).is_none();
        match &stored.record.kind {
            EventKind::RunRetried { .. } => self.starts_over = false,
            EventKind::RunStartingOver { .. } if self.starts_over => return Err("starts over a second time".to_owned()),
            EventKind::RunStartingOver { .. } => self.starts_over = true,
            EventKind::RunStartedOver { .. } if !self.starts_over => return Err("has not started over".to_owned()),
            EventKind::RunStartedOver { .. } if self.cancel_requested => {
                return Err("has started over, and was cancelled before".to_owned());
            }
            EventKind::NodeStarted { .. } | EventKind::NodeCompleted { .. } if self.starts_over && is_node => {
                return Err("goes on, and the run has started over".to_owned());
            }
            EventKind::RunCompleted { .. } | EventKind::RunFailed { .. } if self.starts_over => {
                return Err("ends otherwise than by starting over".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// The numbers of the signals that no node has taken.
    pub(super) fn signals_not_taken(&self) -> Vec<u64> {
        self.signals.not_taken()
    }

    fn is_over_time(&self, now: SystemTime) -> bool {
        self.sites.time_limit().is_some_and(|limit| now >= self.counts_from + limit)
    }

    /// Completed nodes and the state are folded again from the records that still count.
    fn retries(&mut self) -> Result<(), String> {
        let request = self.request.take();
        self.cancel_requested = request.is_some_and(|request| request.is_cancelled);
        (self.is_over, self.is_retried) = (false, true);
        self.counts_from = self.time;
        self.nodes.clear();
        self.asked.clear();
        self.wrote.clear();
        self.told.clear();
        self.completed.clear();
        self.state = Layers::new(&self.sites, None, Map::new());
        let events = std::mem::take(&mut self.events);
        let held = events.iter().try_for_each(|stored| self.after_a_retry(stored));
        self.events = events;
        held
    }

    /// A node that is done stays done, unless the graph around it begins from its start.
    fn after_a_retry(&mut self, stored: &Stored) -> Result<(), String> {
        let path = &stored.record.path;
        match &stored.record.kind {
            EventKind::NodeStarted { .. } if self.completed.contains(path) => {
                return Err("is done, and begins again".to_owned());
            }
            EventKind::NodeStarted { .. }
                if self.sites.around_all(path).iter().any(|at| self.completed.contains(at)) =>
            {
                return Err("begins in something that is done".to_owned());
            }
            EventKind::NodeStarted { inside: Some(_), .. } => self.forget_inside(path),
            EventKind::NodeCompleted { .. } if self.sites.is_node(path) && !self.completed.insert(path.clone()) => {
                return Err("is completed twice".to_owned());
            }
            EventKind::NodeFailed { then: AfterFailure::Routed { .. }, .. } if self.sites.is_node(path) => {
                self.completed.insert(path.clone());
            }
            _ => {}
        }
        if self.sites.is_node(path) { self.writes(stored).map(drop) } else { Ok(()) }
    }

    fn node(&mut self, stored: &Stored) -> Result<(), String> {
        let (path, kind) = (&stored.record.path, &stored.record.kind);
        if let Some(around) = self.sites.above(path).first()
            && !self.is_under_way(around)
        {
            return Err(format!("is in `{around}`, which is not under way"));
        }
        if let EventKind::NodeStarted { .. } = kind
            && let Some(at) = self.sites.needless_node(path, &self.completed)
        {
            return Err(format!("begins, and what `{at}` leads to is done"));
        }
        if let EventKind::NodeStarted { inside: Some(_), .. } = kind {
            self.forget_inside(path);
        }
        let special = self.sites.special(path).cloned().unwrap_or_default();
        let node = self.nodes.entry(path.clone()).or_default();
        node.follow(stored, &special, self.resumed, self.late)?;
        let since = node.begun_at();
        match kind {
            EventKind::NodeStarted { .. } => self.begun.push(path.clone()),
            EventKind::NodeCompleted { .. } => _ = self.completed.insert(path.clone()),
            EventKind::NodeFailed { cause, attempt, then, .. } => {
                if let AfterFailure::Routed { .. } = then {
                    self.completed.insert(path.clone());
                }
                if let Some(Fault::StateConflict { key, first, second }) = &cause.fault
                    && self.sites.is_too_late(path, first)
                {
                    self.conflicts(path, key, (first, second), since)?;
                    if !matches!(then, AfterFailure::RetryAt { .. }) && *attempt < special.max_attempts() {
                        return Err("is given up, and may be tried again".to_owned());
                    }
                }
            }
            _ => {}
        }
        let writes = self.writes(stored)?;
        self.replaces(path, &writes, since)?;
        if let EventKind::NodeFailed { .. } = kind {
            self.asked.iter_mut().filter(|(at, _)| is_below(at, path)).for_each(|(_, asked)| asked.cut_short());
        }
        if lets_go(kind) {
            self.asked.retain(|at, _| !is_below(at, path));
            self.wrote.retain(|at, _| !is_below(at, path));
            self.told.retain(|at, _| !is_below(at, path));
            let sites = Arc::clone(&self.sites);
            self.nodes.retain(|at, _| sites.job(at).is_none_or(|job| !is_below(job, path)));
        }
        Ok(())
    }

    /// The nodes that have written a key since this record, in the graph of a node.
    fn writers(&self, path: &str, key: &str, since: u64) -> impl Iterator<Item = &str> {
        let of = self.sites.graph_around(path).unwrap_or_default();
        let all = self.written.get(&(of, key.to_owned())).into_iter().flatten();
        all.filter(move |(at, _)| *at > since).map(|(_, writer)| writer.as_str())
    }

    /// Checks that no other node has written a replaced key since the attempt began.
    fn replaces(&mut self, path: &str, writes: &[(StateWrite, String)], since: u64) -> Result<(), String> {
        for (write, _) in writes.iter().filter(|(write, _)| matches!(write.op, StateOp::Set(_))) {
            if let Some(first) = self.writers(path, &write.key, since).next() {
                return Err(format!("replaces what `{first}` has written since it began"));
            }
        }
        let of = self.sites.graph_around(path).unwrap_or_default();
        let at = self.records - 1;
        for (write, writer) in writes {
            self.written.entry((of.clone(), write.key.clone())).or_default().push((at, writer.clone()));
        }
        Ok(())
    }

    /// Checks a conflict: another node has written the key since the attempt began.
    fn conflicts(&self, path: &str, key: &str, (first, second): (&str, &str), since: u64) -> Result<(), String> {
        let is_of_it = second == path || self.sites.above(second).iter().any(|above| above == path);
        let is_so = is_of_it && self.writers(path, key, since).any(|writer| writer == first);
        if is_so { Ok(()) } else { Err(format!("is said to have come too late for `{key}`, which nobody has written")) }
    }

    /// The writes of a job's nodes are those of the job, and then those of its node. Returns the writes to the state
    /// around the node.
    fn writes(&mut self, stored: &Stored) -> Result<Vec<(StateWrite, String)>, String> {
        let path = &stored.record.path;
        if let EventKind::NodeCompleted { state, .. } | EventKind::NodeCollecting { state, .. } = &stored.record.kind {
            let is_in_there = |of: &[StateWrite]| of.is_empty() || state.windows(of.len()).any(|some| some == of);
            let is_done = |job: &String| self.asked.get(job).is_some_and(Asked::is_done);
            let left = self.told.iter().find(|(job, of)| is_below(job, path) && is_done(job) && !is_in_there(of));
            if let Some((job, _)) = left {
                return Err(format!("has not written what `{job}` has"));
            }
        }
        let layers = match self.sites.job(path) {
            Some(job) => {
                let empty = || Layers::new(&self.sites, Some(job), Map::new());
                self.wrote.entry(job.to_owned()).or_insert_with(empty)
            }
            None => &mut self.state,
        };
        layers.take(stored).map_err(|(_, fault)| format!("writes what cannot be folded: {fault}"))
    }

    fn is_under_way(&self, path: &str) -> bool {
        let is_node = self.nodes.get(path).is_some_and(Progress::is_under_way);
        is_node || self.asked.get(path).is_some_and(Asked::is_under_way)
    }

    /// A graph begins from its start.
    fn forget_inside(&mut self, path: &str) {
        let sites = Arc::clone(&self.sites);
        let is_inside = |at: &String| sites.above(at).iter().any(|above| above == path);
        let gone: Vec<String> = self.nodes.keys().filter(|at| is_inside(at)).cloned().collect();
        self.asked.retain(|at, _| !gone.iter().any(|node| is_below(at, node)));
        self.nodes.retain(|at, _| !is_inside(at));
        self.completed.retain(|at| !is_inside(at));
        self.asked.retain(|at, _| !is_below(at, path));
        self.wrote.retain(|at, _| at != path && !is_below(at, path));
        self.told.retain(|at, _| at != path && !is_below(at, path));
        self.written.retain(|(of, _), _| of != path && !is_below(of, path) && !is_inside(of));
    }

    /// A record of a request of a node.
    fn below(&mut self, stored: &Stored) -> Result<(), String> {
        let path = &stored.record.path;
        let node = self.nodes.range(..=path.clone()).rev().find(|(at, _)| is_below(path, at));
        // Between two attempts its questions stay open, and the next one has the answer, unless it is cancelled before.
        let is_between = matches!(
            stored.record.kind,
            EventKind::Answered { .. } | EventKind::SignalDelivered { .. } | EventKind::RequestWithdrawn
        );
        let may_ask = |node: &Progress| node.is_under_way() || (is_between && (node.is_delayed() || node.is_due()));
        if !node.is_some_and(|(_, node)| may_ask(node)) {
            return Err("is below no node that is under way".to_owned());
        }
        self.asked.entry(path.clone()).or_default().follow(stored, self.resumed, self.late)?;
        match &stored.record.kind {
            // Its own requests are withdrawn with it.
            EventKind::RequestWithdrawn => {
                self.asked.retain(|at, _| !is_below(at, path));
                self.nodes.retain(|at, _| !is_below(at, path));
            }
            EventKind::NodeStarted { inside: Some(_), .. } => self.forget_inside(path),
            EventKind::NodeCompleted { state, .. } => {
                let mut told = Map::new();
                fold_into(&mut told, state).map_err(|fault| format!("has written what cannot be folded: {fault}"))?;
                if self.wrote.get(path).is_some_and(|wrote| *wrote.root() != told) {
                    return Err("has not written what its nodes have".to_owned());
                }
                self.told.insert(path.clone(), state.clone());
            }
            _ => {}
        }
        match &stored.record.kind {
            EventKind::NodeCompleted { .. } | EventKind::NodeFailed { .. } => {
                let is_left = |(at, node): &(&String, &Progress)| is_below(at, path) && !node.is_done();
                if let Some((at, _)) = self.nodes.iter().find(is_left) {
                    return Err(format!("is over, and `{at}` is not"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A commit is complete. A node that makes room for another may be recorded behind it, but not in a later commit.
    ///
    /// # Errors
    /// The guarantee that does not hold now.
    pub(super) fn commits(&mut self) -> Result<(), String> {
        let begun = std::mem::take(&mut self.begun);
        let under_way = |path: &&String| self.nodes.get(*path).is_some_and(Progress::is_under_way);
        begun.iter().filter(under_way).try_for_each(|path| {
            self.has_room(path).map_err(|why| format!("`{path}` {why} (a record before {})", self.records))
        })
    }

    /// No more nodes are under way than may be.
    fn has_room(&self, path: &str) -> Result<(), String> {
        let job = self.sites.job(path);
        let under_way = || self.leaves_under_way().filter(|at| self.sites.job(at) == job);
        // Others may begin in the place of those that wait. The ledger knows which run.
        let may_wait = |of: &str| self.asked.keys().any(|path| is_below(path, of) && !path.contains("/step:"));
        let count = under_way().filter(|at| *at == path || !may_wait(at)).count();
        let most = self.max_concurrency;
        if most > 0 && count > most {
            return Err(format!("begins as one of {count} nodes, of at most {most}"));
        }
        let overfull = || self.sites.overfull(path, under_way());
        let many_items = || self.sites.many_items(path, under_way());
        match self.sites.crowded(path, under_way()).or_else(overfull).or_else(many_items) {
            Some(crowded) => Err(format!("begins, and {crowded}")),
            None => Ok(()),
        }
    }

    /// The nodes without a graph inside that are under way.
    fn leaves_under_way(&self) -> impl Iterator<Item = &str> {
        let leaves = self.nodes.iter().filter(|(path, node)| node.is_under_way() && !self.sites.is_scope(path));
        leaves.map(|(path, _)| path.as_str())
    }

    /// The run is over, and so is all that was under way.
    fn ends(&mut self) -> Result<(), String> {
        self.is_over = true;
        match self.nodes.iter().find(|(_, node)| !node.is_done()) {
            Some((path, _)) => Err(format!("is over, and `{path}` is not")),
            None => Ok(()),
        }
    }

    /// The run reports that it waits: then everything under way waits for an answer or a timer.
    ///
    /// # Errors
    /// The path that does not wait.
    pub(super) fn rests(&self) -> Result<(), String> {
        self.signals.rests()?;
        if self.is_retried {
            return Ok(());
        }
        let waits = |of: &str| self.asked.iter().any(|(path, asked)| is_below(path, of) && asked.is_waited_for());
        if let Some(path) = self.leaves_under_way().find(|path| !waits(path)) {
            return Err(format!("the run is said to wait, and `{path}` waits for nothing (record {})", self.records));
        }
        let moves = |node: &Progress| node.is_delayed() || node.is_due();
        if let Some((path, _)) = self.nodes.iter().find(|(_, node)| moves(node)) {
            return Err(format!("the run is said to wait, and `{path}` is about to be tried again"));
        }
        let moves = |path: &str, asked: &Asked| asked.is_under_way() && !waits(path);
        match self.asked.iter().find(|(path, asked)| moves(path, asked)) {
            Some((path, _)) => Err(format!("the run is said to wait, and `{path}` waits for nothing")),
            None if self.leaves_under_way().next().is_none() => Err("the run is said to wait, for nothing".to_owned()),
            None => Ok(()),
        }
    }
}

/// Whether a record ends a node and all its requests, in any way.
fn lets_go(kind: &EventKind) -> bool {
    match kind {
        EventKind::NodeCompleted { .. }
        | EventKind::NodeCollecting { .. }
        | EventKind::NodeCancelled
        | EventKind::RunStartingOver { .. } => true,
        EventKind::NodeFailed { cause, .. } => cause.fault.as_ref().is_some_and(Fault::is_cut_short),
        _ => false,
    }
}

/// Whether a path is strictly below another.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

fn brief(kind: &EventKind) -> String {
    serde_json::to_string(kind).unwrap_or_default().chars().take(100).collect()
}
