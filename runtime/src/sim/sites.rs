//! The places of a scenario's nodes, as far as a path shows them without the run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use graphweft_graph::{Graph, NodeIx};

use super::scenario::{Doing, Flow, Inside, Scenario, Special};
use super::wiring;

/// For the name of each node, the node with the graph around it.
#[derive(Debug)]
pub(super) struct Sites {
    scenario: Scenario,
    around: BTreeMap<String, Around>,
    /// For the name of each node that only leads to a collecting node, the name of that.
    collected_by: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    pub(super) name: String,
    pub(super) is_each: bool,
    pub(super) max_parallel: Option<u32>,
    /// How many of its nodes may be under way at once.
    most_nodes: Option<u32>,
    /// Whether it is in a `[..]`, at any depth.
    is_in_each: bool,
    /// Whether it is that of a job.
    is_job: bool,
    /// Whether it is that of a job, or inside it.
    is_in_job: bool,
}

impl Sites {
    pub(super) fn of(scenario: &Scenario) -> Sites {
        let mut around = BTreeMap::new();
        let outermost = Around { most_nodes: scenario.flow.max_parallel, ..Around::default() };
        stand_in(&scenario.flow, &outermost, &mut around);
        for job in &scenario.jobs {
            let of_job = Around { is_job: true, is_in_job: true, most_nodes: job.max_parallel, ..Around::default() };
            stand_in(job, &of_job, &mut around);
        }
        let mut collected_by = BTreeMap::new();
        for graph in graphs(scenario) {
            let name = |node: NodeIx| graph.nodes[node].id.clone();
            let collected = wiring::collected_by(&graph).into_iter();
            collected_by.extend(collected.map(|(node, by)| (name(node), name(by))));
        }
        Sites { scenario: scenario.clone(), around, collected_by }
    }

    /// How long the run may take.
    pub(super) fn time_limit(&self) -> Option<Duration> {
        self.scenario.time_limit.map(Duration::from_millis)
    }

    /// The graph of a node; `None` for a path of no node of a graph.
    pub(super) fn around(&self, path: &str) -> Option<&Around> {
        self.around.get(name_of(path))
    }

    /// The graph that has a node of this name.
    pub(super) fn graph_of(&self, name: &str) -> Option<Graph<String>> {
        graphs(&self.scenario).find(|graph| graph.nodes.iter().any(|node| node.id == name))
    }

    /// A node, this one or one around it, that leads to a collecting node only, which is done.
    pub(super) fn needless_node(&self, path: &str, done: &BTreeSet<String>) -> Option<String> {
        self.with_above(path).into_iter().find(|at| {
            let Some(by) = self.collected_by.get(name_of(at)) else { return false };
            let (before, last) = at.rsplit_once('/').unwrap_or_default();
            // Its items, without the turns of loops around it in its graph.
            let behind = &last[name_of(at).len()..];
            let items = behind.rfind(']').map_or("", |end| &behind[..=end]);
            done.contains(&format!("{before}/{by}{items}"))
        })
    }

    /// Whether it is a node of a graph, and no request.
    pub(super) fn is_node(&self, path: &str) -> bool {
        self.around(path).is_some()
    }

    pub(super) fn special(&self, path: &str) -> Option<&Special> {
        self.scenario.find(name_of(path))
    }

    /// Whether it is a node with a graph inside.
    pub(super) fn is_scope(&self, path: &str) -> bool {
        self.special(path).is_some_and(|special| special.inside.is_some())
    }

    /// Whether it is a node of the run's own graph, or of one inside it, and not of a job.
    pub(super) fn is_own(&self, path: &str) -> bool {
        self.around(path).is_some_and(|around| !around.is_in_job)
    }

