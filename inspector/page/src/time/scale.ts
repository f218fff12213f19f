/** A stretch of time, in milliseconds. */
export interface Period {
  from: number;
  to: number;
}

/** Maps times onto the shared axis of slider and waterfall, from 0 to 1. */
export interface TimeScale extends Period {
  /** The waits that are compressed. */
  gaps: Period[];
  /** The stretches between them, which are to scale. */
  active: Period[];
  /** The share of the axis that a millisecond outside of the gaps takes. */
  perMilli: number;
  at(time: number): number;
}

const GAP = 20_000;
/** All gaps together take at most this share of the axis, and one at most `GAP_SHARE`. */
const GAPS_SHARE = 0.4;
const GAP_SHARE = 0.12;

/** `times` are those of the events, in order; the axis runs from the first one to `end`. */
export function timeScale(times: readonly number[], end: number): TimeScale {
  const from = times[0] ?? end;
  const to = Math.max(end, times.at(-1) ?? end, from);
  const gaps: Period[] = [];
  let before = from;
  for (const time of [...times, to]) {
    if (time - before > GAP) gaps.push({ from: before, to: time });
    before = Math.max(before, time);
  }
  const active = activePeriods(from, to, gaps);
  const total = active.reduce((sum, p) => sum + p.to - p.from, 0);
  const share = gaps.length ? Math.min(GAP_SHARE, GAPS_SHARE / gaps.length) : 0;
  // A run that only waits has no active time: its gaps then fill the axis.
  const gapShare = total > 0 ? share : gaps.length ? 1 / gaps.length : 0;
  const perMilli = total > 0 ? (1 - gapShare * gaps.length) / total : 0;
  const starts = gapStarts(from, gaps, gapShare, perMilli);
  const at = (time: number) => {
    const t = Math.min(Math.max(time, from), to);
    const i = lastAtOrBefore(gaps, t);
    if (i < 0) return (t - from) * perMilli;
    const gap = gaps[i]!;
    if (t < gap.to) return starts[i]! + (gapShare * (t - gap.from)) / (gap.to - gap.from);
    return starts[i]! + gapShare + (t - gap.to) * perMilli;
  };
  return { from, to, gaps, active, perMilli, at };
}

function activePeriods(from: number, to: number, gaps: readonly Period[]): Period[] {
  const periods: Period[] = [];
  let at = from;
  for (const gap of gaps) {
    if (gap.from > at) periods.push({ from: at, to: gap.from });
    at = gap.to;
  }
  if (to > at) periods.push({ from: at, to });
  return periods;
}

/** Where each gap begins on the axis. */
function gapStarts(from: number, gaps: readonly Period[], share: number, perMilli: number): number[] {
  let at = from;
  let u = 0;
  return gaps.map((gap) => {
    u += (gap.from - at) * perMilli;
    const start = u;
    u += share;
    at = gap.to;
    return start;
  });
}

/** The last gap that begins before `time`, by binary search; -1 if there is none. */
function lastAtOrBefore(gaps: readonly Period[], time: number): number {
  let [low, high] = [0, gaps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (gaps[middle]!.from < time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
