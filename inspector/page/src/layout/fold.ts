/** What a fold into bands weighs. `cut` is the layer that would begin a new band. */
export interface FoldInput {
  columns: readonly number[];
  gaps: readonly number[];
  /** The cost of the edges that a cut before this layer would break. */
  crossing: (cut: number) => number;
  width: number;
}

export interface Span {
  begin: number;
  end: number;
}

const FIRST_MARGIN = 44;
const MARGIN = 60;
const PER_BAND = 8;

/**
 * Breaks the layers into bands like the words of a paragraph into lines (Knuth and Plass, 1981): the cheapest sum of broken
 * edges and unused width. A band is wider than `width` only if a single layer is.
 */
export function foldIntoBands({ columns, gaps, crossing, width }: FoldInput): Span[] {
  const best = [0];
  const cutAt = [0];
  for (let end = 1; end <= columns.length; end++) {
    best[end] = Infinity;
    let used = 0;
    for (let begin = end - 1; begin >= 0; begin--) {
      used += columns[begin]! + (begin < end - 1 ? gaps[begin]! : 0);
      const total = used + (begin ? MARGIN : FIRST_MARGIN);
      if (total > width && end - begin > 1) break;
      const slack = width === Infinity ? 0 : Math.max(0, width - total) / 400;
      const cost = best[begin]! + (begin ? PER_BAND + crossing(begin) ** 2 * 3 : 0) + slack ** 2 * 0.6;
      if (cost < best[end]!) {
        best[end] = cost;
        cutAt[end] = begin;
      }
    }
  }
  const spans: Span[] = [];
  for (let end = columns.length; end > 0; end = cutAt[end]!) spans.unshift({ begin: cutAt[end]!, end });
  return spans;
}
