import { describe, expect, it } from 'vitest';
import { layout } from '../src/layout/layout';
import type { Placement, Point } from '../src/layout/types';
import { random, randomCase, real, type Case } from './graphs';

const WIDTHS = [360, 420, 480, 540, 600, 680, 760, 840, 904, 1000, 1100, 1200, 1360, 1440, 1600, 1900];

/** The boxes that an edge runs through: at its ends it may touch its own two. */
function crossed({ boxes, links }: Placement): string[] {
  const hits: string[] = [];
  links.forEach(({ points }, edge) => {
    for (let i = 1; i < points.length; i++) {
      const [a, b] = [points[i - 1]!, points[i]!];
      boxes.forEach((box, at) => {
        if (cuts(a, b, { left: box.x + 1, right: box.x + box.w - 1, top: box.y + 1, bottom: box.y + box.h - 1 })) hits.push(`edge ${edge} through box ${at}`);
      });
    }
  });
  return hits;
}

/** Every piece of an edge is horizontal or vertical. */
function cuts(a: Point, b: Point, box: { left: number; right: number; top: number; bottom: number }): boolean {
  const overlap = (p: number, q: number, low: number, high: number) => Math.max(p, q) > low && Math.min(p, q) < high;
  return overlap(a.x, b.x, box.left, box.right) && overlap(a.y, b.y, box.top, box.bottom);
}

function overlapping({ boxes }: Placement): string[] {
  return boxes.flatMap((a, i) =>
    boxes.slice(i + 1).flatMap((b, j) =>
      a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h ? [`${i} and ${i + 1 + j}`] : [],
    ),
  );
}

function coveredByLabels({ boxes, links }: Placement, { links: given }: Case): string[] {
  return links.flatMap(({ label }, edge) => {
    if (!label) return [];
    const [left, right] = [label.x - given[edge]!.label / 2, label.x + given[edge]!.label / 2];
    return boxes.flatMap((box, at) =>
      left < box.x + box.w && right > box.x && label.y - 7 < box.y + box.h && label.y + 7 > box.y ? [`label of ${edge} on box ${at}`] : [],
    );
  });
}

function astray({ links, w, h }: Placement): string[] {
  return links.flatMap(({ points }, edge) => {
    if (points.length < 2) return [`edge ${edge} has no route`];
    return points.flatMap(({ x, y }, i) => [
      ...(i && points[i - 1]!.x !== x && Math.abs(points[i - 1]!.y - y) >= 1 ? [`edge ${edge} is slanted`] : []),
      ...(x < 0 || y < 0 || x > w || y > h ? [`edge ${edge} leaves the picture`] : []),
    ]);
  });
}

function problems(graph: Case, width: number): string[] {
  const placement = layout(graph.boxes, graph.links, width);
  const found = [...crossed(placement), ...overlapping(placement), ...coveredByLabels(placement, graph), ...astray(placement)];
  return found.map((problem) => `${graph.name} at ${width}: ${problem}`);
}

describe('layout', () => {
  for (const graph of real) {
    it(`draws no edge across a node of ${graph.name} at ${WIDTHS.length} widths`, () => {
      expect(WIDTHS.flatMap((width) => problems(graph, width))).toEqual([]);
    });
  }

  it('draws no edge across a node of 1,500 random graphs', () => {
    const width = (seed: number) => 300 + Math.floor(random(seed + 9999)() * 1500);
    expect(Array.from({ length: 1500 }, (_, seed) => problems(randomCase(seed), width(seed))).flat()).toEqual([]);
  }, 60_000);

  it('keeps the first branch on one line', () => {
    const { boxes } = layout(
      [0, 1, 2, 3].map(() => ({ w: 80, h: 44, port: 22 })),
      [
        { from: 0, to: 1, back: false, label: 0 },
        { from: 0, to: 2, back: false, label: 0 },
        { from: 1, to: 3, back: false, label: 0 },
        { from: 2, to: 3, back: false, label: 0 },
      ],
      1000,
    );
    expect([boxes[0]!.y, boxes[1]!.y, boxes[3]!.y]).toEqual([0, 0, 0]);
    expect(boxes[2]!.y).toBeGreaterThanOrEqual(60);
  });

  it('folds a chain that is wider than the pane into bands', () => {
    const chain = Array.from({ length: 12 }, () => ({ w: 120, h: 44, port: 22 }));
    const links = chain.slice(1).map((_, at) => ({ from: at, to: at + 1, back: false, label: 0 }));
    const placement = layout(chain, links, 700);
    expect(placement.w).toBeLessThanOrEqual(700);
    expect(new Set(placement.boxes.map((b) => b.y)).size).toBeGreaterThan(1);
  });

  it('draws a loop above its band, an outer one above an inner one', () => {
    const boxes = [0, 1, 2, 3, 4].map(() => ({ w: 80, h: 44, port: 22 }));
    const chain = boxes.slice(1).map((_, at) => ({ from: at, to: at + 1, back: false, label: 0 }));
    const { links } = layout(boxes, [...chain, { from: 2, to: 2, back: true, label: 20 }, { from: 3, to: 1, back: true, label: 20 }], 2000);
    const top = (link: number) => Math.min(...links[link]!.points.map((p) => p.y));
    expect(top(4)).toBeLessThan(links[0]!.points[0]!.y);
    expect(top(5)).toBeLessThan(top(4));
  });
});
