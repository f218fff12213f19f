import type { TimeScale } from '../time/scale';
import { duration } from '../ui/duration';
import type { Look } from '../ui/look';
import { isUnderWay, lastMove, spanOf, stretches, type Moment, type Stretch } from '../view/moment';
import type { Row } from '../view/rows';

export interface Bar {
  left: number;
  width: number;
  shape: 'done' | 'running' | 'failed' | 'waiting' | 'cancelled' | 'sleeping' | 'backoff' | 'point';
  isVoid: boolean;
  title: string;
}

export interface RowBars {
  bars: Bar[];
  /** Where an attempt failed. */
  failures: { left: number; title: string }[];
  /** The numbers of turns. */
  turns: { left: number; turn: number }[];
  /** `pale`: inside of a bar that is as pale as the page. */
  text: { left: number; place: 'right' | 'left' | 'inside' | 'pale'; value: string; failed: boolean } | null;
}

const TEXT_ROOM = 96;
const TURN_ROOM = 24;
/** A bar is never narrower; bars that lie within that are drawn once. */
const NARROWEST = 3;

/** The bars of a row in a lane of `width` pixels. */
export function barsOf(row: Row, moment: Moment, scale: TimeScale, width: number): RowBars {
  const x = (time: number) => scale.at(time) * width;
  const result: RowBars = { bars: [], failures: [], turns: [], text: null };
  let total = 0;
  let first: number | null = null;
  let end = 0;
  row.things.forEach((thing, turn) => {
    const parts = stretches(thing, moment);
    parts.forEach((part) => addStretch(result, part, row, moment, x));
    const span = spanOf(thing, moment);
    if (!span) return;
    const stop = span.end ?? moment.now;
    total += stop - span.start;
    first ??= x(span.start);
    end = Math.max(end, x(stop));
    if (row.things.length > 1 && x(stop) - x(span.start) > TURN_ROOM) result.turns.push({ left: x(span.start), turn: thing.turn || turn + 1 });
  });
  if (first !== null) result.text = textOf(row, moment, { total, first, end, width, last: result.bars.at(-1) });
  return result;
}

function addStretch(result: RowBars, part: Stretch, row: Row, moment: Moment, x: (time: number) => number) {
  const stop = part.to ?? moment.now;
  const [left, right] = [x(part.from), x(stop)];
  const shape = shapeOf(part, row);
  const before = result.bars.at(-1);
  if (before && isScope(row) && isWork(shape) && isWork(before.shape) && left - before.left - before.width < 1 && before.isVoid === part.isVoid) {
    // What a scope is under way with is in the rows below it: it has one bar, which looks like its end.
    Object.assign(before, { width: right - before.left, shape });
    return;
  }
  const isHidden = before !== undefined && before.shape === shape && right - before.left < NARROWEST;
  if (!isHidden) result.bars.push({ left, width: shape === 'point' ? 0 : right - left, shape, isVoid: part.isVoid, title: titleOf(part, shape, stop - part.from) });
  const lastFailure = result.failures.at(-1);
  if (shape === 'failed' && (!lastFailure || right - lastFailure.left >= NARROWEST)) result.failures.push({ left: right, title: `attempt ${part.attempt} failed` });
}

const isWork = (shape: Bar['shape']) => shape !== 'waiting' && shape !== 'sleeping' && shape !== 'point';

function shapeOf(part: Stretch, row: Row): Bar['shape'] {
  if (part.look === 'waiting') return 'waiting';
  if (part.look === 'sleeping') return 'sleeping';
  // While one of its items waits to retry, `[..]` is under way.
  const isAttempt = !isScope(row);
  if (part.look === 'waits_to_retry' && isAttempt) return 'backoff';
  if (part.next === 'failed' || (part.next === 'waits_to_retry' && isAttempt)) return 'failed';
  if (part.next === 'cancelled') return 'cancelled';
  if (part.next === null) return 'running';
  return part.from === part.to && row.kind === 'step' ? 'point' : 'done';
}

function titleOf(part: Stretch, shape: Bar['shape'], ms: number): string {
  if (shape === 'waiting') return `waits for ${duration(ms)}`;
  if (shape === 'sleeping') return `sleeps for ${duration(ms)}`;
  if (shape === 'backoff') return `waits ${duration(ms)} to retry`;
  if (shape === 'point') return 'recorded';
  return `${part.attempt > 0 ? `attempt ${part.attempt}: ` : ''}${duration(ms)}${part.isVoid ? ', voided by a retry' : ''}`;
}

interface Extent {
  total: number;
  first: number;
  end: number;
  width: number;
  /** The last bar. */
  last: Bar | undefined;
}

const CHAR = 6;

function textOf(row: Row, moment: Moment, { total, first, end, width, last: bar }: Extent): RowBars['text'] {
  const last = row.things.findLast((thing) => lastMove(thing, moment.seq) !== null);
  const move = last ? lastMove(last, moment.seq) : null;
  const attempts = move && move.attempt > 1 ? ` · ${move.attempt} attempts` : '';
  const value = (row.kind === 'step' && total === 0 ? 'recorded' : duration(total)) + attempts;
  const failed = move?.look === 'failed';
  if (width - end > TEXT_ROOM) return { left: end + (failed ? 6 : 0), place: 'right', value, failed };
  if (first > TEXT_ROOM) return { left: first, place: 'left', value, failed };
  const short = duration(total);
  if (isScope(row) || !bar || bar.shape === 'backoff' || bar.width < short.length * CHAR + 8) return null;
  const place = bar.shape === 'waiting' || bar.shape === 'sleeping' ? 'pale' : 'inside';
  return { left: end, place, value: short, failed };
}

export const isScope = (row: Row): boolean => row.kind === 'each' || row.kind === 'workflow' || row.kind === 'item';

/** What a row looks like at a moment: its last turn that has begun. */
export function rowLook(row: Row, moment: Moment): Look {
  for (let at = row.things.length - 1; at >= 0; at--) {
    const move = lastMove(row.things[at]!, moment.seq);
    if (move && move.look !== 'not_reached') return move.look;
  }
  return row.things.length ? 'not_reached' : isUnderWay(moment.view.status ?? 'completed') ? 'queued' : 'not_reached';
}
