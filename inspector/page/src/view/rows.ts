import type { KindName } from '../api/types';
import { itemKey, nameOf } from './keys';
import type { RunView, Thing } from './model';
import { isUnderWay } from './moment';
import { itemCount } from './node';

/** A row of the waterfall: all turns of a node, or an item, a child, a step and so on. */
export interface Row {
  key: string;
  name: string;
  kind: KindName;
  /** Its turns. None for an item that has not started. */
  things: Thing[];
  depth: number;
  hasInside: boolean;
  isOpen: boolean;
  /** Beside the name: `×3`, `12 items`, `child`. */
  note: string;
}

/** What is open: an entry here, else the default of its kind. */
export type Opened = ReadonlyMap<string, boolean>;

/** More children than these are closed at first. */
const MOST_INSIDE = 12;
/** More items than these are not labelled and listed only if they have started. */
const MOST_IDLE_ITEMS = 2000;

/** The rows of a run with all of its events, so that none appears or goes in a replay. */
export function rowsOf(view: RunView, opened: Opened): Row[] {
  const run = view.things[0];
  const rows: Row[] = [];
  if (run) addInside(view, [run], run.path, 0, opened, rows);
  return rows;
}

function addInside(view: RunView, parents: readonly Thing[], key: string, depth: number, opened: Opened, rows: Row[]) {
  const groups = new Map<string, { name: string; things: Thing[] }>();
  const isEach = parents[0]!.kind === 'each';
  if (isEach) for (const index of idleItems(view, parents.at(-1)!)) groups.set(itemKey(key, index), { name: `[${index}]`, things: [] });
  for (const parent of parents) {
    for (const id of parent.inside) {
      const thing = view.things[id]!;
      if (!hasRow(thing)) continue;
      const isItem = isEach && thing.item >= 0;
      const own = isItem ? itemKey(key, thing.item) : `${key}/${nameOf(thing)}`;
      const group = groups.get(own);
      if (group) group.things.push(thing);
      else groups.set(own, { name: isItem ? `[${thing.item}]` : nameOf(thing), things: [thing] });
    }
  }
  const sorted = isEach ? [...groups] : [...groups].sort(([, a], [, b]) => firstMove(a.things) - firstMove(b.things));
  for (const [own, { name, things }] of sorted) {
    const last = things.at(-1);
    const kind = last?.kind ?? 'node';
    const count = things.reduce((sum, thing) => sum + thing.inside.length, 0);
    const hasInside = last !== undefined && (count > 0 || kind === 'each');
    const isOpen = hasInside && (opened.get(own) ?? (kind !== 'each' && kind !== 'workflow' && kind !== 'item' && count <= MOST_INSIDE));
    rows.push({ key: own, name, kind, things, depth, hasInside, isOpen, note: noteOf(view, things, kind) });
    if (isOpen) addInside(view, things, own, depth + 1, opened, rows);
  }
}

const hasRow = (thing: Thing) => thing.moves.some((move) => isUnderWay(move.look) || move.look === 'completed' || move.look === 'failed' || move.look === 'cancelled');
const firstMove = (things: readonly Thing[]) => things[0]?.moves[0]?.seq ?? Infinity;

/** The indices of all items, so that those in the queue have a row as well. */
function idleItems(view: RunView, each: Thing): number[] {
  const count = itemCount(each, view.seq);
  return count <= MOST_IDLE_ITEMS ? Array.from({ length: count }, (_, index) => index) : [];
}

function noteOf(view: RunView, things: readonly Thing[], kind: KindName): string {
  const last = things.at(-1);
  if (!last) return '';
  if (kind === 'each') {
    const count = itemCount(last, view.seq);
    return `${count} ${count === 1 ? 'item' : 'items'}`;
  }
  if (things.length > 1) return `×${things.length}`;
  return kind === 'node' || kind === 'item' || kind === 'workflow' ? '' : kind;
}
