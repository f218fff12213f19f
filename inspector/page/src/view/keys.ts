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

/** What opens the graph of a workflow that a node has called in the place of the node. */
export const calledKey = (node: string): string => `called ${node}`;

/** The node of a graph whose picture has a thing: the thing itself, or what has called it. */
export function hostOf(view: RunView, thing: Thing): Thing {
  let host = thing;
  while (host.node < 0 && view.things[host.within]) host = view.things[host.within]!;
  return host;
}

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
    if (parent.graph !== null) keys.push(calledKey(keyOf(view, hostOf(view, parent))));
    if (parent.kind === 'each' && view.things[thing.within] !== parent) keys.push(itemGraphKey(key));
  }
  return keys;
}
