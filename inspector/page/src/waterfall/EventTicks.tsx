import { memo, useMemo } from 'react';
import type { TimeScale } from '../time/scale';
import type { RunView } from '../view/model';

interface Props {
  view: RunView;
  seq: number;
  scale: TimeScale;
  width: number;
}

const TOP = 24;

/** One tick an event, at most one a pixel: red for a failed attempt, amber for a question. */
export const EventTicks = memo(function EventTicks({ view, seq, scale, width }: Props) {
  const ticks = useMemo(() => ticksOf(view, scale, width), [view, scale, width]);
  const path = (of: readonly number[]) => of.map((x) => `M${x + 0.5} ${TOP}v8`).join('');
  const now = scale.at(view.times[seq] ?? 0) * width;
  const marks = (of: readonly number[]) => of.map((x) => `M${x} ${TOP - 1}v10`).join('');
  return (
    <svg className="event-ticks" width={Math.max(1, width)} height={39} aria-hidden="true">
      <path className="past-ticks" d={path(ticks.plain.filter((x) => x <= now + 1))} />
      <path className="future-ticks" d={path(ticks.plain.filter((x) => x > now + 1))} />
      <path className="failed-ticks" d={marks(ticks.failed)} />
      <path className="asked-ticks" d={marks(ticks.asked)} />
    </svg>
  );
});

function ticksOf(view: RunView, scale: TimeScale, width: number): { plain: number[]; failed: number[]; asked: number[] } {
  const at = (seq: number) => Math.round(scale.at(view.times[seq] ?? 0) * width);
  const plain = new Set<number>();
  for (let seq = 0; seq < view.times.length; seq++) plain.add(at(seq));
  const of = (type: 'error' | 'asked') => [...new Set(view.details.filter((detail) => detail.type === type).map((detail) => at(detail.seq)))];
  return { plain: [...plain], failed: of('error'), asked: of('asked') };
}
