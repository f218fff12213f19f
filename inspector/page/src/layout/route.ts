import { bandTracks, type Banded } from './bands';
import { TRACK, isStraight, turnsFar } from './channels';
import type { Link, Point, Segment } from './types';
import { portOf } from './types';

const NEAR = 10;
const FAR = 15;
const BAND_EXIT = 14;
const BAND_ENTRY = 16;

/** The polyline of each forward link. */
export function routeForward(banded: Banded, links: readonly Link[], right: readonly number[]): Map<number, Point[]> {
  const { bands, bandOf, layers } = banded;
  const bottoms = bands.map(({ begin, end }) => Math.max(...layers.slice(begin, end).flat().map((s) => s.y + s.h)));
  const routes = new Map<number, Point[]>();
  for (const segment of banded.segments) {
    const inBand = bandOf[segment.from.layer] === bandOf[segment.to.layer];
    const points = inBand ? withinBand(segment, banded, links) : betweenBands(segment, banded, links, right, bottoms);
    routes.set(segment.link, [...(routes.get(segment.link) ?? []), ...points]);
  }
  for (const [link, points] of routes) routes.set(link, withoutStraightPoints(points));
  return routes;
}

function withinBand(segment: Segment, { columns, channels }: Banded, links: readonly Link[]): Point[] {
  const { from, to } = segment;
  const start = { x: from.box === null ? from.x : from.x + from.w, y: portOf(from) };
  const end = { x: to.x, y: portOf(to) };
  if (isStraight(segment)) return [start, end];
  const channel = channels[from.layer]!;
  const x = turnsFar(segment, links)
    ? to.x - FAR - TRACK * channel.far.get(to)!
    : from.x + columns[from.layer]! + NEAR + TRACK * channel.near.get(from)!;
  return [start, { x, y: start.y }, { x, y: end.y }, end];
}

function betweenBands(segment: Segment, banded: Banded, links: readonly Link[], right: readonly number[], bottoms: readonly number[]): Point[] {
  const { from, to } = segment;
  const above = banded.bandOf[from.layer]!;
  const band = banded.bands[above + 1]!;
  const rank = band.entering.indexOf(segment);
  const exits = banded.channels[from.layer]!.near.size;
  const outside = right[above]! + BAND_EXIT + TRACK * (rank + exits);
  const below = bottoms[above]! + bandTracks(band.entering, links).offsets[rank]!;
  const inside = to.x - BAND_ENTRY - TRACK * (band.entering.length - 1 - rank + band.entries);
  const start = { x: from.box === null ? from.x : from.x + from.w, y: portOf(from) };
  const end = { x: to.x, y: portOf(to) };
  return [start, { x: outside, y: start.y }, { x: outside, y: below }, { x: inside, y: below }, { x: inside, y: end.y }, end];
}

/** Leaves out points that lie on the line between their neighbours. */
function withoutStraightPoints(points: readonly Point[]): Point[] {
  const kept: Point[] = [];
  for (const p of points) {
    const [a, b] = [kept.at(-2), kept.at(-1)];
    if (b && b.x === p.x && b.y === p.y) continue;
    if (a && b && ((a.x === b.x && b.x === p.x) || (a.y === b.y && b.y === p.y))) kept.pop();
    kept.push(p);
  }
  return kept;
}

/** An SVG path along the points with rounded corners. */
export function roundedPath(points: readonly Point[], radius = 6): string {
  const [first, ...rest] = points;
  if (!first || !rest.length) return '';
  let path = `M${first.x},${first.y}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [a, b, c] = [points[i - 1]!, points[i]!, points[i + 1]!];
    const before = Math.hypot(b.x - a.x, b.y - a.y);
    const after = Math.hypot(c.x - b.x, c.y - b.y);
    const r = Math.min(radius, before / 2, after / 2);
    const towards = (p: Point, distance: number) => `${b.x + ((p.x - b.x) / distance) * r},${b.y + ((p.y - b.y) / distance) * r}`;
    path += `L${towards(a, before)}Q${b.x},${b.y} ${towards(c, after)}`;
  }
  const last = rest.at(-1)!;
  return `${path}L${last.x},${last.y}`;
}
