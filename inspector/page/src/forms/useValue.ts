import { useState } from 'react';
import { fieldsOf, hasForm, isNothing } from './schema';

export interface ValueState {
  value: unknown;
  /** Why the text of the JSON editor is no value. */
  invalid: string | null;
}

/** What a schema gives at first. */
export const firstValue = (schema: unknown): ValueState => ({ value: isNothing(schema) ? null : fieldsOf(schema) ? {} : undefined, invalid: null });

/** The state of a value that is asked for: what the schema gives at first, and how it is shown. */
export function useValue(schema: unknown) {
  const [state, setState] = useState<ValueState>(() => firstValue(schema));
  const [asJson, setAsJson] = useState(!hasForm(schema));
  return { state, setState, asJson, setAsJson };
}
