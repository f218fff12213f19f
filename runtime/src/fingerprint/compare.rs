//! Checks that the records of a node still have the same meaning.

use std::collections::BTreeSet;
use std::fmt;

use super::{GraphPrint, KindPrint, NodePrint, SourcePrint, WayKind, WayPrint};

use crate::sorted::SortedSet;

/// What a run has recorded of a node. Its outputs are checked against its type by the caller, who has the types.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) labels: SortedSet<String>,
}

/// A graph then and now.
pub(super) struct Pair<'b> {
    pub(super) old: &'b [GraphPrint],
    pub(super) new: &'b [GraphPrint],
    pub(super) was: &'b GraphPrint,
    pub(super) is: &'b GraphPrint,
}

impl Pair<'_> {
    /// For each old node, its counterpart now.
    pub(super) fn counterparts(&self) -> Vec<Option<usize>> {
        let mut now = by_name(self.was, self.is);
        let eaches: Vec<usize> = (0..now.len()).filter(|at| now[*at].is_none()).collect();
        for at in eaches {
            let KindPrint::Each(was) = self.was.nodes[at].kind else { continue };
            let free = self.is.nodes.iter().enumerate().filter(|(is, _)| !now.contains(&Some(*is)));
            let mut alike = free.filter(|(_, node)| match node.kind {
                KindPrint::Each(is) => begin_alike(&self.old[was], &self.new[is]),
                _ => false,
            });
            let (first, second) = (alike.next().map(|(is, _)| is), alike.next().is_some());
            now[at] = first.filter(|_| !second);
        }
        now
    }

    pub(super) fn compare(
        &self,
        then: &NodePrint,
        now: Option<usize>,
        seen: &Seen,
        counterparts: &[Option<usize>],
    ) -> Vec<String> {
        let Some(now) = now.map(|at| &self.is.nodes[at]) else {
            let claims = self.is.nodes.iter().filter(|node| node.was.contains(&then.name)).count();
            return vec![match claims {
                0 => self.removed(then, counterparts),
                1 => "it was removed: the node with that former name is another node of the run".to_owned(),
                _ => format!("it was renamed ambiguously: {claims} nodes have that former name"),
            }];
        };
        let mut changes = Vec::new();
        match (&then.kind, &now.kind) {
            (KindPrint::Node, KindPrint::Node)
            | (KindPrint::Workflow(..), KindPrint::Workflow(..))
            | (KindPrint::Each(_), KindPrint::Each(_)) => {}
            (then, now) => changes.push(format!("it was {then} and is {now} now")),
        }
        let known: SortedSet<String> =
            now.routes.iter().filter_map(|route| route.label.as_deref()).flat_map(alternatives).collect();
        let lost = seen.labels.iter().filter(|label| !alternatives(label).all(|one| known.contains(&one)));
        changes.extend(lost.map(|label| format!("it took the label `{label}`, which it no longer has")));
        let today = |name: &str| {
            let at = self.was.nodes.iter().position(|node| node.name == name);
            match at {
                Some(at) => counterparts[at].map(|at| self.is.nodes[at].name.clone()),
                None => Some(name.to_owned()),
            }
        };
        let ways = (ways_by(&then.ways, &today), ways_by(&now.ways, &|name| Some(name.to_owned())));
        if ways.0 != ways.1 {
            changes.push(format!("its ways in changed: {} then, {} now", Ways(&then.ways), Ways(&now.ways)));
        } else if loops_by(&then.loops, &today) != loops_by(&now.loops, &|name| Some(name.to_owned())) {
            changes.push("the loops that it stands in changed, so that its turns are counted otherwise".to_owned());
        }
        changes
    }

    /// The change of a node that has no counterpart. The name of `[..]` is its text, which is no name that a node may have had: it is
    /// known again by the nodes with which it begins.
    fn removed(&self, then: &NodePrint, counterparts: &[Option<usize>]) -> String {
        let KindPrint::Each(inside) = then.kind else {
            return format!("it was removed; if it was renamed, add `renamed_from = \"{}\"` to the node", then.name);
        };
        let inside = &self.old[inside];
        let names = entry_names(inside);
        let is_each = |name: &&str| inside.nodes.iter().any(|node| node.name == **name && node.is_each());
        // Brackets that begin with brackets are known by their text alone.
        if names.iter().any(is_each) {
            return "it was removed".to_owned();
        }
        if let Some(begin) = self.other_begin(&names, counterparts) {
            let what = if names.iter().any(|name| begin.contains(name)) {
                format!("it began with {}, and begins with {} now", all(&names, "and"), all(&begin, "and"))
            } else {
                format!("inside the brackets, {} was put before {}", all(&begin, "and"), all(&names, "and"))
            };
            return format!(
                "{what} (add nodes behind those that were there, or keep the version before by `register_earlier`)"
            );
        }
        match names.as_slice() {
            [name] => format!(
                "it was removed; if `{name}` in it was renamed, add `renamed_from = \"{name}\"` to the node inside the brackets"
            ),
            names => format!(
                "it was removed; if {} in it were renamed, add `renamed_from = \"..\"` with its former name to each of these nodes \
                 inside the brackets",
                all(names, "or")
            ),
        }
    }

    /// The nodes with which the `[..]` begins now that has all of these nodes, with which it began.
    fn other_begin(&self, names: &[&str], counterparts: &[Option<usize>]) -> Option<Vec<&str>> {
        let free = self.is.nodes.iter().enumerate().filter(|(is, _)| !counterparts.contains(&Some(*is)));
        let mut graphs = free.filter_map(|(_, node)| match node.kind {
            KindPrint::Each(is) => Some(&self.new[is]),
            _ => None,
        });
        let has = |graph: &GraphPrint, name: &str| graph.nodes.iter().any(|node| node.name == name);
        graphs.find(|graph| names.iter().all(|name| has(graph, name))).map(entry_names)
    }
}

