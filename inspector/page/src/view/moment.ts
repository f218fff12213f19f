import type { Status } from '../api/types';
import type { Look } from '../ui/look';
import type { Move, RunView, Taken, Thing } from './model';

/** A view of a run at one event, or live. */
export interface Moment {
  view: RunView;
  /** The last event that counts. */
  seq: number;
  /** Until when bars of what has not ended run. */
  now: number;
  /** Whether it follows the run. */
  live: boolean;
}

/** How many entries of a list in the order of events belong to a moment. */
export function countUpTo(list: readonly { seq: number }[], seq: number): number {
  const last = list.at(-1);
  if (!last || last.seq <= seq) return list.length;
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]!.seq <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function lastMove(thing: Thing, seq: number): Move | null {
  return thing.moves[countUpTo(thing.moves, seq) - 1] ?? null;
}

export const lookAt = (thing: Thing, seq: number): Look => lastMove(thing, seq)?.look ?? 'not_reached';

export function statusAt({ view, seq }: Moment): Status {
  return view.statuses[countUpTo(view.statuses, seq) - 1]?.status ?? 'running';
}

export const timeOf = (view: RunView, seq: number): number => view.times[Math.min(seq, view.times.length - 1)] ?? 0;

/** A stretch in which a thing was in one state. */
export interface Stretch {
  from: number;
  /** Null if it has not ended. */
  to: number | null;
  look: Look;
  attempt: number;
  /** The state after it. */
  next: Look | null;
  /** A retry of the run made it as if it had never been. */
  isVoid: boolean;
}

const UNDER_WAY: readonly Look[] = ['running', 'waiting', 'sleeping', 'collecting', 'waits_to_retry'];
export const isUnderWay = (look: Look): boolean => UNDER_WAY.includes(look);

/** The index of the first move that a retry has not voided. */
function firstValid(moves: readonly Move[], count: number): number {
  for (let at = count - 1; at >= 0; at--) if (moves[at]!.look === 'not_reached') return at + 1;
  return 0;
}

const beganAt = (thing: Thing, view: RunView, seq: number) => timeOf(view, seq) - (thing.began.get(seq) ?? 0);

/** What a thing did up to a moment, without the time before its start and after its end. */
export function stretches(thing: Thing, { view, seq }: Moment): Stretch[] {
  const count = countUpTo(thing.moves, seq);
  const valid = firstValid(thing.moves, count);
  const result: Stretch[] = [];
  for (let at = 0; at < count; at++) {
    const { seq: from, look, attempt } = thing.moves[at]!;
    const next = at + 1 < count ? thing.moves[at + 1]! : null;
    // A step whose start was not recorded has only its end.
    const isWhole = !isUnderWay(look) && thing.began.has(from) && (at === 0 || !isUnderWay(thing.moves[at - 1]!.look));
    if (!isUnderWay(look) && !isWhole) continue;
    result.push({
      from: beganAt(thing, view, from),
      to: isWhole ? timeOf(view, from) : next && timeOf(view, next.seq),
      look: isWhole ? 'running' : look,
      attempt,
      next: isWhole ? look : (next?.look ?? null),
      isVoid: at < valid,
    });
  }
  return result;
}

/** When a thing began and ended, by its moves up to a moment; null before its start. */
export function spanOf(thing: Thing, { view, seq }: Moment): { start: number; end: number | null } | null {
  const count = countUpTo(thing.moves, seq);
  let at = firstValid(thing.moves, count);
  while (at < count && (thing.moves[at]!.look === 'queued' || thing.moves[at]!.look === 'skipped')) at++;
  const first = thing.moves[at];
  if (!first || at >= count) return null;
  const last = thing.moves[count - 1]!;
  return { start: beganAt(thing, view, first.seq), end: isUnderWay(last.look) ? null : timeOf(view, last.seq) };
}

/** How long a thing has taken up to a moment. */
export function busy(thing: Thing, moment: Moment): number {
  const span = spanOf(thing, moment);
  return span ? Math.max(0, (span.end ?? moment.now) - span.start) : 0;
}

export function takenUpTo({ view, seq }: Moment, scope: number): readonly Taken[] {
  const list = view.taken.get(scope);
  return list ? list.slice(0, countUpTo(list, seq)) : [];
}

export const leafOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
