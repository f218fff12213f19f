//! Which records of a run are voided when it is retried or forked.

use std::ops::Range;
use std::sync::Arc;

use super::changed::Adapt;
use super::inner::Engine;
use super::replay::begin;
use super::requests::{child_workflow_around, is_end, retry_requests};
use super::voided::effective;
use crate::catch::caught;
use crate::compile::executable_in;
use crate::core::{Place, Run, StopReason, TaskId};
use crate::driver::{NoValues, Taken};
use crate::event::{AfterFailure, EventKind};
use crate::fault::Fault;
use crate::halt::Halt;
use crate::shared::below;
use crate::sorted::{SortedMap, SortedSet};
use crate::store::{RunHeader, Stored};
use crate::table::{Definition, Executable};

/// A record that is not void, with its place in the graph.
struct Fact {
    stored: Stored,
    /// The node of the record, or the node that made the request of the record.
    task: Option<TaskId>,
    is_request: bool,
    stopping: Option<StopReason>,
    /// The attempt of a node whose graph is under way.
    inside: Option<u32>,
    /// Whether its node waited for its next attempt: then its own body makes and drops no requests.
    between_attempts: bool,
}

/// The state of a node after the whole history.
struct Node {
    place: Place,
    is_leaf: bool,
    /// The node around it, and the attempt of that node.
    parent: Option<(TaskId, u32)>,
    attempts: u32,
    /// Whether the last of them has failed, and another was to follow.
    backs_off: bool,
    is_once_only: bool,
    end: End,
    /// Whether it failed because an attempt was interrupted.
    was_interrupted: bool,
}

impl Node {
    fn is_cut_short(&self) -> bool {
        let is_in_the_middle = self.end == End::Stopped && self.attempts > 0 && !self.backs_off;
        self.is_once_only && (is_in_the_middle || self.was_interrupted)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// None is recorded: it is under way, or was stopped while it waited or with the graph inside of it.
    None,
    Completed,
    Failed,
    /// Because the graph around it ended.
    Stopped,
    /// Because nothing needed its output.
    Unneeded,
}

impl Engine {
    /// The records that are voided when a run is retried: those that led to its end, and those of nodes that are to run
    /// again. Computed once, from the history alone, and recorded. Only records before `until` are voided: a fork
    /// copies no others.
    ///
    /// # Errors
    /// If the records do not fit the current graph.
    pub(super) async fn voids(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        mut history: Vec<Stored>,
        until: u64,
        (from_nodes, rerun): (&[String], &[String]),
    ) -> Result<Vec<Range<u64>>, Halt> {
        let recorded = history.clone();
        self.adapt(header, definition, &mut history, Adapt::Names).await?;
        let now = |path: &String| path_now(&recorded, &history, path);
        let from_nodes: Vec<String> = from_nodes.iter().map(now).collect();
        let rerun: Vec<String> = rerun.iter().map(now).collect();
        let executable = executable_in(&self.0.env, definition);
        let voided = caught(|| voids_of(&executable, definition, effective(history), until, &from_nodes, &rerun));
        let voided = voided.unwrap_or_else(|fault: Fault| Err(Halt::broken(&definition.name, &fault)))?;
        Ok(ranges(&voided))
    }

