import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Graphs, Run, Server } from '../api/types';
import { fit } from '../graph/fit';
import { GraphPane } from '../graph/GraphPane';
import { timeScale } from '../time/scale';
import { duration } from '../ui/duration';
import { Sign } from '../ui/Icon';
import { useHoverLink } from '../ui/useHoverLink';
import { useSize } from '../ui/useSize';
import { firstToSee } from '../view/first';
import { keyOf, keysAround } from '../view/keys';
import type { RunView } from '../view/model';
import { lookAt, timeOf } from '../view/moment';
import { rowsOf, type Row } from '../view/rows';
import { useCalledGraphs } from '../view/useCalledGraphs';
import { Player } from '../waterfall/Player';
import { Waterfall, type WaterfallHandle } from '../waterfall/Waterfall';
import { Detail } from './Detail';
import { RunDetail } from './RunDetail';
import { RunDialog, type DialogKind } from './RunDialog';
import { RunHead } from './RunHead';
import { useItemLabels } from './useItemLabels';
import { useLinkToHere, type Visit } from './useLinkToHere';
import { usePlayhead } from './usePlayhead';
import { useRunKeys } from './useRunKeys';

interface Props {
  run: Run;
  /** Null if the store has no graph of it. */
  graphs: Graphs | null;
  view: RunView;
  server: Server | null;
  clockOffset: number;
  /** What the link says: an event, a path (`-` for nothing), and what is open. */
  start: Visit;
  onChanged: () => void;
}

const LEAST_GRAPH = 180;
const GRAPH_SHARE = 0.56;

export function RunBody({ run, graphs, view, server, clockOffset, start, onChanged }: Props) {
  const playhead = usePlayhead(view, eventOf(start.at), clockOffset);
  const { moment, whole, isRunning } = playhead;
  const [selected, setSelected] = useState<string | null>(() => (start.sel === '-' ? null : (start.sel ?? firstToSee(view))));
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(() => openAtFirst(view, selected, start.open));
  const [dialog, setDialog] = useState<DialogKind | null>(null);
  const left = useRef<HTMLDivElement>(null);
  const waterfall = useRef<WaterfallHandle>(null);
  const size = useSize(left);

  const select = useCallback(
    (path: string | null) => {
      setSelected(path);
      const thing = path === null ? undefined : view.byPath.get(path);
      if (thing) setOpened((old) => withOpen(old, rowKeysAround(view, path!)));
    },
    [view],
  );
  const toggle = useCallback((key: string, isOpen?: boolean) => setOpened((old) => new Map(old).set(key, !(isOpen ?? old.get(key) ?? false))), []);
  const toggleRow = useCallback((row: Row) => toggle(row.key, row.isOpen), [toggle]);
  useLinkToHere(run.id, moment.live ? null : moment.seq, selected);
  useRunKeys({ playhead, onDeselect: () => select(null), onRows: () => waterfall.current?.focus(), enabled: dialog === null });
  const hover = useHoverLink();
  const called = useCalledGraphs(view);

  const scale = useMemo(() => timeScale(view.times, whole.now), [view, whole.now]);
  const rows = useMemo(() => rowsOf(view, opened), [view, opened]);
  const labels = useItemLabels(run.id, rows);
  const open = useMemo(() => new Set([...opened].flatMap(([key, isOpen]) => (isOpen ? [key] : []))), [opened]);
  const most = Math.max(LEAST_GRAPH + 60, Math.round(size.height * GRAPH_SHARE));
  const fitted = graphs && size.width > 0 ? fit({ graphs, called, moment, whole, open, selected }, size.width, most) : null;
  const at = moment.live ? (isRunning ? 1 : scale.at(timeOf(view, view.seq))) : scale.at(timeOf(view, moment.seq));

  const isSized = size.height > 0;
  useEffect(() => {
    if (isSized) waterfall.current?.reveal();
  }, [selected, isSized]);

  const thing = selected === null ? undefined : view.byPath.get(selected);
  return (
    <>
      <RunHead run={run} server={server} events={view.seq + 1} now={isRunning ? whole.now : Date.now() + clockOffset} onAsk={setDialog} />
      <div className="run-body" {...hover}>
        <div className="left" ref={left}>
          {fitted && (
            <GraphPane
              fitted={fitted}
              height={Math.min(most, Math.max(LEAST_GRAPH, Math.ceil(fitted.h * fitted.scale)))}
              selected={selected}
              onSelect={select}
              onToggle={toggle}
            >
              {!moment.live && (
                <div className="asof">
                  <Sign name="clock" />
                  As of event {moment.seq + 1}, +{duration(moment.now - timeOf(view, 0))}
                  <button type="button" onClick={() => playhead.go('last')}>
                    Back to {isRunning ? 'live' : 'the end'}
                  </button>
                </div>
              )}
            </GraphPane>
          )}
          {!graphs && <p className="no-graph dim">The store has no graph of this run.</p>}
          <Player moment={moment} scale={scale} playhead={at} isRunning={isRunning} isPlaying={playhead.isPlaying} onGo={playhead.go} onPlay={playhead.play} />
          <Waterfall
            rows={rows}
            labels={labels}
            moment={moment}
            scale={scale}
            playhead={at}
            isLive={moment.live && isRunning}
            selected={selected}
            onSelect={select}
            onToggle={toggleRow}
            handle={waterfall}
          />
        </div>
        <aside className="detail" aria-label="Selected node" tabIndex={0}>
          {thing && thing.within >= 0 ? (
            <Detail run={run} graphs={graphs} called={called} moment={moment} thing={thing} canSignal={server?.read_only === false} onSelect={select} onSignal={() => setDialog('signal')} />
          ) : selected === null || thing ? (
            <RunDetail run={run} moment={moment} onSelect={select} />
          ) : (
            <NotReached path={selected} onSelect={select} />
          )}
        </aside>
      </div>
      {dialog && <RunDialog kind={dialog} run={run} moment={moment} selected={selected} onClose={() => setDialog(null)} onDone={onChanged} />}
    </>
  );
}

