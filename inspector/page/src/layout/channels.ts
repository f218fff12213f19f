import type { Link, Segment, Slot } from './types';
import { portOf } from './types';

/**
 * The vertical tracks in the gap behind a layer. Edges from one source share a track at the left, edges that only rise into
 * one target share one at the right.
 */
export interface Channels {
  /** By source, the track of edges that turn near it. */
  near: Map<Slot, number>;
  /** By target, the track of edges that turn before it. */
  far: Map<Slot, number>;
  /** The width of the gap. */
  width: number;
}

const STRAIGHT = 24;
const BENT = 28;
const LABELLED = 36;
export const TRACK = 8;

export const isStraight = (s: Segment): boolean => Math.abs(portOf(s.from) - portOf(s.to)) < 1;
/** An unlabelled edge that rises turns before its target, any other near its source. */
export const turnsFar = (s: Segment, links: readonly Link[]): boolean =>
  portOf(s.to) < portOf(s.from) && !(s.from.box !== null && links[s.link]!.label > 0);

/** `exits` and `entries`: the slots that a back edge leaves to the right or enters from the left in this gap. */
export function channelsOf(
  segments: readonly Segment[],
  exits: readonly Slot[],
  entries: readonly Slot[],
  links: readonly Link[],
): Channels {
  const bent = segments.filter((s) => !isStraight(s));
  const far = bent.filter((s) => turnsFar(s, links));
  const near = bent.filter((s) => !far.includes(s));
  const falling = unique(near.filter((s) => portOf(s.to) > portOf(s.from)).map((s) => s.from));
  const rising = unique([...exits, ...near.map((s) => s.from)]).filter((slot) => !falling.includes(slot));
  // The lowest source of falling edges turns first, the highest of rising ones: so they do not cross each other.
  const sources = [...falling.sort((a, b) => b.order - a.order), ...rising.sort((a, b) => a.order - b.order)];
  const targets = unique([...entries, ...far.map((s) => s.to)]).sort((a, b) => b.order - a.order);
  const label = Math.max(0, ...segments.filter((s) => s.from.box !== null).map((s) => links[s.link]!.label));
  const base = label ? Math.ceil((label + LABELLED) / 4) * 4 : bent.length || exits.length || entries.length ? BENT : STRAIGHT;
  const more = TRACK * (Math.max(0, sources.length - 1) + Math.max(0, targets.length - 1));
  return { near: ranks(sources), far: ranks(targets), width: base + more };
}

const unique = (slots: readonly Slot[]) => [...new Set(slots)];
const ranks = (slots: readonly Slot[]) => new Map(slots.map((slot, at) => [slot, at]));
