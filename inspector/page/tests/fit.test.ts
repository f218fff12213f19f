import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Graphs, ViewPart } from '../src/api/types';
import { fit, LEAST_SCALE } from '../src/graph/fit';
import type { Scene } from '../src/graph/scene';
import { keysAround } from '../src/view/keys';
import { addPart, calledGraphs, emptyView } from '../src/view/model';
import { KINDS, STATES } from '../src/view/names';
import { nodeOfThing } from '../src/view/place';
import recorded from './fixtures/graphs.json';

// Without a canvas the width of a text is estimated.
beforeAll(() => void vi.stubGlobal('document', { createElement: () => ({ getContext: () => null }) }));

const EMPTY: ViewPart = {
  cursor: 'c',
  whole: true,
  seq: 0,
  status: 'running',
  times: [],
  things: { path: [], kind: [], within: [], node: [], item: [], turn: [] },
  moves: [],
  taken: [],
  began: [],
  runs: [],
  details: [],
  progress: [],
};

const graphs = (at: number) => ({ graph: recorded[at], nested: recorded }) as unknown as Graphs;
const plan = (at: number, width: number, height: number, open: string[] = []) =>
  fit({ graphs: graphs(at), moment: null, whole: null, open: new Set(open), selected: null }, width, height);

describe('a graph that is fitted into a pane', () => {
  it('is never scaled below what can be read, and never enlarged', () => {
    for (let at = 0; at < recorded.length; at++) {
      for (const [width, height] of [[300, 200], [560, 300], [904, 386], [1440, 500], [3000, 900]] as const) {
        const { scale } = plan(at, width, height);
        expect(scale).toBeGreaterThanOrEqual(LEAST_SCALE);
        expect(scale).toBeLessThanOrEqual(1);
      }
    }
  });

  it('fits into the width of the pane if each of its nodes does', () => {
    for (const width of [560, 904, 1440]) {
      const { scene, scale } = plan(0, width, Infinity);
      expect((scene.placement.w + 32) * scale).toBeLessThanOrEqual(width);
    }
  });

  it('opens a nested workflow in place, around its nodes', () => {
    const inner = (scene: Scene) => scene.nodes.findIndex((node) => node.inner !== null);
    const closed = plan(0, 1440, Infinity);
    const open = plan(0, 1440, Infinity, ['briefing/verify']);
    expect(inner(closed.scene)).toBe(-1);
    const at = inner(open.scene);
    const box = open.scene.placement.boxes[at]!;
    const inside = open.scene.nodes[at]!.inner!.placement;
    expect(open.scene.nodes[at]!.node.name).toBe('verify');
    expect(box.w).toBeGreaterThan(inside.w);
    expect(box.h).toBeGreaterThan(inside.h);
  });

  it('opens a workflow that a node has called in the place of the node', () => {
    const names = (scene: Scene) => scene.nodes.map((node) => node.node.name);
    const caller = recorded[0]!.nodes.findIndex((node) => node.kind === 'Step');
    const { name } = recorded[0]!.nodes[caller]!;
    const path = `${recorded[0]!.name}/${name}`;
    const called = recorded.findIndex((graph, at) => at > 0 && graph.nodes.length > 3);
    const view = addPart(emptyView(), {
      ...EMPTY,
      times: [1000],
      things: {
        path: [recorded[0]!.name, path, `${path}/called`, `${path}/called/${recorded[called]!.nodes[2]!.name}`],
        kind: ['run', 'node', 'child', 'node'].map((kind) => KINDS.indexOf(kind as (typeof KINDS)[number])),
        within: [-1, 0, 1, 2],
        node: [-1, caller, -1, 2],
        item: [-1, -1, -1, -1],
        turn: [0, 0, 0, 0],
      },
      moves: [0, 1, 2, 3].flatMap((thing) => [thing, 0, STATES.indexOf('running'), 1]),
      details: [{ type: 'entered', seq: 0, thing: 2, items: 1, graph: 'f00d' }],
    });
    const moment = { view, seq: 0, now: 2000, live: true };
    const shown = (open: string[], graphsOfCalls: Map<string, Graphs>) =>
      fit({ graphs: graphs(0), called: graphsOfCalls, moment, whole: moment, open: new Set(open), selected: null }, 1440, Infinity).scene;
    const known = new Map([['f00d', graphs(called)]]);

    expect(calledGraphs(view)).toEqual(['f00d']);
    const closed = shown([], known).nodes[caller]!;
    expect([closed.inner, closed.openKey, closed.pills.map((pill) => pill.text)]).toEqual([null, `called ${path}`, ['called']]);
    const open = shown(keysAround(view, view.things[3]!), known).nodes[caller]!;
    expect(names(open.inner!)).toEqual(recorded[called]!.nodes.map((node) => node.name));
    expect(open.inner!.nodes[2]!.look).toBe('running');
    expect(nodeOfThing(graphs(0), known, view, view.things[3]!)?.name).toBe(recorded[called]!.nodes[2]!.name);
    // Before its graph has come it is a child as any other.
    expect(shown([`called ${path}`], new Map()).nodes[caller]!.inner).toBeNull();
  });
});
