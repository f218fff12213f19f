import type { Graph, GraphNode, Graphs } from '../api/types';
import { itemGraph, nestedGraph, workflowName } from '../graph/model';
import { nameOf } from './keys';
import type { RunView, Thing } from './model';

/** Graphs of workflows that nodes have called, by their hashes. */
export type CalledGraphs = ReadonlyMap<string, Graphs>;

/** A part of a graph, with the graphs of the workflows that are nodes there. */
interface Found<T> {
  found: T;
  graphs: Graphs;
}

/** The graph that a thing is a scope of: that of the run, of a workflow that is a node or was called, or of an item. */
function graphOfScope(graphs: Graphs, called: CalledGraphs, view: RunView, scope: Thing): Found<Graph> | null {
  if (scope.within < 0) return { found: graphs.graph, graphs };
  const own = scope.graph === null ? undefined : called.get(scope.graph);
  if (own) return { found: own.graph, graphs: own };
  const at = scope.kind === 'item' ? view.things[scope.within]! : scope;
  const node = visited(graphs, called, view, at);
  if (!node) return null;
  const name = workflowName(node.found);
  const graph = name === null ? itemGraph(node.found) : nestedGraph(node.graphs, name);
  return graph && { found: graph, graphs: node.graphs };
}

function visited(graphs: Graphs, called: CalledGraphs, view: RunView, thing: Thing): Found<GraphNode> | null {
  const scope = view.things[thing.within];
  if (!scope || thing.node < 0) return null;
  const around = graphOfScope(graphs, called, view, scope);
  const node = around?.found.nodes[thing.node];
  return around && node ? { found: node, graphs: around.graphs } : null;
}

/** The node of a graph that a thing is a visit of. */
export const nodeOfThing = (graphs: Graphs, called: CalledGraphs, view: RunView, thing: Thing): GraphNode | null =>
  visited(graphs, called, view, thing)?.found ?? null;

/** All turns of the node of a thing, in its scope. */
export function turnsOf(view: RunView, thing: Thing): Thing[] {
  const siblings = view.things[thing.within]?.inside.map((id) => view.things[id]!) ?? [];
  return siblings.filter((other) => other.kind === thing.kind && other.item === thing.item && nameOf(other) === nameOf(thing));
}
