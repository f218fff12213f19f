import type { Graph, GraphNode, Graphs } from '../api/types';
import { layout } from '../layout/layout';
import type { Box, Link, Placement } from '../layout/types';
import { duration } from '../ui/duration';
import { textWidth } from '../ui/measure';
import { mostUrgent, type Look } from '../ui/look';
import type { Thing } from '../view/model';
import { lastMove, leafOf, lookAt, takenUpTo, timeOf, type Moment } from '../view/moment';
import { calledKey, itemGraphKey, itemKey, keyOf } from '../view/keys';
import { dynamicInside, nodeAt, visitsIn, type NodeAt } from '../view/node';
import { drawnEdges, innerGraph, isPort, itemGraph, labelOf, workflowName } from './model';

export const NODE_HEIGHT = 44;
export const PILL_HEIGHT = 20;
export const PILL_GAP = 4;
export const FRAME = { side: 12, top: 36, bottom: 12 };
const MOST_PILLS = 4;
const FRAME_TITLE = 28;

export interface Pill {
  key: string;
  text: string;
  look: Look;
  depth: number;
  /** What it selects; null for one that only opens the others. */
  path: string | null;
  title: string;
}

export interface SceneNode {
  node: GraphNode;
  /** Stays the same in every turn. */
  key: string;
  /** What it selects. */
  path: string;
  at: NodeAt | null;
  look: Look | null;
  sub: string;
  pills: Pill[];
  /** How many pills are left out. */
  more: number;
  /** What opens it in place; null if there is nothing inside. */
  openKey: string | null;
  inner: Scene | null;
}

export interface SceneEdge {
  label: string;
  state: 'plan' | 'open' | 'taken' | 'live';
}

/** A graph, placed, with its states at a moment. */
export interface Scene {
  graph: Graph;
  nodes: SceneNode[];
  edges: SceneEdge[];
  placement: Placement;
}

export interface SceneInput {
  graphs: Graphs;
  /** The graphs of workflows that nodes have called, by their hashes. */
  called?: ReadonlyMap<string, Graphs>;
  /** Null for a workflow that is not looked at in a run. */
  moment: Moment | null;
  /** The same run with all of its events: sizes come from it, so that nothing moves in a replay. */
  whole: Moment | null;
  /** Keys of what is open. */
  open: ReadonlySet<string>;
  /** The path that is selected, for the item whose graph is shown inside of `[..]`. */
  selected: string | null;
  width: number;
  /** Children as one pill. */
  compact: boolean;
}

export function buildScene(input: SceneInput): Scene {
  return sceneOf(input, input.graphs.graph, 0, input.graphs.graph.name, input.width);
}

function sceneOf(input: SceneInput, graph: Graph, scope: number | null, prefix: string, width: number): Scene {
  const { moment, whole } = input;
  const visits = moment && scope !== null ? visitsIn(moment.view, scope) : null;
  const nodes: SceneNode[] = [];
  const boxes: Box[] = [];
  graph.nodes.forEach((node, index) => {
    const all = visits?.get(index);
    const now = moment && nodeAt(all, moment);
    const then = whole && nodeAt(all, whole);
    const drawn = sceneNode(input, node, `${prefix}/${node.name}`, now, then, width);
    nodes.push(drawn);
    boxes.push(boxOf(drawn, whole && then ? subOf(node, then, whole) : drawn.sub, moment !== null));
  });
  const shown = drawnEdges(graph);
  const edges = shown.map(({ edge, index }): SceneEdge => {
    const label = labelOf(graph, edge);
    if (!moment || scope === null) return { label, state: moment ? 'open' : 'plan' };
    const taken = takenUpTo(moment, scope).filter((t) => t.edge === index);
    const turns = edge.back !== null && edge.back !== undefined && taken.length ? ` × ${taken.length}` : '';
    const target = nodes[edge.to]!.at;
    return { label: label + turns, state: !taken.length ? 'open' : leadsTo(target, taken.at(-1)!.seq) ? 'live' : 'taken' };
  });
  const links = shown.map(({ edge, index }): Link => {
    const back = edge.back !== null && edge.back !== undefined;
    const times = back && whole && scope !== null ? takenUpTo(whole, scope).filter((t) => t.edge === index).length : 0;
    const label = labelOf(graph, edge) + (times ? ` × ${times}` : '');
    return { from: edge.from, to: edge.to, back, label: label ? Math.ceil(textWidth(label, 11)) + 8 : 0 };
  });
  return { graph, nodes, edges, placement: placed(boxes, links, width) };
}

