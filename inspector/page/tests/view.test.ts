import { describe, expect, it } from 'vitest';
import type { ViewPart } from '../src/api/types';
import { timeScale } from '../src/time/scale';
import { addPart, emptyView, graphChanges, type RunView } from '../src/view/model';
import { awaitedSignals } from '../src/view/awaited';
import { describe as say } from '../src/view/describe';
import { firstToSee } from '../src/view/first';
import { keysAround } from '../src/view/keys';
import { busy, lookAt, statusAt, stretches, type Moment } from '../src/view/moment';
import { itemsOf, nodeAt, visitsIn } from '../src/view/node';
import { KINDS, STATES } from '../src/view/names';
import { rowsOf } from '../src/view/rows';
import { barsOf } from '../src/waterfall/bars';
import { nearestEvent } from '../src/waterfall/Player';

type Look = (typeof STATES)[number];
type Kind = (typeof KINDS)[number];

interface Script {
  times: number[];
  things: [path: string, kind: Kind, within: number, node: number, item: number, turn: number][];
  moves: [thing: number, seq: number, state: Look, attempt: number][];
}

function differences(rows: number[][], column: number): number[] {
  let before = 0;
  return rows.flatMap((row) => {
    const next = [...row];
    next[column] = row[column]! - before;
    before = row[column]!;
    return next;
  });
}

const part = ({ times, things, moves }: Script, more: Partial<ViewPart> = {}): ViewPart => ({
  cursor: 'c',
  whole: true,
  seq: times.length - 1,
  status: 'running',
  times: differences(times.map((time) => [time]), 0),
  things: {
    path: things.map((thing) => thing[0]),
    kind: things.map((thing) => KINDS.indexOf(thing[1])),
    within: things.map((thing) => thing[2]),
    node: things.map((thing) => thing[3]),
    item: things.map((thing) => thing[4]),
    turn: things.map((thing) => thing[5]),
  },
  moves: differences(moves.map(([thing, seq, state, attempt]) => [thing, seq, STATES.indexOf(state), attempt]), 1),
  taken: [],
  began: [],
  runs: [{ seq: 0, status: 'running' }],
  details: [],
  progress: [],
  ...more,
});

const RUN = ['w', 'run', -1, -1, -1, 0] as Script['things'][number];
const at = (view: RunView, seq: number): Moment => ({ view, seq, now: view.times[seq]!, live: false });

const retried = part(
  {
    times: [1000, 1100, 1500, 2000, 2600],
    things: [RUN, ['w/fetch', 'node', 0, 2, -1, 0]],
    moves: [
      [0, 0, 'running', 0],
      [1, 1, 'running', 1],
      [1, 2, 'waits_to_retry', 1],
      [1, 3, 'running', 2],
      [1, 4, 'completed', 2],
    ],
  },
  { details: [{ type: 'error', seq: 2, thing: 1, attempt: 1, message: 'no' }] },
);

describe('a view', () => {
  it('reads numbers of events and times as differences', () => {
    const view = addPart(emptyView(), retried);
    expect(view.times).toEqual([1000, 1100, 1500, 2000, 2600]);
    expect(view.things[1]!.moves.map((move) => [move.seq, move.look, move.attempt])).toEqual([
      [1, 'running', 1],
      [2, 'waits_to_retry', 1],
      [3, 'running', 2],
      [4, 'completed', 2],
    ]);
  });

  it('grows by parts that go on where the last one ended', () => {
    const first = addPart(emptyView(), part({ times: [1000, 1100], things: [RUN, ['w/a', 'node', 0, 2, -1, 0]], moves: [[1, 1, 'running', 1]] }));
    const more = part({ times: [], things: [['w/b', 'node', 0, 3, -1, 0]], moves: [[1, 2, 'completed', 1], [2, 2, 'running', 1]] }, { whole: false, seq: 2, times: [1300] });
    const view = addPart(first, more);
    expect(view.times).toEqual([1000, 1100, 1300]);
    expect(view.things.map((thing) => lookAt(thing, 2))).toEqual(['not_reached', 'completed', 'running']);
    expect(view.version).toBe(2);
  });

  it('drops what it has for a whole part', () => {
    const view = addPart(addPart(emptyView(), retried), part({ times: [5], things: [RUN], moves: [] }));
    expect([view.things.length, view.times]).toEqual([1, [5]]);
  });

  it('counts how often its graph has changed, so that the new one is loaded', () => {
    const changed = { type: 'graph_changed', seq: 1, thing: 0 } as const;
    const view = addPart(emptyView(), part({ times: [0, 1], things: [RUN], moves: [] }, { details: [changed] }));
    const more = part({ times: [], things: [], moves: [] }, { whole: false, seq: 2, times: [2], details: [{ ...changed, seq: 2 }] });
    expect([graphChanges(emptyView()), graphChanges(view), graphChanges(addPart(view, more))]).toEqual([0, 1, 2]);
  });

  it('shows any moment by what has happened up to it', () => {
    const view = addPart(emptyView(), retried);
    expect([0, 1, 2, 3, 4].map((seq) => lookAt(view.things[1]!, seq))).toEqual(['not_reached', 'running', 'waits_to_retry', 'running', 'completed']);
    expect([1, 2, 3, 4].map((seq) => busy(view.things[1]!, at(view, seq)))).toEqual([0, 400, 900, 1500]);
    expect(statusAt(at(view, 2))).toBe('running');
  });

  it('keeps voided attempts of a run that was retried, and does not count their time', () => {
    const view = addPart(
      emptyView(),
      part({
        times: [0, 100, 300, 900, 1000],
        things: [RUN, ['w/a', 'node', 0, 2, -1, 0]],
        moves: [
          [1, 1, 'running', 1],
          [1, 2, 'failed', 1],
          [1, 3, 'not_reached', 0],
          [1, 4, 'running', 1],
        ],
      }),
    );
    expect(stretches(view.things[1]!, at(view, 4)).map((s) => [s.from, s.to, s.isVoid])).toEqual([
      [100, 300, true],
      [1000, null, false],
    ]);
    expect(busy(view.things[1]!, { ...at(view, 4), now: 1050 })).toBe(50);
  });

  it('gives a step the time that it took before its end was recorded', () => {
    const step = part({ times: [0, 100, 700], things: [RUN, ['w/a', 'node', 0, 2, -1, 0], ['w/a/s', 'step', 1, -1, -1, 0]], moves: [[1, 1, 'running', 1], [2, 2, 'completed', 0]] }, { began: [2, 2, 450] });
    const view = addPart(emptyView(), step);
    expect(stretches(view.things[2]!, at(view, 2))).toEqual([{ from: 250, to: 700, look: 'running', attempt: 0, next: 'completed', isVoid: false }]);
  });
});

