import { useEffect, useRef, useState, type FormEvent } from 'react';
import { ApiError, post } from '../api/client';
import type { Started } from '../api/types';
import { firstValue } from '../forms/value';
import { ValueField } from '../forms/ValueField';
import { navigate, toRun } from '../shell/router';
import { parseTags } from './tags';

interface Props {
  name: string;
  schema: unknown;
  isAsked: boolean;
}

/** Problems of the request itself, and not of the input. */
const OWN_FIELDS = ['invalid_id', 'invalid_tag', 'deleted', 'other_workflow', 'other_input', 'invalid_state', 'missing_state'];

export function StartForm({ name, schema, isAsked }: Props) {
  const [state, setState] = useState(() => firstValue(schema));
  const [id, setId] = useState('');
  const [tags, setTags] = useState('');
  const [refused, setRefused] = useState<ApiError | null>(null);
  const [sending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!isAsked) return;
    form.current?.scrollIntoView({ block: 'nearest' });
    form.current?.querySelector<HTMLElement>('.fields input, .fields textarea, .fields select')?.focus({ preventScroll: true });
  }, [isAsked]);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setRefused(null);
    try {
      const { run } = await post<Started>(['workflows', name, 'runs'], {
        input: state.value === undefined ? null : state.value,
        ...(id.trim() ? { id: id.trim() } : {}),
        tags: parseTags(tags),
      });
      navigate(toRun(run));
    } catch (error) {
      setRefused(error instanceof ApiError ? error : new ApiError({ status: 0, code: 'invalid_tag', detail: error instanceof Error ? error.message : String(error) }));
      setSending(false);
    }
  };
  const isOwn = refused !== null && OWN_FIELDS.includes(refused.code);
  return (
    <form className="card" ref={form} onSubmit={submit}>
      <ValueField
        schema={schema}
        value={state.value}
        refused={isOwn ? null : refused}
        onChange={setState}
        className="bd fields"
        heading={(change) => (
          <h2>
            Start a run
            <span className="r">{change}</span>
          </h2>
        )}
      >
        <div className="field apart">
          <label htmlFor="start-id">
            Run id <span className="opt">optional</span>
          </label>
          <div>
            <input id="start-id" type="text" placeholder="a new one" value={id} onChange={(event) => setId(event.target.value)} />
          </div>
          <div className="help">The same id again gives the same run.</div>
        </div>
        <div className="field">
          <label htmlFor="start-tags">
            Tags <span className="opt">optional</span>
          </label>
          <div>
            <input id="start-tags" type="text" placeholder="env:prod team:platform" value={tags} onChange={(event) => setTags(event.target.value)} />
          </div>
        </div>
      </ValueField>
      {refused && (
        <p className="refused" role="alert">
          {refused.message}
        </p>
      )}
      <div className="form-foot">
        <button className="primary" disabled={sending || state.invalid !== null}>
          Start
        </button>
        <span className="dim">Opens the run</span>
      </div>
    </form>
  );
}
