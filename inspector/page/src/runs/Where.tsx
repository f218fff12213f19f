import type { Run } from '../api/types';
import { instant, timeOfDay } from '../ui/duration';
import { leafOf } from '../view/moment';

/** Where a run is: its failure, its question, or the last node of which something was recorded. */
export function Where({ run }: { run: Run }) {
  if (run.unreadable) return <span className="msg s-failed">its last events cannot be read: {run.unreadable}</span>;
  const at = run.position ? leafOf(run.position.path) : '';
  if (run.failure) {
    return (
      <>
        {at && <b>{at}</b>} <span className="msg s-failed">{run.failure}</span>
      </>
    );
  }
  if (run.question && run.status === 'waiting') {
    return (
      <>
        <b>{leafOf(run.question.path)}</b> <span className="msg s-waiting">{run.question.prompt}</span>
        {run.open_questions > 1 && <span className="msg"> and {run.open_questions - 1} more</span>}
      </>
    );
  }
  if (run.status === 'waiting' && run.awaited_signals.length) {
    return (
      <>
        {run.position && <b>{leafOf(run.position.path.slice(0, run.position.path.lastIndexOf('/')))}</b>} <span className="msg s-waiting">signal {run.awaited_signals.join(', ')}</span>
      </>
    );
  }
  if (run.status === 'completed' || !at) return null;
  const [name, turn] = at.split('#');
  const next = run.position?.next_attempt;
  if (next && run.status === 'running') {
    return (
      <>
        <b>{name}</b>{' '}
        <span className="msg" title={instant(next.at)}>
          attempt {next.number} at {timeOfDay(next.at)}
        </span>{' '}
        <span className="msg s-failed">{next.failure}</span>
      </>
    );
  }
  const items = run.position?.items;
  const notes = [items && `${items.done} of ${items.all}`, turn && `turn ${turn}`, run.position?.attempt && run.position.attempt > 1 ? `attempt ${run.position.attempt}` : ''].filter(Boolean);
  return (
    <>
      <b>{name}</b> <span className="msg">{run.status === 'cancelled' ? 'cancelled' : notes.join(', ')}</span>
    </>
  );
}