    /// The path of the child workflow around a recorded path, as it was recorded.
    ///
    /// # Errors
    /// If the records do not fit the current graph.
    pub(super) async fn child_workflow_around(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        recorded: &[Stored],
        path: &str,
    ) -> Result<Option<String>, Halt> {
        let mut history = recorded.to_vec();
        self.adapt(header, definition, &mut history, Adapt::Names).await?;
        let around = child_workflow_around(&history, &path_now(recorded, &history, path));
        Ok(around.map(|number| recorded[number].record.path.clone()))
    }
}

/// The current form of a recorded path, whose nodes may have been renamed.
fn path_now(recorded: &[Stored], history: &[Stored], path: &str) -> String {
    let at = recorded.iter().position(|stored| stored.record.path == path);
    at.map_or(path, |at| &history[at].record.path).to_owned()
}

fn voids_of(
    executable: &Arc<Executable>,
    definition: &Arc<Definition>,
    history: Vec<Stored>,
    until: u64,
    from_nodes: &[String],
    rerun: &[String],
) -> Result<SortedSet<u64>, Halt> {
    let past = Past::of(executable, definition, &history, until)?;
    let mut voids = past.led_to_the_end();
    let is_asked = !(from_nodes.is_empty() && rerun.is_empty());
    for path in from_nodes {
        past.void_node(path, true, &mut voids);
    }
    for path in rerun {
        past.void_node(path, false, &mut voids);
    }
    if is_asked {
        // Remaining records of nodes behind them no longer follow from any other record.
        past.void_what_does_not_fit(executable, definition, &mut voids)?;
    }
    voids.retain(|number| *number < until);
    Ok(voids)
}

/// The history of a run, folded.
struct Past {
    first: Option<Stored>,
    facts: Vec<Fact>,
    nodes: SortedMap<TaskId, Node>,
    /// The run is to continue from the records before this number.
    until: u64,
}

impl Past {
    fn of(
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
        history: &[Stored],
        until: u64,
    ) -> Result<Past, Halt> {
        let mut past = Past { first: history.first().cloned(), facts: Vec::new(), nodes: SortedMap::new(), until };
        let Some((first, rest)) = history.split_first() else { return Ok(past) };
        let mut replay = begin(executable, definition, first)?;
        for stored in rest {
            let task = replay.task_at(&stored.record.path).filter(|task| replay.run.is_live(*task));
            let stopping = task.and_then(|task| replay.run.stopping(task));
            let inside = task.filter(|task| replay.run.is_inside(*task)).map(|task| replay.run.attempts(task));
            if let Some(task) = task {
                past.see(&replay.run, task, stored, stopping).ok_or_else(|| {
                    let message = format!("`{}` is under way and nowhere", stored.record.path);
                    Halt::broken(&definition.name, &Fault::Context { message })
                })?;
            }
            let taken = replay.take(stored.clone(), &mut NoValues(Arc::clone(&executable.program)))?;
            replay.run.take_end();
            let (task, is_request) = match taken {
                Taken::Request { task, .. } => (Some(task), true),
                Taken::Applied(_) | Taken::Nothing => (task, false),
            };
            let between_attempts = task.and_then(|task| past.nodes.get(&task)).is_some_and(|node| node.backs_off);
            past.facts.push(Fact { stored: stored.clone(), task, is_request, stopping, inside, between_attempts });
        }
        Ok(past)
    }

    /// Adds a record of a node. `None` if its task does not exist.
    fn see(&mut self, run: &Run<()>, task: TaskId, stored: &Stored, stopping: Option<StopReason>) -> Option<()> {
        let place = run.place_of(task)?;
        let (is_leaf, parent) = (run.is_leaf(task), run.parent_of(task));
        let node = self.nodes.get_or_insert_with(task, || Node {
            place,
            is_leaf,
            parent,
            attempts: 0,
            backs_off: false,
            is_once_only: run.is_once_only(task),
            end: End::None,
            was_interrupted: false,
        });
        match &stored.record.kind {
            EventKind::NodeStarted { .. } => (node.attempts, node.backs_off) = (node.attempts + 1, false),
            EventKind::NodeFailed { then: AfterFailure::RetryAt { .. }, .. } => node.backs_off = true,
            EventKind::NodeCompleted { .. } | EventKind::NodeCollecting { .. } => node.end = End::Completed,
            EventKind::NodeFailed { then: AfterFailure::Routed { .. }, .. } => node.end = End::Completed,
            EventKind::NodeFailed { then: AfterFailure::Fails, cause, .. } => {
                node.end = End::Failed;
                node.was_interrupted = cause.fault.as_ref().is_some_and(Fault::is_cut_short);
            }
            EventKind::NodeCancelled if stopping == Some(StopReason::OutputUnneeded) => node.end = End::Unneeded,
            EventKind::NodeCancelled | EventKind::RunStartingOver { .. } => node.end = End::Stopped,
            _ => {}
        }
        Some(())
    }

    /// Whether the end of the graph inside of this node's attempt led to the end of the run.
    fn leads_to_the_end(&self, parent: Option<(TaskId, u32)>) -> bool {
        let Some((task, attempt)) = parent else { return true };
        let node = self.nodes.get(&task);
        debug_assert!(node.is_some(), "a node with a graph inside has started");
        node.is_some_and(|node| {
            let has_ended_with_it = matches!(node.end, End::None | End::Failed | End::Stopped);
            node.attempts == attempt && !node.backs_off && has_ended_with_it && self.leads_to_the_end(node.parent)
        })
    }

