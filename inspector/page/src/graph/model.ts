import type { Graph, GraphEdge, GraphNode, Graphs } from '../api/types';

export const isPort = (node: GraphNode): boolean => node.kind === 'Start' || node.kind === 'End';
export const itemGraph = (node: GraphNode): Graph | null => (typeof node.kind === 'object' && 'Each' in node.kind ? node.kind.Each : null);
export const workflowName = (node: GraphNode): string | null => (typeof node.kind === 'object' && 'Workflow' in node.kind ? node.kind.Workflow : null);
export const isJoin = (node: GraphNode): boolean => node.ways.some((way) => 'All' in way);
/** START, END and one node: `[fetch]`. */
const isSingle = (graph: Graph): boolean => graph.nodes.length <= 3;

export const labelOf = (graph: Graph, edge: GraphEdge): string => edge.arms.map((arm) => graph.nodes[edge.from]?.labels[arm] ?? '').join(' | ');

/** The edges that a picture shows: all but the implied one from START to END. */
export function drawnEdges(graph: Graph): { edge: GraphEdge; index: number }[] {
  const isImplied = (edge: GraphEdge) =>
    graph.is_unit && graph.nodes[edge.from]?.kind === 'Start' && graph.nodes[edge.to]?.kind === 'End';
  return graph.edges.flatMap((edge, index) => (isImplied(edge) ? [] : [{ edge, index }]));
}

/** The graph of a workflow that is a node, by its name. */
export const nestedGraph = (graphs: Graphs, name: string): Graph | null =>
  graphs.nested.find((graph) => graph.name === name) ?? (graphs.graph.name === name ? graphs.graph : null);

/** The node that a path leads to, by the names in it: `briefing/verify/check_names#2`, `briefing/fetch[7]`. */
export function nodeOfPath(graphs: Graphs, path: string): GraphNode | null {
  let graph: Graph | null = graphs.graph;
  let node: GraphNode | null = null;
  for (const part of path.split('/').slice(1)) {
    const name = part.replace(/#[\d.]+$/, '');
    const item = /^(.*)\[\d+\]$/.exec(name)?.[1];
    const each: GraphNode | undefined = graph?.nodes.find((other) => other.name === (item === undefined ? name : `[${item}]`));
    // What a node has called is in no graph: the node is taken for it.
    if (!each) return node;
    const items = itemGraph(each);
    const inner = workflowName(each);
    node = item === undefined ? each : (items?.nodes.find((other) => other.name === item) ?? each);
    graph = inner === null ? items : nestedGraph(graphs, inner);
  }
  return node;
}

/** What is inside of a node that opens in place. */
export function innerGraph(graphs: Graphs, node: GraphNode): Graph | null {
  const name = workflowName(node);
  if (name !== null) return nestedGraph(graphs, name);
  const items = itemGraph(node);
  return items && !isSingle(items) ? items : null;
}
