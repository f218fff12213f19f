import { useId, useState, type ReactNode } from 'react';
import { post } from '../api/client';
import type { Started } from '../api/types';
import { navigate, toRun } from '../shell/router';
import { describe } from '../view/describe';
import { leafOf, lookAt } from '../view/moment';
import { Dialog, type DialogOfRun } from './Dialog';
import { SignalDialog } from './SignalDialog';

export type DialogKind = 'cancel' | 'retry' | 'fork' | 'signal';

export function RunDialog({ kind, ...props }: DialogOfRun & { kind: DialogKind }) {
  switch (kind) {
    case 'cancel':
      return <CancelDialog {...props} />;
    case 'retry':
      return <RetryDialog {...props} />;
    case 'fork':
      return <ForkDialog {...props} />;
    case 'signal':
      return <SignalDialog {...props} />;
  }
}

function CancelDialog({ run, onClose, onDone }: DialogOfRun) {
  const send = async () => {
    await post(['runs', run.id, 'cancel'], {});
    onDone();
  };
  return (
    <Dialog title="Cancel this run?" action="Cancel the run" look="danger" onClose={onClose} send={send}>
      <p>Every node that is under way is stopped and has a moment to clean up. What is recorded stays.</p>
    </Dialog>
  );
}

function RetryDialog({ run, moment, selected, onClose, onDone }: DialogOfRun) {
  const { view } = moment;
  const [from, setFrom] = useState<'failure' | 'selected'>('failure');
  const thing = selected === null ? undefined : view.byPath.get(selected);
  const look = thing && lookAt(thing, view.seq);
  const kept = view.things.filter((other) => other.within >= 0 && lookAt(other, view.seq) === 'completed').length;
  const send = async () => {
    const path = thing?.path;
    // What is completed runs again with what is recorded for it; anything else as if it had never started.
    const body = from === 'failure' || path === undefined ? {} : look === 'completed' ? { rerun: [path] } : { from_nodes: [path] };
    await post<Started>(['runs', run.id, 'retry'], body);
    onDone();
  };
  return (
    <Dialog title="Retry this run" action="Retry" look="primary" onClose={onClose} send={send}>
      <Choice checked={from === 'failure'} onChoose={() => setFrom('failure')} title="From the failure">
        {kept} completed {kept === 1 ? 'record is' : 'records are'} reused; what failed gets all of its attempts again
      </Choice>
      <Choice
        checked={from === 'selected'}
        disabled={!thing}
        onChoose={() => setFrom('selected')}
        title={thing ? <>From <span className="mono">{leafOf(thing.path)}</span></> : 'From the selected node'}
      >
        It runs again, and so does everything after it
      </Choice>
    </Dialog>
  );
}

function Choice({ checked, disabled, onChoose, title, children }: { checked: boolean; disabled?: boolean; onChoose: () => void; title: ReactNode; children: ReactNode }) {
  return (
    <label>
      <input type="radio" name="choice" checked={checked} disabled={disabled} onChange={onChoose} />
      <span>
        {title}
        <span className="dim">{children}</span>
      </span>
    </label>
  );
}

function ForkDialog({ run, moment, onClose }: DialogOfRun) {
  const { view, seq, live } = moment;
  const field = useId();
  const [id, setId] = useState(`${run.id}-fork`);
  const said = describe(view, seq);
  const send = async () => {
    const body = { ...(live ? {} : { before: seq + 1 }), ...(id ? { id } : {}) };
    const { run: forked } = await post<Started>(['runs', run.id, 'fork'], body);
    navigate(toRun(forked));
  };
  return (
    <Dialog title="Fork this run" action="Fork" look="primary" onClose={onClose} send={send}>
      <p>
        A new run of <span className="mono">{run.workflow}</span> begins with {live ? 'all events before the end' : `events 1 to ${seq + 1}`} and continues
        from there. This run does not change.
      </p>
      <p>
        {live ? (
          'Move the time slider to fork from an earlier event.'
        ) : (
          <>
            The time slider is at event {seq + 1}: <b>{said.who}</b> {said.what}.
          </>
        )}
      </p>
      <label className="stacked" htmlFor={field}>
        Id of the new run
      </label>
      <input id={field} type="text" value={id} placeholder="a new one" onChange={(event) => setId(event.target.value)} />
    </Dialog>
  );
}
