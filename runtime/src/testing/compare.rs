//! A run that was crashed, beside one that was not.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::lab_run::described;
use super::places::Places;
use super::steps::Paths;
use super::world::Call;
use crate::engine::Outcome;
use crate::event::{AfterFailure, Event, EventKind};
use crate::fault::Fault;

/// A run that has ended or waits, with what it has done.
pub(super) struct Ran {
    pub(super) workflow: &'static str,
    pub(super) outcome: Outcome<Json>,
    pub(super) events: Vec<Event>,
    pub(super) calls: Vec<Call>,
    /// As text, in the order in which the lab compares them.
    pub(super) effects: Vec<String>,
}

/// A run that was crashed and resumed.
pub(super) struct Crashed {
    /// The number of the commit that was lost.
    pub(super) commit: usize,
    /// What the last stored commit was.
    pub(super) last: String,
    /// What the lost one was.
    pub(super) lost: String,
    /// What was stored at the crash.
    pub(super) stored: Vec<(String, EventKind)>,
    pub(super) ran: Ran,
}

/// The label and the output of a completed node; of one that takes the arm `err`, the error.
type Gave<'r> = (Option<&'r str>, Option<&'r Json>);

impl Ran {
    /// The results of nodes, children and steps; of those at one path, the last.
    fn results(&self) -> BTreeMap<&str, Gave<'_>> {
        let results = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::NodeCompleted { label, output, .. } => {
                Some((event.path.as_str(), (label.as_deref(), output.as_ref())))
            }
            EventKind::NodeFailed { then: AfterFailure::Routed { label, error }, .. } => {
                Some((event.path.as_str(), (Some(label.as_str()), Some(error))))
            }
            _ => None,
        });
        results.collect()
    }

    /// The first node, by the order in which they completed, that has another result in another run.
    pub(super) fn differs_from(&self, other: &Ran) -> Option<&str> {
        let (own, others) = (self.results(), other.results());
        let mut paths = self.events.iter().map(|event| event.path.as_str());
        paths.find(|path| own.get(path).zip(others.get(path)).is_some_and(|(own, other)| own != other))
    }

    /// The first child or step that another run has not begun, though the node that has called it has completed in both. One with another
    /// key is taken for it.
    pub(super) fn lacks_in(&self, other: &Ran) -> Option<&str> {
        let (own, others) = (self.requests(), other.requests());
        let (own_results, other_results) = (self.results(), other.results());
        let begun: BTreeSet<&str> = others.iter().copied().collect();
        let with_name =
            |requests: &[&str], name: &str| requests.iter().filter(|path| without_key(path) == name).count();
        own.iter().copied().find(|path| {
            let caller = path.rsplit_once('/').map_or("", |(caller, _)| caller);
            let name = without_key(path);
            let is_missing = !begun.contains(path) && with_name(&others, name) < with_name(&own, name);
            is_missing && own_results.contains_key(caller) && other_results.contains_key(caller) && !is_of_others(path)
        })
    }

    /// The first child or step that another run has under no key that is the same.
    pub(super) fn is_keyed_anew_in(&self, other: &Ran) -> Option<&str> {
        let others: BTreeSet<&str> = other.requests().into_iter().collect();
        self.requests().into_iter().find(|path| !others.contains(path) && !is_of_others(path))
    }

    /// The children and steps with the name of one, whatever their keys are.
    fn alike(&self, path: &str) -> Vec<&str> {
        self.requests().into_iter().filter(|other| without_key(other) == without_key(path)).collect()
    }

    /// The children and steps of nodes, by their paths in the order in which they were begun.
    fn requests(&self) -> Vec<&str> {
        let paths = Paths::of(self.workflow, self.events.iter().map(|event| (event.path.as_str(), &event.kind)));
        let mut seen = BTreeSet::new();
        let begun = self.events.iter().filter(|Event { path, kind, .. }| {
            let is_begun = matches!(kind, EventKind::NodeStarted { .. } | EventKind::NodeCompleted { .. });
            is_begun && path.contains('/') && !paths.is_in_graph(path) && seen.insert(path)
        });
        begun.map(|event| event.path.as_str()).collect()
    }

    /// The paths at which an `at_most_once` attempt was interrupted.
    fn interrupted(&self) -> BTreeSet<String> {
        let is_cut_short = |event: &&Event| match &event.kind {
            EventKind::NodeFailed { cause, .. } => cause.fault.as_ref().is_some_and(Fault::is_cut_short),
            _ => false,
        };
        self.events.iter().filter(is_cut_short).map(|event| event.path.clone()).collect()
    }

    fn calls_at(&self, node: TypeId, path: &str) -> usize {
        self.calls.iter().filter(|call| call.node == node && call.path == path).count()
    }
}

