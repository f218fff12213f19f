//! The records of a run, compared with the current graph.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::compare::{Pair, Seen};
use super::path::{Found, Renamed, below_child, inside_child};
use super::{Body, Fingerprint, KindPrint};
use crate::field::Unreadable;
use crate::sorted::{SortedMap, SortedSet};
use crate::value;

/// What has happened in a run, by the names of the graph under which it was recorded.
pub(crate) struct Past {
    body: Body,
    /// By graph and node. If one graph runs as several nodes, their records are combined.
    seen: SortedMap<(usize, usize), Seen>,
    unknown: SortedSet<String>,
}

/// A node that no longer means what the run has recorded of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// By its path as it was recorded, without turns and items: `checkout/delivery/pack`.
    pub(crate) node: String,
    /// The difference.
    pub(crate) what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}`: {}", self.node, self.what)
    }
}

/// Translates recorded paths to the current names.
#[derive(Debug)]
pub(crate) struct Translation {
    old: Body,
    /// Whether the workflow takes another type than it did.
    pub(crate) has_other_input: bool,
    /// By the graph then and the graph now: for each node then, what it is now.
    today: SortedMap<(usize, usize), SortedMap<usize, Today>>,
}

/// A current node: its name, its number in its graph, and the graph inside.
#[derive(Debug)]
struct Today {
    name: String,
    at: usize,
    inside: Option<usize>,
    /// Whether its output has another type than it had.
    has_other_output: bool,
}

/// A current node whose output has another type than when an output of it was recorded.
pub(crate) struct Retyped {
    /// By its path as it was recorded, without turns and items.
    pub(crate) node: String,
    /// The number of its graph in the current fingerprint.
    pub(crate) graph: usize,
    /// The number of the node in that graph.
    pub(crate) at: usize,
}

impl Past {
    /// An empty past, under the graph whose fingerprint has this body.
    pub(crate) fn read(body: &Json) -> Result<Past, Unreadable> {
        let body: Body = value::from_plain(body)?;
        let count = body.graphs.len();
        let sound = body.graphs.iter().enumerate().all(|(at, graph)| {
            graph.nodes.iter().all(|node| match node.kind {
                KindPrint::Node => true,
                KindPrint::Workflow(_, inside) => inside < count,
                // A workflow may be a node of its own; a `[..]` comes behind the graph that it is written in.
                KindPrint::Each(inside) => at < inside && inside < count,
            })
        });
        if count == 0 || !sound {
            return Err(Unreadable::whole("the graphs of the fingerprint do not hang together"));
        }
        Ok(Past { body, seen: SortedMap::new(), unknown: SortedSet::new() })
    }

    /// The name of the workflow.
    pub(crate) fn name(&self) -> &str {
        &self.body.graphs[0].name
    }

    /// Without the records of nodes that the graph does not have: they were made under a later one.
    pub(crate) fn without_unknown(self) -> Past {
        Past { unknown: SortedSet::new(), ..self }
    }

    /// An attempt of that node began, or a record inside it was made.
    pub(crate) fn started(&mut self, path: &str) {
        self.see(path, |_| {});
    }

    /// The node completed, and its output took the arm with that label.
    pub(crate) fn completed(&mut self, path: &str, label: Option<&str>) {
        self.see(path, |seen| {
            seen.labels.extend(label.map(str::to_owned));
        });
    }

    /// The node failed, and its error took the arm with that label.
    pub(crate) fn error_routed(&mut self, path: &str, label: &str) {
        self.see(path, |seen| {
            seen.labels.insert(label.to_owned());
        });
    }

    /// A path that the graph does not have is a problem only if it is neither the run itself nor within a node.
    fn see(&mut self, path: &str, what: impl FnOnce(&mut Seen)) {
        if path == self.body.graphs[0].name {
            return;
        }
        let Some(Found { steps, is_whole }) = self.body.find(path) else {
            self.unknown.insert(path.to_owned());
            return;
        };
        for step in &steps {
            self.seen.get_or_insert_with((step.graph, step.node), Seen::default);
        }
        if let (Some(last), true) = (steps.last(), is_whole) {
            what(self.seen.get_or_insert_with((last.graph, last.node), Seen::default));
        }
    }

    /// How to read the recorded paths under the current graph, and which nodes no longer have the same meaning there.
    /// Nodes that have not run yet may differ in any way. The caller, who has the current types, checks the recorded
    /// values.
    pub(crate) fn under(self, now: &Fingerprint) -> (Translation, Vec<Change>) {
        self.compared(&now.graphs)
    }

    fn compared(self, now: &Body) -> (Translation, Vec<Change>) {
        let (old, new) = (&self.body.graphs, &now.graphs);
        let gone = "the record names it, but the graph that the run was recorded under has no such node";
        let unknown = self.unknown.iter().map(|path| Change { node: path.clone(), what: gone.to_owned() });
        let mut changes: Vec<Change> = unknown.collect();
        let mut today = SortedMap::new();
        let mut reached = SortedSet::new();
        let mut open = VecDeque::from([Visit { was: 0, is: 0, has_run: true, path: old[0].name.clone() }]);
        while let Some(Visit { was, is, has_run, path }) = open.pop_front() {
            if !reached.insert((was, is, has_run)) {
                continue;
            }
            let pair = Pair { old, new, was: &old[was], is: &new[is] };
            let counterparts = pair.counterparts();
            for (at, node) in pair.was.nodes.iter().enumerate() {
                let seen = self.seen.get(&(was, at)).filter(|_| has_run);
                let node_path = format!("{path}/{}", node.name);
                if let Some(seen) = seen {
                    let found = pair.compare(node, counterparts[at], seen, &counterparts);
                    changes.extend(found.into_iter().map(|what| Change { node: node_path.clone(), what }));
                }
                let now = counterparts[at].map(|at| &pair.is.nodes[at].kind);
                let path = if let KindPrint::Each(_) = node.kind { path.clone() } else { node_path };
                if let (Some(was), Some(is)) = (node.kind.inside(), now.and_then(KindPrint::inside)) {
                    open.push_back(Visit { was, is, has_run: seen.is_some(), path });
                }
            }
            let nodes = pair.was.nodes.iter().zip(&counterparts).enumerate().filter_map(|(was, (then, now))| {
                let (at, now) = ((*now)?, &pair.is.nodes[(*now)?]);
                let has_other_output = then.output != now.output;
                Some((was, Today { name: now.name.clone(), at, inside: now.kind.inside(), has_other_output }))
            });
            today.insert((was, is), nodes.collect());
        }
        let has_other_input = old[0].input != new[0].input;
        (Translation { old: self.body, has_other_input, today }, changes)
    }
}

impl Translation {
    /// From a graph to a later one of the same workflow, by the bodies of their fingerprints: also in programs without its code.
    pub(crate) fn between(old: &Json, new: &Json) -> Result<Translation, Unreadable> {
        let (old, new) = (Past::read(old)?, Past::read(new)?);
        Ok(old.compared(&new.body).0)
    }

    /// A recorded path with the current names. Turns, items, and everything below a node stay as they are.
    pub(crate) fn path<'p>(&self, recorded: &'p str) -> Cow<'p, str> {
        let Some(Found { steps, .. }) = self.old.find(recorded) else { return Cow::Borrowed(recorded) };
        let mut renamed = Renamed::of(recorded);
        let mut is = 0;
        for step in steps {
            let nodes = self.today.get(&(step.graph, is));
            let Some(Today { name, inside, .. }) = nodes.and_then(|nodes| nodes.get(&step.node)) else { break };
            is = inside.unwrap_or_default();
            renamed.replace(&step, name);
        }
        renamed.path()
    }

    /// Whether a node has another name than it had.
    pub(crate) fn renames(&self) -> bool {
        self.today.iter().any(|((was, _), nodes)| {
            nodes.iter().any(|(at, today)| self.old.graphs[*was].nodes[*at].name != today.name)
        })
    }

    /// Whether a node has the name now that another one had.
    pub(crate) fn reuses_a_name(&self) -> bool {
        self.today.iter().any(|((was, _), nodes)| {
            let old = &self.old.graphs[*was].nodes;
            let renamed = nodes.iter().filter(|(at, today)| old[**at].name != today.name);
            renamed.into_iter().any(|(_, today)| old.iter().any(|node| node.name == today.name))
        })
    }

    /// A current path as it would have been recorded; `None` if there was no such node. Turns, items, and everything below
    /// a node stay as they are.
    fn recorded(&self, current: &str, now: &Body) -> Option<String> {
        let mut renamed = Renamed::of(current);
        let mut was = 0;
        for step in now.find(current)?.steps {
            let nodes = self.today.get(&(was, step.graph))?;
            let node = nodes.iter().find_map(|(then, today)| (today.at == step.node).then_some(*then))?;
            let node = &self.old.graphs[was].nodes[node];
            renamed.replace(&step, &node.name);
            was = node.kind.inside().unwrap_or_default();
        }
        Some(renamed.path().into_owned())
    }
}

impl Body {
    /// Whether a node has had another name.
    fn has_former_names(&self) -> bool {
        self.graphs.iter().any(|graph| graph.nodes.iter().any(|node| !node.was.is_empty()))
    }

    /// A path that was recorded under any names which the nodes have, or had once, with those of now.
    fn current_path<'p>(&self, recorded: &'p str) -> Cow<'p, str> {
        let Some(Found { steps, .. }) = self.find_by_any_name(recorded) else { return Cow::Borrowed(recorded) };
        let mut renamed = Renamed::of(recorded);
        for step in steps {
            renamed.replace(&step, &self.graphs[step.graph].nodes[step.node].name);
        }
        renamed.path()
    }
}

impl Fingerprint {
    /// Whether a node has had another name.
    pub(crate) fn has_former_names(&self) -> bool {
        self.graphs.has_former_names()
    }

    /// A path that was recorded under any names which the nodes have, or had once, with those of now.
    pub(crate) fn current_path<'p>(&self, recorded: &'p str) -> Cow<'p, str> {
        self.graphs.current_path(recorded)
    }
}

/// The names of the nodes of a graph and those that they had before, for programs without its code.
pub(crate) struct NodeNames(Body);

impl NodeNames {
    /// Of the graph whose fingerprint has this body; `None` if no node has had another name.
    pub(crate) fn read(body: &Json) -> Result<Option<NodeNames>, Unreadable> {
        let Past { body, .. } = Past::read(body)?;
        Ok(body.has_former_names().then_some(NodeNames(body)))
    }

    /// A path that was recorded under any of the names, with those of now.
    pub(crate) fn current_path<'p>(&self, recorded: &'p str) -> Cow<'p, str> {
        self.0.current_path(recorded)
    }
}

/// The names under which the nodes of a run were first recorded, where they have others now.
pub(crate) enum FormerNames {
    /// Of a whole run.
    Graphs {
        now: Arc<Fingerprint>,
        /// From those under which it was recorded, the first one first.
        from: Vec<Translation>,
        /// Of workflows that its nodes have called, those of callers first.
        called: Vec<FormerNamesOfCalled>,
    },
    /// Of one node.
    Node { now: String, then: String },
}

/// The names under which the nodes of a child were first recorded.
pub(crate) struct FormerNamesOfCalled {
    /// The path of the child.
    pub(crate) child: String,
    pub(crate) now: Arc<Fingerprint>,
    pub(crate) from: Translation,
}

impl FormerNamesOfCalled {
    /// A current path below the child, as it was recorded.
    fn path(&self, current: &str) -> Option<String> {
        let workflow = &self.from.old.graphs[0].name;
        let inside = inside_child(current, &self.child, workflow)?;
        Some(below_child(&self.from.recorded(&inside, &self.now.graphs)?, &self.child, workflow))
    }
}

impl FormerNames {
    /// A current path with the names under which its nodes were first recorded.
    pub(crate) fn path<'p>(&self, current: &'p str) -> Cow<'p, str> {
        let former = match self {
            FormerNames::Graphs { now, from, called } => {
                let inside = called.iter().rev().fold(None, |former: Option<String>, called| {
                    called.path(former.as_deref().unwrap_or(current)).or(former)
                });
                let path = inside.as_deref().unwrap_or(current);
                from.iter().find_map(|then| then.recorded(path, &now.graphs)).or(inside)
            }
            FormerNames::Node { now, then } => current.strip_prefix(now.as_str()).map(|below| format!("{then}{below}")),
        };
        former.map_or(Cow::Borrowed(current), Cow::Owned)
    }
}

impl Translation {
    /// The node with this recorded path, if its output has another type now.
    pub(crate) fn retyped(&self, recorded: &str) -> Option<Retyped> {
        let Found { steps, is_whole: true } = self.old.find(recorded)? else { return None };
        let (last, around) = steps.split_last()?;
        let mut node = self.old.graphs[0].name.clone();
        let mut graph = 0;
        for step in around {
            let today = self.today.get(&(step.graph, graph))?.get(&step.node)?;
            graph = today.inside?;
            if step.name.is_some() {
                node.push('/');
                node.push_str(&self.old.graphs[step.graph].nodes[step.node].name);
            }
        }
        let today = self.today.get(&(last.graph, graph))?.get(&last.node)?;
        let name = &self.old.graphs[last.graph].nodes[last.node].name;
        today.has_other_output.then(|| Retyped { node: format!("{node}/{name}"), graph, at: today.at })
    }
}

/// A graph then and now that is to be compared.
struct Visit {
    was: usize,
    is: usize,
    /// Whether the records of the graph belong to this visit of it.
    has_run: bool,
    /// The path before the names of its nodes.
    path: String,
}