    /// The records that led to the end of the run. A leaf that failed, or was stopped, has all its attempts again and
    /// waits for its turn like any other; the records of its requests stay. An attempt that may run at most once, and was
    /// stopped in the middle, counts as interrupted: it may have had its effect.
    fn led_to_the_end(&self) -> SortedSet<u64> {
        let mut voids = SortedSet::new();
        let mut again = SortedSet::new();
        for (task, node) in self.nodes.iter() {
            let counts = matches!(node.end, End::Failed | End::Stopped) && self.leads_to_the_end(node.parent);
            if counts && node.is_leaf && !node.is_cut_short() {
                again.insert(*task);
            }
        }
        for fact in &self.facts {
            let kind = &fact.stored.record.kind;
            let counts = || {
                let node = fact.task.and_then(|task| self.nodes.get(&task)).filter(|_| !fact.is_request);
                node.is_some_and(|node| self.leads_to_the_end(node.parent))
            };
            let is_void = match kind {
                kind if kind.is_terminal() => true,
                EventKind::CancelRequested
                | EventKind::RunCancelling
                | EventKind::RunTimedOut
                | EventKind::RunStartingOver { .. } => !fact.is_request,
                EventKind::NodeFailed { then: AfterFailure::Fails, .. } if !fact.is_request => counts(),
                EventKind::NodeCancelled if !fact.is_request => {
                    fact.stopping != Some(StopReason::OutputUnneeded) && counts()
                }
                // Also if the end of the run overtook what follows from the limit.
                EventKind::TimerFired if !fact.is_request => {
                    let node = fact.task.and_then(|task| self.nodes.get(&task));
                    let is_limit = |node: &Node| {
                        let is_of_last = fact.inside == Some(node.attempts) && !node.backs_off;
                        is_of_last && matches!(node.end, End::Failed | End::Stopped | End::None)
                    };
                    node.is_some_and(is_limit) && counts()
                }
                EventKind::ItemCancelled { .. } if !fact.is_request => {
                    fact.task.zip(fact.inside).is_some_and(|attempt| self.leads_to_the_end(Some(attempt)))
                }
                // The request was withdrawn by the cancellation of its node, which now waits for its next attempt
                // again.
                EventKind::RequestWithdrawn if fact.is_request && fact.between_attempts => {
                    let node = fact.task.and_then(|task| self.nodes.get(&task));
                    node.is_some_and(|node| self.leads_to_the_end(node.parent))
                }
                _ => false,
            };
            if is_void {
                voids.insert(fact.stored.seq);
            }
        }
        self.void_attempts(&again, &mut voids);
        voids.extend(self.answers_refused());
        voids
    }

    /// Answers that were recorded unchecked, and had not been accepted when the run ended: their callers got the error
    /// that the question was withdrawn.
    fn answers_refused(&self) -> Vec<u64> {
        let mut unchecked: Vec<&Stored> = Vec::new();
        let mut refused = Vec::new();
        for stored in self.facts.iter().map(|fact| &fact.stored).take_while(|stored| stored.seq < self.until) {
            match &stored.record.kind {
                EventKind::Answered { unchecked: true, .. } => unchecked.push(stored),
                EventKind::AnswerAccepted | EventKind::AnswerRejected { .. } => {
                    unchecked.retain(|answer| answer.record.path != stored.record.path);
                }
                kind if kind.is_terminal() => refused.extend(unchecked.drain(..).map(|answer| answer.seq)),
                _ => {}
            }
        }
        refused
    }

    /// Voids the attempts of leaves: they have all their attempts again and wait for their turn. Failed requests are
    /// retried.
    fn void_attempts(&self, leaves: &SortedSet<TaskId>, voids: &mut SortedSet<u64>) {
        let of_them = |fact: &&Fact| fact.task.is_some_and(|task| leaves.contains(&task));
        let (requests, own): (Vec<&Fact>, Vec<&Fact>) = self.facts.iter().filter(of_them).partition(|at| at.is_request);
        let is_attempt = |fact: &&Fact| {
            let kind = &fact.stored.record.kind;
            matches!(kind, EventKind::NodeStarted { .. } | EventKind::NodeFailed { .. } | EventKind::TimerFired)
        };
        voids.extend(own.into_iter().filter(is_attempt).map(|fact| fact.stored.seq));
        let requests: Vec<&Stored> = requests.into_iter().map(|fact| &fact.stored).collect();
        retry_requests(&requests, self.until, voids);
    }

    /// Voids a node that is to run again, and all nodes behind it. `anew`: as if it had never started; otherwise the
    /// recorded results of its requests are returned to it. For a request, the node that made it runs again.
    fn void_node(&self, path: &str, anew: bool, voids: &mut SortedSet<u64>) {
        let at_path = |fact: &&Fact| fact.stored.record.path == path;
        // A node may also have run in an earlier attempt at the graph around it, which is void. If it ran only there,
        // the retry reaches it anyway.
        let Some(fact) = self.facts.iter().rfind(|fact| fact.task.is_some() && at_path(fact)) else { return };
        let Some(task) = fact.task.filter(|task| self.is_current(*task)) else { return };
        for at in &self.facts {
            let is_void = match at.task {
                Some(of) if self.is_same_node(of, task) => self.is_done_again(fact, at, anew),
                Some(of) => (anew && self.is_inside(of, task)) || self.is_behind(of, task),
                None => false,
            };
            if is_void {
                voids.insert(at.stored.seq);
            }
        }
        self.reopen_around(task, voids);
    }

