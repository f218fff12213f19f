import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Graphs } from '../src/api/types';
import { fit, LEAST_SCALE } from '../src/graph/fit';
import type { Scene } from '../src/graph/scene';
import recorded from './fixtures/graphs.json';

// Without a canvas the width of a text is estimated.
beforeAll(() => void vi.stubGlobal('document', { createElement: () => ({ getContext: () => null }) }));

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
});
