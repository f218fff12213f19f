//! Compiles a definition, once: into the program of the core, and into the fingerprint that is recorded.

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock, PoisonError};

use graphweft_graph::{EdgeIx, NodeIx, START, Way};

use crate::core::{Layout, NodeKind, NodeSpec, Program, Totals};
use crate::fingerprint::{
    Fingerprint, GraphPrint, KindPrint, NodePrint, RoutePrint, SourcePrint, WayKind, WayPrint, schema_hash,
};
use crate::graph::{Graph, Graphs};
use crate::node_info::NodeInfo;
use crate::resource::{MissingResource, MissingResources, ResourceNeed};
use crate::shared::Env;
use crate::sorted::SortedSet;
use crate::table::{Definition, Entry, Executable, NeededBy, ScopeKind};

/// The compiled workflow, if nothing is replaced.
pub(crate) fn executable(definition: &Arc<Definition>) -> Arc<Executable> {
    Arc::clone(definition.compiled.executable.get_or_init(|| Arc::new(build(definition, &|_| false))))
}

/// The compiled workflow for the runs of an engine.
pub(crate) fn executable_in(env: &Arc<Env>, definition: &Arc<Definition>) -> Arc<Executable> {
    if env.replacements.is_empty() {
        return executable(definition);
    }
    let mut replaced = definition.compiled.replaced.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, executable)) = replaced.iter().find(|(of, _)| of.as_ptr() == Arc::as_ptr(env)) {
        return Arc::clone(executable);
    }
    // Removes those of engines that are gone.
    replaced.retain(|(of, _)| of.strong_count() > 0);
    let executable = Arc::new(build(definition, &|of| env.replacements.contains_key(&of)));
    replaced.push((Arc::downgrade(env), Arc::clone(&executable)));
    executable
}

/// Compiles with the nodes of some types replaced: a replaced workflow is a node like any other, and no replaced node
/// needs its resources.
fn build(definition: &Arc<Definition>, is_replaced: &dyn Fn(TypeId) -> bool) -> Executable {
    let mut found = vec![Arc::clone(definition)];
    let mut places = HashMap::from([(Arc::as_ptr(definition), 0)]);
    let mut layouts = Vec::new();
    let mut needs = Vec::new();
    while let Some(definition) = found.get(layouts.len()).cloned() {
        let mut specs = Vec::new();
        for entry in &definition.entries {
            let replaced = is_replaced(entry.type_id);
            let kind = match &entry.scope {
                Some(scope) if !(replaced && entry.node.is_some()) => {
                    let inside = scope.definition();
                    if scope.kind() == ScopeKind::Each {
                        // Another engine may have set it to the same value before.
                        let _ = inside.compiled.around.set(Arc::downgrade(&definition));
                    }
                    let place = *places.entry(Arc::as_ptr(inside)).or_insert_with(|| {
                        found.push(Arc::clone(inside));
                        found.len() - 1
                    });
                    NodeKind::Scope(scope.kind(), place)
                }
                _ => NodeKind::Leaf,
            };
            if !replaced && kind == NodeKind::Leaf {
                let wants = format!("{}/{}", definition.name, entry.name);
                let needed = |need: &ResourceNeed| NeededBy { need: *need, node: wants.clone(), pool: entry.pool };
                needs.extend(entry.resources.iter().map(needed));
                needs.extend(needs_of(entry.uses(), &wants, is_replaced));
            }
            let keeps_input = kind == NodeKind::Leaf && entry.node.as_ref().is_some_and(|node| node.keeps_input());
            specs.push(NodeSpec { name: entry.name.clone(), kind, options: entry.options.clone(), keeps_input });
        }
        let name = definition.name.clone();
        let layout = Layout::new(layouts.len(), name, &definition.graph, &definition.plan, specs);
        layouts.push(Arc::new(layout.limited_to(definition.limits.max_parallel)));
    }
    let totals = Totals::of(&definition.written());
    let inside = found.into_iter().enumerate().map(|(at, definition)| (at > 0).then_some(definition)).collect();
    Executable { program: Arc::new(Program { layouts, totals }), inside, needs, print: OnceLock::new() }
}

/// The resources that these nodes need, and the nodes that they may call, each once, with the path of its node.
fn needs_of(uses: Vec<NodeInfo>, within: &str, is_replaced: &dyn Fn(TypeId) -> bool) -> Vec<NeededBy> {
    let mut needs = Vec::new();
    each_used(uses, within, &mut |used, path| {
        if is_replaced(used.type_id) {
            return false;
        }
        let needed = |need: &ResourceNeed| NeededBy { need: *need, node: path.to_owned(), pool: used.pool };
        needs.extend(used.resources.iter().map(needed));
        true
    });
    needs
}