    /// The path of the job around a node; only the path of a job is below a node.
    pub(super) fn job<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.around(path).filter(|around| around.is_in_job)?;
        let start = path.rfind("/job:")?;
        let end = path[start + 1..].find('/').map_or(path.len(), |length| start + 1 + length);
        Some(&path[..end])
    }

    /// The scenario's job at a path.
    pub(super) fn which_job(&self, path: &str) -> Option<usize> {
        let (node, job) = path.rsplit_once("/job:")?;
        match self.special(node)?.does.get(job.parse::<usize>().ok()?)? {
            Doing::Job { which } => Some(*which),
            _ => None,
        }
    }

    /// The paths of the nodes and the jobs with the graphs around a node, the innermost first.
    pub(super) fn above(&self, path: &str) -> Vec<String> {
        let mut above = Vec::new();
        let mut at = path.to_owned();
        while let Some(around) = self.around(&at).filter(|around| around.is_job || !around.name.is_empty()) {
            let Some((before, last)) = at.rsplit_once('/') else { break };
            if around.is_job {
                above.push(before.to_owned());
                let Some((node, _)) = before.rsplit_once('/') else { break };
                at = node.to_owned();
                continue;
            }
            at = if around.is_each {
                let suffix = &last[name_of(&at).len()..];
                let outer = suffix.rfind('[').map_or("", |item| &suffix[..item]);
                format!("{before}/{}{outer}", around.name)
            } else {
                before.to_owned()
            };
            above.push(at.clone());
        }
        above
    }

    /// The node, or the job, with the graph of a node; `None` for one of the run's own graph.
    pub(super) fn graph_around(&self, path: &str) -> Option<String> {
        self.above(path).into_iter().next()
    }

    /// Whether a node has come too late itself for a key that `first` has written: a node with a graph inside fails for
    /// a reason inside the graph.
    pub(super) fn is_too_late(&self, path: &str, first: &str) -> bool {
        !self.above(first).iter().any(|above| above == path)
    }

    /// All of them, with the nodes that run the jobs.
    pub(super) fn around_all(&self, path: &str) -> Vec<String> {
        let with_node = |above: String| {
            let node = above.rsplit_once("/job:").map(|(node, _)| node.to_owned());
            [above].into_iter().chain(node)
        };
        self.above(path).into_iter().flat_map(with_node).collect()
    }

    /// A node of `[..]` around a node that has more items under way than it may.
    pub(super) fn many_items<'p>(&self, path: &str, under_way: impl Iterator<Item = &'p str>) -> Option<String> {
        let under_way: BTreeSet<String> = under_way.flat_map(|at| self.with_above(at)).collect();
        self.with_above(path).into_iter().find_map(|node| {
            let most = self.around(&node)?.max_parallel?;
            let (of, _) = self.item(&node)?;
            let items: BTreeSet<&str> =
                under_way.iter().filter_map(|at| self.item(at)).filter(|at| at.0 == of).map(|at| at.1).collect();
            let count = items.len();
            (count > most as usize).then(|| format!("{count} items of `{of}` are under way, of at most {most}"))
        })
    }

    /// The node of `[..]` around a node, and its item: `[1]`.
    fn item<'p>(&self, path: &'p str) -> Option<(String, &'p str)> {
        self.around(path).filter(|around| around.is_each)?;
        // The items in front of the last are in the path of the node around; what is behind it are the node's own turns.
        let item = path.rfind('[')?..=path.rfind(']')?;
        Some((self.graph_around(path)?, &path[item]))
    }

    /// A graph around a node that has more nodes under way than it may, the node itself among them.
    pub(super) fn overfull<'p>(&self, path: &str, under_way: impl Iterator<Item = &'p str>) -> Option<String> {
        let under_way: BTreeSet<String> = under_way.flat_map(|at| self.with_above(at)).collect();
        self.with_above(path).into_iter().find_map(|node| {
            let most = self.around(&node)?.most_nodes?;
            let graph = self.graph_at(&node);
            let count = under_way.iter().filter(|at| self.graph_at(at) == graph).count();
            (count > most as usize).then(|| format!("{count} nodes of `{graph}` are under way, of at most {most}"))
        })
    }

    fn with_above(&self, path: &str) -> Vec<String> {
        [path.to_owned()].into_iter().chain(self.above(path)).filter(|at| self.is_node(at)).collect()
    }

    /// The graph of a node: that of the run or of a job, or that inside a node and one of its items.
    fn graph_at(&self, path: &str) -> String {
        match self.item(path) {
            Some((around, item)) => format!("{around}{item}"),
            None => self.graph_around(path).unwrap_or_else(|| self.job(path).unwrap_or("w").to_owned()),
        }
    }

    /// A node in items of one node of `[..]` with more of these items in it than it may have: the node at `path`, or a
    /// nested workflow around it.
    pub(super) fn crowded<'p>(&self, path: &str, under_way: impl Iterator<Item = &'p str>) -> Option<String> {
        let under_way: Vec<&str> = under_way.collect();
        let mut nodes = [path.to_owned()].into_iter().chain(self.above(path));
        nodes.find_map(|node| {
            self.around(&node).filter(|around| around.is_each)?;
            let special = self.special(&node)?;
            // Those of `[..]` are for its own items.
            let most = special.max_parallel.filter(|_| !matches!(special.inside.as_deref(), Some(Inside::Each(_))))?;
            let (each, _) = node.rsplit_once('[')?;
            // Not what is below one of them.
            let is_there =
                |at: &String| at.rsplit_once('[').is_some_and(|(other, rest)| other == each && !rest.contains('/'));
            let at = |at: &&str| [(*at).to_owned()].into_iter().chain(self.above(at)).find(is_there);
            let there: BTreeSet<String> = under_way.iter().filter_map(at).collect();
            (there.len() > most as usize).then(|| format!("{} items are in `{node}`, of at most {most}", there.len()))
        })
    }
}

