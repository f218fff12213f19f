import type { Detail, KindName, Progress, Status, ViewPart } from '../api/types';
import type { Look } from '../ui/look';
import { KINDS, STATES } from './names';

/** From event `seq` on a thing is in this state, in this attempt (from 1; 0 for what has none). */
export interface Move {
  seq: number;
  look: Look;
  attempt: number;
}

/** A part of a run: a visit of a node, an item, a child, a step, a question, a timer, or the run itself. */
export interface Thing {
  id: number;
  path: string;
  kind: KindName;
  /** The thing that it is in; -1 for the run. */
  within: number;
  /** Its node in the graph of its scope; -1 if there is none. */
  node: number;
  /** The index of the item right inside of `[..]`; else -1. */
  item: number;
  /** The turn of the innermost loop, from 1; else 0. */
  turn: number;
  /** For a child that is a workflow: the hash of its graph. */
  graph: string | null;
  inside: number[];
  moves: Move[];
  details: Detail[];
  progress: Progress | null;
  /** By the event that shows its start, by how many milliseconds before that event it began. */
  began: Map<number, number>;
}

/** Where an edge was taken. */
export interface Taken {
  seq: number;
  edge: number;
}

/** A view of a run. Its lists only grow; the moment after event `S` is what has `seq <= S`. */
export interface RunView {
  cursor: string;
  /** The number of the last event; -1 if there is none. */
  seq: number;
  status: Status | null;
  /** By event, in milliseconds since 1970. */
  times: number[];
  things: Thing[];
  byPath: Map<string, Thing>;
  /** By scope: thing 0 is the graph of the run. */
  taken: Map<number, Taken[]>;
  statuses: { seq: number; status: Status }[];
  details: Detail[];
  /** By event, the first thing that moved and the first detail; they tell what the event was. */
  movedAt: Map<number, { thing: number; look: Look; attempt: number }>;
  detailAt: Map<number, Detail>;
  /** Counts the parts that were added. */
  version: number;
}

export const emptyView = (): RunView => ({
  cursor: '',
  seq: -1,
  status: null,
  times: [],
  things: [],
  byPath: new Map(),
  taken: new Map(),
  statuses: [],
  details: [],
  movedAt: new Map(),
  detailAt: new Map(),
  version: 0,
});

/** The hashes of the graphs of the workflows that nodes of a run have called. */
export const calledGraphs = ({ things }: RunView): string[] => [...new Set(things.flatMap(({ graph }) => graph ?? []))].sort();

/** How often the graph of the run has changed. */
export const graphChanges = ({ details }: RunView): number => details.filter(({ type }) => type === 'graph_changed').length;

/** Adds a part to a view, in place; a whole one replaces what there is. Returns a new top object, so that readers see a change. */
export function addPart(old: RunView, part: ViewPart): RunView {
  const view = part.whole ? { ...emptyView(), version: old.version } : { ...old };
  view.version++;
  view.cursor = part.cursor;
  view.seq = Math.max(view.seq, part.seq);
  view.status = part.status ?? view.status;
  eachDifference(part.times, 1, 0, ([time]) => view.times.push(time!));
  addThings(view, part);
  eachDifference(part.moves, 4, 1, ([thing, seq, state, attempt]) => {
    const look = STATES[state!] ?? 'not_reached';
    view.things[thing!]?.moves.push({ seq: seq!, look, attempt: attempt! });
    if (!view.movedAt.has(seq!)) view.movedAt.set(seq!, { thing: thing!, look, attempt: attempt! });
  });
  eachDifference(part.taken, 3, 1, ([scope, seq, edge]) => listOf(view.taken, scope!).push({ seq: seq!, edge: edge! }));
  eachDifference(part.began, 3, 1, ([thing, seq, before]) => view.things[thing!]?.began.set(seq!, before!));
  for (const change of part.runs) view.statuses.push(change);
  for (const detail of part.details) {
    view.details.push(detail);
    if (!view.detailAt.has(detail.seq)) view.detailAt.set(detail.seq, detail);
    const thing = view.things[detail.thing];
    thing?.details.push(detail);
    // What is inside of it is numbered by the first one.
    if (thing && detail.type === 'entered') thing.graph ??= detail.graph ?? null;
  }
  for (const progress of part.progress) {
    const thing = view.things[progress.thing];
    if (thing && progress.number >= (thing.progress?.number ?? 0)) thing.progress = progress;
  }
  return view;
}

function addThings(view: RunView, { things }: ViewPart) {
  things.path.forEach((path, at) => {
    const thing: Thing = {
      id: view.things.length,
      path,
      kind: KINDS[things.kind[at]!] ?? 'node',
      within: things.within[at]!,
      node: things.node[at]!,
      item: things.item[at]!,
      turn: things.turn[at]!,
      graph: null,
      inside: [],
      moves: [],
      details: [],
      progress: null,
      began: new Map(),
    };
    view.things.push(thing);
    view.byPath.set(path, thing);
    view.things[thing.within]?.inside.push(thing.id);
  });
}

/** Reads rows of `width` integers, in which each column `column` is written as the difference to the row before. */
function eachDifference(list: readonly number[], width: number, column: number, row: (values: number[]) => void) {
  let before = 0;
  for (let at = 0; at + width <= list.length; at += width) {
    const values = list.slice(at, at + width);
    before += values[column]!;
    values[column] = before;
    row(values);
  }
}

function listOf<K, V>(map: Map<K, V[]>, key: K): V[] {
  const known = map.get(key);
  if (known) return known;
  const list: V[] = [];
  map.set(key, list);
  return list;
}