/// These nodes, and all that they may call.
pub(crate) fn all_used(uses: Vec<NodeInfo>) -> Vec<NodeInfo> {
    let mut all = Vec::new();
    each_used(uses, "", &mut |used, _| {
        all.push(used.clone());
        true
    });
    all
}

/// Visits these nodes and those that they may call, each once: two agents may be tools of each other. `visit` says
/// whether what the node may call is visited too.
fn each_used(uses: Vec<NodeInfo>, within: &str, visit: &mut dyn FnMut(&NodeInfo, &str) -> bool) {
    let below = |path: &str, uses: Vec<NodeInfo>| {
        let at = |used: NodeInfo| (format!("{path}/{}", used.name), used);
        uses.into_iter().rev().map(at).collect::<Vec<_>>()
    };
    let mut seen = HashSet::new();
    let mut found = below(within, uses);
    while let Some((path, used)) = found.pop() {
        if seen.insert((used.type_id, used.name.clone())) && visit(&used, &path) {
            found.extend(below(&path, used.uses()));
        }
    }
}

/// Checks that an engine has all resources that a node needs, and those that it may call.
pub(crate) fn check_resources_of(env: &Arc<Env>, node: &NodeInfo) -> Result<(), MissingResources> {
    let needed = |need: &ResourceNeed| NeededBy { need: *need, node: node.name.clone(), pool: node.pool };
    let own = node.resources.iter().map(needed);
    let of_others = needs_of(node.uses(), &node.name, &|of| env.replacements.contains_key(&of));
    check_needs(env, &own.chain(of_others).collect::<Vec<_>>())
}

/// Checks that an engine has all resources that the nodes of a workflow need.
pub(crate) fn check_resources(env: &Arc<Env>, definition: &Arc<Definition>) -> Result<(), MissingResources> {
    check_needs(env, &executable_in(env, definition).needs)
}

/// Checks that an engine has all resources that the nodes of a workflow in this pool need, to execute them for others.
pub(crate) fn check_resources_of_pool(
    env: &Arc<Env>,
    definition: &Arc<Definition>,
    pool: &str,
) -> Result<(), MissingResources> {
    let executable = executable_in(env, definition);
    missing_of(env, executable.needs.iter().filter(|needed| needed.pool == Some(pool)))
}

fn check_needs(env: &Env, needs: &[NeededBy]) -> Result<(), MissingResources> {
    let is_needed_here = |needed: &&NeededBy| needed.pool.is_none_or(|pool| env.executor_of(pool).is_none());
    missing_of(env, needs.iter().filter(is_needed_here))
}

