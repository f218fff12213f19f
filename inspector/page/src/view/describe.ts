import type { Detail } from '../api/types';
import type { Look } from '../ui/look';
import type { RunView } from './model';
import { leafOf } from './moment';

/** An event in words: who, and what. */
export interface Said {
  who: string;
  what: string;
}

export function describe(view: RunView, seq: number): Said {
  const detail = view.detailAt.get(seq);
  const moved = view.movedAt.get(seq);
  const status = view.statuses.find((change) => change.seq === seq)?.status;
  const of = (thing: number) => (thing === 0 ? 'run' : leafOf(view.things[thing]?.path ?? ''));
  if (status === 'started_over') return { who: 'run', what: 'started over' };
  if (status === 'completed' || status === 'failed' || status === 'cancelled') return { who: 'run', what: status };
  const said = detail && sayDetail(detail);
  if (said) return { who: of(detail.thing), what: said };
  if (moved && moved.thing !== 0) return { who: of(moved.thing), what: sayMove(moved.look, moved.attempt) };
  return { who: 'run', what: seq === 0 ? 'started' : 'recorded' };
}

function sayDetail(detail: Detail): string | null {
  switch (detail.type) {
    case 'message':
      return `says: ${detail.text}`;
    case 'note':
      return `notes ${detail.name}`;
    case 'replied':
      return `${detail.model} replied${detail.calls ? `, calls ${detail.calls} tool${detail.calls > 1 ? 's' : ''}` : ''}`;
    case 'error':
      return `attempt ${detail.attempt} failed`;
    case 'asked':
      return `asks: ${detail.prompt}`;
    case 'answered':
      return `answered${detail.by ? ` by ${detail.by}` : ''}`;
    case 'rejected':
      return `answer rejected: ${detail.message}`;
    case 'timer':
      return 'sleeps';
    case 'awaits':
      return `waits for signal ${detail.signal}`;
    case 'delivered':
      return 'got a signal';
    case 'signal':
      return `got signal ${detail.name}`;
    case 'begins':
      return 'begins later';
    case 'resumed':
      return 'resumed by a process';
    case 'graph_changed':
      return 'graph changed';
    case 'retried':
      return 'retried';
    case 'starts_over':
      return 'starts over';
    case 'cancel_requested':
      return 'cancel requested';
    case 'cancelling':
      return 'cancels';
    case 'timed_out':
      return 'timed out';
    case 'run_failed':
      return 'failed';
    default:
      return null;
  }
}

function sayMove(look: Look, attempt: number): string {
  switch (look) {
    case 'running':
      return attempt > 1 ? `started, attempt ${attempt}` : 'started';
    case 'waits_to_retry':
      return 'waits to retry';
    case 'not_reached':
      return 'reset';
    case 'waiting':
      return 'waits';
    case 'sleeping':
      return 'sleeps';
    case 'collecting':
      return 'collects';
    default:
      return look;
  }
}
