import { bandTracks, fold, type Banded } from './bands';
import { TRACK } from './channels';
import { placeLabels } from './labels';
import { assignLanes, type Stretch } from './lanes';
import { arrange } from './layers';
import { routeForward } from './route';
import type { Box, Link, PlacedLink, Placement, Point, Slot } from './types';
import { portOf } from './types';

const LANE = 18;
const LANE_OFFSET = 16;
const LANE_MARGIN = 12;
const SIDE_OFFSET = 12;
/** From a layer to a back edge at its right, and from one at its left to it. */
const EXIT = 10;
const ENTRY = 15;

/**
 * Places boxes in layers from left to right, folded into bands of at most `width`, and routes the links so that none crosses
 * a box. Back edges run in lanes above their band; one that spans bands runs down the left side.
 */
export function layout(boxes: readonly Box[], links: readonly Link[], width: number): Placement {
  const banded = fold(arrange(boxes, links), links, width);
  const right = placeColumns(banded);
  const loops = loopsOf(banded, links);
  const lanes = placeRows(banded, links, loops);
  const placed = new Map<number, PlacedLink>();
  for (const [at, points] of routeForward(banded, links, right)) placed.set(at, { points, label: null, fromAbove: false });
  for (const loop of loops) placed.set(loop.link, routeLoop(loop, lanes));
  return shift(banded, links, placed, loops);
}

/** The x of each slot; returns the right end of each band. */
function placeColumns({ bands, layers, columns, channels }: Banded): number[] {
  return bands.map(({ begin, end, entering, entries }) => {
    let x = entering.length || entries ? 16 + TRACK * (entering.length + entries) : 0;
    for (let l = begin; l < end; l++) {
      for (const slot of layers[l]!) slot.x = x;
      x += columns[l]! + (l < end - 1 ? channels[l]!.width : 0);
    }
    return x;
  });
}

interface Loop {
  link: number;
  from: Slot;
  to: Slot;
  /** Where it leaves `from` and enters `to`; `top` if it does so at the top of the box. */
  exit: { x: number; top: boolean };
  entry: { x: number; top: boolean };
  /** In the band of `from`; if it spans bands, also in that of `to`. */
  stretches: { band: number; stretch: Stretch }[];
  side: number | null;
}

function loopsOf(banded: Banded, links: readonly Link[]): Loop[] {
  const { slots, bandOf } = banded;
  const ports = topPorts(banded, links);
  let sides = 0;
  return links.flatMap((link, at): Loop[] => {
    if (!link.back) return [];
    const from = slots[link.from]!;
    const to = slots[link.to]!;
    const exit = exitOf(banded, from, ports.get(`exit ${at}`));
    const entry = entryOf(banded, to, ports.get(`entry ${at}`));
    const [a, b] = [bandOf[from.layer]!, bandOf[to.layer]!];
    if (a === b) return [{ link: at, from, to, exit, entry, side: null, stretches: [{ band: a, stretch: span(exit.x, entry.x, link.label) }] }];
    const side = -SIDE_OFFSET - TRACK * sides++;
    const stretches = [
      { band: a, stretch: span(side, exit.x, link.label) },
      { band: b, stretch: span(side, entry.x, 0) },
    ];
    return [{ link: at, from, to, exit, entry, side, stretches }];
  });
}

function span(a: number, b: number, label: number): Stretch {
  const middle = (a + b) / 2;
  return { left: Math.min(a, b, middle - label / 2), right: Math.max(a, b, middle + label / 2) };
}

/** Spreads the back edges of the top box of a layer over its width, those that leave before those that enter. */
function topPorts({ slots }: Banded, links: readonly Link[]): Map<string, number> {
  const ports = new Map<string, number>();
  slots.forEach((slot, box) => {
    if (slot.box === null || slot.order > 0) return;
    const keys = [
      ...links.flatMap((l, at) => (l.back && l.from === box ? [`exit ${at}`] : [])),
      ...links.flatMap((l, at) => (l.back && l.to === box ? [`entry ${at}`] : [])),
    ];
    keys.forEach((key, at) => ports.set(key, slot.x + (slot.w * (at + 1)) / (keys.length + 1)));
  });
  return ports;
}

function exitOf({ columns, channels }: Banded, slot: Slot, top: number | undefined) {
  if (top !== undefined) return { x: top, top: true };
  const rank = channels[slot.layer]!.near.get(slot) ?? 0;
  return { x: slot.x + columns[slot.layer]! + EXIT + TRACK * rank, top: false };
}

