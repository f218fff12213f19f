import Form from '@rjsf/core';
import { useMemo } from 'react';
import type { ApiError } from '../api/client';
import { withNumbers } from '../api/json';
import { errorAt, fieldOf, partsOf } from './fieldPath';
import type { ValueState } from './value';
import { JsonEditor } from './JsonEditor';
import { NumberField } from './NumberField';
import { completed, forForm, hasForm, isNothing } from './schema';
import { templates } from './templates';
import validator from './validator';
import { ROOT_ID, widgets } from './widgets';

interface Props {
  schema: unknown;
  value: unknown;
  /** Why the server refused the value. */
  refused: ApiError | null;
  asJson: boolean;
  onChange: (state: ValueState) => void;
}

// The form library compares values by `JSON.stringify`, which throws for a `bigint` without this. What is sent is written by `toJson`.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  value(this: bigint) {
    return `${this}n`;
  },
});

const FIELDS = { NumberField };
const UI = { 'ui:submitButtonOptions': { norender: true } };
const DEFAULTS = { emptyObjectFields: 'skipEmptyDefaults', arrayMinItems: { populate: 'requiredOnly' } } as const;

/** Asks for a value by its schema, as a form or as JSON. It is inside of a form of the page. */
export default function ValueForm({ schema, value, refused, asJson, onChange }: Props) {
  const shown = useMemo(() => (hasForm(schema) ? forForm(schema) : null), [schema]);
  const formData = useMemo(() => withNumbers(value), [value]);
  const errors = useMemo(() => errorsOf(refused), [refused]);
  if (isNothing(schema)) return <p className="dim">Nothing is asked for.</p>;
  if (asJson || !shown) return <JsonEditor value={value} refused={refused} onChange={onChange} />;
  return (
    <Form
      tagName="div"
      idPrefix={ROOT_ID}
      schema={shown}
      uiSchema={UI}
      formData={formData}
      validator={validator}
      noValidate
      noHtml5Validate
      showErrorList={false}
      extraErrors={errors}
      extraErrorsBlockSubmit={false}
      templates={templates}
      fields={FIELDS}
      widgets={widgets}
      experimental_defaultFormStateBehavior={DEFAULTS}
      onChange={(form) => onChange({ value: completed(schema, form.formData), invalid: null })}
    />
  );
}

/** What is wrong with the value as a whole is said below the form. */
function errorsOf(refused: ApiError | null) {
  if (!refused?.field) return undefined;
  const field = fieldOf(refused.field, refused.message);
  return partsOf(field).length ? errorAt(field, refused.message) : undefined;
}
