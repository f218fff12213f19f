/** A horizontal stretch of a back edge above a band. */
export interface Stretch {
  left: number;
  right: number;
}

/** Gives stretches that overlap different lanes, counted from the band upwards: an inner loop lies below an outer one. */
export function assignLanes(stretches: readonly Stretch[]): number[] {
  const lanes: Stretch[][] = [];
  const result = new Array<number>(stretches.length).fill(0);
  const byLength = stretches.map((_, at) => at).sort((a, b) => length(stretches[a]!) - length(stretches[b]!) || a - b);
  for (const at of byLength) {
    const stretch = stretches[at]!;
    // Above everything that it covers, so that it crosses no inner loop.
    let lane = lanes.length;
    while (lane > 0 && !lanes[lane - 1]!.some((other) => overlap(other, stretch))) lane--;
    (lanes[lane] ??= []).push(stretch);
    result[at] = lane;
  }
  return result;
}

const length = ({ left, right }: Stretch) => right - left;
const overlap = (a: Stretch, b: Stretch) => a.left < b.right + 8 && b.left < a.right + 8;
