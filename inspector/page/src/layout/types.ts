/** A box to be placed. Edges enter at its left and leave at its right side, `port` below its top. */
export interface Box {
  w: number;
  h: number;
  port: number;
}

/** An edge between two boxes, by index. A `back` edge starts the next turn of a loop. */
export interface Link {
  from: number;
  to: number;
  back: boolean;
  /** The width of its label; 0 without one. */
  label: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface PlacedBox extends Box, Point {
  layer: number;
}

export interface PlacedLink {
  points: Point[];
  /** The centre of its label. */
  label: Point | null;
  /** Whether it ends in an arrow from above, into the top of its target. */
  fromAbove: boolean;
}

export interface Placement {
  boxes: PlacedBox[];
  links: PlacedLink[];
  w: number;
  h: number;
  /** The y of the line that the first branch follows in the first band. */
  trunk: number;
}

/** A box, or the place that a long edge takes up in a layer that it passes. */
export interface Slot extends Box {
  box: number | null;
  layer: number;
  /** Its position in its layer, from the top. */
  order: number;
  x: number;
  y: number;
  before: Slot[];
}

/** The part of an edge between two neighbouring layers. */
export interface Segment {
  link: number;
  from: Slot;
  to: Slot;
}

export const portOf = (slot: Slot): number => slot.y + slot.port;