/** Whether the edge that was taken at `seq` started the visit that runs now. */
function leadsTo(target: NodeAt | null, seq: number): boolean {
  if (!target?.last || (target.look !== 'running' && target.look !== 'waits_to_retry')) return false;
  const before = target.visits.at(-2)?.moves.at(-1)?.seq ?? -1;
  return seq >= before;
}

function sceneNode(input: SceneInput, node: GraphNode, key: string, now: NodeAt | null, then: NodeAt | null, width: number): SceneNode {
  const { moment, open, graphs } = input;
  const inner = innerGraph(graphs, node);
  const call = inner ? null : shownCall(input, then?.last ?? null);
  const openKey = call ? calledKey(key) : inner && (itemGraph(node) ? itemGraphKey(key) : key);
  const isOpen = openKey !== null && open.has(openKey);
  const scope = isOpen ? innerScope(node, now, input.selected) : null;
  const pills = moment && now && !isOpen ? pillsOf(input, key, now, then) : { pills: [], more: 0 };
  return {
    node,
    key,
    path: now?.last?.path ?? key,
    at: now,
    look: moment && !isPort(node) ? (now?.look ?? 'not_reached') : null,
    sub: call && isOpen ? leafOf(call.thing.path) : moment && now ? subOf(node, now, moment) : planSub(node),
    ...pills,
    openKey,
    inner: call && isOpen ? sceneOfCall(input, call, width) : inner && isOpen ? sceneOf(input, inner, scope?.id ?? null, scope && scope.item >= 0 ? itemKey(key, scope.item) : key, width - 2 * FRAME.side) : null,
  };
}

/** The thing whose graph an open node shows: for `[..]` the selected item, else the most urgent one. */
function innerScope(node: GraphNode, now: NodeAt | null, selected: string | null): Thing | null {
  if (workflowName(node) !== null || !now?.items) return now?.last ?? null;
  const chosen = now.items.find((item) => item.thing && selected !== null && (selected === item.thing.path || selected.startsWith(`${item.thing.path}/`)));
  const look = mostUrgent(now.items.filter((item) => item.thing).map((item) => item.look));
  return (chosen ?? now.items.find((item) => item.thing && item.look === look))?.thing ?? null;
}

/** A workflow that a node has called, and its graph. */
interface Call {
  thing: Thing;
  graphs: Graphs;
}

/** The call whose graph a node shows when it is open: the selected one, else the most urgent one. */
function shownCall({ moment, whole, called, selected }: SceneInput, last: Thing | null): Call | null {
  if (!moment || !whole || !called || !last) return null;
  const calls = dynamicInside(whole.view, last).flatMap(({ thing }): Call[] => {
    const graphs = thing.graph === null ? undefined : called.get(thing.graph);
    return graphs ? [{ thing, graphs }] : [];
  });
  const look = mostUrgent(calls.map(({ thing }) => lookAt(thing, moment.seq)));
  const chosen = calls.find(({ thing: { path } }) => selected !== null && (selected === path || selected.startsWith(`${path}/`)));
  return chosen ?? calls.find(({ thing }) => lookAt(thing, moment.seq) === look) ?? null;
}

function sceneOfCall(input: SceneInput, { thing, graphs }: Call, width: number): Scene {
  return sceneOf({ ...input, graphs }, graphs.graph, thing.id, keyOf(input.whole!.view, thing), width - 2 * FRAME.side);
}

function pillsOf({ moment, whole, open, compact }: SceneInput, key: string, now: NodeAt, then: NodeAt | null): { pills: Pill[]; more: number } {
  const last = then?.last ?? now.last;
  if (!last || !moment || !whole) return { pills: [], more: 0 };
  const all = dynamicInside(moment.view, last);
  const group = `dyn:${key}`;
  if (compact && all.length > 1 && !open.has(group)) {
    const look = mostUrgent(all.map(({ thing }) => lookAt(thing, moment.seq)));
    const title = all.slice(0, 20).map(({ thing }) => leafOf(thing.path)).join(', ');
    return { pills: [{ key: group, text: countOf(all.map(({ thing }) => thing)), look, depth: 0, path: null, title }], more: 0 };
  }
  const shown = all.slice(0, all.length > MOST_PILLS ? MOST_PILLS - 1 : MOST_PILLS);
  const pills = shown.map(({ thing, depth }): Pill => ({
    key: thing.path,
    text: leafOf(thing.path),
    look: lookAt(thing, moment.seq),
    depth,
    path: thing.path,
    title: `${thing.kind} ${leafOf(thing.path)}`,
  }));
  return { pills, more: all.length - shown.length };
}

