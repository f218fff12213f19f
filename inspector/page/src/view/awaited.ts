import type { RunView, Thing } from './model';
import { lookAt } from './moment';

/** A wait that no signal has come for. */
export interface Awaited {
  signal: string;
  path: string;
}

/** The open waits of a run as it is now, the longest open first; those at a path and below it before all others. */
export function awaitedSignals(view: RunView, at: string | null): Awaited[] {
  const open = view.things.flatMap((thing) => awaitedBy(view, thing));
  const isThere = ({ path }: Awaited) => at !== null && (path === at || path.startsWith(`${at}/`));
  return [...open.filter(isThere), ...open.filter((awaited) => !isThere(awaited))];
}

function awaitedBy(view: RunView, thing: Thing): Awaited[] {
  if (thing.kind !== 'wait' || lookAt(thing, view.seq) !== 'waiting') return [];
  const awaits = thing.details.findLast((detail) => detail.type === 'awaits');
  return awaits?.type === 'awaits' ? [{ signal: awaits.signal, path: thing.path }] : [];
}
