import type { Said } from '../api/types';
import type { RunView, Thing } from './model';
import { countUpTo } from './moment';

/** What has a conversation: a model call, or what has made some. */
export type Talks = 'model' | 'agent' | null;

const isCall = (detail: Thing['details'][number]) => detail.type === 'replied' || (detail.type === 'error' && detail.model_call === true);

/** Whether it is a model call that has replied, or failed for good. */
const hasEnded = (thing: Thing, seq: number) => thing.details.some((detail) => detail.seq <= seq && isCall(detail));

export function talks(view: RunView, thing: Thing, seq: number): Talks {
  if (hasEnded(thing, seq)) return 'model';
  return thing.inside.some((id) => hasEnded(view.things[id]!, seq)) ? 'agent' : null;
}

/** The last event of a conversation: of the thing, its calls, and the questions there. */
export function lastSaid(view: RunView, thing: Thing, seq: number): number {
  const calls = thing.inside.map((id) => view.things[id]!);
  const questions = calls.flatMap((call) => call.inside.map((id) => view.things[id]!)).filter(({ kind }) => kind === 'question');
  return Math.max(-1, ...[thing, ...calls, ...questions].flatMap(({ moves, details }) => [lastSeq(moves, seq), lastSeq(details, seq)]));
}

const lastSeq = (list: readonly { seq: number }[], seq: number) => list[countUpTo(list, seq) - 1]?.seq ?? -1;

/** Who says something, as a class and in words. */
export function speaker(said: Said): { side: 'program' | 'model' | 'tool' | 'person'; who: string } {
  switch (said.type) {
    case 'asked':
      return { side: 'program', who: 'prompt' };
    case 'replied':
      return { side: 'model', who: said.model };
    case 'person_answered':
      return { side: 'person', who: said.by ?? 'a person' };
    case 'failed':
      return said.tool == null ? { side: 'model', who: 'model call' } : { side: 'tool', who: said.tool };
    default:
      return { side: 'tool', who: said.tool };
  }
}