function entryOf({ channels, bandOf }: Banded, slot: Slot, top: number | undefined) {
  if (top !== undefined) return { x: top, top: true };
  const inBand = bandOf[slot.layer - 1] === bandOf[slot.layer];
  const rank = inBand ? (channels[slot.layer - 1]!.far.get(slot) ?? 0) : 0;
  return { x: slot.x - ENTRY - TRACK * rank, top: false };
}

/** The y of each slot; returns by band the y of its lowest lane, and by loop its lanes. */
function placeRows({ bands, layers }: Banded, links: readonly Link[], loops: readonly Loop[]) {
  const laneOf = new Map<Stretch, number>();
  const base: number[] = [];
  const bottom: number[] = [];
  let top = 0;
  bands.forEach((band, at) => {
    const here = loops.flatMap((loop) => loop.stretches.filter((s) => s.band === at).map((s) => s.stretch));
    const lanes = assignLanes(here);
    here.forEach((stretch, i) => laneOf.set(stretch, lanes[i]!));
    if (at) top += bandTracks(band.entering, links).height;
    if (here.length) top += LANE_OFFSET + LANE * Math.max(...lanes) + LANE_MARGIN;
    base.push(top - LANE_OFFSET);
    for (let l = band.begin; l < band.end; l++) for (const slot of layers[l]!) slot.y += top + band.above;
    top += band.above + band.below;
    bottom.push(top);
  });
  return { laneOf, base, bottom };
}

function routeLoop(loop: Loop, { laneOf, base }: ReturnType<typeof placeRows>): PlacedLink {
  const { from, to, exit, entry, side, stretches } = loop;
  const laneY = ({ band, stretch }: Loop['stretches'][number]) => base[band]! - LANE * laneOf.get(stretch)!;
  const first = laneY(stretches[0]!);
  const last = laneY(stretches.at(-1)!);
  const points: Point[] = exit.top
    ? [{ x: exit.x, y: from.y }]
    : [{ x: from.x + from.w, y: portOf(from) }, { x: exit.x, y: portOf(from) }];
  points.push({ x: exit.x, y: first });
  if (side !== null) points.push({ x: side, y: first }, { x: side, y: last });
  points.push({ x: entry.x, y: last });
  if (entry.top) points.push({ x: entry.x, y: to.y });
  else points.push({ x: entry.x, y: portOf(to) }, { x: to.x, y: portOf(to) });
  const label = { x: ((side ?? entry.x) + exit.x) / 2, y: first };
  return { points, label, fromAbove: entry.top };
}

/** Moves everything to the right of and below the origin, and measures it. */
function shift(banded: Banded, links: readonly Link[], placed: Map<number, PlacedLink>, loops: readonly Loop[]): Placement {
  const labels = placeLabels(banded, links, placed);
  const sides = loops.filter((loop) => loop.side !== null).length;
  const boxes = banded.slots.filter((slot) => slot.box !== null);
  const left = Math.min(0, ...[...placed.values()].flatMap((l) => l.points.map((p) => p.x)), ...labels.map((l) => l.x - l.w / 2));
  const dx = sides || left < 0 ? Math.ceil(-left) : 0;
  const moved = links.map((_, at): PlacedLink => {
    const link = placed.get(at);
    const label = labels.find((l) => l.link === at);
    return {
      points: link?.points.map(({ x, y }) => ({ x: x + dx, y })) ?? [],
      label: label ? { x: label.x + dx, y: label.y } : null,
      fromAbove: link?.fromAbove ?? false,
    };
  });
  const rights = [...boxes.map((b) => b.x + b.w), ...[...placed.values()].flatMap((l) => l.points.map((p) => p.x)), ...labels.map((l) => l.x + l.w / 2)];
  const bottoms = [...boxes.map((b) => b.y + b.h), ...[...placed.values()].flatMap((l) => l.points.map((p) => p.y))];
  return {
    boxes: boxes.map(({ x, y, w, h, port, layer }) => ({ x: x + dx, y, w, h, port, layer })),
    links: moved,
    w: Math.max(0, ...rights) + dx,
    h: Math.max(0, ...bottoms),
    trunk: boxes[0] ? portOf(boxes[0]) : 0,
  };
}
