import { useCallback, useEffect, useMemo, useState } from 'react';
import type { RunView } from '../view/model';
import { isUnderWay, timeOf, type Moment } from '../view/moment';
import { useNow } from '../ui/useNow';

const REPLAY = 160;
/** A replay of a long run is done in about so many steps. */
const STEPS = 400;

export interface Playhead {
  moment: Moment;
  /** The run with all of its events. */
  whole: Moment;
  isRunning: boolean;
  isPlaying: boolean;
  go: (seq: number | 'last') => void;
  play: () => void;
}

/** Which event of a run is shown. `start` is null to follow it. */
export function usePlayhead(view: RunView, start: number | null, clockOffset: number): Playhead {
  const [position, setPosition] = useState(start);
  const [isPlaying, setPlaying] = useState(false);
  const isRunning = view.status !== null && isUnderWay(view.status);
  const clock = useNow(isRunning ? 1000 : 0);
  const last = view.seq;
  const live = position === null || position >= last;
  const now = isRunning ? Math.max(clock + clockOffset, timeOf(view, last)) : timeOf(view, last);

  const go = useCallback((to: number | 'last') => setPosition(to === 'last' || to >= last ? null : Math.max(0, to)), [last]);
  useEffect(() => {
    if (!isPlaying) return;
    const step = Math.max(1, Math.ceil(last / STEPS));
    const timer = setInterval(() => setPosition((at) => (at === null || at + step >= last ? null : at + step)), REPLAY);
    return () => clearInterval(timer);
  }, [isPlaying, last]);
  useEffect(() => {
    if (position === null) setPlaying(false);
  }, [position]);
  const play = useCallback(() => {
    setPlaying((playing) => !playing);
    setPosition((at) => at ?? 0);
  }, []);

  return useMemo(() => {
    const whole: Moment = { view, seq: last, now, live: true };
    const moment: Moment = live ? whole : { view, seq: position, now: timeOf(view, position), live: false };
    return { moment, whole, isRunning, isPlaying, go, play };
  }, [view, last, now, live, position, isRunning, isPlaying, go, play]);
}
