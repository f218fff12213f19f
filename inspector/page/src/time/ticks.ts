import { duration } from '../ui/duration';
import type { TimeScale } from './scale';

export interface Tick {
  at: number;
  text: string;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 20e3, 30e3, 60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3];
const APART = 90;
const FROM_GAP = 56;

/** The labels of an axis of `px` pixels. Behind a gap they count from its end: `+2 s`. */
export function ticks(scale: TimeScale, px: number): Tick[] {
  if (scale.perMilli === 0) return [{ at: 0, text: '0' }];
  const raw = APART / (scale.perMilli * px);
  const step = STEPS.find((s) => s >= raw) ?? Math.ceil(raw / 3600e3) * 3600e3;
  const result: Tick[] = [];
  for (const { from, to } of scale.active) {
    const first = from === scale.from;
    for (let t = first ? from : from + step; t <= to; t += step) {
      const at = scale.at(t);
      const clear = scale.gaps.every((gap) => Math.abs(at - (scale.at(gap.from) + scale.at(gap.to)) / 2) * px > FROM_GAP);
      if (clear || t === scale.from) result.push({ at, text: first ? (t === from ? '0' : round(t - from)) : `+${round(t - from)}` });
    }
  }
  return result;
}

const round = (ms: number) => duration(ms).replace('.0 s', ' s').replace(' min 0 s', ' min').replace(' h 0 min', ' h');
