import { describe, expect, it } from 'vitest';
import { nodeOfPath } from '../src/graph/model';
import { fractionOf } from '../src/graph/progress';
import { filterOf, linkTo, parameters } from '../src/runs/filter';
import { link, parsePlace } from '../src/shell/router';
import recorded from './fixtures/graphs.json';

describe('places', () => {
  it('come back from their link, whatever is in ids', () => {
    for (const id of ['brief-1', 'a/b', 'ä#?&=%', '<script>', '..']) {
      const { page, parts } = parsePlace(link('runs', [id], { sel: `${id}/x[3]` }));
      expect([page, parts]).toEqual(['runs', [id]]);
      expect(parsePlace(link('runs', [id], { sel: `${id}/x[3]` })).query.get('sel')).toBe(`${id}/x[3]`);
    }
  });

  it('survive a link that is not percent-encoded', () => {
    expect(parsePlace('#/runs/100%').parts).toEqual(['100%']);
  });
});

describe('filters of runs', () => {
  it('tell tags from the beginning of an id', () => {
    expect(parameters({ status: 'failed', workflow: null, text: 'env:prod brief- team=a:b' })).toEqual({
      status: 'failed',
      workflow: null,
      tag: ['env=prod', 'team=a:b'],
      id_prefix: 'brief-',
    });
  });

  it('are in the link', () => {
    const filter = { status: 'waiting' as const, workflow: 'refund', text: 'env:prod' };
    expect(filterOf(parsePlace(linkTo(filter)).query)).toEqual(filter);
    expect(filterOf(new URLSearchParams('status=other')).status).toBeNull();
  });
});

describe('progress', () => {
  it('is a fraction, or a count of a total', () => {
    expect([0.25, { done: 3, total: 12 }, { percent: 50 }].map(fractionOf)).toEqual([0.25, 0.25, 0.5]);
  });

  it('is unknown for anything else', () => {
    expect([7, 'half', null, { done: 1 }, { done: 1, total: 0 }, [1, 2]].map(fractionOf)).toEqual([null, null, null, null, null, null]);
  });
});

describe('nodes of paths', () => {
  const graphs = { graph: recorded[0], nested: recorded } as never;

  it('are found in turns, items and nested workflows', () => {
    const names = ['briefing/draft#2', 'briefing/fetch[7]', 'briefing/verify/check_names', 'briefing/sign_off/question'].map((path) => nodeOfPath(graphs, path)?.name);
    expect(names).toEqual(['draft', 'fetch', 'check_names', 'sign_off']);
  });

  it('are missing for a path of another graph', () => {
    expect(nodeOfPath(graphs, 'briefing/gone')).toBeNull();
  });
});