function countOf(things: readonly Thing[]): string {
  const kinds = new Set(things.map((thing) => thing.kind));
  if (kinds.size > 1) return `${things.length} inside`;
  return { child: `${things.length} children`, step: `${things.length} steps`, question: `${things.length} questions`, timer: `${things.length} timers`, wait: `${things.length} waits` }[
    things[0]!.kind as string
  ] ?? `${things.length} inside`;
}

const planSub = (node: GraphNode): string => (itemGraph(node) ? 'for each item' : workflowName(node) !== null ? 'workflow' : '');

/** The second line of a node: `3 turns · attempt 2 · 8.6 s`. */
function subOf(node: GraphNode, at: NodeAt, moment: Moment): string {
  if (isPort(node)) return '';
  if (!at.last) return 'not reached';
  if (at.look === 'skipped') return 'skipped';
  if (at.look === 'queued') return 'queued';
  const last = lastMove(at.last, moment.seq);
  const since = last ? duration(moment.now - timeOf(moment.view, last.seq)) : '';
  if (at.items?.length) return `${at.items.filter((item) => item.look === 'completed').length}/${at.items.length} · ${duration(at.busy)}`;
  if (at.look === 'waiting') return `waits for ${since}`;
  if (at.look === 'sleeping') return `sleeps for ${since}`;
  if (at.look === 'collecting') return `collects · ${duration(at.busy)}`;
  const turns = at.visits.length;
  const attempt = last && last.attempt > 1 ? `attempt ${last.attempt} · ` : '';
  if (at.look === 'running' && turns > 1) return `turn ${turns} · ${attempt}${duration(moment.now - timeOf(moment.view, at.last.moves[0]!.seq))}`;
  return `${turns > 1 ? `${turns} turns · ` : ''}${attempt}${duration(at.busy)}`;
}

function boxOf(drawn: SceneNode, widestSub: string, inRun: boolean): Box {
  const { node, inner, pills } = drawn;
  if (isPort(node)) return { w: Math.ceil(textWidth(node.name, 10, 500)) + 20, h: 20, port: 10 };
  const title = textWidth(node.name, 13, 500);
  if (inner) {
    const w = Math.max(inner.placement.w + 2 * FRAME.side, title + textWidth(drawn.sub, 11) + 40 + FRAME_TITLE * 2);
    return { w: round(w), h: inner.placement.h + FRAME.top + FRAME.bottom, port: FRAME.top + inner.placement.trunk };
  }
  const pad = (inRun ? 38 : 24) + (drawn.openKey === null ? 0 : 28);
  const sub = Math.max(textWidth(widestSub, 11), textWidth(drawn.sub, 11));
  let w = Math.max(80, title + pad, sub + pad, inRun ? 100 : 0);
  if (itemGraph(node)) w = Math.max(136, w, title + sub + 46 + (drawn.openKey === null ? 0 : 24));
  let h = NODE_HEIGHT;
  if (pills.length) {
    const widest = Math.max(...pills.map((pill) => 48 + 10 * pill.depth + textWidth(pill.text, 11)));
    w = Math.max(w, Math.min(180, widest));
    h += 8 + (pills.length + (drawn.more ? 1 : 0)) * (PILL_HEIGHT + PILL_GAP);
  }
  return { w: round(w), h, port: NODE_HEIGHT / 2 };
}

/** In steps, so that a clock that ticks in a node does not move the others. */
const round = (w: number) => Math.ceil(w / 8) * 8;

const placements = new Map<string, Placement>();
const CACHED = 64;

function placed(boxes: readonly Box[], links: readonly Link[], width: number): Placement {
  const key = JSON.stringify([boxes, links, width]);
  const known = placements.get(key);
  if (known) return known;
  const placement = layout(boxes, links, width);
  if (placements.size >= CACHED) placements.delete(placements.keys().next().value!);
  placements.set(key, placement);
  return placement;
}
