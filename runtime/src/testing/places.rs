//! The nodes of a workflow, and those of the graphs inside, in a lab that replaces some of them.

use std::any::TypeId;
use std::sync::Arc;

use graphweft_graph::{NodeIx, START};

use crate::table::{Definition, Entry, ScopeKind};

/// The graphs of a workflow that its runs can enter, each once.
pub(super) struct Places {
    pub(super) graphs: Vec<Arc<Definition>>,
    mocked: Vec<TypeId>,
}

/// A node of one of the [`graphs`](Places::graphs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct InGraph {
    pub(super) graph: usize,
    pub(super) node: NodeIx,
}

impl Places {
    pub(super) fn of(root: &Arc<Definition>, mocked: Vec<TypeId>) -> Self {
        let mut places = Places { graphs: vec![Arc::clone(root)], mocked };
        let mut at = 0;
        while let Some(graph) = places.graphs.get(at).cloned() {
            for entry in &graph.entries {
                let inside = places.inside(entry).filter(|inside| places.index(inside).is_none()).cloned();
                places.graphs.extend(inside);
            }
            at += 1;
        }
        places
    }

    /// The graph that a run enters at this node; `None` if the node is replaced, or has none.
    pub(super) fn inside<'e>(&self, entry: &'e Entry) -> Option<&'e Arc<Definition>> {
        let scope = entry.scope.as_ref()?;
        let is_replaced = entry.node.is_some() && self.mocked.contains(&entry.type_id);
        (!is_replaced).then(|| scope.definition())
    }

    fn index(&self, graph: &Arc<Definition>) -> Option<usize> {
        self.graphs.iter().position(|known| Arc::ptr_eq(known, graph))
    }

    /// The graph inside a node.
    pub(super) fn index_inside(&self, place: InGraph) -> Option<usize> {
        self.index(self.inside(self.graphs[place.graph].entry(place.node)?)?)
    }

    /// All nodes without a graph inside.
    pub(super) fn bodies(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.graphs.iter().flat_map(|graph| &graph.entries);
        entries.filter(|entry| self.inside(entry).is_none())
    }

    /// The node of a path; `None` if it is that of a request, or of the run.
    pub(super) fn find(&self, path: &str) -> Option<InGraph> {
        let mut rest = path.strip_prefix(self.graphs[0].name.as_str())?.strip_prefix('/')?;
        let mut graph = 0;
        loop {
            let (name, behind) = rest.split_once('/').map_or((rest, None), |(name, behind)| (name, Some(behind)));
            let place = self.find_in(graph, name)?;
            match behind {
                None => return Some(place),
                Some(behind) => (graph, rest) = (self.index_inside(place)?, behind),
            }
        }
    }

    /// The node of a graph whose name this is, with marks of turns and items. The name of a `[..]` is not in the paths of the
    /// nodes inside. The longest name wins, since that of a `[..]` may look like a name with marks.
    fn find_in(&self, graph: usize, named: &str) -> Option<InGraph> {
        let (mut best, mut longest) = (None, 0);
        for (at, entry) in self.graphs[graph].entries.iter().enumerate() {
            let place = InGraph { graph, node: at + 2 };
            let is_it = named.strip_prefix(entry.name.as_str()).is_some_and(is_marks);
            if is_it && entry.name.len() > longest {
                (best, longest) = (Some(place), entry.name.len());
            }
            let is_each = entry.scope.as_ref().is_some_and(|scope| scope.kind() == ScopeKind::Each);
            let inside = self.index_inside(place).filter(|_| is_each);
            if let Some(found) = inside.and_then(|inside| self.find_in(inside, named)) {
                let length = self.name(found).len();
                if length > longest {
                    (best, longest) = (Some(found), length);
                }
            }
        }
        best
    }

    /// The name of a node.
    pub(super) fn name(&self, place: InGraph) -> &str {
        let graph = &self.graphs[place.graph];
        match graph.entry(place.node) {
            Some(entry) => &entry.name,
            None if place.node == START => "START",
            None => "END",
        }
    }
}

/// Whether a text is nothing but marks of turns and items, `#2.3[4]`.
fn is_marks(text: &str) -> bool {
    let is_mark = |letter: char| letter.is_ascii_digit() || matches!(letter, '#' | '.' | '[' | ']');
    text.is_empty() || text.starts_with(['#', '[']) && text.chars().all(is_mark)
}
