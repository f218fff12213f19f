import { useState, type ReactNode } from 'react';
import type { ApiError } from '../api/client';
import { LazyForm } from './LazyForm';
import { descriptionOf, fieldsOf, hasForm, isNothing } from './schema';
import type { ValueState } from './value';

interface Props {
  /** `true` for anything. */
  schema: unknown;
  value: unknown;
  /** Why the server refused the value. */
  refused: ApiError | null;
  onChange: (state: ValueState) => void;
  /** What is above of it, with the button that changes between the two. */
  heading: (change: ReactNode, asJson: boolean) => ReactNode;
  className?: string;
  /** Further fields. */
  children?: ReactNode;
}

/** Asks for a value by its schema: by a form, or as JSON if there is none or the person prefers it. */
export function ValueField({ schema, value, refused, onChange, heading, className = 'fields', children }: Props) {
  const isForm = hasForm(schema);
  const [asJson, setAsJson] = useState(!isForm);
  const change = isForm && !isNothing(schema) && (
    <button type="button" className="ghost" onClick={() => setAsJson(!asJson)}>
      {asJson ? 'As a form' : 'As JSON'}
    </button>
  );
  return (
    <>
      {heading(change, asJson)}
      <div className={className}>
        {fieldsOf(schema) && descriptionOf(schema) && <p className="dim">{descriptionOf(schema)}</p>}
        <LazyForm schema={schema} value={value} refused={refused} asJson={asJson} onChange={onChange} />
        {children}
      </div>
    </>
  );
}
