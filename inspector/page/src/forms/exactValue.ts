import type { Schema } from './schema';

/**
 * What a text is if a JavaScript number is not the same: an integer beyond 2^53. One that is written in another way, as `1e30`, is left
 * as text, and the server refuses it. Anything else is undefined.
 */
export function exactValueOf(text: string, type: Schema['type']): bigint | string | undefined {
  const number = Number(text);
  if (Number.isNaN(number) || Number.isSafeInteger(number)) return undefined;
  if (/^\s*[+-]?\d+\s*$/.test(text)) return BigInt(text);
  const isWhole = type === 'integer' || (Array.isArray(type) && type.includes('integer'));
  return !Number.isFinite(number) || (isWhole && Number.isInteger(number)) ? text : undefined;
}
