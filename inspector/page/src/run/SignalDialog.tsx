import { useId, useState } from 'react';
import { ApiError, post } from '../api/client';
import { toJson } from '../api/json';
import type { AwaitedSignal, Signal, Signalled } from '../api/types';
import { useResource } from '../api/useResource';
import { firstValue, type ValueState } from '../forms/value';
import { ValueField } from '../forms/ValueField';
import { awaitedSignals } from '../view/awaited';
import { Dialog, type DialogOfRun } from './Dialog';

/** Sends a signal: by a form if a node waits for it, as JSON else. */
export function SignalDialog({ run, moment, selected, onClose, onDone }: DialogOfRun) {
  const { view } = moment;
  const names = [...new Set([...awaitedSignals(view, selected).map((awaited) => awaited.signal), ...run.awaited_signals])];
  const fields = useId();
  const [name, setName] = useState(names[0] ?? '');
  const awaited = useResource<AwaitedSignal[]>(['runs', run.id, 'signals']);
  const schema = awaited.data?.find((one) => one.name === name.trim())?.schema ?? true;
  // What was written for another type is dropped.
  const type = toJson(schema) ?? '';
  const [written, setWritten] = useState<{ type: string; state: ValueState } | null>(null);
  const payload = written?.type === type ? written.state : firstValue(schema);
  const [id, setId] = useState('');
  const [by, setBy] = useState('');
  const [refused, setRefused] = useState<ApiError | null>(null);
  const send = async () => {
    setRefused(null);
    const signal: Signal = { payload: payload.value ?? null, ...(id.trim() ? { id: id.trim() } : {}), ...(by.trim() ? { by: by.trim() } : {}) };
    const { duplicate } = await post<Signalled>(['runs', run.id, 'signals', name.trim()], signal);
    if (duplicate) throw new Error(`The run has had a signal \`${name.trim()}\` of this id: this one does not count.`);
    onDone();
  };
  const isAtField = (problem: ApiError) => {
    const isOfPayload = OF_PAYLOAD.includes(problem.code);
    if (isOfPayload) setRefused(problem);
    return isOfPayload;
  };
  return (
    <Dialog title="Send a signal" action="Send" look="primary" onClose={onClose} send={send} isAtField={isAtField} isInvalid={payload.invalid !== null || !name.trim()}>
      <p>
        {names.length ? (
          <>
            The run waits for <span className="mono">{names.join(', ')}</span>. It keeps any other signal for a node that will wait for it.
          </>
        ) : (
          'The run waits for no signal now. It keeps this one for a node that will wait for it.'
        )}
      </p>
      <label className="stacked" htmlFor={`${fields}-name`}>
        Signal
      </label>
      <input id={`${fields}-name`} name="signal" type="text" list={`${fields}-names`} value={name} onChange={(event) => setName(event.target.value)} />
      <datalist id={`${fields}-names`}>
        {names.map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      {awaited.loading && !awaited.data ? (
        <span className="bone" style={{ width: '60%' }} />
      ) : (
        <ValueField
          key={type}
          schema={schema}
          value={payload.value}
          refused={refused}
          onChange={(state) => setWritten({ type, state })}
          heading={(change, asJson) => (
            <div className="stacked">
              {asJson ? 'Payload, as JSON' : 'Payload'} {asJson && <span className="dim">null if it is empty</span>}
              {change}
            </div>
          )}
        />
      )}
      <label className="stacked" htmlFor={`${fields}-id`}>
        Id <span className="dim">optional; the same name and id again do not count</span>
      </label>
      <input id={`${fields}-id`} name="id" type="text" value={id} onChange={(event) => setId(event.target.value)} />
      <label className="stacked" htmlFor={`${fields}-by`}>
        Your name <span className="dim">optional; it is recorded with the signal</span>
      </label>
      <input id={`${fields}-by`} name="by" type="text" autoComplete="name" value={by} onChange={(event) => setBy(event.target.value)} />
    </Dialog>
  );
}

const OF_PAYLOAD = ['invalid_payload', 'not_recordable'];
