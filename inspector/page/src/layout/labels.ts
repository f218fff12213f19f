import type { Banded } from './bands';
import type { Link, PlacedLink, Point } from './types';

export interface PlacedLabel extends Point {
  link: number;
  w: number;
}

const HEIGHT = 16;
const ARROW = 9;

/**
 * Puts each label onto its own edge, where it covers no other label: on the last piece before the second layer, else on the
 * first one, else beside the vertical piece.
 */
export function placeLabels(banded: Banded, links: readonly Link[], placed: ReadonlyMap<number, PlacedLink>): PlacedLabel[] {
  const labels: PlacedLabel[] = [];
  const put = (link: number, candidates: Point[], w: number) => {
    const free = candidates.find((c) => !labels.some((l) => covers(l, { link, w, ...c })));
    labels.push({ link, w, ...(free ?? candidates[0]!) });
  };
  links.forEach((link, at) => {
    const route = placed.get(at);
    if (link.label && link.back && route?.label) put(at, [route.label], link.label);
  });
  for (const { link, from, to } of banded.segments) {
    const { label } = links[link]!;
    if (!label || from.box === null) continue;
    const edge = from.x + banded.columns[from.layer]!;
    const inBand = banded.bandOf[from.layer] === banded.bandOf[to.layer];
    put(link, inBand ? gapCandidates(placed.get(link)!.points, edge, to.x, label) : bandCandidates(placed.get(link)!.points, label), label);
  }
  return labels;
}

/** In the gap between a layer that ends at `left` and the next one, which begins at `right`. */
function gapCandidates(points: readonly Point[], left: number, right: number, w: number): Point[] {
  const start = points[0]!;
  const turn = points[1]!;
  if (turn.x >= right) return [{ x: (left + right - ARROW) / 2 + 2, y: start.y }];
  const row = points[2]!.y;
  const onRow = { x: Math.max((turn.x + right - ARROW) / 2, turn.x + 4 + w / 2), y: row };
  const beside = { x: left + 2 + w / 2, y: (turn.y + row) / 2 };
  const steps = [0.35, 0.65, 0.2, 0.8].map((f) => ({ ...beside, y: turn.y + (row - turn.y) * f }));
  return [onRow, beside, ...steps];
}

/** Below the band, beside the vertical piece that leads to the next one. */
function bandCandidates(points: readonly Point[], w: number): Point[] {
  const below = points.find((p, at) => at > 1 && p.y !== points[0]!.y)!;
  return [{ x: below.x - 12 - w / 2, y: below.y }];
}

const covers = (a: PlacedLabel, b: PlacedLabel) =>
  Math.abs(a.x - b.x) < (a.w + b.w) / 2 && Math.abs(a.y - b.y) < HEIGHT;
