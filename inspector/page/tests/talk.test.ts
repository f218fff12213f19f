import { describe, expect, it } from 'vitest';
import type { Said } from '../src/api/types';
import type { RunView, Thing } from '../src/view/model';
import { emptyView } from '../src/view/model';
import { lastSaid, speaker, talks } from '../src/view/talk';

const thing = (id: number, path: string, inside: number[], more: Partial<Thing> = {}): Thing => ({
  id,
  path,
  kind: 'child',
  within: 0,
  node: -1,
  item: -1,
  turn: 0,
  graph: null,
  inside,
  moves: [],
  details: [],
  progress: null,
  began: new Map(),
  ...more,
});

/** An agent whose model has replied at event 4, and whose tool asks a person at event 7. */
function view(): RunView {
  const replied = { seq: 4, thing: 2, type: 'replied' as const, model: 'm', input_tokens: 1, output_tokens: 2, calls: 1 };
  const things = [
    thing(0, 'desk', [1], { kind: 'run' }),
    thing(1, 'desk/agent', [2, 3], { kind: 'node' }),
    thing(2, 'desk/agent/model:1', [], { details: [replied] }),
    thing(3, 'desk/agent/pay:1.0', [4], { moves: [{ seq: 6, look: 'running', attempt: 1 }] }),
    thing(4, 'desk/agent/pay:1.0/approve', [], { kind: 'question', moves: [{ seq: 7, look: 'waiting', attempt: 0 }] }),
  ];
  return { ...emptyView(), seq: 7, things };
}

describe('what has a conversation', () => {
  it('is a model call that has replied, and what it is in', () => {
    const { things } = view();
    const at = (seq: number) => things.map((one) => talks(view(), one, seq));
    expect(at(3)).toEqual([null, null, null, null, null]);
    expect(at(4)).toEqual([null, 'agent', 'model', null, null]);
  });

  it('is a model call that has failed for good, and what it is in, but no other failure', () => {
    const failed = { seq: 4, thing: 2, type: 'error' as const, attempt: 1, message: 'no' };
    for (const model_call of [true, undefined]) {
      const all = view();
      all.things[2]!.details = [{ ...failed, model_call }];
      expect([1, 2].map((id) => talks(all, all.things[id]!, 4))).toEqual(model_call ? ['agent', 'model'] : [null, null]);
    }
  });

  it('is read again when something is said in it', () => {
    const { things } = view();
    expect(lastSaid(view(), things[1]!, 5)).toBe(4);
    expect(lastSaid(view(), things[1]!, 6)).toBe(6);
    expect(lastSaid(view(), things[1]!, 7)).toBe(7);
    expect(lastSaid(view(), things[2]!, 7)).toBe(4);
  });
});

describe('who says something', () => {
  const of = (what: object) => speaker({ seq: 1, time: 0, path: 'p', ...what } as Said);
  it('is the model by its name, a tool, a person or the program', () => {
    expect(of({ type: 'asked', text: 'Hi' })).toEqual({ side: 'program', who: 'prompt' });
    expect(of({ type: 'replied', model: 'small', text: '', input_tokens: 1, output_tokens: 1 })).toEqual({ side: 'model', who: 'small' });
    expect(of({ type: 'failed', attempt: 1, message: 'no' })).toEqual({ side: 'model', who: 'model call' });
    expect(of({ type: 'failed', tool: 'pay', attempt: 1, message: 'no' })).toEqual({ side: 'tool', who: 'pay' });
    expect(of({ type: 'person_answered', tool: 'pay', answer: 'approve', by: 'Eve' })).toEqual({ side: 'person', who: 'Eve' });
    expect(of({ type: 'person_answered', tool: 'pay', answer: 'approve' })).toEqual({ side: 'person', who: 'a person' });
  });
});