impl Crashed {
    /// A problem of this run, with the crash before it.
    pub(super) fn report(&self, problem: &str) -> String {
        let Crashed { commit, last, lost, .. } = self;
        format!("crash at commit {commit}: {problem}\n  stored: {last}\n  lost:   {lost}")
    }

    /// The paths whose attempts were under way at the crash, and so have run again.
    fn under_way(&self) -> Vec<&str> {
        let mut open: Vec<&str> = Vec::new();
        for (path, kind) in &self.stored {
            match kind {
                EventKind::NodeStarted { inside: None, .. } => open.push(path),
                kind if kind.ends_attempt() => open.retain(|open| open != path),
                _ => {}
            }
        }
        open
    }

    /// The same, for a message, and which nodes have begun behind the crash.
    pub(super) fn suspects(&self) -> String {
        let begun = self.ran.events.iter().skip(self.stored.len());
        let mut after: Vec<&str> = Vec::new();
        for event in begun.filter(|event| matches!(event.kind, EventKind::NodeStarted { inside: None, .. })) {
            if !after.contains(&event.path.as_str()) {
                after.push(&event.path);
            }
        }
        format!("{}{}", listed("under way at the crash", &self.under_way()), listed("begun after the crash", &after))
    }

    /// How many calls of a mock at a path had not ended by what was stored.
    fn calls_under_way(&self, node: TypeId, path: &str) -> usize {
        let is_call = |call: &&Call| call.process == 0 && call.node == node && call.path == path;
        let calls = self.ran.calls.iter().filter(is_call).count();
        let ended = self.stored.iter().filter(|(at, kind)| at == path && kind.ends_attempt()).count();
        calls.saturating_sub(ended)
    }
}

/// A path without the key of its last part: `pay/charge/capture:4000` is `pay/charge/capture`.
fn without_key(path: &str) -> &str {
    let last = path.rfind('/').map_or(0, |at| at + 1);
    path[last..].find(':').map_or(path, |at| &path[..last + at])
}

/// Whether it is a step of the state beyond a run, or of the session of an agent: whether there is one depends on what others do at that
/// time, and not on the node.
fn is_of_others(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.starts_with("state.") || name.starts_with("session:")
}

/// A line of a message; nothing if there are no paths.
fn listed(what: &str, paths: &[&str]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    if paths.is_empty() { String::new() } else { format!("\n  {what}: {}", paths.join(", ")) }
}

/// Asserts that a crashed run is like one that was not crashed. Returns the paths of `at_most_once` attempts that the crash has
/// interrupted: then the run goes another way, and only calls are compared.
///
/// # Errors
/// What differs.
pub(super) fn compare(places: &Places, undisturbed: &Ran, crash: &Crashed) -> Result<BTreeSet<String>, String> {
    let mut interrupted = crash.ran.interrupted();
    interrupted.retain(|path| !undisturbed.interrupted().contains(path));
    compare_calls(places, undisturbed, crash, !interrupted.is_empty())?;
    if interrupted.is_empty() {
        compare_results(undisturbed, crash)?;
        compare_requests(undisturbed, crash)?;
    }
    Ok(interrupted)
}

