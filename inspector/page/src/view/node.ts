import type { Look } from '../ui/look';
import type { RunView, Thing } from './model';
import { busy, countUpTo, isUnderWay, lookAt, type Moment } from './moment';

/** An item of `[..]`. */
export interface Item {
  index: number;
  look: Look;
  /** Its last visit, or the item itself; null before it starts. */
  thing: Thing | null;
  attempt: number;
}

/** What a node of a graph has come to at a moment: all of its visits together. */
export interface NodeAt {
  look: Look;
  /** The visits that have begun. */
  visits: Thing[];
  last: Thing | null;
  busy: number;
  items: Item[] | null;
}

const visitsOf = new WeakMap<RunView, Map<number, Map<number, Thing[]>>>();
const nodesAt = new WeakMap<Moment, Map<readonly Thing[], NodeAt>>();

/** By node, its visits in a scope, in order. */
export function visitsIn(view: RunView, scope: number): Map<number, Thing[]> {
  const known = cached(visitsOf, view);
  const visits = known.get(scope) ?? findVisits(view, scope);
  known.set(scope, visits);
  return visits;
}

function cached<K extends object, A, B>(all: WeakMap<K, Map<A, B>>, key: K): Map<A, B> {
  const known = all.get(key);
  if (known) return known;
  const made = new Map<A, B>();
  all.set(key, made);
  return made;
}

function findVisits(view: RunView, scope: number): Map<number, Thing[]> {
  const visits = new Map<number, Thing[]>();
  for (const id of view.things[scope]?.inside ?? []) {
    const thing = view.things[id]!;
    if (thing.node < 0) continue;
    const known = visits.get(thing.node);
    if (known) known.push(thing);
    else visits.set(thing.node, [thing]);
  }
  return visits;
}

const NEVER: NodeAt = { look: 'not_reached', visits: [], last: null, busy: 0, items: null };

/** `all`: the visits of the node, as `visitsIn` has them. A graph that is fitted into a pane asks several times. */
export function nodeAt(all: readonly Thing[] | undefined, moment: Moment): NodeAt {
  if (!all) return NEVER;
  const known = cached(nodesAt, moment);
  const node = known.get(all) ?? findNode(all, moment);
  known.set(all, node);
  return node;
}

function findNode(all: readonly Thing[], moment: Moment): NodeAt {
  const { seq, view } = moment;
  const visits = all.filter((thing) => lookAt(thing, seq) !== 'not_reached');
  const last = visits.at(-1);
  if (!last) return NEVER;
  const items = last.kind === 'each' ? itemsOf(view, last, seq) : null;
  return { look: lookAt(last, seq), visits, last, busy: visits.reduce((sum, v) => sum + busy(v, moment), 0), items };
}

export function itemCount(each: Thing, seq: number): number {
  const details = each.details.slice(0, countUpTo(each.details, seq));
  const entered = details.findLast((detail) => detail.type === 'entered');
  return entered?.type === 'entered' ? entered.items : 0;
}

/** The things right inside of `[..]` by the index of their item; the last one counts. */
export function itemsOf(view: RunView, each: Thing, seq: number): Item[] {
  const rest: Look = isUnderWay(lookAt(each, seq)) ? 'queued' : 'not_reached';
  const items: Item[] = Array.from({ length: itemCount(each, seq) }, (_, index) => ({ index, look: rest, thing: null, attempt: 0 }));
  for (const id of each.inside) {
    const thing = view.things[id]!;
    const item = items[thing.item];
    const move = thing.moves[countUpTo(thing.moves, seq) - 1];
    if (item && move && move.look !== 'not_reached') Object.assign(item, { thing, look: move.look, attempt: move.attempt });
  }
  return items;
}

/** The children, steps, questions and waits of a thing, with those inside of children, in the order of their begin. Nodes of a graph are none. */
export function dynamicInside(view: RunView, thing: Thing, depth = 0): { thing: Thing; depth: number }[] {
  if (thing.kind === 'each' || thing.kind === 'workflow' || thing.kind === 'item' || thing.graph !== null) return [];
  return thing.inside.flatMap((id) => {
    const inner = view.things[id]!;
    return [{ thing: inner, depth }, ...dynamicInside(view, inner, depth + 1)];
  });
}
