import type { ErrorSchema } from '@rjsf/utils';

/** The parts of a field as problems name it: `lines[2].price` is `lines`, `2`, `price`; `.` is the whole value. */
export function partsOf(field: string): string[] {
  return field === '.' ? [] : field.split(/[.[\]]+/).filter(Boolean);
}

/** The field that a problem is about. One that is missing is named by the message only: the field is what should have it. */
export function fieldOf(field: string, message: string): string {
  const [, ofServer, ofSchema] = /missing field `([^`]+)`|"([^"]+)" is a required property/.exec(message) ?? [];
  const missing = ofServer ?? ofSchema;
  if (missing === undefined) return field;
  return field === '.' ? missing : `${field}.${missing}`;
}

/** An error in the form's own shape, at its field. */
export function errorAt(field: string, message: string): ErrorSchema {
  const errors: Record<string, unknown> = {};
  let at = errors;
  for (const part of partsOf(field)) at = (at[part] = {}) as Record<string, unknown>;
  at.__errors = [message];
  return errors as ErrorSchema;
}
