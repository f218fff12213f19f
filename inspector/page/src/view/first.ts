import type { RunView, Thing } from './model';
import { lookAt } from './moment';

/** What is selected when a run is opened: the first failure, else an open question, else what runs. */
export function firstToSee(view: RunView): string | null {
  const { seq, status } = view;
  if (status === 'failed') {
    const failure = view.details.findLast((detail) => detail.type === 'run_failed');
    if (failure?.type === 'run_failed' && view.byPath.has(failure.path)) return failure.path;
    const failed = deepest(view, view.things.filter((thing) => thing.within >= 0 && lookAt(thing, seq) === 'failed'));
    if (failed) return failed.path;
  }
  const question = view.things.find((thing) => thing.kind === 'question' && lookAt(thing, seq) === 'waiting');
  if (question) return nodeAround(view, question).path;
  const running = view.things.find((thing) => thing.within === 0 && ['running', 'waits_to_retry', 'waiting'].includes(lookAt(thing, seq)));
  return running?.path ?? null;
}

function deepest(view: RunView, things: readonly Thing[]): Thing | null {
  const depth = (thing: Thing): number => (thing.within < 0 ? 0 : 1 + depth(view.things[thing.within]!));
  return [...things].sort((a, b) => depth(b) - depth(a))[0] ?? null;
}

/** The node that asks. */
function nodeAround(view: RunView, thing: Thing): Thing {
  const parent = view.things[thing.within];
  return thing.kind === 'node' || !parent || parent.within < 0 ? thing : nodeAround(view, parent);
}