/** A node of which nothing is recorded. */
function NotReached({ path, onSelect }: { path: string; onSelect: (path: null) => void }) {
  return (
    <div className="d-head">
      <div className="t">
        <h2 className="cut">{path.slice(path.lastIndexOf('/') + 1)}</h2>
        <span className="grow" />
        <button type="button" className="ghost icon" aria-label="Select nothing" title="Select nothing (Esc)" onClick={() => onSelect(null)}>
          <Sign name="close" />
        </button>
      </div>
      <div className="p mono cut" title={path}>
        {path}
      </div>
      <p className="doc">The run has not come here.</p>
    </div>
  );
}

function eventOf(text: string | null): number | null {
  const at = text === null ? NaN : Number(text);
  return Number.isInteger(at) && at >= 0 ? at : null;
}

/** `[..]` that run or have failed, what is around the selection, and what the link says. */
function openAtFirst(view: RunView, selected: string | null, link: string | null): ReadonlyMap<string, boolean> {
  const run = view.things[0];
  const running = view.things.filter((thing) => thing.kind === 'each' && ['running', 'failed'].includes(lookAt(thing, view.seq)));
  const named = link ? link.split(',').filter(Boolean).map((name) => `${run?.path ?? ''}/${name}`) : [];
  const around = selected === null ? [] : rowKeysAround(view, selected);
  return withOpen(new Map(), [...running.map((thing) => keyOf(view, thing)), ...named, ...around]);
}

/** A nested workflow stays closed in the graph unless something in it is selected. */
function rowKeysAround(view: RunView, path: string): string[] {
  const thing = view.byPath.get(path);
  return thing ? keysAround(view, thing) : [];
}

function withOpen(opened: ReadonlyMap<string, boolean>, keys: readonly string[]): ReadonlyMap<string, boolean> {
  if (keys.every((key) => opened.get(key))) return opened;
  const next = new Map(opened);
  for (const key of keys) next.set(key, true);
  return next;
}
