import { useRef, type KeyboardEvent, type PointerEvent } from 'react';
import type { TimeScale } from '../time/scale';
import { duration } from '../ui/duration';
import { Sign } from '../ui/Icon';
import { useSize } from '../ui/useSize';
import { describe } from '../view/describe';
import { timeOf, type Moment } from '../view/moment';
import { EventTicks } from './EventTicks';

interface Props {
  moment: Moment;
  scale: TimeScale;
  playhead: number;
  /** Whether the run is under way. */
  isRunning: boolean;
  isPlaying: boolean;
  onGo: (seq: number | 'last') => void;
  onPlay: () => void;
}

const NOW_WIDTH = 360;

export function Player({ moment, scale, playhead, isRunning, isPlaying, onGo, onPlay }: Props) {
  const track = useRef<HTMLDivElement>(null);
  const { width } = useSize(track);
  const { view, seq, live } = moment;
  const following = live && isRunning;
  const said = describe(view, seq);
  const begin = timeOf(view, 0);
  const seek = (event: PointerEvent) => {
    const box = track.current!.getBoundingClientRect();
    const at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    onGo(at > 0.995 ? 'last' : nearestEvent(view.times, scale, at));
  };
  return (
    <div className="player">
      <div className="transport">
        <PlayerButton sign="first" label="First event (Home)" onClick={() => onGo(0)} />
        <PlayerButton sign="previous" label="One event back (←)" onClick={() => onGo(seq - 1)} />
        <PlayerButton sign={isPlaying ? 'pause' : 'play'} label={isPlaying ? 'Pause (space)' : 'Replay (space)'} onClick={onPlay} />
        <PlayerButton sign="next" label="One event on (→)" onClick={() => onGo(seq + 1)} />
        <PlayerButton sign="last" label={isRunning ? 'Live (End)' : 'Last event (End)'} onClick={() => onGo('last')} />
        <span className="pos">{following ? <span className="s-running">live</span> : `event ${seq + 1} of ${view.seq + 1}`}</span>
      </div>
      <div
        className="track"
        ref={track}
        tabIndex={0}
        role="slider"
        aria-label="Event"
        aria-valuemin={1}
        aria-valuemax={Math.max(1, view.seq + 1)}
        aria-valuenow={seq + 1}
        aria-valuetext={`${said.who} ${said.what}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          seek(event);
        }}
        onPointerMove={(event) => event.buttons === 1 && seek(event)}
        onKeyDown={(event) => onSlide(event, seq, onGo)}
      >
        <div className="rail" />
        <div className="past" style={{ width: `${playhead * 100}%` }} />
        <EventTicks view={view} seq={seq} scale={scale} width={width} />
        <div className={`head${following ? ' live' : ''}`} style={{ left: `${playhead * 100}%` }} />
        <div className="now" style={playhead > 0.5 ? { right: Math.max(0, (1 - playhead) * width) - 6 } : { left: Math.max(0, Math.min(playhead * width, width - NOW_WIDTH / 2)) - 6 }}>
          {said.who !== 'run' || said.what === 'started' ? <b>{said.who}</b> : 'run'} {said.what} <span className="dim">+{duration(timeOf(view, seq) - begin)}</span>
        </div>
      </div>
    </div>
  );
}

function PlayerButton({ sign, label, onClick }: { sign: 'first' | 'previous' | 'play' | 'pause' | 'next' | 'last'; label: string; onClick: () => void }) {
  return (
    <button type="button" className="ghost icon" aria-label={label} title={label} onClick={onClick}>
      <Sign name={sign} />
    </button>
  );
}

function onSlide(event: KeyboardEvent, seq: number, onGo: Props['onGo']) {
  if (event.key === 'PageUp') onGo(seq - 10);
  else if (event.key === 'PageDown') onGo(seq + 10);
  else return;
  event.preventDefault();
}

/** The last event at the nearest place of the axis, by binary search: times do not run back on it. */
export function nearestEvent(times: readonly number[], scale: TimeScale, at: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scale.at(times[middle]!) <= at) low = middle + 1;
    else high = middle;
  }
  const before = Math.max(0, low - 1);
  const after = Math.min(times.length - 1, low);
  return at - scale.at(times[before] ?? 0) <= scale.at(times[after] ?? 0) - at ? before : after;
}
