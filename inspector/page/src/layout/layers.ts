import type { Box, Link, Segment, Slot } from './types';

const PASSING = { w: 0, h: 8, port: 4 };

export interface Layered {
  slots: Slot[];
  segments: Segment[];
  /** By layer, the slots from top to bottom. */
  layers: Slot[][];
}

/** The layer of each box: the longest path to it over forward edges. */
function layersOf(boxes: number, links: readonly Link[]): number[] {
  const layer = new Array<number>(boxes).fill(0);
  // A cycle of forward edges would never settle, so there are at most as many rounds as boxes.
  for (let round = 0, moved = true; moved && round < boxes; round++) {
    moved = false;
    for (const { from, to, back } of links) {
      if (back || layer[to]! > layer[from]!) continue;
      layer[to] = layer[from]! + 1;
      moved = true;
    }
  }
  return layer;
}

/**
 * Layered drawing after Sugiyama, Tagawa and Toda (1981): an edge over several layers gets a slot of its own in each,
 * and the slots of a layer are ordered by the mean position of their predecessors.
 */
export function arrange(boxes: readonly Box[], links: readonly Link[]): Layered {
  const layer = layersOf(boxes.length, links);
  const slots: Slot[] = boxes.map((box, at) => newSlot(box, at, layer[at]!));
  const segments: Segment[] = [];
  links.forEach((link, at) => {
    const target = slots[link.to]!;
    if (link.back || layer[link.to]! <= layer[link.from]!) return;
    let from = slots[link.from]!;
    for (let l = from.layer + 1; l < target.layer; l++) {
      const passing = newSlot(PASSING, null, l);
      slots.push(passing);
      connect(segments, at, from, passing);
      from = passing;
    }
    connect(segments, at, from, target);
  });
  return { slots, segments, layers: orderLayers(slots) };
}

function newSlot(box: Box, at: number | null, layer: number): Slot {
  return { ...box, box: at, layer, order: 0, x: 0, y: 0, before: [] };
}

function connect(segments: Segment[], link: number, from: Slot, to: Slot) {
  to.before.push(from);
  segments.push({ link, from, to });
}

function orderLayers(slots: readonly Slot[]): Slot[][] {
  const layers: Slot[][] = [];
  for (const slot of slots) (layers[slot.layer] ??= []).push(slot);
  for (let l = 0; l < layers.length; l++) {
    const row = (layers[l] ??= []);
    const mean = new Map(row.map((slot) => [slot, meanOrder(slot.before)]));
    // At equal means boxes come above passing edges, so that the first branch stays on the trunk.
    row.sort((a, b) => mean.get(a)! - mean.get(b)! || rank(a) - rank(b));
    row.forEach((slot, order) => (slot.order = order));
  }
  return layers;
}

const rank = (slot: Slot) => (slot.box === null ? 1 : 0);
const meanOrder = (before: readonly Slot[]) =>
  before.length ? before.reduce((sum, slot) => sum + slot.order, 0) / before.length : 0;