const items = part(
  {
    times: [0, 10, 20, 30, 40],
    things: [RUN, ['w/[f]', 'each', 0, 2, -1, 0], ['w/f[0]', 'node', 1, 2, 0, 0], ['w/f[1]', 'node', 1, 2, 1, 0]],
    moves: [
      [1, 1, 'running', 1],
      [2, 2, 'running', 1],
      [3, 3, 'running', 1],
      [3, 4, 'failed', 1],
    ],
  },
  { details: [{ type: 'entered', seq: 1, thing: 1, items: 3 }] },
);

describe('items', () => {
  it('are queued until they start', () => {
    const view = addPart(emptyView(), items);
    const looks = (seq: number) => itemsOf(view, view.things[1]!, seq).map((item) => item.look);
    expect(looks(1)).toEqual(['queued', 'queued', 'queued']);
    expect(looks(4)).toEqual(['running', 'failed', 'queued']);
  });

  it('have a row each, also those in the queue', () => {
    const view = addPart(emptyView(), items);
    const rows = rowsOf(view, new Map([['w/[f]', true]]));
    expect(rows.map((row) => [row.key, row.name, row.depth, row.note])).toEqual([
      ['w/[f]', '[f]', 0, '3 items'],
      ['w/[f][0]', '[0]', 1, ''],
      ['w/[f][1]', '[1]', 1, ''],
      ['w/[f][2]', '[2]', 1, ''],
    ]);
  });

  it('that failed are what is seen first', () => {
    expect(firstToSee(addPart(emptyView(), { ...items, status: 'failed' }))).toBe('w/f[1]');
  });

  it('open what is around them', () => {
    const view = addPart(emptyView(), items);
    expect(keysAround(view, view.byPath.get('w/f[1]')!)).toEqual(['w/[f]']);
  });
});

describe('turns of a loop', () => {
  const view = addPart(
    emptyView(),
    part({
      times: [0, 10, 20, 30],
      things: [RUN, ['w/d', 'node', 0, 2, -1, 1], ['w/d#2', 'node', 0, 2, -1, 2]],
      moves: [
        [1, 1, 'running', 1],
        [1, 2, 'completed', 1],
        [2, 3, 'running', 1],
      ],
    }),
  );

  it('share a row', () => {
    expect(rowsOf(view, new Map()).map((row) => [row.name, row.things.length, row.note])).toEqual([['d', 2, '×2']]);
  });

  it('are one node, which looks like the last that has begun', () => {
    const visits = visitsIn(view, 0).get(2);
    expect([1, 2, 3].map((seq) => nodeAt(visits, at(view, seq)).look)).toEqual(['running', 'completed', 'running']);
    expect(nodeAt(visits, at(view, 2)).visits.length).toBe(1);
  });
});

