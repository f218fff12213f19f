import { completed, fieldsOf, isNothing } from './schema';

/** A value that is asked for. */
export interface ValueState {
  value: unknown;
  /** Why the text of the JSON editor is no value. */
  invalid: string | null;
}

/** What a schema gives at first. */
export function firstValue(schema: unknown): ValueState {
  const value = isNothing(schema) ? null : completed(schema, fieldsOf(schema) ? {} : undefined);
  return { value, invalid: null };
}
