import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import type { Run } from '../api/types';
import { navigate, toRun } from '../shell/router';
import { age, duration, instant } from '../ui/duration';
import { Status } from '../ui/Icon';
import { Tags } from '../ui/Tags';
import { useSize } from '../ui/useSize';
import { isUnderWay } from '../view/moment';
import { Where } from './Where';

const ROW = 32;
const OVERSCAN = 10;
/** The next page is asked for so many rows before the end. */
const AHEAD = 40;

interface Props {
  runs: readonly Run[];
  now: number;
  onEnd: () => void;
}

const COLUMNS = ['Status', 'Workflow', 'Id', 'Where', 'Tags', 'Age', 'Duration'];

/** Only the rows in sight are in the page. */
export function RunTable({ runs, now, onEnd }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const { height } = useSize(host);
  const [scroll, setScroll] = useState(0);
  const [active, setActive] = useState(0);
  const first = Math.max(0, Math.floor(scroll / ROW) - OVERSCAN);
  const end = Math.min(runs.length, first + Math.ceil(height / ROW) + 2 * OVERSCAN);

  useEffect(() => {
    if (height > 0 && end >= runs.length - AHEAD) onEnd();
  }, [end, runs.length, height, onEnd]);
  const focus = (to: number) => {
    const at = Math.max(0, Math.min(runs.length - 1, to));
    setActive(at);
    const element = host.current!;
    const room = element.clientHeight - ROW;
    if (at * ROW < element.scrollTop) element.scrollTop = at * ROW;
    else if ((at + 1) * ROW > element.scrollTop + room) element.scrollTop = (at + 1) * ROW - room;
    requestAnimationFrame(() => element.querySelector<HTMLElement>(`[aria-rowindex="${at + 2}"]`)?.focus({ preventScroll: true }));
  };
  useFocusKeys(() => focus(active));
  const onKeyDown = (event: KeyboardEvent, run: Run, at: number) => {
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: runs.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
    if (to !== undefined) focus(to);
    else if (event.key === 'Enter') navigate(toRun(run.id));
    else return;
    event.preventDefault();
  };
  return (
    <div className="table-wrap" ref={host} onScroll={(event) => setScroll(event.currentTarget.scrollTop)}>
      <div className="runs" role="table" aria-label="Runs" aria-rowcount={runs.length + 1}>
        <div role="rowgroup" className="runs-head">
          <div role="row" className="runs-row" aria-rowindex={1}>
            {COLUMNS.map((name, at) => (
              <span role="columnheader" key={name} className={at > 4 ? 'num' : ''}>
                {name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="runs-body" style={{ height: runs.length * ROW }}>
          {runs.slice(first, end).map((run, i) => (
            <RunRow key={run.id} run={run} at={first + i} now={now} isActive={first + i === active} onKeyDown={onKeyDown} />
          ))}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  run: Run;
  at: number;
  now: number;
  isActive: boolean;
  onKeyDown: (event: KeyboardEvent, run: Run, at: number) => void;
}

function RunRow({ run, at, now, isActive, onKeyDown }: RowProps) {
  const running = isUnderWay(run.status);
  return (
    <div
      role="row"
      className="runs-row"
      aria-rowindex={at + 2}
      tabIndex={isActive ? 0 : -1}
      style={{ top: at * ROW }}
      onClick={() => navigate(toRun(run.id))}
      onKeyDown={(event) => onKeyDown(event, run, at)}
    >
      <span role="cell">
        <Status look={run.status} />
      </span>
      <span role="cell" title={run.workflow}>
        {run.workflow}
      </span>
      <span role="cell" className="mono" title={run.id}>
        <a href={toRun(run.id)} tabIndex={-1} onClick={(event) => event.stopPropagation()}>
          {run.id}
        </a>
      </span>
      <span role="cell" className="where" title={run.failure ?? run.question?.prompt ?? run.position?.path ?? ''}>
        <Where run={run} />
      </span>
      <span role="cell">
        <Tags tags={run.tags} />
      </span>
      <span role="cell" className="num" title={instant(run.created)}>
        {age(now - run.created)}
      </span>
      <span role="cell" className="num">
        {duration((running ? now : (run.ended ?? run.updated)) - run.created)}
      </span>
    </div>
  );
}

/** j and k move into the table from anywhere in the page. */
function useFocusKeys(focus: () => void) {
  const latest = useRef(focus);
  latest.current = focus;
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest('input, textarea, select, [role=row]')) return;
      if (event.key !== 'j' && event.key !== 'k') return;
      latest.current();
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}
