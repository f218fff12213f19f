import { isInteger, isLosslessNumber, parse, stringify } from 'lossless-json';

/**
 * Reads JSON and changes no integer. One that a JavaScript number may not hold, beyond 2^53, is a `bigint`, and any other number is a
 * `number`. `toJson` writes both.
 */
export function parseJson(text: string): unknown {
  // The parser of the browser is quicker, and exact where no number is long.
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return parse(text, undefined, { parseNumber: exactNumber, onDuplicateKey: lastOne });
}

/** 2^53 has 16 digits. The digits after a point do not count. */
const LONG_NUMBER = /(?:^|[\s[:,-])\d{16}/;

/** Of a key that is there twice the last value counts, as for `JSON.parse`. */
const lastOne = ({ newValue }: { newValue: unknown }) => newValue;

function exactNumber(text: string): number | bigint {
  const number = Number(text);
  return isInteger(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/** Reads JSON that a person has typed. `toJson` writes its numbers as they were typed, `1.0` and not `1`. */
export const parseTyped = (text: string): unknown => parse(text, undefined, { onDuplicateKey: lastOne });

/** A value of `parseTyped` with the numbers of `parseJson`. */
export const withNumbers = (value: unknown): unknown => mapLeaves(value, (leaf) => (isLosslessNumber(leaf) ? exactNumber(leaf.value) : leaf));

/** A value with a number in place of each `bigint`, but for what is in the fields that are `left`: for what computes, and sends nothing. */
export const rounded = (value: unknown, left?: ReadonlySet<string>): unknown =>
  mapLeaves(value, (leaf) => (typeof leaf === 'bigint' ? Number(leaf) : leaf), left);

/** The fields of the API that have a value or a schema of the user. */
export const USER_FIELDS: ReadonlySet<string> = new Set([
  'answer',
  'arguments',
  'data',
  'fault',
  'input',
  'output',
  'payload',
  'schema',
  'state',
  'value',
]);

/** Reads what the server sends: values of the user are exact, and the times and counts of the API itself are always a `number`. */
export function parseResponse(text: string): unknown {
  return LONG_NUMBER.test(text) ? rounded(parseJson(text), USER_FIELDS) : JSON.parse(text);
}

/** Writes a value of `parseJson` or `parseTyped` as JSON, like `JSON.stringify`. */
export const toJson = (value: unknown, space?: number): string | undefined => stringify(value, undefined, space);

/** Maps what is no list and no object, but for what is in the fields that are `left`. */
function mapLeaves(value: unknown, map: (leaf: unknown) => unknown, left?: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((entry) => mapLeaves(entry, map, left));
  if (typeof value !== 'object' || value === null || isLosslessNumber(value)) return map(value);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, left?.has(key) ? entry : mapLeaves(entry, map, left)]));
}