    /// Whether a record is void, of a node that a retry names, or of which it names a request.
    fn is_done_again(&self, named: &Fact, at: &Fact, anew: bool) -> bool {
        let (path, record) = (&named.stored.record.path, &at.stored.record.path);
        match (named.is_request, at.is_request) {
            // Children above it are not done either.
            (true, true) => {
                record == path || below(record, path) || (below(path, record) && is_end(&at.stored.record.kind))
            }
            (false, true) => anew,
            (true, false) => true,
            // A node with a graph inside that is not to run anew only loses its end: the records of that graph stay.
            (false, false) => {
                let is_leaf = at.task.and_then(|task| self.nodes.get(&task)).is_none_or(|node| node.is_leaf);
                anew || is_leaf || is_end(&at.stored.record.kind)
            }
        }
    }

    /// Voids the ends of the nodes around it too, and the nodes behind those run again.
    fn reopen_around(&self, task: TaskId, voids: &mut SortedSet<u64>) {
        let Some((around, _)) = self.nodes.get(&task).and_then(|node| node.parent) else { return };
        for at in &self.facts {
            let Some(of) = at.task else { continue };
            let is_end_of_it = of == around && !at.is_request && is_end(&at.stored.record.kind);
            if is_end_of_it || self.is_behind(of, around) {
                voids.insert(at.stored.seq);
            }
        }
        self.reopen_around(around, voids);
    }

    /// Whether the node belongs to the last attempt of each graph around it, and none of these is to begin anew.
    fn is_current(&self, task: TaskId) -> bool {
        let Some((around, attempt)) = self.nodes.get(&task).and_then(|node| node.parent) else { return true };
        let is_last = |node: &Node| node.attempts == attempt && !node.backs_off;
        self.nodes.get(&around).is_some_and(is_last) && self.is_current(around)
    }

    /// Whether a node is in the graph inside another, at any depth.
    fn is_inside(&self, task: TaskId, around: TaskId) -> bool {
        let parent = self.nodes.get(&task).and_then(|node| node.parent);
        parent.is_some_and(|(parent, _)| parent == around || self.is_inside(parent, around))
    }

    /// Whether both are one node in one turn: a collecting node has a task for each arrival.
    fn is_same_node(&self, task: TaskId, other: TaskId) -> bool {
        let (Some(one), Some(other)) = (self.nodes.get(&task), self.nodes.get(&other)) else {
            debug_assert!(false, "what has records has started");
            return task == other;
        };
        one.parent == other.parent
            && Arc::ptr_eq(&one.place.scope, &other.place.scope)
            && (one.place.node, &one.place.turns) == (other.place.node, &other.place.turns)
    }

    /// Whether a node, or one around it, comes behind another.
    fn is_behind(&self, task: TaskId, of: TaskId) -> bool {
        let (Some(at), Some(first)) = (self.nodes.get(&task), self.nodes.get(&of)) else {
            debug_assert!(false, "what has records has started");
            return false;
        };
        if at.parent == first.parent && Arc::ptr_eq(&at.place.scope, &first.place.scope) {
            let (turns, since) = (at.place.turns.numbers(), first.place.turns.numbers());
            let (node, first) = (at.place.node as usize, first.place.node as usize);
            return at.place.scope.layout.is_behind((node, &turns), (first, &since));
        }
        at.parent.is_some_and(|(parent, _)| parent != of && self.is_behind(parent, of))
    }

    fn void_what_does_not_fit(
        &self,
        executable: &Arc<Executable>,
        definition: &Arc<Definition>,
        voids: &mut SortedSet<u64>,
    ) -> Result<(), Halt> {
        let Some(first) = &self.first else { return Ok(()) };
        let mut replay = begin(executable, definition, first)?;
        let mut stopped = SortedSet::new();
        for fact in &self.facts {
            if voids.contains(&fact.stored.seq) {
                continue;
            }
            let taken = replay.take(fact.stored.clone(), &mut NoValues(Arc::clone(&executable.program)));
            replay.run.take_end();
            if taken.is_err() {
                voids.insert(fact.stored.seq);
                if fact.stored.record.kind == EventKind::NodeCancelled && !fact.is_request {
                    stopped.extend(fact.task);
                }
            }
        }
        // The reason why they were stopped is void. If they counted as begun, they would all be under way at once.
        self.void_attempts(&stopped, voids);
        Ok(())
    }
}

fn ranges(numbers: &SortedSet<u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.end == *number => last.end += 1,
            _ => ranges.push(*number..*number + 1),
        }
    }
    ranges
}