/// These names, with a word before the last one.
fn all(names: &[&str], word: &str) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(&format!(" {word} "))
}

/// The nodes with which a graph begins.
fn entry_names(graph: &GraphPrint) -> Vec<&str> {
    graph.start.iter().flat_map(|route| &route.to).map(String::as_str).collect()
}

/// The counterparts by name: the same name, or a former one.
///
/// A claim to a former name counts only where it is new: a node that had the name already when the run was recorded is
/// that node. If a name has gone to another node, as in a swap, the claim wins over the same name.
fn by_name(was: &GraphPrint, is: &GraphPrint) -> Vec<Option<usize>> {
    let position = |graph: &GraphPrint, name: &str| graph.nodes.iter().position(|node| node.name == name);
    let is_new_claim = |now: &NodePrint, name: &String| {
        let then = position(was, &now.name).map(|at| &was.nodes[at]);
        now.was.contains(name) && now.name != *name && then.is_none_or(|then| !then.was.contains(name))
    };
    let counterpart = |then: &NodePrint| {
        let mut claims = (0..is.nodes.len()).filter(|at| is_new_claim(&is.nodes[*at], &then.name));
        let (claim, ambiguous) = (claims.next(), claims.next().is_some());
        let claim = claim.filter(|_| !ambiguous);
        let Some(same) = position(is, &then.name) else { return claim };
        let has_moved = was.nodes.iter().any(|other| is_new_claim(&is.nodes[same], &other.name));
        claim.filter(|_| has_moved).or(Some(same))
    };
    let mut now: Vec<Option<usize>> = was.nodes.iter().map(counterpart).collect();
    for at in 0..now.len() {
        let has_rival = (0..now.len()).any(|other| other != at && now[at].is_some() && now[other] == now[at]);
        if has_rival && now[at].is_some_and(|is_at| is.nodes[is_at].name != was.nodes[at].name) {
            now[at] = None;
        }
    }
    now
}