describe('bars', () => {
  it('show a failed attempt, the wait and the next one', () => {
    const view = addPart(emptyView(), retried);
    const [row] = rowsOf(view, new Map());
    const { bars, failures, text } = barsOf(row!, at(view, 4), timeScale(view.times, 2600), 1600);
    expect(bars.map((bar) => [bar.shape, bar.left, bar.width])).toEqual([
      ['failed', 100, 400],
      ['backoff', 500, 500],
      ['done', 1000, 600],
    ]);
    expect(failures).toEqual([{ left: 500, title: 'attempt 1 failed' }]);
    expect(text?.value).toBe('1.5 s · 2 attempts');
  });

  it('have the text that finds no room beside them in a colour that is seen there', () => {
    const ending = (state: 'running' | 'waiting' | 'sleeping') => {
      const view = addPart(emptyView(), part({ times: [0, 1000], things: [RUN, ['w/q', 'question', 0, -1, -1, 0]], moves: [[1, 0, state, 0], [1, 1, 'completed', 0]] }));
      return barsOf(rowsOf(view, new Map())[0]!, at(view, 1), timeScale(view.times, 1000), 400).text;
    };
    expect((['running', 'waiting', 'sleeping'] as const).map((state) => ending(state)?.place)).toEqual(['inside', 'pale', 'pale']);
  });

  it('of `[..]` are one, whatever its items wait for', () => {
    const each = part({
      times: [0, 100, 200, 300, 400],
      things: [RUN, ['w/[f]', 'each', 0, 2, -1, 0]],
      moves: [
        [1, 1, 'running', 1],
        [1, 2, 'waits_to_retry', 1],
        [1, 3, 'running', 1],
        [1, 4, 'failed', 1],
      ],
    });
    const view = addPart(emptyView(), each);
    const { bars } = barsOf(rowsOf(view, new Map())[0]!, at(view, 4), timeScale(view.times, 400), 400);
    expect(bars.map((bar) => [bar.shape, bar.left, bar.width])).toEqual([['failed', 100, 300]]);
  });

  it('of ten thousand turns within a pixel are few', () => {
    const turns = 10_000;
    const script: Script = { times: [0], things: [RUN], moves: [] };
    for (let n = 0; n < turns; n++) {
      script.things.push([n ? `w/d#${n + 1}` : 'w/d', 'node', 0, 2, -1, n + 1]);
      script.times.push(2 * n + 1, 2 * n + 2);
      script.moves.push([n + 1, 2 * n + 1, 'running', 1], [n + 1, 2 * n + 2, 'completed', 1]);
    }
    const view = addPart(emptyView(), part(script));
    const [row] = rowsOf(view, new Map());
    const { bars } = barsOf(row!, at(view, view.seq), timeScale(view.times, view.times.at(-1)!), 800);
    expect(bars.length).toBeLessThan(900);
  });
});

describe('the slider', () => {
  it('finds the event nearest to a place', () => {
    const view = addPart(emptyView(), retried);
    const scale = timeScale(view.times, 2600);
    expect([0, 0.05, 0.2, 0.31, 0.99].map((u) => nearestEvent(view.times, scale, u))).toEqual([0, 1, 2, 2, 4]);
  });

  it('says what an event was', () => {
    const view = addPart(emptyView(), { ...retried, runs: [{ seq: 0, status: 'running' }, { seq: 4, status: 'completed' }] });
    expect([0, 1, 2, 3, 4].map((seq) => say(view, seq)).map(({ who, what }) => `${who} ${what}`)).toEqual([
      'run started',
      'fetch started',
      'fetch attempt 1 failed',
      'fetch started, attempt 2',
      'run completed',
    ]);
  });
});

describe('open waits for signals', () => {
  const script: Script = {
    times: [0, 1, 2, 3],
    things: [RUN, ['w/a', 'node', 0, 2, -1, 0], ['w/a/$wait.1', 'wait', 1, -1, -1, 0], ['w/b', 'node', 0, 3, -1, 0], ['w/b/$wait.1', 'wait', 3, -1, -1, 0]],
    moves: [
      [0, 0, 'running', 0],
      [2, 1, 'waiting', 0],
      [4, 2, 'waiting', 0],
    ],
  };
  const details = [
    { seq: 1, thing: 2, type: 'awaits', signal: 'paid' },
    { seq: 2, thing: 4, type: 'awaits', signal: 'shipped' },
  ] as ViewPart['details'];

  it('begin with those of the selected node', () => {
    const view = addPart(emptyView(), part(script, { details }));
    expect(awaitedSignals(view, 'w/b').map((awaited) => awaited.signal)).toEqual(['shipped', 'paid']);
    expect(awaitedSignals(view, null).map((awaited) => awaited.signal)).toEqual(['paid', 'shipped']);
  });

  it('are closed by the signal', () => {
    const view = addPart(emptyView(), part({ ...script, moves: [...script.moves, [2, 3, 'completed', 0]] }, { details }));
    expect(awaitedSignals(view, 'w/a')).toEqual([{ signal: 'shipped', path: 'w/b/$wait.1' }]);
  });
});
