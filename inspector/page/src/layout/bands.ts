import { TRACK, channelsOf, type Channels } from './channels';
import { foldIntoBands, type Span } from './fold';
import type { Layered } from './layers';
import type { Link, Segment, Slot } from './types';

const ROW = 16;
const PASSING_ROW = 10;
const LOOP_COST = 6;
const LABEL_COST = 1.5;
const ROUNDS = 3;
/** Between two tracks that lead to the next band, if the lower one has a label. */
const LABEL_TRACK = 18;

export interface Band extends Span {
  /** Edges that come from the band above, the innermost first. */
  entering: Segment[];
  /** Back edges that enter its first layer from the left. */
  entries: number;
  /** The heights above and below the line y = 0, on which its first slot lies. */
  above: number;
  below: number;
}

export interface Banded extends Layered {
  bands: Band[];
  /** By layer. */
  bandOf: number[];
  columns: number[];
  channels: Channels[];
}

/** Folds the layers into bands and gives each slot its y within its band. */
export function fold(layered: Layered, links: readonly Link[], width: number): Banded {
  const { layers } = layered;
  const columns = layers.map((row) => Math.max(0, ...row.map((slot) => slot.w)));
  const crossing = crossingCost(layered, links);
  let spans: Span[] = [{ begin: 0, end: layers.length }];
  let banded = place(layered, spans, columns, links);
  for (let round = 0; round < ROUNDS; round++) {
    // How wide a gap is depends on the rows, which depend on the fold.
    const gaps = banded.channels.map((channel) => channel.width);
    const next = foldIntoBands({ columns, gaps, crossing, width });
    if (JSON.stringify(next) === JSON.stringify(spans)) break;
    spans = next;
    banded = place(layered, spans, columns, links);
  }
  return banded;
}

function crossingCost({ segments, slots }: Layered, links: readonly Link[]): (cut: number) => number {
  const layer = (box: number) => slots[box]!.layer;
  return (cut) =>
    segments
      .filter((s) => s.to.layer === cut)
      .reduce((sum, s) => sum + 1 + (links[s.link]!.label ? LABEL_COST : 0), 0) +
    LOOP_COST * links.filter((l) => l.back && layer(l.to) < cut !== layer(l.from) < cut).length;
}

function place(layered: Layered, spans: readonly Span[], columns: number[], links: readonly Link[]): Banded {
  const { layers, segments } = layered;
  const bandOf = layers.map((_, l) => spans.findIndex(({ begin, end }) => l >= begin && l < end));
  const extents = spans.map((span) => stack(layers, span));
  const back = links.filter((link) => link.back);
  const slot = (box: number) => layered.slots[box]!;
  const exits = back.map((link) => slot(link.from)).filter((s) => s.order > 0);
  const entries = back.map((link) => slot(link.to)).filter((s) => s.order > 0);
  const channels = layers.map((_, l) =>
    channelsOf(
      segments.filter((s) => s.from.layer === l && bandOf[s.to.layer] === bandOf[l]),
      exits.filter((s) => s.layer === l),
      bandOf[l + 1] === bandOf[l] ? entries.filter((s) => s.layer === l + 1) : [],
      links,
    ),
  );
  const bands = spans.map((span, at) => ({
    ...span,
    ...extents[at]!,
    entering: at ? segments.filter((s) => s.to.layer === span.begin).sort(innermostFirst) : [],
    entries: new Set(entries.filter((s) => s.layer === span.begin)).size,
  }));
  return { ...layered, bands, bandOf, columns, channels };
}

const innermostFirst = (a: Segment, b: Segment) => b.from.order - a.from.order || b.to.order - a.to.order;

/** Lines each slot up with its uppermost predecessor, or below its upper neighbour. */
function stack(layers: readonly Slot[][], { begin, end }: Span): { above: number; below: number } {
  let above = 0;
  let below = 0;
  for (let l = begin; l < end; l++) {
    let free = -Infinity;
    for (const slot of layers[l]!) {
      const lead = slot.before.filter((p) => p.layer >= begin).sort((a, b) => a.order - b.order)[0];
      const wanted = lead ? lead.y + lead.port - slot.port : free === -Infinity ? -slot.port : free;
      slot.y = Math.max(wanted, free);
      free = slot.y + slot.h + (slot.box === null ? PASSING_ROW : ROW);
      above = Math.min(above, slot.y);
      below = Math.max(below, slot.y + slot.h);
    }
  }
  return { above: -above, below };
}

/** How far each edge to the next band lies below the band, and the height of all. */
export function bandTracks(entering: readonly Segment[], links: readonly Link[]): { offsets: number[]; height: number } {
  let at = 16;
  const offsets = entering.map((segment, rank) => {
    if (rank && segment.from.box !== null && links[segment.link]!.label) at += LABEL_TRACK - TRACK;
    const offset = at;
    at += TRACK;
    return offset;
  });
  return { offsets, height: entering.length ? at + 20 : 0 };
}
