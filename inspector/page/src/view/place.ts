import type { Graph, GraphNode, Graphs } from '../api/types';
import { itemGraph, nestedGraph, workflowName } from '../graph/model';
import { nameOf } from './keys';
import type { RunView, Thing } from './model';

/** The graph that a thing is a scope of: that of the run, of a nested workflow, or of an item. */
function graphOfScope(graphs: Graphs, view: RunView, scope: Thing): Graph | null {
  if (scope.within < 0) return graphs.graph;
  if (scope.kind === 'item') {
    const each = view.things[scope.within];
    const node = each && nodeOfThing(graphs, view, each);
    return node ? itemGraph(node) : null;
  }
  const node = nodeOfThing(graphs, view, scope);
  if (!node) return null;
  const name = workflowName(node);
  return name === null ? itemGraph(node) : nestedGraph(graphs, name);
}

/** The node of a graph that a thing is a visit of. */
export function nodeOfThing(graphs: Graphs, view: RunView, thing: Thing): GraphNode | null {
  const scope = view.things[thing.within];
  if (!scope || thing.node < 0) return null;
  return graphOfScope(graphs, view, scope)?.nodes[thing.node] ?? null;
}

/** All turns of the node of a thing, in its scope. */
export function turnsOf(view: RunView, thing: Thing): Thing[] {
  const siblings = view.things[thing.within]?.inside.map((id) => view.things[id]!) ?? [];
  return siblings.filter((other) => other.kind === thing.kind && other.item === thing.item && nameOf(other) === nameOf(thing));
}