/// Whether two `[..]` begin with the same node: their names are their texts, which change with their contents.
fn begin_alike(was: &GraphPrint, is: &GraphPrint) -> bool {
    let first = |graph: &GraphPrint| -> SortedSet<usize> {
        let entries = entry_names(graph).into_iter();
        entries.filter_map(|entry| graph.nodes.iter().position(|node| node.name == *entry)).collect()
    };
    let now = by_name(was, is);
    let began: Option<SortedSet<usize>> = first(was).into_iter().map(|at| now[at]).collect();
    began.is_some_and(|began| !began.is_empty() && began == first(is))
}

/// A label has alternatives, `low | medium`, and may be spelled like its variant, `NeedsWork`.
fn alternatives(label: &str) -> impl Iterator<Item = String> {
    label.split(" | ").map(|one| match one.chars().next() {
        Some(first) if first.is_alphabetic() => {
            one.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
        }
        _ => one.to_owned(),
    })
}

/// The place of a recorded label among those of a node: of one that is written like this, or has all of its alternatives, in
/// whatever order and spelling.
pub(crate) fn position_of_label(labels: &[impl AsRef<str>], label: &str) -> Option<usize> {
    labels.iter().position(|known| known.as_ref() == label).or_else(|| {
        labels.iter().position(|known| {
            let known: SortedSet<String> = alternatives(known.as_ref()).collect();
            alternatives(label).all(|one| known.contains(&one))
        })
    })
}

type Today<'f> = &'f dyn Fn(&str) -> Option<String>;

/// The ways in, in a form in which two lists are equal if they have the same meaning; a source that is gone is `None`.
#[expect(clippy::type_complexity, reason = "for nothing but being compared")]
fn ways_by(ways: &[WayPrint], today: Today<'_>) -> Vec<(WayKind, Vec<Vec<(Option<String>, SortedSet<String>)>>)> {
    let source = |source: &SourcePrint| {
        (today(&source.node), source.labels.iter().flat_map(|label| alternatives(label)).collect())
    };
    let place = |place: &Vec<SourcePrint>| {
        let mut sources: Vec<_> = place.iter().map(source).collect();
        sources.sort();
        sources
    };
    let mut ways: Vec<_> = ways.iter().map(|way| (way.kind, way.places.iter().map(place).collect())).collect();
    ways.sort();
    ways
}

fn loops_by(loops: &[Vec<String>], today: Today<'_>) -> Vec<BTreeSet<Option<String>>> {
    loops.iter().map(|heads| heads.iter().map(|head| today(head)).collect()).collect()
}

impl fmt::Display for KindPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KindPrint::Node => f.write_str("a node of its own"),
            KindPrint::Workflow(name, _) => write!(f, "the workflow `{name}`"),
            KindPrint::Each(_) => f.write_str("`[..]`"),
        }
    }
}

/// Ways in as they are written: `a`, `judge <good>`, `(a, b)`, `a | b`.
struct Ways<'w>(&'w [WayPrint]);

impl fmt::Display for Ways<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = |source: &SourcePrint| match source.labels.as_slice() {
            [] => source.node.clone(),
            labels => format!("{} <{}>", source.node, labels.join(" | ")),
        };
        let place =
            |place: &Vec<SourcePrint>, between: &str| place.iter().map(source).collect::<Vec<_>>().join(between);
        let way = |way: &WayPrint| match way.kind {
            WayKind::All => {
                format!("`({})`", way.places.iter().map(|one| place(one, " or ")).collect::<Vec<_>>().join(", "))
            }
            WayKind::Plain | WayKind::Any => {
                format!("`{}`", way.places.iter().map(|one| place(one, " | ")).collect::<Vec<_>>().join(", "))
            }
        };
        match self.0 {
            [] => f.write_str("none"),
            ways => f.write_str(&ways.iter().map(way).collect::<Vec<_>>().join(" and ")),
        }
    }
}
