import Form from '@rjsf/core';
import { useMemo } from 'react';
import type { ApiError } from '../api/client';
import { errorAt, fieldOf, partsOf } from './fieldPath';
import type { ValueState } from './value';
import { JsonEditor } from './JsonEditor';
import { forForm, hasForm, isNothing } from './schema';
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

const UI = { 'ui:submitButtonOptions': { norender: true } };
const DEFAULTS = { emptyObjectFields: 'skipEmptyDefaults', arrayMinItems: { populate: 'requiredOnly' } } as const;

/** Asks for a value by its schema, as a form or as JSON. It is inside of a form of the page. */
export default function ValueForm({ schema, value, refused, asJson, onChange }: Props) {
  const shown = useMemo(() => (hasForm(schema) ? forForm(schema) : null), [schema]);
  const errors = useMemo(() => errorsOf(refused), [refused]);
  if (isNothing(schema)) return <p className="dim">Nothing is asked for.</p>;
  if (asJson || !shown) return <JsonEditor value={value} refused={refused} onChange={onChange} />;
  return (
    <Form
      tagName="div"
      idPrefix={ROOT_ID}
      schema={shown}
      uiSchema={UI}
      formData={value}
      validator={validator}
      noValidate
      noHtml5Validate
      showErrorList={false}
      extraErrors={errors}
      extraErrorsBlockSubmit={false}
      templates={templates}
      widgets={widgets}
      experimental_defaultFormStateBehavior={DEFAULTS}
      onChange={({ formData }) => onChange({ value: formData as unknown, invalid: null })}
    />
  );
}

/** What is wrong with the value as a whole is said below the form. */
function errorsOf(refused: ApiError | null) {
  if (!refused?.field) return undefined;
  const field = fieldOf(refused.field, refused.message);
  return partsOf(field).length ? errorAt(field, refused.message) : undefined;
}