/// The graphs of a scenario: that of the run, those of its jobs, and those inside of nodes.
fn graphs(scenario: &Scenario) -> impl Iterator<Item = Graph<String>> {
    let mut left: Vec<&Flow> = [&scenario.flow].into_iter().chain(&scenario.jobs).collect();
    std::iter::from_fn(move || {
        let flow = left.pop()?;
        left.extend(flow.insides().map(|(_, inside)| inside.flow()));
        Some(graphweft_judge::notation::read(&flow.graph))
    })
}

fn stand_in(flow: &Flow, of: &Around, around: &mut BTreeMap<String, Around>) {
    for node in graphweft_judge::notation::read(&flow.graph).nodes {
        around.insert(node.id, of.clone());
    }
    for (name, into) in flow.insides() {
        let is_each = matches!(into, Inside::Each(_));
        let max_parallel = flow.special(name).max_parallel;
        let is_in_job = of.is_in_job;
        // The limit at the place of a nested workflow, unless that limits the items in it.
        let most_nodes = max_parallel.filter(|_| !is_each && !of.is_in_each).or(into.flow().max_parallel);
        let is_in_each = is_each || of.is_in_each;
        let name = name.to_owned();
        let of = Around { name, is_each, max_parallel, most_nodes, is_in_each, is_job: false, is_in_job };
        stand_in(into.flow(), &of, around);
    }
}

/// The name of the node at a path.
pub(super) fn name_of(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split(['#', '[']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_leads_only_to_a_collecting_node_is_needless_once_that_is_done() {
        let scenario = r#"{"flow":{"graph":"START => a; START => b; b.on => each; b.back => b; a | each => c; c => END",
            "nodes":{"each":{"inside":{"Each":{"graph":"START => x; START => y; x | y => first; first => z; z => END"}}}}}}"#;
        let sites = Sites::of(&serde_json::from_str(scenario).expect("a scenario"));
        let needless = |path: &str, done: &str| sites.needless_node(path, &BTreeSet::from([done.to_owned()])).is_some();
        assert!(needless("w/each", "w/c") && !needless("w/each", "w/a"));
        assert!(needless("w/b#2", "w/c"), "its loop leads there");
        assert!(needless("w/z[3]", "w/c"), "what is in it is needless too");
        assert!(needless("w/x[3]", "w/first[3]") && !needless("w/x[3]", "w/first[2]"));
        assert!(!needless("w/z[3]", "w/first[3]"), "it is behind the collecting node");
    }
}
