//! The nodes of a run, by its records.

use std::collections::{HashMap, HashSet};

use crate::event::{AfterFailure, EventKind};

/// Which paths of a run are those of nodes of a graph, and which of these have a graph inside.
#[derive(Default)]
pub(super) struct Paths<'r> {
    workflow: &'r str,
    scopes: HashSet<&'r str>,
}

impl<'r> Paths<'r> {
    pub(super) fn of(workflow: &'r str, records: impl IntoIterator<Item = (&'r str, &'r EventKind)>) -> Self {
        let is_scope = |kind: &EventKind| matches!(kind, EventKind::NodeStarted { inside: Some(_), .. });
        let scopes = records.into_iter().filter(|(_, kind)| is_scope(kind)).map(|(path, _)| path).collect();
        Paths { workflow, scopes }
    }

    pub(super) fn is_scope(&self, path: &str) -> bool {
        self.scopes.contains(path)
    }

    /// Whether it is a node of a graph, and not a child, a step or a question of one.
    pub(super) fn is_in_graph(&self, path: &str) -> bool {
        path.rsplit_once('/').is_some_and(|(around, _)| around == self.workflow || self.is_scope(around))
    }
}

/// The nodes that have completed, or taken the arm `err`, in that order: `charge#3` has begun three times so far.
pub(super) fn took<'r>(workflow: &'r str, records: &[(&'r str, &'r EventKind)]) -> Vec<String> {
    let paths = Paths::of(workflow, records.iter().copied());
    let (mut begun, mut took) = (HashMap::<String, usize>::new(), Vec::new());
    for (path, kind) in records {
        if paths.is_scope(path) || !paths.is_in_graph(path) {
            continue;
        }
        let node = without_turn(path);
        match kind {
            EventKind::NodeStarted { .. } => *begun.entry(node).or_default() += 1,
            EventKind::NodeCompleted { .. } | EventKind::NodeFailed { then: AfterFailure::Routed { .. }, .. } => {
                let times = begun.get(&node).copied().unwrap_or(1);
                let name = node.split_once('/').map_or(node.as_str(), |(_, inside)| inside);
                took.push(if times > 1 { format!("{name}#{times}") } else { name.to_owned() });
            }
            _ => {}
        }
    }
    took
}

/// A path without the turn of its last node: `checkout/draft#2` is `checkout/draft`, `digest/search#2[3]` is
/// `digest/search[3]`.
fn without_turn(path: &str) -> String {
    let last = path.rfind('/').map_or(0, |at| at + 1);
    let Some(mark) = path[last..].find('#').map(|at| last + at) else { return path.to_owned() };
    let digits = path[mark + 1..].find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let behind = digits.map_or("", |at| &path[mark + 1 + at..]);
    format!("{}{behind}", &path[..mark])
}

#[cfg(test)]
mod tests {
    use super::without_turn;

    #[test]
    fn only_the_turn_of_the_last_node_is_left_out() {
        assert_eq!(without_turn("wf/draft#2.3"), "wf/draft");
        assert_eq!(without_turn("wf/search#2[3]"), "wf/search[3]");
        assert_eq!(without_turn("wf/search[3]#2"), "wf/search[3]");
        assert_eq!(without_turn("wf/delivery#2/pack"), "wf/delivery#2/pack");
    }
}
