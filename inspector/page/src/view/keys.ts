import type { RunView, Thing } from './model';
import { leafOf } from './moment';

/** The name of a thing without the number of its turn: all turns of a node share a row. */
export function nameOf(thing: Thing): string {
  const leaf = leafOf(thing.path);
  return thing.turn > 0 ? leaf.replace(/(#[\d.]+)+$/, '') : leaf;
}

export const itemKey = (each: string, item: number): string => `${each}[${item}]`;

/** What opens the graph inside of `[..]` in place; its own key opens the rows of its items. */
export const itemGraphKey = (each: string): string => `graph ${each}`;

/** The key of the row and of the node of a thing: its path without the numbers of turns. */
export function keyOf(view: RunView, thing: Thing): string {
  const parent = view.things[thing.within];
  if (!parent) return thing.path;
  const key = keyOf(view, parent);
  return parent.kind === 'each' && thing.item >= 0 ? itemKey(key, thing.item) : `${key}/${nameOf(thing)}`;
}

/** The keys of everything around a thing, so that opening them shows it. */
export function keysAround(view: RunView, thing: Thing): string[] {
  const keys: string[] = [];
  for (let parent = view.things[thing.within]; parent; parent = view.things[parent.within]) {
    if (parent.within < 0) break;
    const key = keyOf(view, parent);
    keys.push(key);
    if (parent.kind === 'each' && view.things[thing.within] !== parent) keys.push(itemGraphKey(key));
  }
  return keys;
}
