import type { Run, Server } from '../api/types';
import { link, toRun, toWorkflow } from '../shell/router';
import { age, duration, instant } from '../ui/duration';
import { Status } from '../ui/Icon';
import { Tags } from '../ui/Tags';
import { isUnderWay } from '../view/moment';
import type { DialogKind } from './RunDialog';

interface Props {
  run: Run;
  server: Server | null;
  events: number;
  now: number;
  onAsk: (kind: DialogKind) => void;
}

export function RunHead({ run, server, events, now, onAsk }: Props) {
  const running = isUnderWay(run.status);
  return (
    <div className="run-head">
      <div className="r1">
        <h1>
          <a className="crumb" href={link('runs')}>
            Runs
          </a>
          <span className="dim">/</span>
          <span className="cut" title={run.id}>
            {run.id}
          </span>
        </h1>
        <Status look={run.status} pill />
        <Actions run={run} readOnly={server?.read_only ?? true} onAsk={onAsk} />
      </div>
      <div className="r2">
        <a className="link cut" href={toWorkflow(run.workflow)} title={run.workflow}>
          {run.workflow}
        </a>
        <span title={instant(run.created)}>
          started <b>{age(now - run.created)} ago</b>
        </span>
        <span>
          {running ? 'for' : 'took'} <b>{duration((running ? now : (run.ended ?? run.updated)) - run.created)}</b>
        </span>
        <span>
          <b>{events}</b> {events === 1 ? 'event' : 'events'}
        </span>
        {run.wake_at && running && <span title={instant(run.wake_at)}>wakes in {duration(run.wake_at - now)}</span>}
        {run.forked_from && (
          <span>
            fork of{' '}
            <a className="link mono" href={toRun(run.forked_from.run)}>
              {run.forked_from.run}
            </a>{' '}
            before event {run.forked_from.before + 1}
          </span>
        )}
        {run.previous && (
          <span>
            follows{' '}
            <a className="link mono" href={toRun(run.previous)}>
              {run.previous}
            </a>
          </span>
        )}
        {run.next && (
          <span>
            followed by{' '}
            <a className="link mono" href={toRun(run.next)}>
              {run.next}
            </a>
          </span>
        )}
        <span className="tags">
          <Tags tags={run.tags} />
        </span>
      </div>
    </div>
  );
}

function Actions({ run, readOnly, onAsk }: { run: Run; readOnly: boolean; onAsk: (kind: DialogKind) => void }) {
  if (readOnly) return <div className="actions dim">read-only</div>;
  const over = !isUnderWay(run.status);
  const canRetry = run.status === 'failed' || run.status === 'cancelled';
  const requested = run.registered ? undefined : 'A process that has its workflow carries it out';
  return (
    <div className="actions">
      <button type="button" className={over ? '' : 'danger'} disabled={over} title={over ? 'It has ended' : undefined} onClick={() => onAsk('cancel')}>
        Cancel
      </button>
      <button
        type="button"
        className={!over && run.status === 'waiting' && run.awaited_signals.length ? 'primary' : ''}
        disabled={over}
        title={over ? 'It has ended' : undefined}
        onClick={() => onAsk('signal')}
      >
        Signal…
      </button>
      <button
        type="button"
        className={run.status === 'failed' ? 'primary' : ''}
        disabled={!canRetry}
        title={canRetry ? requested : 'Only a run that failed or was cancelled is retried'}
        onClick={() => onAsk('retry')}
      >
        Retry…
      </button>
      <button type="button" title={requested} onClick={() => onAsk('fork')}>
        Fork…
      </button>
    </div>
  );
}