fn missing_of<'n>(env: &Env, needs: impl Iterator<Item = &'n NeededBy>) -> Result<(), MissingResources> {
    let mut missing: Vec<MissingResource> = Vec::new();
    for NeededBy { need, node, .. } in needs {
        if env.resource(need.type_id).is_some() {
            continue;
        }
        match missing.iter_mut().find(|resource| resource.type_name == need.type_name) {
            Some(resource) => resource.nodes.push(node.clone()),
            None => missing.push(MissingResource { type_name: need.type_name, nodes: vec![node.clone()] }),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(MissingResources(missing)) }
}

/// The fingerprint of a workflow with all graphs that it can enter.
pub(crate) fn fingerprint(root: &Arc<Definition>) -> Arc<Fingerprint> {
    Arc::clone(root.compiled.fingerprint.get_or_init(|| Arc::new(take_fingerprint(root))))
}

fn take_fingerprint(root: &Arc<Definition>) -> Fingerprint {
    let (definitions, prints) = graphs_of(root);
    let shown = serde_json::to_value(shown(&definitions, &prints)).unwrap_or_default();
    Fingerprint::new(prints, shown)
}

/// The graph of a workflow, and those of the workflows in it, as people see them.
pub(crate) fn graphs(root: &Arc<Definition>) -> Graphs {
    let (definitions, prints) = graphs_of(root);
    shown(&definitions, &prints)
}

fn shown(definitions: &[Arc<Definition>], prints: &[GraphPrint]) -> Graphs {
    // A `[..]` is a part of the graph that it is written in.
    let nodes = prints.iter().flat_map(|graph| &graph.nodes);
    let inside_of = |node: &NodePrint| match node.kind {
        KindPrint::Each(inside) => Some(inside),
        KindPrint::Node | KindPrint::Workflow(..) => None,
    };
    let each: SortedSet<usize> = nodes.filter_map(inside_of).collect();
    let nested = definitions.iter().enumerate().skip(1).filter(|(at, _)| !each.contains(at));
    Graphs { graph: Graph::of(&definitions[0]), nested: nested.map(|(_, nested)| Graph::of(nested)).collect() }
}

/// The definitions of the graphs in the fingerprint of a workflow, by their numbers there.
pub(crate) fn definitions(root: &Arc<Definition>) -> Vec<Arc<Definition>> {
    graphs_of(root).0
}

fn graphs_of(root: &Arc<Definition>) -> (Vec<Arc<Definition>>, Vec<GraphPrint>) {
    let mut found = vec![Arc::clone(root)];
    let mut places = HashMap::from([(Arc::as_ptr(root), 0)]);
    let mut graphs = Vec::new();
    while let Some(definition) = found.get(graphs.len()).cloned() {
        let mut enter = |inside: &Arc<Definition>| {
            *places.entry(Arc::as_ptr(inside)).or_insert_with(|| {
                found.push(Arc::clone(inside));
                found.len() - 1
            })
        };
        graphs.push(graph_print(&definition, &mut enter));
    }
    (found, graphs)
}

fn graph_print(definition: &Definition, enter: &mut dyn FnMut(&Arc<Definition>) -> usize) -> GraphPrint {
    let nodes = definition.entries.iter().enumerate();
    GraphPrint {
        name: definition.name.clone(),
        input: schema_hash(&(definition.door.input_schema)()),
        output: schema_hash(&(definition.door.output_schema)()),
        start: routes(definition, START),
        nodes: nodes.map(|(at, entry)| node_print(definition, at + 2, entry, enter)).collect(),
    }
}

fn node_print(
    definition: &Definition,
    node: NodeIx,
    entry: &Entry,
    enter: &mut dyn FnMut(&Arc<Definition>) -> usize,
) -> NodePrint {
    let kind = match &entry.scope {
        None => KindPrint::Node,
        Some(scope) => {
            let inside = enter(scope.definition());
            match scope.kind() {
                ScopeKind::Nested => KindPrint::Workflow(scope.definition().name.clone(), inside),
                ScopeKind::Each => KindPrint::Each(inside),
            }
        }
    };
    NodePrint {
        name: entry.name.clone(),
        was: entry.renamed_from.iter().map(|name| (*name).to_owned()).collect(),
        kind,
        input: schema_hash(&(entry.input_schema)()),
        output: schema_hash(&(entry.output_schema)()),
        at_most_once: entry.options.at_most_once,
        loops: loops(definition, node),
        ways: ways(definition, node),
        routes: routes(definition, node),
    }
}

fn name_of(definition: &Definition, node: NodeIx) -> String {
    definition.entry(node).map_or_else(|| definition.graph.nodes[node].id.to_owned(), |entry| entry.name.clone())
}

fn loops(definition: &Definition, node: NodeIx) -> Vec<Vec<String>> {
    let plan = &definition.plan;
    let inner = plan.node_loop[node];
    let around = std::iter::successors(inner, |inner| plan.loops[*inner].parent);
    let heads = around.map(|one| {
        let names: SortedSet<String> = plan.loops[one].heads.iter().map(|head| name_of(definition, *head)).collect();
        names.into_iter().collect()
    });
    let mut loops: Vec<Vec<String>> = heads.collect();
    loops.reverse();
    loops
}

fn ways(definition: &Definition, node: NodeIx) -> Vec<WayPrint> {
    let source = |edge: &EdgeIx| {
        let from = definition.graph.edges[*edge].from;
        let labels = &definition.labels[from];
        let choices = definition.graph.nodes[from].choices.iter().zip(labels);
        let taken = choices.filter(|(choice, _)| choice.edges.contains(edge));
        SourcePrint { node: name_of(definition, from), labels: taken.map(|(_, label)| (*label).to_owned()).collect() }
    };
    let way = |way: &Way| match way {
        Way::Plain(edge) => WayPrint { kind: WayKind::Plain, places: vec![vec![source(edge)]] },
        Way::Any(edges) => WayPrint { kind: WayKind::Any, places: vec![edges.iter().map(source).collect()] },
        Way::All(places) => WayPrint {
            kind: WayKind::All,
            places: places.iter().map(|edges| edges.iter().map(source).collect()).collect(),
        },
    };
    definition.graph.nodes[node].ways.iter().map(way).collect()
}

fn routes(definition: &Definition, node: NodeIx) -> Vec<RoutePrint> {
    let choices = definition.graph.nodes[node].choices.iter().enumerate();
    let route = |(at, choice): (usize, &graphweft_graph::Choice)| RoutePrint {
        label: definition.labels[node].get(at).map(|label| (*label).to_owned()),
        at_most: definition.bounds.get(&(node, at)).copied(),
        to: choice.edges.iter().map(|edge| name_of(definition, definition.graph.edges[*edge].to)).collect(),
    };
    choices.map(route).collect()
}
