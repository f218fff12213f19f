import { useCallback, useEffect, useImperativeHandle, useRef, useState, type KeyboardEvent, type Ref, type RefObject } from 'react';
import type { TimeScale } from '../time/scale';
import { ticks } from '../time/ticks';
import { duration } from '../ui/duration';
import { useSize } from '../ui/useSize';
import type { Moment } from '../view/moment';
import type { Row } from '../view/rows';
import { ROW_HEIGHT, WaterfallRow } from './WaterfallRow';

export interface WaterfallHandle {
  /** Scrolls to the selected row. */
  reveal: () => void;
  focus: () => void;
}

interface Props {
  rows: readonly Row[];
  labels: ReadonlyMap<string, string>;
  moment: Moment;
  scale: TimeScale;
  /** Where the moment is on the axis. */
  playhead: number;
  isLive: boolean;
  selected: string | null;
  onSelect: (path: string) => void;
  onToggle: (row: Row) => void;
  handle: Ref<WaterfallHandle>;
}

const AXIS = 24;
const OVERSCAN = 8;

export const isSelected = (row: Row, selected: string | null): boolean =>
  selected !== null && (row.key === selected || row.things.some((thing) => thing.path === selected));

export function Waterfall({ rows, labels, moment, scale, playhead, isLive, selected, onSelect, onToggle, handle }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const { height } = useSize(host);
  const [scroll, setScroll] = useState(0);
  const [active, setActive] = useState<string | null>(null);
  const lane = useRef<HTMLDivElement>(null);
  const { width: laneWidth } = useSize(lane);
  const width = Math.max(1, laneWidth);
  const first = Math.max(0, Math.floor(scroll / ROW_HEIGHT) - OVERSCAN);
  const shown = rows.slice(first, first + Math.ceil(height / ROW_HEIGHT) + 2 * OVERSCAN);
  const selectedAt = rows.findIndex((row) => isSelected(row, selected));
  const activeAt = Math.max(0, active === null ? selectedAt : rows.findIndex((row) => row.key === active));
  const full = rows.length * ROW_HEIGHT;

  const show = useCallback((at: number, centre: boolean) => {
    const element = host.current;
    if (!element || at < 0) return;
    const [top, room] = [at * ROW_HEIGHT, element.clientHeight - AXIS];
    if (top >= element.scrollTop && top + ROW_HEIGHT <= element.scrollTop + room) return;
    if (centre) element.scrollTop = Math.round((top - room / 2) / ROW_HEIGHT) * ROW_HEIGHT;
    else element.scrollTop = top < element.scrollTop ? top : top + ROW_HEIGHT - room;
  }, []);
  const focusRow = useCallback(
    (at: number) => {
      const row = rows[at];
      if (!row) return;
      setActive(row.key);
      show(at, false);
      requestAnimationFrame(() => host.current?.querySelector<HTMLElement>(`#row-${at}`)?.focus({ preventScroll: true }));
    },
    [rows, show],
  );
  useImperativeHandle(handle, () => ({ reveal: () => show(selectedAt, true), focus: () => focusRow(activeAt) }), [show, selectedAt, focusRow, activeAt]);
  useEffect(() => setActive(null), [selected]);

  const select = useCallback(
    (row: Row) => {
      const current = row.things.find((thing) => thing.path === selected);
      onSelect(current?.path ?? row.things.at(-1)?.path ?? row.key);
    },
    [onSelect, selected],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[activeAt];
    if (!row || !(event.target as Element).closest('.row')) return;
    switch (event.key) {
      case 'ArrowDown':
      case 'j':
        focusRow(Math.min(rows.length - 1, activeAt + 1));
        break;
      case 'ArrowUp':
      case 'k':
        focusRow(Math.max(0, activeAt - 1));
        break;
      case 'ArrowRight':
        if (row.hasInside && !row.isOpen) onToggle(row);
        else if (row.isOpen) focusRow(activeAt + 1);
        break;
      case 'ArrowLeft':
        if (row.isOpen) onToggle(row);
        else focusRow(rows.findLastIndex((other, at) => at < activeAt && other.depth < row.depth));
        break;
      case 'Enter':
      case ' ':
        select(row);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="wf" ref={host} onScroll={(event) => setScroll(event.currentTarget.scrollTop)}>
      <Axis scale={scale} width={width} lane={lane} />
      <Backdrop scale={scale} moment={moment} playhead={playhead} isLive={isLive} height={Math.max(full, height - AXIS)} rowsHeight={full} />
      <div className="rows" role="tree" aria-label="Waterfall" style={{ height: full }} onKeyDown={onKeyDown}>
        {shown.map((row, at) => (
          <WaterfallRow
            key={row.key}
            row={row}
            at={first + at}
            label={labels.get(row.key) ?? null}
            moment={moment}
            scale={scale}
            width={width}
            isSelected={isSelected(row, selected)}
            isActive={first + at === activeAt}
            onSelect={select}
            onToggle={onToggle}
          />
        ))}
      </div>
    </div>
  );
}

function Axis({ scale, width, lane }: { scale: TimeScale; width: number; lane: RefObject<HTMLDivElement | null> }) {
  return (
    <div className="wf-axis">
      <div>Node</div>
      <div className="ticks" ref={lane}>
        {ticks(scale, width).map(({ at, text }) => (
          <span key={at} className={at === 0 ? 'first' : ''} style={{ left: at * width }}>
            {text}
          </span>
        ))}
        {scale.gaps.map(({ from, to }) => {
          const middle = ((scale.at(from) + scale.at(to)) / 2) * width;
          const atEnd = middle + 60 > width + 20;
          return (
            <span key={from} className={`gap${atEnd ? ' end' : ''}`} style={{ left: atEnd ? width : middle }}>
              waited {duration(to - from)}
            </span>
          );
        })}
      </div>
    </div>
  );
}

interface BackdropProps {
  scale: TimeScale;
  moment: Moment;
  playhead: number;
  isLive: boolean;
  height: number;
  rowsHeight: number;
}

/** Waits as shaded strips, retries of the run as lines, and the moment that is shown. */
function Backdrop({ scale, moment, playhead, isLive, height, rowsHeight }: BackdropProps) {
  const retries = moment.view.details.filter((detail) => detail.type === 'retried' && detail.seq <= moment.seq);
  return (
    <>
      <div className="gaps" style={{ height: rowsHeight }} aria-hidden="true">
        {scale.gaps.map(({ from, to }) => (
          <i key={from} style={{ left: `${scale.at(from) * 100}%`, width: `${(scale.at(to) - scale.at(from)) * 100}%` }} />
        ))}
      </div>
      <div className="marks" style={{ height }} aria-hidden="true">
        {retries.map(({ seq }) => (
          <div key={seq} className="retried" style={{ left: `${scale.at(moment.view.times[seq] ?? 0) * 100}%` }}>
            <span>retried</span>
          </div>
        ))}
        <div className={`playhead${isLive ? ' live' : ''}`} style={{ left: `${playhead * 100}%` }} />
      </div>
    </>
  );
}
