//! Finds the node of a recorded path.

use std::borrow::Cow;
use std::ops::Range;

use super::{Body, KindPrint};

/// A node on the way to a path's end.
pub(super) struct Step {
    pub(super) graph: usize,
    pub(super) node: usize,
    /// The position of its name in the path. The name of `[..]` is not in the paths of the nodes inside.
    pub(super) name: Option<Range<usize>>,
}

pub(super) struct Found {
    pub(super) steps: Vec<Step>,
    /// Whether the path ends with the last step, and not with a request of the node.
    pub(super) is_whole: bool,
}

impl Body {
    /// The nodes along a path. Names are matched against the path and not cut out of it: the name of a `[..]` is its
    /// text, which may contain any letter.
    pub(super) fn find(&self, path: &str) -> Option<Found> {
        self.find_by(path, false)
    }

    /// The same for a path with names that its nodes have, or had once.
    pub(super) fn find_by_any_name(&self, path: &str) -> Option<Found> {
        self.find_by(path, true)
    }

    fn find_by(&self, path: &str, former: bool) -> Option<Found> {
        let mut at = self.graphs[0].name.len();
        if !path.starts_with(&self.graphs[0].name) {
            return None;
        }
        let (mut steps, mut graph) = (Vec::new(), 0);
        loop {
            let rest = path[at..].strip_prefix('/')?;
            at += 1;
            let mut best = None;
            self.match_level(graph, rest, former, &mut Vec::new(), &mut best);
            let Matched { eaches, node: (around, node), name, marks, .. } = best?;
            steps.extend(eaches.into_iter().map(|(graph, node)| Step { graph, node, name: None }));
            steps.push(Step { graph: around, node, name: Some(at..at + name) });
            at += name + marks;
            match &self.graphs[around].nodes[node].kind {
                _ if at == path.len() => return Some(Found { steps, is_whole: true }),
                KindPrint::Workflow(_, inside) => graph = *inside,
                _ => return Some(Found { steps, is_whole: false }),
            }
        }
    }

    /// The node of a graph, or of a `[..]` in it, whose name begins `rest`; the longest name wins.
    fn match_level(
        &self,
        graph: usize,
        rest: &str,
        former: bool,
        eaches: &mut Vec<(usize, usize)>,
        best: &mut Option<Matched>,
    ) {
        for (node, print) in self.graphs[graph].nodes.iter().enumerate() {
            let was = print.was.iter().filter(|_| former);
            for (name, is_former) in std::iter::once((&print.name, false)).chain(was.map(|name| (name, true))) {
                let Some(behind) = rest.strip_prefix(name.as_str()) else { continue };
                let (marks, items) = marks(behind);
                let ends = matches!(behind[marks..].chars().next(), None | Some('/'));
                // Of the same name, the node that has it now.
                let rank = (name.len(), !is_former);
                let is_best = best.as_ref().is_none_or(|best| rank > (best.name, !best.is_former));
                if ends && items == eaches.len() && is_best {
                    let (eaches, name) = (eaches.clone(), name.len());
                    *best = Some(Matched { eaches, node: (graph, node), name, is_former, marks });
                }
            }
            if let KindPrint::Each(inside) = print.kind {
                eaches.push((graph, node));
                self.match_level(inside, rest, former, eaches, best);
                eaches.pop();
            }
        }
    }
}

/// The node that one part of a path names.
struct Matched {
    /// The `[..]` around it.
    eaches: Vec<(usize, usize)>,
    node: (usize, usize),
    /// How long its name is, and the marks of turns and items behind.
    name: usize,
    is_former: bool,
    marks: usize,
}

/// The length of `#2`, `#2.3`, `[3]` and the like at the beginning, and how many items are among them.
fn marks(text: &str) -> (usize, usize) {
    let digits = |text: &str| text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (mut at, mut items) = (0, 0);
    loop {
        let rest = &text[at..];
        let length = digits(rest.get(1..).unwrap_or_default());
        match rest.chars().next() {
            Some('#') if length > 0 => {
                at += 1 + length;
                while text[at..].starts_with('.') && digits(&text[at + 1..]) > 0 {
                    at += 1 + digits(&text[at + 1..]);
                }
            }
            Some('[') if length > 0 && rest[1 + length..].starts_with(']') => {
                at += length + 2;
                items += 1;
            }
            _ => return (at, items),
        }
    }
}

/// A path in which names of nodes are replaced, from the front on.
pub(super) struct Renamed<'p> {
    path: &'p str,
    text: String,
    /// How much of the path is in the text.
    written: usize,
}

impl<'p> Renamed<'p> {
    pub(super) fn of(path: &'p str) -> Self {
        Renamed { path, text: String::new(), written: 0 }
    }

    /// Gives a node of the path this name. That of `[..]` is in no path.
    pub(super) fn replace(&mut self, step: &Step, name: &str) {
        let Some(at) = &step.name else { return };
        self.text.push_str(&self.path[self.written..at.start]);
        self.text.push_str(name);
        self.written = at.end;
    }

    /// With everything behind the last name as it was.
    pub(super) fn path(mut self) -> Cow<'p, str> {
        self.text.push_str(&self.path[self.written..]);
        if self.text == self.path { Cow::Borrowed(self.path) } else { Cow::Owned(self.text) }
    }
}

/// A path below a child that is a workflow, as it would be in a run of that workflow; `None` if it lies elsewhere.
pub(crate) fn inside_child(path: &str, child: &str, workflow: &str) -> Option<String> {
    let below = path.strip_prefix(child).filter(|below| below.starts_with('/'))?;
    Some(format!("{workflow}{below}"))
}

/// A path in a run of a workflow, as it is below a child.
pub(crate) fn below_child(inside: &str, child: &str, workflow: &str) -> String {
    format!("{child}{}", &inside[workflow.len()..])
}