fn compare_calls(places: &Places, undisturbed: &Ran, crash: &Crashed, is_interrupted: bool) -> Result<(), String> {
    let mut called: Vec<(TypeId, &str, &str)> = Vec::new();
    for call in &crash.ran.calls {
        if !called.iter().any(|(node, _, path)| *node == call.node && *path == call.path) {
            called.push((call.node, &call.name, &call.path));
        }
    }
    for (node, name, path) in &called {
        let is_once = places.find(path).is_some_and(|place| {
            places.graphs[place.graph].entry(place.node).is_some_and(|entry| entry.options.at_most_once)
        });
        let before = undisturbed.calls_at(*node, path);
        // A node that only an interrupted run comes to, and one whose path depends on more than the input.
        let expected = if before == 0 { 1 } else { before };
        let repeated = if is_once { 0 } else { crash.calls_under_way(*node, path) };
        let calls = crash.ran.calls_at(*node, path);
        if calls > expected + repeated {
            return Err(crash.report(&format!(
                "`{name}` is called {calls} times at `{path}`, and at most {} are expected\n  undisturbed: {before}\n  under way \
                 at the crash: {repeated}",
                expected + repeated
            )));
        }
    }
    if is_interrupted {
        return Ok(());
    }
    let nodes: BTreeSet<TypeId> = called.iter().map(|(node, ..)| *node).collect();
    for node in nodes {
        let of = |ran: &Ran| ran.calls.iter().filter(|call| call.node == node).count();
        let at: Vec<(&str, &str)> =
            called.iter().filter(|(other, ..)| *other == node).map(|(_, name, path)| (*name, *path)).collect();
        let repeated: usize = at.iter().map(|(_, path)| crash.calls_under_way(node, path)).sum();
        let (before, calls) = (of(undisturbed), of(&crash.ran));
        if calls > before + repeated {
            let name = at.first().map_or("", |(name, _)| name);
            let new = at
                .iter()
                .filter(|(_, path)| undisturbed.calls_at(node, path) == 0)
                .map(|(_, path)| format!("`{path}`"));
            return Err(crash.report(&format!(
                "`{name}` is called {calls} times, and at most {} are expected\n  undisturbed: {before}\n  under way at the \
                 crash: {repeated}\n  called only here: {}\n  help: a child or a step that gets another name or key in each run is \
                 not found again; make its `.key(..)` of the input",
                before + repeated,
                new.collect::<Vec<_>>().join(", ")
            )));
        }
    }
    Ok(())
}

fn compare_requests(undisturbed: &Ran, crash: &Crashed) -> Result<(), String> {
    if let Some(added) = crash.ran.lacks_in(undisturbed) {
        return Err(crash.report(&addition(added, undisturbed, &crash.ran)));
    }
    let Some(missing) = undisturbed.lacks_in(&crash.ran) else { return Ok(()) };
    let (caller, _) = missing.rsplit_once('/').unwrap_or_default();
    Err(crash.report(&format!(
        "`{caller}` has completed, and `{missing}`, which it calls without a crash, was not executed\n  help: a node that runs \
         again has to call the same: what says that it was done already may be in a record, and in nothing that is kept in another \
         way, such as a global or a file"
    )))
}

/// The message for a child or a step that a crashed run has executed in addition.
fn addition(added: &str, undisturbed: &Ran, crashed: &Ran) -> String {
    let (caller, _) = added.rsplit_once('/').unwrap_or_default();
    let (before, after) = (undisturbed.alike(added), crashed.alike(added));
    let shown = |paths: &[&str]| match paths {
        [] => "nothing".to_owned(),
        paths => paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", "),
    };
    format!(
        "`{caller}` has executed `{}` {} times, and {} times without a crash\n  undisturbed: {}\n  crashed:     {}\n  help: a child or a \
         step that gets another name or key in each run is not found again, and is executed again; make its `.key(..)` of the input",
        without_key(added),
        after.len(),
        before.len(),
        shown(&before),
        shown(&after)
    )
}

fn compare_results(undisturbed: &Ran, crash: &Crashed) -> Result<(), String> {
    const HELP: &str =
        "\n  help: a node that runs again has to come to the same: mock what reads a clock, a counter or the network";
    if let Some(path) = undisturbed.differs_from(&crash.ran) {
        let (before, after) = (undisturbed.results(), crash.ran.results());
        let shown = |results: &BTreeMap<&str, Gave<'_>>| results.get(path).map_or(String::new(), shown);
        return Err(crash.report(&format!(
            "`{path}` has another result than without a crash\n  undisturbed: {}\n  crashed:     {}{}{HELP}",
            shown(&before),
            shown(&after),
            crash.suspects()
        )));
    }
    let (before, after) = (ending(&undisturbed.outcome), ending(&crash.ran.outcome));
    if before != after {
        return Err(crash.report(&format!(
            "`{}` ends in another way than without a crash\n  undisturbed: {before}\n  crashed:     {after}{}{HELP}",
            undisturbed.workflow,
            crash.suspects()
        )));
    }
    Ok(())
}

fn shown((label, output): &Gave<'_>) -> String {
    let output = output.map_or("no output".to_owned(), Json::to_string);
    label.map_or_else(|| output.clone(), |label| format!("{output}, by the arm `{label}`"))
}

/// How a run has ended, as text that is equal if two runs have ended in the same way.
fn ending(outcome: &Outcome<Json>) -> String {
    match outcome {
        Outcome::Completed(output) => format!("it has completed with {output}"),
        other => described(other),
    }
}
