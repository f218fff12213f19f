import { rounded } from '../api/json';

/** How far `ctx.progress(..)` says that a node is, from 0 to 1: a fraction, or an object with `done` and `total`. */
export function fractionOf(data: unknown): number | null {
  if (typeof data === 'number') return data >= 0 && data <= 1 ? data : null;
  if (typeof data !== 'object' || data === null) return null;
  const entries = data as Record<string, unknown>;
  const number = (...names: string[]) => names.map((name) => rounded(entries[name])).find((value): value is number => typeof value === 'number');
  const total = number('total', 'of', 'all', 'count');
  const done = number('done', 'current', 'completed', 'at', 'read', 'processed');
  if (total !== undefined && done !== undefined && total > 0) return Math.min(1, Math.max(0, done / total));
  const fraction = number('fraction', 'progress', 'ratio');
  if (fraction !== undefined && fraction >= 0 && fraction <= 1) return fraction;
  const percent = number('percent', 'percentage');
  return percent !== undefined && percent >= 0 && percent <= 100 ? percent / 100 : null;
}
