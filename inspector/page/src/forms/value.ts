import { fieldsOf, isNothing } from './schema';

/** A value that is asked for. */
export interface ValueState {
  value: unknown;
  /** Why the text of the JSON editor is no value. */
  invalid: string | null;
}

/** What a schema gives at first. */
export const firstValue = (schema: unknown): ValueState => ({ value: isNothing(schema) ? null : fieldsOf(schema) ? {} : undefined, invalid: null });
